"""Snowflake in the conformance suite: the real connector against a protocol double (`servers.snowflake`).

With DD_TEST_SNOWFLAKE_URL against a real account, whose role must be able to create databases; those named
DICTIONARY_TEST_<n> are replaced and dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from servers.snowflake import PASSWORD, USER, SnowflakeServer, running_snowflake

from conformance.ddl import Ddl
from conformance.model import Column, Declaration, EngineUnderTest, Table, Value
from conformance.warehouse import database
from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.config.urls import spec_from_url
from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.engines.snowflake import SnowflakeEngine

_TYPES: Mapping[TypeClass, str] = {
    "string": "VARCHAR({length})",
    "integer": "NUMBER(38,0)",
    "float": "FLOAT",
    "decimal": "NUMBER(12,2)",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP_NTZ",
    "json": "VARIANT",
    "array": "ARRAY",
    "binary": "BINARY",
}


class SnowflakeUnderTest:
    """Databases of one account."""

    name = "snowflake"
    only_schema = None
    max_catalog_statements = 6
    unsupported: ClassVar[Mapping[str, str]] = {
        "checks": "Snowflake has no CHECK constraints",
        "enums": "Snowflake has no enumerated types",
        "generated": "INFORMATION_SCHEMA does not tell computed columns",
        "type:interval": "Snowflake stores no intervals",
        "type:uuid": "kept as text",
        "type:xml": "kept in VARIANT",
    }

    def __init__(self, server: SnowflakeServer) -> None:
        self._server = server
        self._count = 0

    def build(self, declaration: Declaration) -> ConnectionSpec:
        self._count += 1
        name = f"SHOP{self._count}"
        self._server.backend.add(database(declaration, name, Ddl(), _TYPES))
        options = {"account": "test", "user": USER, "database": name, "warehouse": "WH"}
        place = {"host": "127.0.0.1", "port": self._server.port, "protocol": "http"}
        return ConnectionSpec("snowflake", {**options, **place}, {"password": Secret.literal(PASSWORD)})


class _Ddl(Ddl):
    types: ClassVar[Mapping[TypeClass, str]] = {**Ddl.types, **_TYPES, "string": "VARCHAR(80)"}

    def text(self, value: str) -> str:
        return super().text(value.replace("\\", "\\\\"))

    def identity(self) -> str:
        return "AUTOINCREMENT"

    def insert(self, table: Table) -> str:
        rows = (", ".join(map(self.literal, row, table.columns)) for row in table.rows)
        return f"INSERT INTO {self.name(table.schema, table.name)} " + " UNION ALL ".join(
            f"SELECT {row}" for row in rows
        )

    def literal(self, value: Value, column: Column) -> str:
        text = super().literal(value, column)
        return f"PARSE_JSON({text})" if column.family == "json" and value is not None else text

    def binary(self, value: bytes) -> str:
        return f"TO_BINARY('{value.hex()}', 'HEX')"

    def array(self, value: list[int]) -> str:
        return f"ARRAY_CONSTRUCT({', '.join(map(str, value))})"


class RealSnowflake(SnowflakeUnderTest):
    """Databases of a real account, made by the product's own sessions."""

    def __init__(self, spec: ConnectionSpec) -> None:
        self._spec = spec
        self._count = 0

    def build(self, declaration: Declaration) -> ConnectionSpec:
        self._count += 1
        name = f"DICTIONARY_TEST_{self._count}"
        with SnowflakeEngine(self._spec).open() as session:
            for statement in (f"CREATE OR REPLACE DATABASE {name}", *_Ddl().statements(declaration)):
                session.rows(statement)
        return ConnectionSpec("snowflake", {**self._spec.options, "database": name}, self._spec.secrets)

    def drop(self) -> None:
        """Leave nothing behind."""
        with SnowflakeEngine(self._spec).open() as session:
            for number in range(1, self._count + 1):
                session.rows(f"DROP DATABASE IF EXISTS DICTIONARY_TEST_{number}")


@contextmanager
def running(request: pytest.FixtureRequest, folder: Path) -> Iterator[EngineUnderTest]:
    """A double of its own, or the account of DD_TEST_SNOWFLAKE_URL."""
    if url := os.environ.get("DD_TEST_SNOWFLAKE_URL"):
        real = RealSnowflake(spec_from_url(url, origin="DD_TEST_SNOWFLAKE_URL", folder=folder))
        try:
            yield real
        finally:
            real.drop()
        return
    with running_snowflake() as server:
        yield SnowflakeUnderTest(server)
