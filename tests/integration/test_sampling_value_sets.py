"""Value sets of large tables, verified by each engine's own statement and remembered by its change marks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pytest
from servers.postgres import PostgresServer, execute

from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, SamplingLimits, Selection
from dictionary_pipeline.engines.base import Engine
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.sampling.sample import SampleResult, sample_tables

# 30,000 rows, of which one in the middle holds the rare value; samples of 320 rows miss it.
_TABLE = """CREATE TABLE "big table" (id INTEGER, "the ""state" VARCHAR(10), level INTEGER, zone CHAR(3));
INSERT INTO "big table" SELECT n, CASE WHEN n = 14013 THEN 'it''s rare' WHEN n % 2 = 0 THEN 'open' ELSE 'Open' END,
    n % 4, CASE n % 3 WHEN 1 THEN 'EU' WHEN 2 THEN 'US' END FROM """
_CHANGE = """UPDATE "big table" SET "the ""state" = 'new' WHERE id = 14011"""
EXPECTED = {
    'the "state': ['"Open"', '"it\'s rare"', '"open"'],
    "level": ["0", "1", "2", "3"],
    "zone": ['"EU"', '"US"'],
}


class Database(NamedTuple):
    """A database with the table, and how to change it."""

    spec: ConnectionSpec
    execute: Callable[[str], None]


def _sqlite(folder: Path) -> Database:
    file = folder / "shop.sqlite"

    def run(script: str) -> None:
        with sqlite3.connect(file) as connection:
            connection.executescript(script)
        connection.close()

    series = "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 30000) SELECT n FROM s)"
    run(_TABLE + series)
    return Database(ConnectionSpec("sqlite", {"path": str(file)}), run)


def _duckdb(folder: Path) -> Database:
    file = folder / "shop.duckdb"

    def run(script: str) -> None:
        with duckdb.connect(str(file)) as connection:
            connection.execute(script)

    run(_TABLE + "range(1, 30001) AS s(n)")
    return Database(ConnectionSpec("duckdb", {"path": str(file)}), run)


def _postgres(server: PostgresServer, name: str) -> str:
    url = server.create_database(name, _TABLE + "generate_series(1, 30000) AS s(n)")
    execute(url, "VACUUM ANALYZE")
    return url


@pytest.fixture(params=["sqlite", "duckdb", "postgres", "generic"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return _sqlite(tmp_path)
    if request.param == "duckdb":
        return _duckdb(tmp_path)
    url = _postgres(request.getfixturevalue("postgres"), f"dd_sets_{request.param}")
    if request.param == "generic":
        return Database(
            ConnectionSpec("generic", {"url": url.replace("postgresql://", "postgresql+psycopg://")}),
            lambda script: execute(url, script),
        )
    return Database(ConnectionSpec("postgres", {"url": url}), lambda script: execute(url, script))


def sampled(spec: ConnectionSpec, previous: SampleResult | None = None) -> SampleResult:
    engine: Engine = create_engine(spec)
    with engine.open() as session:
        catalog = take_snapshot(engine, session, Selection())
    config = DatabaseConfig("db", spec, sampling=SamplingLimits(row_limit=320))
    return sample_tables(engine, catalog, config, previous=previous)


def sets(result: SampleResult) -> dict[str, list[str]]:
    found = result.profiles.filter(pl.col("allowed_values_origin") == "scan")
    return dict(found.select("column", "allowed_values").iter_rows())


def test_rare_values_are_found_with_one_statement_and_again_after_a_change(database: Database) -> None:
    first = sampled(database.spec)
    assert (sets(first), first.problems, first.statements) == (EXPECTED, (), 2)
    database.execute(_CHANGE)
    second = sampled(database.spec, first)
    assert sets(second)['the "state'] == ['"Open"', '"it\'s rare"', '"new"', '"open"']
    assert second.statements == 2


def test_an_unchanged_table_is_not_scanned_again(database: Database) -> None:
    first = sampled(database.spec)
    second = sampled(database.spec, first)
    # A generic engine knows nothing of changes and so must look again.
    assert second.statements == (2 if database.spec.type == "generic" else 1)
    assert second.profiles.equals(first.profiles)
    assert second.values.equals(first.values)


def test_maintenance_of_a_postgres_table_is_no_change_of_its_rows(postgres: PostgresServer) -> None:
    url = _postgres(postgres, "dd_sets_maintenance")
    spec = ConnectionSpec("postgres", {"url": url})
    first = sampled(spec)
    execute(url, "VACUUM ANALYZE")
    second = sampled(spec, first)
    assert second.statements == 1
    assert second.verifications.equals(first.verifications)


def test_partitions_and_refreshed_views_count_as_changes(postgres: PostgresServer) -> None:
    url = postgres.create_database(
        "dd_sets_marks",
        """
        CREATE TABLE parts (id int, kind text) PARTITION BY HASH (id);
        CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
        INSERT INTO parts SELECT g, 'a' FROM generate_series(1, 100) g;
        CREATE MATERIALIZED VIEW summary AS SELECT kind FROM parts;
        """,
    )

    def marks() -> tuple[str, str]:
        engine = create_engine(ConnectionSpec("postgres", {"url": url}))
        with engine.open() as session:
            told = engine.change_marks(session, [])
        return told["public", "parts"], told["public", "summary"]

    before = marks()
    execute(url, "DELETE FROM parts WHERE id = 1")
    after = marks()
    assert after[0] != before[0]
    assert after[1] == before[1]
    execute(url, "REFRESH MATERIALIZED VIEW summary")
    assert marks()[1] != after[1]
