"""PostgreSQL in the conformance suite: a real server (`servers.postgres`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from servers.postgres import PostgresServer, execute

from conformance.ddl import Ddl
from conformance.model import Column, Declaration, EngineUnderTest
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.config.urls import spec_from_url


class _Ddl(Ddl):
    def statements(self, declaration: Declaration) -> Iterator[str]:
        for table in declaration.tables:
            for column in table.columns:
                if column.enum:
                    yield f"CREATE TYPE {self.enum(column)} AS ENUM ({', '.join(map(self.text, column.enum))})"
        yield from super().statements(declaration)

    def enum(self, column: Column) -> str:
        return f'public."{column.name}_enum"'

    def binary(self, value: bytes) -> str:
        return f"'\\x{value.hex()}'"


class PostgresUnderTest:
    """Databases on one server."""

    name = "postgres"
    only_schema = None
    max_catalog_statements = 7
    unsupported: ClassVar[Mapping[str, str]] = {"type:xml": "the wheel's server is built without XML support"}

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._count = 0

    def build(self, declaration: Declaration) -> ConnectionSpec:
        self._count += 1
        url = self._server.create_database(f"conformance{self._count}")
        execute(url, ";\n".join(_Ddl().statements(declaration)))
        return spec_from_url(url, origin="the test", folder=self._folder)


@contextmanager
def running(request: pytest.FixtureRequest, folder: Path) -> Iterator[EngineUnderTest]:
    """Uses the session's server."""
    yield PostgresUnderTest(request.getfixturevalue("postgres"), folder)
