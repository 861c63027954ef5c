"""Samples of PostgreSQL tables: bounded, repeatable, and exact whatever the values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from servers.postgres import PostgresServer, execute

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.base import SampleColumn, SampleRequest
from dictionary_pipeline.engines.postgres import PostgresEngine, PostgresSession

SCRIPT = r"""
CREATE TYPE pair AS (a int, b float8);
CREATE DOMAIN short AS char(4);
CREATE TABLE odd (
    i bigint, f float8, r real, n numeric, d date, ts timestamptz, iv interval, u uuid, by bytea, j json, jb jsonb,
    arr float8[], p pair, c char(5), s short, flag boolean, t text, pt point, nothing text, "quo""te %s" text
);
INSERT INTO odd VALUES
    (9007199254740993, 'NaN', 0.1, 'NaN', 'infinity', '-infinity', '1 mon 2 days', md5('x')::uuid, '\xdeadbeef',
     '{"b": 1,  "a": [null]}', '{"b": 1, "a": [null]}', ARRAY['NaN', 1.5, NULL]::float8[], ROW(1, 'Infinity'),
     'ab', 'cd', true, E'tab\tline\nend', '(1,2)', NULL, 'x'),
    (-9223372036854775808, '-Infinity', 1e-30, 1.10, '0044-03-15 BC', '0001-01-01 BC', '-3 days', NULL, '',
     '[]', 'null', '{}', NULL, '', NULL, false, repeat('é', 5000), NULL, NULL, NULL);
CREATE TABLE small (id int); INSERT INTO small SELECT generate_series(1, 50);
CREATE TABLE narrow (id int); INSERT INTO narrow SELECT generate_series(1, 100000);
CREATE TABLE big (id int, batch int, filler text);
INSERT INTO big SELECT g, g / 100, repeat('x', 400) FROM generate_series(1, 20000) g;
CREATE VIEW on_big AS SELECT * FROM big;
CREATE TABLE parts (id int, filler text) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT g, repeat('x', 400) FROM generate_series(1, 20000) g;
"""


class Sampled:
    """An engine, its session and the catalog that requests are made from."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = PostgresEngine(ConnectionSpec("postgres", {"url": url}))
        self.session: PostgresSession = self.engine.connect()
        self.catalog: Catalog = self.engine.read_catalog(self.session)

    def request(self, table: str, *, row_limit: int = 1000, page_sample: bool = True) -> SampleRequest:
        columns = self.catalog.columns.filter(pl.col("table") == table).select("column", "type_class", "data_type")
        kind, rows, size = (
            self.catalog.tables.filter(pl.col("table") == table).select("kind", "row_estimate", "size_bytes").row(0)
        )
        return SampleRequest(
            "public",
            table,
            kind,
            tuple(SampleColumn(*column) for column in columns.iter_rows()),
            rows,
            size,
            row_limit,
            200,
            page_sample,
        )

    def rows(self, request: SampleRequest) -> list[tuple[Any, ...]]:
        return self.session.rows(self.engine.sample_sql(request))


@pytest.fixture(scope="module")
def sampled(postgres: PostgresServer) -> Iterator[Sampled]:
    url = postgres.create_database("dd_sampling", SCRIPT)
    execute(url, "VACUUM ANALYZE")
    sampled = Sampled(url)
    yield sampled
    sampled.session.close()


def test_odd_values_arrive_exact(sampled: Sampled) -> None:
    names = [column.name for column in sampled.request("odd").columns]
    first, second = (dict(zip(names, row, strict=True)) for row in sampled.rows(sampled.request("odd")))
    assert json.loads(first.pop("jb")) == {"a": [None], "b": 1}
    assert json.loads(first.pop("arr")) == ["NaN", 1.5, None]
    assert json.loads(first.pop("p")) == {"a": 1, "b": "Infinity"}
    assert first == {
        "i": 9007199254740993,
        "f": "NaN",
        "r": "0.1",
        "n": "NaN",
        "d": "infinity",
        "ts": "-infinity",
        "iv": "1 mon 2 days",
        "u": "9dd4e461-268c-8034-f5c8-564e155c67a6",
        "by": 4,
        "j": '{"b": 1,  "a": [null]}',
        "c": "ab",
        "s": "cd",
        "flag": True,
        "t": "tab\tline\nend",
        "pt": "(1,2)",
        "nothing": None,
        'quo"te %s': "x",
    }
    assert second == {
        "i": -9223372036854775808,
        "f": "-Infinity",
        "r": "1e-30",
        "n": "1.10",
        "d": "0044-03-15 BC",
        "ts": "0001-01-01 00:00:00+00 BC",
        "iv": "-3 days",
        "u": None,
        "by": 0,
        "j": "[]",
        "jb": "null",
        "arr": "[]",
        "p": None,
        "c": "",
        "s": None,
        "flag": False,
        "t": "é" * 200,
        "pt": None,
        "nothing": None,
        'quo"te %s': None,
    }


def test_small_tables_views_and_forced_reads_are_plain(sampled: Sampled) -> None:
    for request in (
        sampled.request("small"),
        sampled.request("on_big"),
        sampled.request("big", page_sample=False),
        sampled.request("big", row_limit=20_000),
    ):
        assert "TABLESAMPLE" not in sampled.engine.sample_sql(request)
        assert len(sampled.rows(request)) == min(request.row_limit, 50 if request.table == "small" else 20_000)


@pytest.mark.parametrize(("table", "method"), [("big", "SYSTEM"), ("parts", "SYSTEM"), ("narrow", "BERNOULLI")])
def test_large_tables_are_sampled_over_their_whole_length(sampled: Sampled, table: str, method: str) -> None:
    request = sampled.request(table)
    assert f"TABLESAMPLE {method}" in sampled.engine.sample_sql(request)
    rows = sampled.rows(request)
    total = 100_000 if table == "narrow" else 20_000
    assert 500 <= len(rows) <= 1000
    ids = sorted(row[0] for row in rows)
    assert ids[0] < total * 0.1
    assert ids[-1] > total * 0.9


def test_the_sample_is_the_same_after_vacuum_and_analyze(sampled: Sampled) -> None:
    before = sampled.rows(sampled.request("big"))
    execute(sampled.url, "VACUUM ANALYZE")
    again = Sampled(sampled.url)
    try:
        assert again.rows(again.request("big")) == before
        wobbling = replace(again.request("big"), row_estimate=20_150)
        assert again.engine.sample_sql(wobbling) == again.engine.sample_sql(again.request("big"))
    finally:
        again.session.close()


def test_the_share_of_pages_follows_what_is_known(sampled: Sampled) -> None:
    def pages(rows: int | None, page_count: int, row_limit: int = 20_000) -> float | None:
        request = replace(sampled.request("big"), row_estimate=rows, size_bytes=page_count * 8192, row_limit=row_limit)
        share = re.search(r"SYSTEM \(([0-9.]+)\)", sampled.engine.sample_sql(request))
        return None if share is None else float(share[1]) * page_count / 100

    assert pages(None, 100_000) == pytest.approx(600)
    assert pages(None, 600) is None
    assert pages(19_999, 100_000) is None
    # 100 rows a page: 200 pages would do, and density rounds up to 128.
    assert pages(10_000_000, 100_000) == pytest.approx(20_000 / 128, rel=0.01)
    # One row a page: no more than 2,400 pages are read.
    assert pages(100_000, 100_000) == pytest.approx(2_400)
    assert pages(0, 100_000) is None


def test_a_table_without_columns_can_be_read(sampled: Sampled) -> None:
    assert sampled.rows(replace(sampled.request("small", row_limit=2), columns=())) == [(None,), (None,)]
