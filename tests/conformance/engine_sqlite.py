"""SQLite in the conformance suite: a file, built by SQLite itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from conformance.ddl import Ddl
from conformance.model import Declaration, EngineUnderTest, ForeignKey
from dictionary_pipeline.config.resolved import ConnectionSpec


class _Ddl(Ddl):
    types: ClassVar = {**Ddl.types, "json": "json", "binary": "blob"}
    inline_foreign_keys: ClassVar = True

    def create_schema(self, schema: str) -> Iterator[str]:
        yield from ()

    def foreign_key(self, key: ForeignKey) -> str:
        return f"FOREIGN KEY {self.list(key.columns)} REFERENCES {self.quote(key.to[1])} {self.list(key.to_columns)}"


class SQLiteUnderTest:
    """Databases as files of a folder."""

    name = "sqlite"
    only_schema = "main"
    max_catalog_statements = 8
    unsupported: ClassVar[Mapping[str, str]] = {
        "schemas": "a file is one schema",
        "schema_names": "a file is one schema",
        "foreign_key_names": "SQLite keeps no names of keys in its catalog",
        "primary_key_names": "SQLite keeps no names of keys in its catalog",
        "unique_key_names": "SQLite keeps no names of keys in its catalog",
        "case_only_tables": "SQLite compares names without case",
        "case_only_columns": "SQLite compares names without case",
        "enums": "SQLite has no enumerated types",
        "identity": "only INTEGER PRIMARY KEY numbers itself, and it always does",
        "table_comments": "SQLite has no comments",
        "view_comments": "SQLite has no comments",
        "column_comments": "SQLite has no comments",
        "type:boolean": "SQLite stores numbers for booleans",
        "type:array": "SQLite has no arrays",
        "type:interval": "SQLite has no intervals",
        "value:decimal": "SQLite stores decimals as floats",
    }

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def build(self, declaration: Declaration) -> ConnectionSpec:
        self._count += 1
        path = self._folder / f"shop{self._count}.db"
        with closing(sqlite3.connect(path)) as connection:
            for statement in _Ddl().statements(declaration):
                connection.execute(statement)
            connection.commit()
        return ConnectionSpec("sqlite", {"path": str(path)})


@contextmanager
def running(request: pytest.FixtureRequest, folder: Path) -> Iterator[EngineUnderTest]:
    """SQLite needs no server."""
    yield SQLiteUnderTest(folder)
