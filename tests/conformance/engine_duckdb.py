"""DuckDB in the conformance suite: a file, built by DuckDB itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import duckdb
import pytest

from conformance.ddl import Ddl
from conformance.model import Declaration, EngineUnderTest
from dictionary_pipeline.config.resolved import ConnectionSpec


class _Ddl(Ddl):
    types: ClassVar = {**Ddl.types, "binary": "blob"}
    inline_foreign_keys: ClassVar = True

    def generated(self, left: str, right: str) -> str:
        return f"GENERATED ALWAYS AS ({self.quote(left)} * {self.quote(right)})"

    def binary(self, value: bytes) -> str:
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"


class DuckDBUnderTest:
    """Databases as files of a folder."""

    name = "duckdb"
    only_schema = None
    max_catalog_statements = 6
    unsupported: ClassVar[Mapping[str, str]] = {
        "cross_schema_keys": "DuckDB refuses foreign keys between schemas",
        "circular_keys": "DuckDB cannot add a foreign key to a table that exists",
        "reordered_keys": "DuckDB wants the columns in the order of the parent's key",
        "case_only_tables": "DuckDB compares names without case",
        "case_only_columns": "DuckDB compares names without case",
        "foreign_key_names": "DuckDB makes names of constraints from their columns",
        "primary_key_names": "DuckDB makes names of constraints from their columns",
        "unique_key_names": "DuckDB makes names of constraints from their columns",
        "identity": "DuckDB has sequences only",
        "type:xml": "DuckDB has no XML type",
    }

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def build(self, declaration: Declaration) -> ConnectionSpec:
        self._count += 1
        path = self._folder / f"shop{self._count}.duckdb"
        with duckdb.connect(str(path)) as connection:
            for statement in _Ddl().statements(declaration):
                connection.execute(statement)
        return ConnectionSpec("duckdb", {"path": str(path)})


@contextmanager
def running(request: pytest.FixtureRequest, folder: Path) -> Iterator[EngineUnderTest]:
    """DuckDB needs no server."""
    yield DuckDBUnderTest(folder)
