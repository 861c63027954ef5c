"""Sampling through the real engines: whole tables, spread samples, awkward values, failures."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from servers.postgres import PostgresServer

from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, SamplingLimits, Selection
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.sampling.sample import SampleResult, sample_tables


def sampled(spec: ConnectionSpec, limits: SamplingLimits | None = None, **options: Any) -> SampleResult:
    engine = create_engine(spec)
    with engine.open() as session:
        catalog = take_snapshot(engine, session, Selection())
    config = DatabaseConfig("db", spec, sampling=limits or SamplingLimits())
    return sample_tables(engine, catalog, config, **options)


def profile(result: SampleResult, table: str, column: str) -> dict[str, Any]:
    return result.profiles.row(by_predicate=(pl.col("table") == table) & (pl.col("column") == column), named=True)


def test_sqlite_columns_of_mixed_kinds_and_large_tables(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(file)
    connection.executescript(
        """
        CREATE TABLE "Mixed Kinds" (id INTEGER PRIMARY KEY, "any" , label TEXT, password_hash TEXT);
        INSERT INTO "Mixed Kinds" VALUES (9007199254740993, 1, 'a' || char(10) || 'b', 'canary'),
          (2, 1.5, NULL, 'canary'), (3, 'text', 'x', 'canary'), (4, x'0102', 'x', 'canary');
        CREATE TABLE big (id INTEGER PRIMARY KEY, batch INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        INSERT INTO big SELECT i, i / 100 FROM n;
        CREATE TABLE vacant (a TEXT);
        """
    )
    connection.close()
    result = sampled(ConnectionSpec("sqlite", {"path": str(file)}), SamplingLimits(row_limit=640))
    assert result.problems == ()
    assert profile(result, "Mixed Kinds", "id")["samples"] == ["2", "3", "4", "9007199254740993"]
    assert set(profile(result, "Mixed Kinds", "any")["samples"]) == {"1", "1.5", '"text"', '"<2 bytes>"'}
    assert profile(result, "Mixed Kinds", "label")["samples"] == ['"x"', '"a\\nb"']
    assert profile(result, "Mixed Kinds", "label")["complete"] is True
    assert profile(result, "Mixed Kinds", "password_hash")["status"] == "withheld"
    assert profile(result, "vacant", "a")["samples"] == []
    batch = profile(result, "big", "batch")
    assert (batch["sampled_rows"], batch["complete"]) == (640, False)
    assert int(batch["max"]) > 40, "the sample reaches the end of the table"
    assert "canary" not in result.profiles.write_json() + result.values.write_json()


def test_duckdb_values_and_spread_samples(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            """
            CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
            CREATE TABLE odd (mood mood, ts TIMESTAMPTZ, day DATE, f DOUBLE, h HUGEINT, d DECIMAL(12, 2), j JSON,
              l INTEGER[], s STRUCT(a INTEGER, b VARCHAR), b BLOB, flag BOOLEAN);
            INSERT INTO odd VALUES ('ok', '2024-01-01 00:00:00+00', 'infinity', 'nan',
              170141183460469231731687303715884105727, 10.50, '{"a": 1}', [1, 2],
              {'a': 1, 'b': 'x'}, '\\x01\\x02'::BLOB, true);
            CREATE TABLE big AS SELECT i AS id, i // 100 AS batch FROM range(5000) r(i);
            CREATE VIEW outside AS SELECT * FROM odd;
            """
        )
    result = sampled(ConnectionSpec("duckdb", {"path": str(file)}), SamplingLimits(row_limit=640))
    assert result.problems == ()
    samples = {row["column"]: row["samples"] for row in result.profiles.filter(table="odd").iter_rows(named=True)}
    assert samples == {
        "mood": ['"ok"'],
        "ts": ['"2024-01-01T00:00:00+00:00"'],
        "day": ['"infinity"'],
        "f": ['"nan"'],
        "h": ["170141183460469231731687303715884105727"],
        "d": ['"10.50"'],
        "j": ['{"a": 1}'],
        "l": ["[1, 2]"],
        "s": ['{"a": 1, "b": "x"}'],
        "b": ['"<2 bytes>"'],
        "flag": ["true"],
    }
    assert profile(result, "odd", "mood")["allowed_values"] == ['"sad"', '"ok"', '"happy"']
    assert profile(result, "odd", "flag")["allowed_values"] == ["false", "true"]
    identity = profile(result, "big", "id")
    assert (identity["complete"], identity["distinct_estimate"]) == (False, 5000)
    assert int(profile(result, "big", "batch")["max"]) > 40


def test_postgres_awkward_values_failures_and_page_samples(postgres: PostgresServer) -> None:
    url = postgres.create_database(
        "sampling",
        """
        CREATE TABLE odd (ts timestamptz, bc date, inf timestamp, n numeric, f float8, big bigint, j jsonb, a int[],
          b bytea, padded char(10), flag boolean, iv interval, u uuid, p point, api_key text, card_number bigint);
        INSERT INTO odd VALUES ('2024-01-01 00:00:00+00', '0044-03-15 BC', 'infinity', 'NaN', 'Infinity',
          9007199254740993, '{"a": [1, null]}', '{1,2}', '\\x0102', 'ab', true, '1 day',
          '6b1e0a7c-0000-0000-0000-000000000001', '(1,2)', 'canary', 4111111111111111);
        CREATE TABLE "o'brien" ("user" text, "Mixed Case" int);
        INSERT INTO "o'brien" VALUES ('someone', 1);
        CREATE VIEW slow AS SELECT pg_sleep(20)::text AS x;
        CREATE VIEW broken AS SELECT 1 / (n - n)::int AS x FROM (SELECT 1 AS n) s;
        CREATE TABLE big AS SELECT i AS id, i / 1000 AS batch, repeat('x', 100) AS filler
          FROM generate_series(1, 60000) i;
        ANALYZE big;
        """,
    )
    limits = SamplingLimits(row_limit=1000, table_seconds=1.0)
    result = sampled(ConnectionSpec("postgres", {"url": url}), limits)
    assert [problem.object for problem in result.problems] == ["public.broken", "public.slow"]
    assert {problem.code for problem in result.problems} == {"22012", "57014"}
    assert profile(result, "slow", "x")["status"] == "failed"
    samples = {row["column"]: row["samples"] for row in result.profiles.filter(table="odd").iter_rows(named=True)}
    assert samples == {
        "ts": ['"2024-01-01T00:00:00+00:00"'],
        "bc": ['"0044-03-15 BC"'],
        "inf": ['"infinity"'],
        "n": ['"NaN"'],
        "f": ['"Infinity"'],
        "big": ["9007199254740993"],
        "j": ['{"a": [1, null]}'],
        "a": ["[1, 2]"],
        "b": ['"<2 bytes>"'],
        "padded": ['"ab"'],
        "flag": ["true"],
        "iv": ['"1 day"'],
        "u": ['"6b1e0a7c-0000-0000-0000-000000000001"'],
        "p": ['"(1,2)"'],
        "api_key": None,
        "card_number": None,
    }
    assert profile(result, "o'brien", "user")["samples"] == ['"someone"']
    batch = profile(result, "big", "batch")
    assert batch["complete"] is False
    assert int(batch["max"]) > 40
    again = sampled(ConnectionSpec("postgres", {"url": url}), limits, previous=result)
    assert again.profiles.equals(result.profiles)
    assert "canary" not in result.profiles.write_json() + result.values.write_json()
