"""Project folders for tests of whole processes."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def write_sqlite(path: Path, tables: int) -> None:
    """A SQLite file with a chain of `tables` tables."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t0 (id INTEGER PRIMARY KEY, name TEXT)")
        for number in range(1, tables):
            connection.execute(
                f"CREATE TABLE t{number} "
                f"(id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER REFERENCES t{number - 1})"
            )
        connection.execute("INSERT INTO t0 (name) VALUES ('first'), ('second')")
    connection.close()


def write_project(folder: Path) -> None:
    """An empty project folder."""
    (folder / "dbt_like_configs" / "databases").mkdir(parents=True)
    (folder / "dbt_like_configs" / "project.yml").write_text("publish:\n  root: published\n")
    (folder / "dbt_like_configs" / "profiles.yml").write_text("{}\n")


def add_sqlite_database(folder: Path, name: str, tables: int) -> Path:
    """Create a database file and its YAML; returns the YAML's path."""
    write_sqlite(folder / f"{name}.db", tables)
    file = folder / "dbt_like_configs" / "databases" / f"{name}.yml"
    file.write_text(f"connection:\n  type: sqlite\n  path: {name}.db\n")
    return file
