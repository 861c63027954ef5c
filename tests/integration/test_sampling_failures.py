"""Tables and views that cannot be read cost at most their budget, become problems, and harm nothing else."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import psycopg
import pytest
from servers.postgres import PASSWORD, PASSWORD_ROLE, PostgresServer

import dictionary_pipeline.engines.postgres as engine_module
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, SamplingLimits, Selection
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.sampling.sample import SampleResult, sample_tables

CANARY = "123-45-6789"
BUDGET = 1.0
SCRIPT = f"""
CREATE EXTENSION IF NOT EXISTS postgres_fdw;
CREATE SERVER down FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1');
CREATE USER MAPPING FOR PUBLIC SERVER down OPTIONS (user 'nobody', password 'x');
CREATE FOREIGN TABLE remote (id int) SERVER down;
CREATE TABLE intact (id int, status text);
INSERT INTO intact SELECT g, (array['new', 'paid'])[1 + g % 2] FROM generate_series(1, 40) g;
CREATE TABLE locked (id int);
CREATE TABLE person (id int, ssn text); INSERT INTO person VALUES (1, '{CANARY}');
CREATE VIEW casting AS SELECT ssn::int AS number FROM person;
CREATE VIEW dividing AS SELECT 1 / (id - id) AS ratio FROM intact;
CREATE VIEW sleeping AS SELECT id, pg_sleep(20)::text AS nap FROM intact;
CREATE TABLE private (id int); REVOKE ALL ON private FROM PUBLIC;
GRANT SELECT ON intact, locked, person, casting, dividing, sleeping, remote TO {PASSWORD_ROLE};
CREATE TABLE large AS SELECT g AS id, CASE g WHEN 40000 THEN 'rare' ELSE (array['a', 'b'])[1 + g % 2] END AS kind,
    repeat('x', 200) AS filler FROM generate_series(1, 60000) g;
GRANT SELECT ON large TO {PASSWORD_ROLE};
ANALYZE;
"""
PROBLEMS = {
    "public.casting": "22P02",
    "public.dividing": "22012",
    "public.locked": "55P03",
    "public.private": None,
    "public.remote": "08001",
    "public.sleeping": "57014",
}


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    if not postgres.is_own:
        pytest.skip("needs the login that the tests' own server knows")
    postgres.create_database("dd_failures", SCRIPT)
    return postgres.url("dd_failures", user=PASSWORD_ROLE, password=PASSWORD)


@pytest.fixture
def lock(postgres: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another session holds one of the tables."""
    monkeypatch.setitem(engine_module._SETTINGS, "lock_timeout", "300")
    with psycopg.connect(postgres.url("dd_failures")) as other:
        other.execute("LOCK TABLE locked IN ACCESS EXCLUSIVE MODE")
        yield


def config(url: str) -> DatabaseConfig:
    connection, _ = resolve_target(url, folder=None)
    limits = SamplingLimits(table_seconds=BUDGET, row_limit=1000, max_connections=1)
    return DatabaseConfig("dd_failures", connection, sampling=limits)


def test_each_failure_costs_its_budget_at_most_and_leaves_the_others_intact(
    postgres: PostgresServer, url: str, lock: None
) -> None:
    configured = config(url)
    engine = create_engine(configured.connection)
    with engine.open() as session:
        catalog = take_snapshot(engine, session, Selection())
    start, ends = time.monotonic(), dict[str, float]()
    result = sample_tables(
        engine, catalog, configured, on_table=lambda name: ends.update({name: time.monotonic() - start})
    )
    times = sorted(ends.values())
    assert max(later - earlier for earlier, later in zip([0.0, *times], times, strict=False)) < BUDGET + 0.5
    problems = {problem.object: problem.code for problem in (*catalog.problems, *result.problems)}
    assert problems == PROBLEMS
    assert set(result.profiles.filter(pl.col("status") == "ok")["table"]) == {"intact", "large", "person"}
    kinds = result.profiles.filter(pl.col("column").is_in(["status", "kind"])).select("table", "allowed_values")
    assert dict(kinds.iter_rows()) == {"intact": ['"new"', '"paid"'], "large": ['"a"', '"b"', '"rare"']}


def test_values_that_the_server_quotes_in_its_messages_appear_nowhere(
    url: str, lock: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        summary: RunSummary = run_database(config(url), LocalStore(tmp_path))
    assert summary.exit_code == 3
    named = {problem["object"] for problem in json.loads((tmp_path / "manifest.json").read_text())["problems"]}
    assert named == set(PROBLEMS)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in caplog.text + repr(summary)


def test_the_server_sees_one_sample_and_one_verification_per_table_at_most(postgres: PostgresServer, url: str) -> None:
    with psycopg.connect(postgres.admin_url, autocommit=True) as admin:
        admin.execute("SELECT pg_stat_statements_reset()")
        first = sampled(postgres.url("dd_failures"), None)
        sent = statements(admin)
        assert [calls for sql, calls in sent if "large" in sql] == [1, 1]
        assert all(calls == 1 for _, calls in sent)
        assert sum("GROUPING SETS" in sql for sql, _ in sent) == 1
        assert not [sql for sql, _ in sent if "ssn" in sql], "a denied column is in no statement"
        admin.execute("SELECT pg_stat_statements_reset()")
        second = sampled(postgres.url("dd_failures"), first)
        assert not [sql for sql, _ in statements(admin) if "GROUPING SETS" in sql], "nothing changed since"
        assert second.profiles.equals(first.profiles)
        assert second.verifications.equals(first.verifications)


def sampled(url: str, previous: SampleResult | None) -> SampleResult:
    spec = ConnectionSpec("postgres", {"url": url})
    engine = create_engine(spec)
    wanted = Selection(include_entities=("intact", "large", "person"))
    with engine.open() as session:
        catalog = take_snapshot(engine, session, wanted)
    limits = SamplingLimits(row_limit=1000)
    return sample_tables(engine, catalog, DatabaseConfig("db", spec, sampling=limits), previous=previous)


def statements(admin: psycopg.Connection[tuple[object, ...]]) -> list[tuple[str, int]]:
    """Statements on the tables themselves."""
    rows = admin.execute(
        "SELECT query, calls FROM pg_stat_statements JOIN pg_database d ON d.oid = dbid"
        " WHERE datname = 'dd_failures' AND query LIKE '%\"public\".%' AND toplevel"
    ).fetchall()
    return [(str(query), int(str(calls))) for query, calls in rows]
