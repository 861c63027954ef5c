"""Value sets of tables that are too large to be read whole: verified in all rows, remembered, bounded."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sampling_fakes import FakeEngine, catalog_of, config_of

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import ColumnRule, PrivacyPolicy, SamplingLimits
from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.errors import QueryFailed, QueryTimeout
from dictionary_pipeline.sampling.sample import SampleResult, sample_tables

LIMITS = SamplingLimits(row_limit=1000)
COLUMNS = {"id": "integer", "status": "string", "country": "string", "level": "integer"}


class CountingEngine(FakeEngine):
    """Tells changes by a number that the test sets."""

    mark: str | None = "1"
    billed_by_scan = False

    def change_marks(self, session: Session, tables: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        return {} if self.mark is None else dict.fromkeys(tables, self.mark)

    @property
    def verifications(self) -> list[str]:
        return [sql for sql in self.sent if "DISTINCT" in sql]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Tables `orders` and `returns` of 3,000 rows, of which the last ones hold a rare status."""
    file = tmp_path / "db.sqlite"
    connection = sqlite3.connect(file)
    for table in ("orders", "returns"):
        connection.execute(f"CREATE TABLE {table} (id INTEGER, status TEXT, country TEXT, level INTEGER)")
        rows = [(n, "disputed" if n > 2995 else ("ok", "fail")[n % 2], ("US", "FR")[n % 2], n % 3) for n in range(3000)]
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return file


def change(path: Path, sql: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(sql)


def tables(*names: str, row_estimate: int | None = 3000) -> Catalog:
    return catalog_of(dict.fromkeys(names or ("orders",), COLUMNS), row_estimate=row_estimate)


def sets(result: SampleResult, table: str = "orders") -> dict[str, list[str]]:
    scanned = result.profiles.filter((pl.col("table") == table) & (pl.col("allowed_values_origin") == "scan"))
    return dict(scanned.select("column", "allowed_values").iter_rows())


def failing(error: Exception) -> Callable[[str], None]:
    def before(sql: str) -> None:
        if "DISTINCT" in sql:
            raise error

    return before


def test_one_statement_finds_the_rare_values_of_all_candidates(path: Path) -> None:
    engine = CountingEngine(path)
    result = sample_tables(engine, tables(), config_of(LIMITS))
    assert sets(result) == {
        "status": ['"disputed"', '"fail"', '"ok"'],
        "country": ['"FR"', '"US"'],
        "level": ["0", "1", "2"],
    }
    assert (len(engine.verifications), result.statements, result.problems) == (1, 2, ())
    status = result.profiles.row(1, named=True)
    assert (status["distinct_estimate"], status["min"], status["max"]) == (3, "disputed", "ok")
    assert status["complete"] is False, "the table was not read whole"
    assert "disputed" not in "".join(status["samples"])
    assert result.values.filter(column="status").select("value", "count").rows() == [
        ("fail", 500),
        ("ok", 500),
        ("disputed", 0),
    ]


def test_a_table_that_was_read_whole_needs_no_statement(path: Path) -> None:
    engine = CountingEngine(path)
    result = sample_tables(engine, tables(), config_of(SamplingLimits(row_limit=5000)))
    # Four disputed orders are no reason to doubt the set of a table that is known whole.
    assert sets(result)["status"] == ['"disputed"', '"fail"', '"ok"']
    assert result.statements == len(engine.sent) == 1


def test_a_set_is_verified_again_only_when_rows_changed(path: Path) -> None:
    engine = CountingEngine(path)
    first = sample_tables(engine, tables(), config_of(LIMITS))
    second = sample_tables(engine, tables(), config_of(LIMITS), previous=first)
    assert len(engine.verifications) == 1
    assert second.profiles.equals(first.profiles)
    assert second.values.equals(first.values)
    assert second.verifications.equals(first.verifications)
    change(path, "UPDATE orders SET status = 'lost' WHERE id = 2999")
    engine.mark = "2"
    third = sample_tables(engine, tables(), config_of(LIMITS), previous=second)
    assert len(engine.verifications) == 2
    assert sets(third)["status"] == ['"disputed"', '"fail"', '"lost"', '"ok"']


def test_without_a_count_of_changes_the_estimates_tell_and_without_those_nothing_does(path: Path) -> None:
    engine = CountingEngine(path)
    engine.mark = None
    result = sample_tables(engine, tables(), config_of(LIMITS))
    result = sample_tables(engine, tables(), config_of(LIMITS), previous=result)
    assert len(engine.verifications) == 1
    result = sample_tables(engine, tables(row_estimate=3500), config_of(LIMITS), previous=result)
    assert len(engine.verifications) == 2
    result = sample_tables(engine, tables(row_estimate=None), config_of(LIMITS), previous=result)
    sample_tables(engine, tables(row_estimate=None), config_of(LIMITS), previous=result)
    assert len(engine.verifications) == 4


def test_a_sampled_value_outside_the_set_has_it_verified_again(path: Path) -> None:
    engine = CountingEngine(path)
    first = sample_tables(engine, tables(), config_of(LIMITS))
    change(path, "UPDATE orders SET status = 'lost' WHERE id < 40")
    second = sample_tables(engine, tables(), config_of(LIMITS), previous=first)
    assert len(engine.verifications) == 2
    assert '"lost"' in sets(second)["status"]
    assert "country" not in engine.verifications[1], "only what is in doubt is asked for"


def test_a_column_with_too_many_values_has_no_set_and_is_not_asked_for_again(path: Path) -> None:
    change(path, "UPDATE orders SET status = 's' || id WHERE id > 2000")
    engine = CountingEngine(path)
    first = sample_tables(engine, tables(), config_of(LIMITS))
    assert set(sets(first)) == {"country", "level"}
    assert first.verifications.select("column", "outcome").rows() == [
        ("country", "set"), ("level", "set"), ("status", "open")
    ]  # fmt: skip
    second = sample_tables(engine, tables(), config_of(LIMITS), previous=first)
    assert len(engine.verifications) == 1
    assert second.profiles.equals(first.profiles)


def test_running_out_of_time_costs_the_sets_but_neither_the_table_nor_a_problem(path: Path) -> None:
    def slow(sql: str) -> None:
        if "DISTINCT" in sql:
            time.sleep(0.25)
            raise QueryTimeout("too slow")

    engine = CountingEngine(path, before=slow)
    limits = SamplingLimits(row_limit=1000, table_seconds=0.3)
    first = sample_tables(engine, tables(), config_of(limits))
    assert (sets(first), first.problems) == ({}, ())
    assert set(first.profiles["status"]) == {"ok"}
    second = sample_tables(engine, tables(), config_of(limits), previous=first)
    assert len(engine.verifications) == 1, "with the same time it would fail again"
    engine.mark = "2"
    sample_tables(engine, tables(), config_of(limits), previous=second)
    assert len(engine.verifications) == 2


def test_a_table_that_was_only_locked_is_tried_again(path: Path) -> None:
    engine = CountingEngine(path, before=failing(QueryTimeout("locked", code="55P03")))
    first = sample_tables(engine, tables(), config_of(LIMITS))
    engine.before = lambda _sql: None
    assert set(sets(sample_tables(engine, tables(), config_of(LIMITS), previous=first))) == {
        "status",
        "country",
        "level",
    }


def test_a_statement_that_fails_is_a_problem_and_leaves_the_rest_intact(path: Path) -> None:
    engine = CountingEngine(path, before=failing(QueryFailed("it broke", code="XX000")))
    result = sample_tables(engine, tables("orders", "returns"), config_of(LIMITS))
    assert [(problem.object, problem.code) for problem in result.problems] == [
        ("main.orders", "XX000"),
        ("main.returns", "XX000"),
    ]
    assert "status, country, level" in result.problems[0].message
    assert set(result.profiles["status"]) == {"ok"}


@pytest.mark.parametrize(
    ("limits", "billed", "asked"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"verify": True}, True, True),
        ({"verify": False}, False, False),
        ({"verify_seconds": 0}, False, False),
    ],
)
def test_the_limits_and_the_engines_bill_decide_whether_rows_are_looked_at(
    limits: dict[str, Any], billed: bool, asked: bool, path: Path
) -> None:
    engine = CountingEngine(path)
    engine.billed_by_scan = billed
    result = sample_tables(engine, tables(), config_of(SamplingLimits(row_limit=1000, **limits)))
    assert bool(engine.verifications) is asked
    assert bool(sets(result)) is asked


def test_all_statements_of_a_run_share_one_budget_and_known_sets_come_first(path: Path) -> None:
    def slow(sql: str) -> None:
        if "DISTINCT" in sql:
            time.sleep(0.3)

    engine = CountingEngine(path, before=slow)
    one = SamplingLimits(row_limit=1000, max_connections=1)
    known = sample_tables(engine, tables("returns"), config_of(one))
    engine.mark = "2"
    short = SamplingLimits(row_limit=1000, max_connections=1, verify_seconds=0.3)
    result = sample_tables(engine, tables("orders", "returns"), config_of(short), previous=known)
    assert ['"returns"' in sql for sql in engine.verifications] == [True, True]
    assert (sets(result, "orders"), result.problems) == ({}, ())
    assert sets(result, "returns") == sets(known, "returns")


def test_sensitive_columns_are_not_asked_for(path: Path) -> None:
    engine = CountingEngine(path)
    config = config_of(LIMITS)
    rules = (ColumnRule("status", "withhold"), ColumnRule("country", "mask"))
    secret = type(config)(**{**vars(config), "privacy": PrivacyPolicy(columns=rules)})
    result = sample_tables(engine, tables(), secret)
    assert set(sets(result)) == {"level"}
    assert all(word not in sql for sql in engine.verifications for word in ("status", "country"))
    assert "disputed" not in result.profiles.write_json() + result.values.write_json()


def test_tables_that_are_kept_keep_their_sets(path: Path) -> None:
    engine = CountingEngine(path)
    first = sample_tables(engine, tables("orders", "returns"), config_of(LIMITS))
    engine.mark = "2"
    second = sample_tables(
        engine,
        tables("orders", "returns"),
        config_of(LIMITS),
        previous=first,
        only=lambda _schema, table: table == "orders",
    )
    assert len(engine.verifications) == 3
    assert second.profiles.equals(first.profiles)
    assert second.values.equals(first.values)
    assert dict(second.verifications.select("table", "mark").iter_rows()) == {"orders": "2; ", "returns": "1; "}


def test_views_are_not_scanned(path: Path) -> None:
    engine = CountingEngine(path)
    catalog = catalog_of({"orders": COLUMNS}, kinds={"orders": "view"}, row_estimate=None)
    result = sample_tables(engine, catalog, config_of(LIMITS))
    assert (engine.verifications, sets(result)) == ([], {})
