"""Where a configured database lives: its configuration, its store and what it shares with the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dictionary_pipeline.config.loader import find_project_folder, load_project
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.store import Store
from dictionary_pipeline.run import database_store


@dataclass(frozen=True)
class Place:
    """A configured database and its store."""

    config: DatabaseConfig
    store: Store
    folder: Path
    """The project folder."""


def configured_database(name: str, project: Path | None) -> Place:
    """The database that `dbt_like_configs/databases/<name>.yml` configures.

    Args:
        name: As a user gave it.
        project: The project folder; found from the working directory when null.

    Raises:
        ConfigurationError: there is no such file, it is invalid, or its store's credential is missing.
    """
    folder = find_project_folder(project or Path.cwd())
    loaded = load_project(folder)
    broken = {item.name: item.error for item in loaded.invalid}
    if name in broken:
        raise ConfigurationError(broken[name])
    if name not in loaded.databases:
        raise ConfigurationError(
            f"no database is configured under the name {name!r}",
            where=str(folder / "dbt_like_configs" / "databases"),
            fix=f"Choose one of: {', '.join(sorted(loaded.databases)) or 'none yet'}.",
        )
    config = loaded.databases[name]
    return Place(config, database_store(config, folder), folder)
