"""Catalog statements that lie in files of `sql/`."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def statement(name: str) -> str:
    """The text of `sql/<name>.sql`."""
    return (resources.files(__package__) / "sql" / f"{name}.sql").read_text(encoding="utf-8")
