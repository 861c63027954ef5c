"""Schema drift as the product classifies it, for `score_drift.py`."""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl
import psycopg

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import (
    ConnectionSpec,
    DatabaseConfig,
    PrivacyPolicy,
    SamplingLimits,
    Selection,
)
from dictionary_pipeline.config.urls import spec_from_url
from dictionary_pipeline.drift.diff import Profiles, diff_catalogs
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.errors import NothingToDescribe
from dictionary_pipeline.introspection.allowed_values import with_allowed_values
from dictionary_pipeline.introspection.fingerprint import with_fingerprints
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.sampling.sample import sample_tables

_Rows = Mapping[str, Sequence[Sequence[Any]]]


class _State(NamedTuple):
    catalog: Catalog
    profiles: pl.DataFrame | None


def predict(corpus: Path, split: str) -> dict[str, list[dict[str, str]]]:
    """Case id -> its changes. Nothing of a case is read but before, after, rows and dialect."""
    cases = json.loads((corpus / "drift" / f"{split}.json").read_text(encoding="utf-8"))
    with ExitStack() as stack:
        databases = _Databases(stack)
        return {case["id"]: _changes(databases, case) for case in cases}


def _changes(databases: _Databases, case: Mapping[str, Any]) -> list[dict[str, str]]:
    rows = case.get("rows") or {}
    states = []
    for side in ("before", "after"):
        with databases.made(case["dialect"], case[side]) as (spec, insert):
            states.append(_read(spec, insert, rows.get(side) or {}))
    before, after = states
    known = before.profiles is not None and after.profiles is not None
    profiles = Profiles(before.profiles, after.profiles) if known else None
    return [
        {"kind": change.kind, "table": change.table, "column": change.column, "severity": change.severity}
        for change in diff_catalogs(before.catalog, after.catalog, profiles=profiles)
    ]


def _read(spec: ConnectionSpec, insert: Any, rows: _Rows) -> _State:
    catalog = _introspect(spec)
    if not rows or catalog.tables.is_empty():
        return _State(catalog, None)
    exact = {
        table.casefold(): (schema, table) for schema, table in catalog.tables.select("schema", "table").iter_rows()
    }
    for table, values in rows.items():
        insert(exact[table.casefold()], values)
    # The corpus is public, and values are compared in memory only.
    config = DatabaseConfig(
        "drift", spec, sampling=SamplingLimits(verify=False), privacy=PrivacyPolicy(default="allow")
    )
    return _State(catalog, sample_tables(create_engine(spec), catalog, config).profiles)


def _introspect(spec: ConnectionSpec) -> Catalog:
    engine = create_engine(spec)
    with engine.open() as session:
        try:
            return take_snapshot(engine, session, Selection())
        except NothingToDescribe:  # every table was dropped
            return with_fingerprints(with_allowed_values(engine.read_catalog(session), engine.sqlglot_dialect))


class _Databases:
    """Makes the small databases of the cases."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._server: Any = None
        self._made = 0

    @contextmanager
    def made(self, dialect: str, ddl: Sequence[str]) -> Iterator[tuple[ConnectionSpec, Any]]:
        """A database with these objects, and a function that inserts rows into a table of it."""
        if dialect in ("postgres", "postgresql"):
            yield self._postgres(ddl)
            return
        with tempfile.TemporaryDirectory() as folder:
            if dialect == "sqlite":
                yield _sqlite(Path(folder) / "case.sqlite", ddl)
            elif dialect == "duckdb":
                yield _duckdb(Path(folder) / "case.duckdb", ddl)
            else:
                raise ValueError(f"no engine for dialect {dialect!r} here: sqlite, duckdb and postgres are")

    def _postgres(self, ddl: Sequence[str]) -> tuple[ConnectionSpec, Any]:
        if self._server is None:
            sys.path.insert(0, str(Path(__file__).parents[2]))
            from servers.postgres import running_postgres

            self._server = self._stack.enter_context(running_postgres())
        self._made += 1
        url = self._server.create_database(f"drift_{self._made}")
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in ddl:
                connection.execute(statement)

        def insert(table: tuple[str, str], rows: Sequence[Sequence[Any]]) -> None:
            with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
                for row in rows:
                    cursor.execute(_insert(table, row, "%s"), list(row))

        return spec_from_url(url, origin="the corpus", folder=Path.cwd()), insert


def _insert(table: tuple[str, str], row: Sequence[Any], mark: str) -> str:
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table)
    return f"INSERT INTO {quoted} VALUES ({', '.join([mark] * len(row))})"


def _sqlite(path: Path, ddl: Sequence[str]) -> tuple[ConnectionSpec, Any]:
    with closing(sqlite3.connect(path)) as connection:
        for statement in ddl:
            connection.executescript(statement)

    def insert(table: tuple[str, str], rows: Sequence[Sequence[Any]]) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            for row in rows:
                connection.execute(_insert(table, row, "?"), list(row))

    return ConnectionSpec("sqlite", {"path": str(path)}, {}, "the corpus"), insert


def _duckdb(path: Path, ddl: Sequence[str]) -> tuple[ConnectionSpec, Any]:
    with duckdb.connect(str(path)) as connection:
        for statement in ddl:
            connection.execute(statement)

    def insert(table: tuple[str, str], rows: Sequence[Sequence[Any]]) -> None:
        with duckdb.connect(str(path)) as connection:
            for row in rows:
                connection.execute(_insert(table, row, "?"), list(row))

    return ConnectionSpec("duckdb", {"path": str(path)}, {}, "the corpus"), insert
