"""Writes small projects for the configuration tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from dictionary_pipeline.config.loader import load_project, validate_project
from dictionary_pipeline.config.resolved import DatabaseConfig, Project


@dataclass(frozen=True)
class ProjectFolder:
    """A project folder under construction."""

    root: Path

    def write(self, name: str, text: str) -> Path:
        """Write a file below `dbt_like_configs/`."""
        path = self.root / "dbt_like_configs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def database(self, text: str, name: str = "x") -> None:
        """Write a database file."""
        self.write(f"databases/{name}.yml", text)

    def load(self) -> Project:
        """Load it."""
        return load_project(self.root)

    def config(self, text: str) -> DatabaseConfig:
        """Write `databases/x.yml` and load it; it must be valid."""
        self.database(text)
        loaded = self.load()
        assert not loaded.invalid, loaded.invalid[0].error
        return loaded.databases["x"]

    def error(self, text: str) -> str:
        """Write `databases/x.yml` and return why it is invalid."""
        self.database(text)
        (invalid,) = self.load().invalid
        return invalid.error

    def errors(self) -> list[str]:
        """Everything that `validate` says."""
        return [str(error) for error in validate_project(self.root)]
