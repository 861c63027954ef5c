"""Databricks in the conformance suite: the real connector against a protocol double (`servers.databricks`).

With DD_TEST_DATABRICKS_URL against a real workspace, whose principal must be able to create catalogs; those named
dictionary_test_<n> are replaced and dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from servers.databricks import HTTP_PATH, TOKEN, DatabricksServer, running_databricks

from conformance.ddl import Ddl
from conformance.model import Column, Declaration, EngineUnderTest, Table, Value, View
from conformance.warehouse import database
from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.config.urls import spec_from_url
from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.engines.databricks import DatabricksEngine

_TYPES: Mapping[TypeClass, str] = {
    "string": "STRING",
    "integer": "BIGINT",
    "float": "DOUBLE",
    "decimal": "DECIMAL(12,2)",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
    "interval": "INTERVAL DAY TO SECOND",
    "json": "VARIANT",
    "array": "ARRAY<INT>",
    "binary": "BINARY",
}


class _Ddl(Ddl):
    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def create_view(self, view: View) -> str:
        return self.view_sql(view)


class DatabricksUnderTest:
    """Catalogs of one workspace."""

    name = "databricks"
    only_schema = None
    max_catalog_statements = 5
    unsupported: ClassVar[Mapping[str, str]] = {
        "upper_case": "Unity Catalog keeps names in lower case",
        "case_only_tables": "Unity Catalog compares names without case",
        "case_only_columns": "Unity Catalog compares names without case",
        "schema_names": "Unity Catalog refuses spaces and dots in names of schemas",
        "name:dot": "Unity Catalog refuses dots in names of tables",
        "name:space": "Unity Catalog refuses spaces in names of tables",
        "name:slash": "Unity Catalog refuses slashes in names of tables",
        "repeated_key_names": "names of constraints are unique in a schema",
        "unique_keys": "Databricks has no UNIQUE constraints",
        "keys_to_unique": "Databricks has no UNIQUE constraints",
        "checks": "information_schema does not give CHECK expressions",
        "enums": "Databricks has no enumerated types",
        "identity": "information_schema does not tell identity columns",
        "generated": "information_schema does not tell computed columns",
        "type:time": "Databricks has no time of day",
        "type:uuid": "kept as text",
        "type:xml": "kept as text",
        "value:interval": "an interval is shown as a literal of SQL",
    }

    def __init__(self, server: DatabricksServer) -> None:
        self._server = server
        self._count = 0

    def build(self, declaration: Declaration) -> ConnectionSpec:
        self._count += 1
        name = f"shop{self._count}"
        self._server.backend.add(database(declaration, name, _Ddl(), _TYPES))
        uri = f"http://127.0.0.1:{self._server.port}{HTTP_PATH}"
        options = {
            "host": "127.0.0.1",
            "http_path": HTTP_PATH,
            "catalog": name,
            "connect_args": {"_connection_uri": uri},
        }
        return ConnectionSpec("databricks", options, {"token": Secret.literal(TOKEN)})


class _RealDdl(_Ddl):
    types: ClassVar[Mapping[TypeClass, str]] = {**Ddl.types, **_TYPES}

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def create_view(self, view: View) -> str:
        return f"CREATE VIEW {self.name(view.schema, view.name)} AS {self.view_sql(view)}"

    def view_comment(self, view: View) -> Iterator[str]:
        yield f"COMMENT ON TABLE {self.name(view.schema, view.name)} IS {self.text(view.comment or '')}"

    def column_suffix(self, column: Column) -> str:
        return f" COMMENT {self.text(column.comment)}" if column.comment is not None else ""

    def table_comments(self, table: Table) -> Iterator[str]:
        if table.comment is not None:
            yield f"COMMENT ON TABLE {self.name(table.schema, table.name)} IS {self.text(table.comment)}"

    def insert(self, table: Table) -> str:
        rows = (", ".join(map(self.literal, row, table.columns)) for row in table.rows)
        return f"INSERT INTO {self.name(table.schema, table.name)} " + " UNION ALL ".join(
            f"SELECT {row}" for row in rows
        )

    def literal(self, value: Value, column: Column) -> str:
        text = super().literal(value, column)
        if value is None:
            return f"CAST(NULL AS {self.type(column)})"
        if column.family == "json":
            return f"PARSE_JSON({text})"
        if column.family == "interval":
            return "INTERVAL '1 00:00:00' DAY TO SECOND"
        return text if column.family in ("binary", "array") else f"CAST({text} AS {self.type(column)})"

    def array(self, value: list[int]) -> str:
        return f"ARRAY({', '.join(map(str, value))})"


class RealDatabricks(DatabricksUnderTest):
    """Catalogs of a real workspace, made by the product's own sessions."""

    def __init__(self, spec: ConnectionSpec) -> None:
        self._spec = spec
        self._count = 0

    def build(self, declaration: Declaration) -> ConnectionSpec:
        self._count += 1
        name = f"dictionary_test_{self._count}"
        with DatabricksEngine(self._spec).open() as session:
            start = (f"DROP CATALOG IF EXISTS {name} CASCADE", f"CREATE CATALOG {name}", f"USE CATALOG {name}")
            for statement in (*start, *_RealDdl().statements(declaration)):
                session.rows(statement)
        return ConnectionSpec("databricks", {**self._spec.options, "catalog": name}, self._spec.secrets)

    def drop(self) -> None:
        """Leave nothing behind."""
        with DatabricksEngine(self._spec).open() as session:
            for number in range(1, self._count + 1):
                session.rows(f"DROP CATALOG IF EXISTS dictionary_test_{number} CASCADE")


@contextmanager
def running(request: pytest.FixtureRequest, folder: Path) -> Iterator[EngineUnderTest]:
    """A double of its own, or the workspace of DD_TEST_DATABRICKS_URL."""
    if url := os.environ.get("DD_TEST_DATABRICKS_URL"):
        real = RealDatabricks(spec_from_url(url, origin="DD_TEST_DATABRICKS_URL", folder=folder))
        try:
            yield real
        finally:
            real.drop()
        return
    with running_databricks() as server:
        yield DatabricksUnderTest(server)
