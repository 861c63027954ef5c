"""SQL Server in the conformance suite: a real server when DD_TEST_SQLSERVER_URL is set, else the test double."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
from servers.tds import PASSWORD, USER, TdsServer, running_tds

from conformance.ddl import Ddl
from conformance.model import Column, Declaration, EngineUnderTest, Table, Value, View
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.config.urls import spec_from_url
from dictionary_pipeline.engines.sqlserver_drivers import create_driver

URL_VARIABLE = "DD_TEST_SQLSERVER_URL"
_UNSUPPORTED: Mapping[str, str] = {
    "repeated_key_names": "names of constraints are unique in a schema",
    "enums": "there are no enumerated types",
    "type:interval": "there is no interval type",
    "type:json": "only SQL Server 2025 has one",
    "type:array": "there are no arrays",
    "value:uuid": "SQL Server writes UUIDs in capital letters",
}


class DoubleUnderTest:
    """Databases declared on the double."""

    name = "sqlserver"
    only_schema = None
    max_catalog_statements = 10
    unsupported: ClassVar[Mapping[str, str]] = _UNSUPPORTED

    def __init__(self, server: TdsServer, folder: Path) -> None:
        self._server = server
        self._folder = folder

    def build(self, declaration: Declaration) -> ConnectionSpec:
        name = f"shop{len(self._server.databases)}"
        self._server.declare(name, declaration)
        url = f"mssql+pymssql://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{self._server.port}/{name}"
        return spec_from_url(url, origin="the test", folder=self._folder)


class _Ddl(Ddl):
    types: ClassVar = {
        **Ddl.types,
        "string": "nvarchar(80)",
        "integer": "int",
        "float": "float",
        "decimal": "decimal(12,2)",
        "boolean": "bit",
        "time": "time(0)",
        "timestamp": "datetime2(6)",
        "uuid": "uniqueidentifier",
        "binary": "varbinary(100)",
    }

    def quote(self, name: str) -> str:
        return "[" + name.replace("]", "]]") + "]"

    def text(self, value: str) -> str:
        return "N" + super().text(value)

    def literal(self, value: Value, column: Column) -> str:
        return str(int(value)) if isinstance(value, bool) else super().literal(value, column)

    def binary(self, value: bytes) -> str:
        return f"0x{value.hex()}"

    def identity(self) -> str:
        return "IDENTITY"

    def column(self, column: Column) -> str:
        if column.generated:
            left, right = map(self.quote, column.generated)
            return f"{self.quote(column.name)} AS ({left} * {right}) PERSISTED"
        return super().column(column)

    def table_comments(self, table: Table) -> Iterator[str]:
        if table.comment is not None:
            yield self._describe(table.comment, table.schema, "TABLE", table.name)
        for column in table.columns:
            if column.comment is not None:
                yield self._describe(column.comment, table.schema, "TABLE", table.name, column.name)

    def view_comment(self, view: View) -> Iterator[str]:
        yield self._describe(view.comment or "", view.schema, "VIEW", view.name)

    def _describe(self, comment: str, schema: str, kind: str, name: str, column: str | None = None) -> str:
        text = self.text
        last = f", N'COLUMN', {text(column)}" if column is not None else ""
        return (
            f"EXEC sp_addextendedproperty N'MS_Description', {text(comment)}, N'SCHEMA', {text(schema)},"
            f" N'{kind}', {text(name)}{last}"
        )


class ServerUnderTest:
    """Databases of a real server, with a case-sensitive collation."""

    name = "sqlserver"
    only_schema = None
    max_catalog_statements = 10
    unsupported: ClassVar[Mapping[str, str]] = _UNSUPPORTED

    def __init__(self, url: str, folder: Path) -> None:
        self._admin = spec_from_url(url, origin=URL_VARIABLE, folder=folder)
        self._count = 0

    def build(self, declaration: Declaration) -> ConnectionSpec:
        self._count += 1
        name = f"dd_conformance{self._count}"
        self._execute(
            self._admin,
            f"IF DB_ID('{name}') IS NOT NULL DROP DATABASE {name}",
            f"CREATE DATABASE {name} COLLATE Latin1_General_100_CS_AS",
        )
        spec = ConnectionSpec("sqlserver", {**self._admin.options, "database": name}, self._admin.secrets, URL_VARIABLE)
        self._execute(spec, *_Ddl().statements(declaration))
        return spec

    @staticmethod
    def _execute(spec: ConnectionSpec, *statements: str) -> None:
        connection: Any = create_driver(spec).open(60)
        with closing(connection):
            for statement in statements:
                connection.cursor().execute(statement)


@contextmanager
def running(request: pytest.FixtureRequest, folder: Path) -> Iterator[EngineUnderTest]:
    """The real server when there is one."""
    if os.environ.get(URL_VARIABLE):
        yield ServerUnderTest(os.environ[URL_VARIABLE], folder)
        return
    with running_tds() as server:
        yield DoubleUnderTest(server, folder)
