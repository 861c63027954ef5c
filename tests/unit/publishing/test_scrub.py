from __future__ import annotations

import polars as pl
import pytest

from dictionary_pipeline import frames
from dictionary_pipeline.publishing.scrub import scrub_catalog, scrub_definitions, scrub_prose, scrub_sql
from unit.builders import make_catalog

WITHHELD = frames.from_rows([("s", "account", "password", "PASSWORD", 1.0, "its name", "deny")], frames.SENSITIVITY)


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgres", "SELECT id FROM u WHERE password = 'secret1' OR n > 4711 /* was secret2 */"),
        ("postgres", "SELECT $$secret1$$, E'secret\\n1', B'10111', U&'secret1', interval '4711 day'"),
        ("tsql", "SELECT N'secret1', 0x4711"),
        ("duckdb", "password IN ('secret1', 'secret2')"),
        ("postgres", "'secret1'::text"),
        ("postgres", "4711"),
        ("postgres", "SELECT @@@ (( 'secret1' -- secret2\n, 4711, $q$secret3$q$"),
    ],
)
def test_no_literal_or_comment_of_sql_survives(dialect: str, sql: str) -> None:
    scrubbed = scrub_sql(sql, dialect)
    assert not any(word in scrubbed for word in ("secret", "4711", "10111"))
    assert "***" in scrubbed


def test_type_lengths_and_names_survive() -> None:
    scrubbed = scrub_sql("SELECT CAST(password AS VARCHAR(20)) AS p FROM s.account WHERE id = 7", "postgres")
    assert scrubbed == "SELECT CAST(password AS VARCHAR(20)) AS p FROM s.account WHERE id = '***'"


def test_comments_lose_quotations_addresses_and_digits_but_stay_readable() -> None:
    text = "The customer's password, e.g. 'hunter2', hunter3 or \"abc\"; ask bob@example.org"
    assert scrub_prose(text) == "The customer's password, e.g. ***, *** or ***; ask ***"


def test_only_texts_that_touch_a_withheld_column_are_scrubbed() -> None:
    catalog = make_catalog(
        tables={"s.account": ["password text", "hint text", "kind text"], "s.other": ["name text"]},
        views={
            "s.weak": "SELECT 1 FROM s.account WHERE password = 'abc'",
            "s.plain": "SELECT 1 FROM s.account WHERE kind = 'abc'",
        },
        comments={
            "s.account": "password 'abc' is the default",
            "s.account.hint": "not the PASSWORD 'abc'",
            "s.account.kind": "one of 'abc'",
            "s.other.name": "password 'abc' of something else",
        },
        checks=[("s.account", "password <> 'abc'"), ("s.account", "kind <> 'abc'")],
        enums={"s.account.password": ["abc"], "s.account.kind": ["abc"]},
    )
    scrubbed = scrub_catalog(catalog, WITHHELD)
    views = dict(scrubbed.tables.select("table", "view_sql").iter_rows())
    comments = dict(scrubbed.columns.select("column", "comment").iter_rows())
    enums = dict(scrubbed.columns.select("column", "enum_values").iter_rows())
    assert views["weak"] == "SELECT '***' FROM s.account WHERE password = '***'"
    assert views["plain"] == "SELECT 1 FROM s.account WHERE kind = 'abc'"
    assert scrubbed.tables.filter(pl.col("table") == "account")["comment"].item() == "password *** is the default"
    assert comments["hint"] == "not the PASSWORD ***"
    assert (comments["kind"], comments["name"]) == ("one of 'abc'", "password 'abc' of something else")
    assert scrubbed.checks["expression"].to_list() == ["password <> '***'", "kind <> 'abc'"]
    assert (enums["password"], enums["kind"]) == (None, ["abc"])


def test_definitions_from_the_database_are_scrubbed_and_human_text_is_left_alone() -> None:
    rows = {
        "schema": ["s"] * 3,
        "table": ["account"] * 3,
        "column": ["password", "password", "kind"],
        "definition": ["hash 'abc'", "hash 'abc'", "kind 'abc'"],
        "definition_source": ["database", "human", "database"],
    }
    assert scrub_definitions(pl.DataFrame(rows), WITHHELD)["definition"].to_list() == [
        "hash ***",
        "hash 'abc'",
        "kind 'abc'",
    ]


def test_without_withheld_columns_nothing_changes() -> None:
    catalog = make_catalog(tables={"s.t": ["id int"]}, comments={"s.t": "is 'x'"})
    assert scrub_catalog(catalog, WITHHELD.clear()) is catalog
