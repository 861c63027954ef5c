from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from dictionary_pipeline.engines.base import Engine
from dictionary_pipeline.errors import ConnectionFailed, QueryFailed
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.relationships.inference.probes import (
    NO_ANSWERS,
    Answers,
    Counted,
    Included,
    Inclusion,
    Uniqueness,
    ask,
    probe_sql,
)
from dictionary_pipeline.relationships.inference.remembered import load_answers, save_answers
from dictionary_pipeline.relationships.names import TableName

ORDERS, CUSTOMER = TableName("app", "orders"), TableName("app", 'cus"tomer')
CUSTOMER_ID = Inclusion(ORDERS, ("customer_id",), CUSTOMER, ("id",))


class ScriptedEngine:
    """Quotes like PostgreSQL and answers every question with fixed counts, or fails where told to."""

    def __init__(self, dialect: str = "postgres", *, broken: str | None = None, gone: bool = False) -> None:
        self.sqlglot_dialect = dialect
        self.statements: list[str] = []
        self._broken, self._gone = broken, gone

    def quote(self, identifier: str) -> str:
        return '"' + identifier.replace('"', '""') + '"'

    def sql_name(self, schema: str, table: str) -> str:
        return f"{self.quote(schema)}.{self.quote(table)}"

    @contextmanager
    def open(self) -> Iterator[ScriptedEngine]:
        yield self

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        self.statements.append(sql)
        if self._gone:
            raise ConnectionFailed("the server closed the connection")
        if self._broken and self._broken in sql:
            raise QueryFailed("the server refused the statement")
        return [(number, 10, 20, 9, 18) for number in range(sql.count("SELECT") and len(sql.split("\nUNION ALL\n")))]


def engine(*args: Any, **kwargs: Any) -> tuple[Engine, ScriptedEngine]:
    scripted = ScriptedEngine(*args, **kwargs)
    return cast(Engine, scripted), scripted


def questions(count: int) -> list[Inclusion]:
    return [Inclusion(TableName("app", f"t{at:03d}"), ("c",), CUSTOMER, ("id",)) for at in range(count)]


def test_a_question_is_one_quoted_and_bounded_select_of_counts() -> None:
    sql = probe_sql(engine()[0], [CUSTOMER_ID])
    assert sql.startswith("SELECT 0 AS probe, COUNT(*) AS a")
    assert 'FROM "app"."orders" WHERE "customer_id" IS NOT NULL LIMIT 5000' in sql
    assert 'SELECT DISTINCT "id" AS k0 FROM "app"."cus""tomer"' in sql


def test_values_of_different_types_are_compared_as_text_without_leading_zeros() -> None:
    question = Inclusion(ORDERS, ("customer_id",), CUSTOMER, ("id",), as_text=True)
    assert "LTRIM(CAST(\"id\" AS text), '0') AS k0" in probe_sql(engine()[0], [question])
    assert 'CAST("id" AS string) AS k0' in probe_sql(engine("databricks")[0], [question])


def test_sql_server_limits_in_its_own_way() -> None:
    sql = probe_sql(engine("tsql")[0], [CUSTOMER_ID, Uniqueness(CUSTOMER, ("id", "no"))])
    assert "LIMIT" not in sql
    assert "SELECT TOP (5000)" in sql and "SELECT TOP (50000)" in sql


def test_answers_are_told_apart_by_question() -> None:
    unique = Uniqueness(CUSTOMER, ("id",))
    answers = ask(engine()[0], [CUSTOMER_ID, unique], 5, 10.0)
    assert answers.included == {CUSTOMER_ID: Included(10, 20, 9, 18)}
    assert answers.counted == {unique: Counted(10, 20, 9)}


@pytest.mark.parametrize(("tables", "most"), [(1, 1), (20, 1), (21, 2), (200, 10)])
def test_at_most_one_statement_is_sent_per_20_tables(tables: int, most: int) -> None:
    connected, scripted = engine()
    answers = ask(connected, questions(1_000), tables, 10.0)
    assert len(scripted.statements) == answers.statements <= most


def test_few_questions_need_few_statements() -> None:
    connected, scripted = engine()
    ask(connected, questions(20), 1_000, 10.0)
    assert len(scripted.statements) == 1


def test_nothing_is_opened_for_no_question() -> None:
    connected, scripted = engine()
    assert ask(connected, [], 100, 10.0).statements == 0
    assert scripted.statements == []


def test_a_bad_question_costs_its_neighbours_as_little_as_the_budget_allows() -> None:
    connected, scripted = engine(broken='"t007"')
    answers = ask(connected, questions(16), 400, 10.0)
    assert len(answers.included) == 15
    assert len(scripted.statements) <= 20
    assert len(answers.warnings) == 1
    assert "1 candidate key could not be checked" in answers.warnings[0]


def test_without_budget_a_bad_question_leaves_its_statement_unanswered() -> None:
    connected, scripted = engine(broken='"t007"')
    answers = ask(connected, questions(16), 20, 10.0)
    assert len(scripted.statements) == 1
    assert not answers.included
    assert answers.warnings[0].startswith("16 candidate keys could not be checked against the data")


def test_a_lost_connection_is_an_error() -> None:
    with pytest.raises(ConnectionFailed):
        ask(engine(gone=True)[0], questions(1), 20, 10.0)


def test_what_is_known_is_not_asked_again() -> None:
    connected, scripted = engine()
    unique = Uniqueness(CUSTOMER, ("id",))
    known = Answers({CUSTOMER_ID: Included(1, 2, 1, 2), questions(1)[0]: Included(0, 0, 0, 0)}, {}, 7, ("old",))
    told = ask(connected, [CUSTOMER_ID, unique], 5, 10.0, known)
    assert (told.included, told.statements, told.warnings) == ({CUSTOMER_ID: Included(1, 2, 1, 2)}, 1, ())
    assert list(told.counted) == [unique]
    assert "customer_id" not in scripted.statements[0]
    assert ask(connected, [CUSTOMER_ID], 5, 10.0, known).statements == 0


def test_answers_hold_until_one_of_their_tables_is_sampled_again(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    unique = Uniqueness(CUSTOMER, ("id", "no"))
    answers = Answers({CUSTOMER_ID: Included(1, 2, 1, 2)}, {unique: Counted(3, 3, 0)}, 1, ())
    stamps = {ORDERS: "monday", CUSTOMER: "monday"}
    save_answers(store, answers, stamps)
    assert load_answers(store, stamps) == answers._replace(statements=0)
    moved = load_answers(store, {**stamps, ORDERS: "tuesday"})
    assert (moved.included, moved.counted) == ({}, {unique: Counted(3, 3, 0)})
    assert load_answers(store, {ORDERS: "monday"}) == NO_ANSWERS


def test_answers_about_tables_that_were_not_sampled_are_not_kept(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    save_answers(store, Answers({CUSTOMER_ID: Included(1, 2, 1, 2)}, {}, 1, ()), {CUSTOMER: "monday"})
    assert load_answers(store, {CUSTOMER: "monday"}) == NO_ANSWERS
