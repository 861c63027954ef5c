"""MySQL in the conformance suite: a real MariaDB, or the server of DD_TEST_MYSQL_URL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from servers.mariadb import MariaDBServer

from conformance.ddl import Ddl
from conformance.model import Column, Declaration, EngineUnderTest, Table
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.config.urls import spec_from_url


class _Ddl(Ddl):
    types: ClassVar = {
        **Ddl.types,
        "integer": "int",
        "float": "double",
        "decimal": "decimal(12,2)",
        "timestamp": "datetime(6)",
        "json": "json",
        "binary": "varbinary(100)",
    }

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return super().text(value.replace("\\", "\\\\"))

    def create_schema(self, schema: str) -> Iterator[str]:
        yield f"DROP DATABASE IF EXISTS {self.quote(schema)}"
        yield f"CREATE DATABASE {self.quote(schema)} CHARACTER SET utf8mb4"

    def identity(self) -> str:
        return "AUTO_INCREMENT"

    def column_suffix(self, column: Column) -> str:
        return f" COMMENT {self.text(column.comment)}" if column.comment is not None else ""

    def table_suffix(self, table: Table) -> str:
        return f" COMMENT {self.text(table.comment)}" if table.comment is not None else ""

    def table_comments(self, table: Table) -> Iterator[str]:
        yield from ()


class MySQLUnderTest:
    """All databases of a server; a schema is a database."""

    name = "mysql"
    only_schema = None
    max_catalog_statements = 7
    unsupported: ClassVar[Mapping[str, str]] = {
        "repeated_key_names": "InnoDB wants names of foreign keys unique in a database",
        "reordered_keys": "InnoDB wants the columns in the order of the parent's index",
        "primary_key_names": "every primary key is called PRIMARY",
        "case_only_columns": "columns are compared without case",
        "view_comments": "views have no comments",
        "schema_names": "the test drops and creates databases of plain names only",
        "type:boolean": "BOOLEAN is tinyint(1), an integer that can hold more than two values",
        "type:interval": "there is no interval type",
        "type:uuid": "MariaDB 10.7 has one, MySQL does not",
        "type:array": "there are no arrays",
        "type:xml": "there is no XML type",
    }

    def __init__(self, server: MariaDBServer, folder: Path) -> None:
        self._server = server
        self._folder = folder

    def build(self, declaration: Declaration) -> ConnectionSpec:
        self._server.drop_databases()
        self._server.adopt(*declaration.schemas)
        self._server.execute(*_Ddl().statements(declaration))
        return spec_from_url(self._server.url(), origin="the test", folder=self._folder)


@contextmanager
def running(request: pytest.FixtureRequest, folder: Path) -> Iterator[EngineUnderTest]:
    """Uses the session's server."""
    yield MySQLUnderTest(request.getfixturevalue("mariadb"), folder)
