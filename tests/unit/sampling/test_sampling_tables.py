"""Sampling whole databases: real SQL on SQLite files through an engine that can fail on demand."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from sampling_fakes import FakeEngine, catalog_of, config_of, pause

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanColumn, HumanKnowledge, HumanTable, SamplingLimits
from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    DictionaryError,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)
from dictionary_pipeline.sampling import workers
from dictionary_pipeline.sampling.sample import SampleResult, sample_tables

COLUMNS = {"id": "integer", "name": "string", "secret": "string"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Eight tables t0..t7 of ten rows."""
    file = tmp_path / "db.sqlite"
    connection = sqlite3.connect(file)
    for number in range(8):
        connection.execute(f"CREATE TABLE t{number} (id INTEGER, name TEXT, secret TEXT)")
        rows = [(row, f"name {row % 3}", "classified") for row in range(10)]
        connection.executemany(f"INSERT INTO t{number} VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return file


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_RECONNECT_WAIT_S", 0.0)


def catalog(count: int = 8, **options: object) -> Catalog:
    return catalog_of({f"t{number}": COLUMNS for number in range(count)}, **options)  # type: ignore[arg-type]


def fail_on(word: str, error: DictionaryError) -> Callable[[str], None]:
    def before(sql: str) -> None:
        if word in sql:
            raise error

    return before


def status(result: SampleResult) -> dict[str, list[str]]:
    grouped = result.profiles.group_by("table", maintain_order=True).agg("status")
    return dict(grouped.iter_rows())


def test_every_column_is_profiled_with_one_statement_per_table(path: Path) -> None:
    engine = FakeEngine(path)
    result = sample_tables(engine, catalog(), config_of())
    assert result.statements == len(engine.sent) == 8
    assert dict(result.profiles.schema) == dict(frames.PROFILES)
    assert dict(result.values.schema) == dict(frames.VALUES)
    assert result.profiles.select("table", "column").rows() == [(f"t{n}", c) for n in range(8) for c in COLUMNS]
    profile = result.profiles.row(1, named=True)
    assert profile == {
        "schema": "main", "table": "t0", "column": "name", "status": "ok", "sampled_rows": 10, "null_fraction": 0.0,
        "distinct_estimate": 3, "samples": ['"name 0"', '"name 1"', '"name 2"'], "allowed_values": None,
        "allowed_values_origin": None, "complete": True, "min": "name 0", "max": "name 2", "mean_length": 6.0,
    }  # fmt: skip
    assert result.values.head(3).rows() == [
        ("main", "t0", "name", "name 0", 4),
        ("main", "t0", "name", "name 1", 3),
        ("main", "t0", "name", "name 2", 3),
    ]
    assert result.problems == ()


def test_at_most_max_connections_sessions_are_opened_and_all_are_closed(path: Path) -> None:
    engine = FakeEngine(path, before=pause({"SELECT": 0.01}))
    sample_tables(engine, catalog(), config_of(SamplingLimits(max_connections=3, table_seconds=7.0)))
    assert len(engine.sessions) == 3
    assert all(session.closed for session in engine.sessions)
    assert set(engine.timeouts) == {7.0}


def test_the_result_does_not_depend_on_which_table_is_finished_first(path: Path) -> None:
    first = sample_tables(FakeEngine(path, before=pause({'"t0"': 0.05, '"t3"': 0.03})), catalog(), config_of())
    second = sample_tables(FakeEngine(path, before=pause({'"t7"': 0.05})), catalog(), config_of())
    alone = sample_tables(FakeEngine(path), catalog(), config_of(SamplingLimits(max_connections=1)))
    for other in (second, alone):
        assert first.profiles.equals(other.profiles)
        assert first.values.equals(other.values)


def test_progress_is_told_on_the_callers_thread_for_every_table(path: Path) -> None:
    told: list[tuple[str, int]] = []
    sample_tables(
        FakeEngine(path),
        catalog(unreadable=["t2"]),
        config_of(),
        on_table=lambda name: told.append((name, threading.get_ident())),
    )
    assert sorted(name for name, _ in told) == [f"main.t{number}" for number in range(8)]
    assert {ident for _, ident in told} == {threading.get_ident()}


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (
            QueryTimeout("The sample took too long", fix="Raise the budget.", code="57014"),
            "Raise the budget. The budget is limits.table_seconds, now 10.",
        ),
        (
            PermissionDenied("The account may not read it", code="42501"),
            'GRANT SELECT ON "main"."t3" to the account, or exclude it.',
        ),
        (QueryFailed("The engine failed the statement", fix="Repair the view.", code="XX000"), "Repair the view."),
    ],
)
def test_an_error_stays_with_its_table(path: Path, error: DictionaryError, hint: str) -> None:
    result = sample_tables(FakeEngine(path, before=fail_on('"t3"', error)), catalog(), config_of())
    assert [tuple(problem) for problem in result.problems] == [
        ("main.t3", "column_samples", error.code, error.what, hint)
    ]
    statuses = status(result)
    assert statuses.pop("t3") == ["failed", "failed", "withheld"]
    assert set(map(tuple, statuses.values())) == {("ok", "ok", "withheld")}
    failed = result.profiles.filter(pl.col("table") == "t3").select("samples", "sampled_rows", "complete").rows()
    assert failed == [(None, None, False)] * 3


def test_a_table_that_is_not_readable_is_not_queried(path: Path) -> None:
    engine = FakeEngine(path)
    result = sample_tables(engine, catalog(2, unreadable=["t1"]), config_of())
    assert status(result)["t1"] == ["failed", "failed", "withheld"]
    assert len(engine.sent) == 1
    assert result.problems == ()


def test_withheld_columns_are_in_no_statement_and_in_no_frame(path: Path) -> None:
    engine = FakeEngine(path)
    listed = {("t0", "secret"): (["classified"], "check"), ("t0", "name"): (["name 0"], "check")}
    words = HumanColumn("secret", allowed_values=("classified",), allowed_values_origin="human")
    human = HumanKnowledge(tables=(HumanTable("main", "t1", columns=(words,)),))
    result = sample_tables(engine, catalog(allowed=listed), config_of(human=human, withhold=("t1.name",)))
    assert not any("secret" in sql for sql in engine.sent)
    assert not any('"name"' in sql for sql in engine.sent if '"t1"' in sql)
    withheld = result.profiles.filter(status="withheld")
    assert withheld.height == 9
    hidden = withheld.select("samples", "min", "max", "allowed_values").unique()
    assert hidden.rows() == [(None, None, None, None)]
    assert "secret" not in result.values["column"].to_list()
    assert result.profiles.row(1, named=True)["allowed_values"] == ['"name 0"']
    assert not any("classified" in frame.write_json() for frame in (result.profiles, result.values))


def test_a_table_of_withheld_columns_only_sends_no_statement(path: Path) -> None:
    engine = FakeEngine(path)
    result = sample_tables(engine, catalog_of({"t0": {"secret": "string"}, "t1": {}}), config_of())
    assert engine.sent == []
    assert engine.sessions == []
    assert status(result) == {"t0": ["withheld"]}


def test_an_empty_page_sample_falls_back_to_a_plain_limited_read(path: Path) -> None:
    engine = FakeEngine(path, page="id < 0")
    result = sample_tables(engine, catalog(1, row_estimate=10), config_of())
    assert len(engine.sent) == result.statements == 2
    assert result.profiles["sampled_rows"][0] == 10
    assert result.profiles["complete"][0] is True


def test_a_page_sample_is_never_complete(path: Path) -> None:
    engine = FakeEngine(path, page="id < 6")
    result = sample_tables(engine, catalog(1, row_estimate=10), config_of())
    assert len(engine.sent) == 1
    assert result.profiles.select("sampled_rows", "complete").row(0) == (6, False)
    assert result.profiles["distinct_estimate"][0] == 10


def test_fewer_rows_than_asked_for_are_all_there_are_when_the_engine_knows_no_size(path: Path) -> None:
    engine = FakeEngine(path, page="id >= 0")
    result = sample_tables(engine, catalog(1), config_of())
    assert len(engine.sent) == 1
    assert result.profiles.select("sampled_rows", "complete").row(0) == (10, True)


def test_a_read_that_reaches_the_row_limit_is_not_complete(path: Path) -> None:
    result = sample_tables(FakeEngine(path), catalog(1), config_of(SamplingLimits(row_limit=10)))
    assert result.profiles["complete"][0] is False


def test_an_empty_table_has_no_samples_and_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "empty.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE t0 (id INTEGER, name TEXT)")
    connection.close()
    result = sample_tables(FakeEngine(file), catalog_of({"t0": {"id": "integer", "name": "string"}}), config_of())
    assert (
        result.profiles.select("status", "samples", "null_fraction", "complete").rows() == [("ok", [], None, True)] * 2
    )
    assert result.values.height == 0


def test_a_very_wide_table_is_read_with_fewer_rows(path: Path) -> None:
    columns = {f"c{number}": "string" for number in range(100)}
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE wide ({', '.join(columns)})")
    connection.close()
    engine = FakeEngine(path)
    sample_tables(engine, catalog_of({"wide": columns}), config_of())
    assert engine.sent[0].endswith("LIMIT 3000")


def test_values_of_views_are_stored_only_when_configured(path: Path) -> None:
    view = catalog(1, kinds={"t0": "view"})
    assert sample_tables(FakeEngine(path), view, config_of()).values.height == 0
    wanted = config_of(SamplingLimits(value_store_views=True))
    assert sample_tables(FakeEngine(path), view, wanted).values.height == 3


def test_sampling_that_is_off_sends_nothing(path: Path) -> None:
    engine = FakeEngine(path)
    result = sample_tables(engine, catalog(1), config_of(SamplingLimits(enabled=False)))
    assert engine.sent == []
    assert status(result) == {"t0": ["unread", "unread", "withheld"]}


def test_samples_of_last_time_are_kept_while_they_occur(path: Path) -> None:
    before = sample_tables(FakeEngine(path), catalog(1), config_of())
    connection = sqlite3.connect(path)
    connection.executemany("INSERT INTO t0 VALUES (?, ?, 'x')", [(99, "aaa")] * 50)
    connection.commit()
    connection.close()
    fresh = sample_tables(FakeEngine(path), catalog(1), config_of())
    sticky = sample_tables(FakeEngine(path), catalog(1), config_of(), previous=before)
    assert fresh.profiles["samples"][0].to_list() == ["99", "0", "1", "2", "3"]
    assert sticky.profiles["samples"][0].to_list() == ["0", "1", "2", "3", "4"]
    assert sticky.profiles["samples"][1].to_list() == ['"name 0"', '"name 1"', '"name 2"', '"aaa"']


class TestOnlySomeTables:
    """`only` leaves the other tables as they were."""

    def test_rows_of_other_tables_come_from_last_time(self, path: Path) -> None:
        failing = fail_on('"t2"', QueryTimeout("The sample took too long"))
        before = sample_tables(FakeEngine(path, before=failing), catalog(3), config_of())
        engine = FakeEngine(path)
        result = sample_tables(
            engine,
            catalog(3),
            config_of(),
            previous=before,
            only=lambda schema, table: (schema, table) == ("main", "t1"),
        )
        assert ['"t1"' in sql for sql in engine.sent] == [True]
        assert result.profiles.equals(before.profiles)
        assert result.values.equals(before.values)
        assert result.problems == before.problems

    def test_a_table_without_a_profile_of_last_time_is_read(self, path: Path) -> None:
        before = sample_tables(FakeEngine(path), catalog(1), config_of())
        engine = FakeEngine(path)
        result = sample_tables(engine, catalog(2), config_of(), previous=before, only=lambda *_: False)
        assert ['"t1"' in sql for sql in engine.sent] == [True]
        assert status(result)["t1"] == ["ok", "ok", "withheld"]

    def test_a_column_withheld_since_is_not_taken_over(self, path: Path) -> None:
        before = sample_tables(FakeEngine(path), catalog(1), config_of())
        hidden = config_of(withhold=("name",))
        result = sample_tables(FakeEngine(path), catalog(1), hidden, previous=before, only=lambda *_: False)
        assert result.profiles["samples"][1] is None
        assert result.values.height == 0

    def test_allowed_values_are_those_of_now(self, path: Path) -> None:
        before = sample_tables(FakeEngine(path), catalog(1), config_of())
        now = catalog(1, allowed={("t0", "name"): (["a"], "check")})
        result = sample_tables(FakeEngine(path), now, config_of(), previous=before, only=lambda *_: False)
        assert result.profiles["allowed_values"][1].to_list() == ['"a"']


class TestConnections:
    """What happens when connections are refused or die."""

    def test_a_session_that_dies_once_is_replaced_and_nothing_is_lost(self, path: Path) -> None:
        died: list[str] = []

        def before(sql: str) -> None:
            if '"t3"' in sql and not died:
                died.append(sql)
                raise ConnectionFailed("The connection was lost")

        engine = FakeEngine(path, before=before)
        result = sample_tables(engine, catalog(), config_of(SamplingLimits(max_connections=1)))
        assert set(map(tuple, status(result).values())) == {("ok", "ok", "withheld")}
        assert (len(engine.sessions), result.statements) == (2, 9)
        assert all(session.closed for session in engine.sessions)

    def test_a_table_that_kills_its_connection_twice_fails_alone(self, path: Path) -> None:
        engine = FakeEngine(path, before=fail_on('"t3"', ConnectionFailed("The connection was lost", code="08006")))
        result = sample_tables(engine, catalog(), config_of())
        assert [(problem.object, problem.code) for problem in result.problems] == [("main.t3", "08006")]
        assert status(result)["t3"] == ["failed", "failed", "withheld"]
        assert status(result)["t4"] == ["ok", "ok", "withheld"]

    def test_a_database_that_is_gone_stops_the_work_early(self, path: Path) -> None:
        engine = FakeEngine(path, before=fail_on("SELECT", ConnectionFailed("The connection was lost")))
        with pytest.raises(ConnectionFailed, match="The connection was lost"):
            sample_tables(engine, catalog(), config_of(SamplingLimits(max_connections=1)))
        assert len(engine.sent) == 2 * workers.LOST_IN_A_ROW
        assert all(session.closed for session in engine.sessions)

    def test_a_small_database_that_is_gone_is_no_partial_result(self, path: Path) -> None:
        engine = FakeEngine(path, before=fail_on("SELECT", ConnectionFailed("The connection was lost")))
        with pytest.raises(ConnectionFailed):
            sample_tables(engine, catalog(1), config_of())

    def test_fewer_free_connections_mean_fewer_workers(self, path: Path) -> None:
        engine = FakeEngine(path)
        engine.refuse_connections_after = 1
        result = sample_tables(engine, catalog(), config_of())
        assert result.problems == ()
        assert len(engine.sent) == 8

    def test_no_free_connection_at_all_is_an_error(self, path: Path) -> None:
        engine = FakeEngine(path)
        engine.refuse_connections_after = 0
        with pytest.raises(ConnectionFailed, match="no free connection"):
            sample_tables(engine, catalog(), config_of())

    def test_refused_credentials_are_not_tried_again(self, path: Path) -> None:
        engine = FakeEngine(path, before=fail_on("SELECT", AuthenticationFailed("The password was refused")))
        with pytest.raises(AuthenticationFailed):
            sample_tables(engine, catalog(), config_of(SamplingLimits(max_connections=1)))
        assert len(engine.sent) == 1

    def test_a_defect_of_the_product_is_not_taken_for_a_failed_table(self, path: Path) -> None:
        def before(sql: str) -> None:
            raise ZeroDivisionError

        engine = FakeEngine(path, before=before)
        with pytest.raises(ZeroDivisionError):
            sample_tables(engine, catalog(), config_of())
        assert all(session.closed for session in engine.sessions)

    def test_an_interrupted_caller_leaves_no_session_open(self, path: Path) -> None:
        def interrupt(_name: str) -> None:
            raise KeyboardInterrupt

        engine = FakeEngine(path, before=pause({"SELECT": 0.01}))
        with pytest.raises(KeyboardInterrupt):
            sample_tables(engine, catalog(), config_of(SamplingLimits(max_connections=2)), on_table=interrupt)
        assert all(session.closed for session in engine.sessions)
        assert len(engine.sent) < 8


def test_a_result_may_be_handed_back_as_previous_from_loaded_frames(path: Path) -> None:
    before = sample_tables(FakeEngine(path), catalog(2), config_of())
    loaded = replace(before, profiles=before.profiles.sample(fraction=1.0, shuffle=True, seed=1))
    again = sample_tables(FakeEngine(path), catalog(2), config_of(), previous=loaded, only=lambda *_: False)
    assert again.profiles.equals(before.profiles)
    assert again.statements == 0
