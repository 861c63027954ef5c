"""Texts that say the same are the same."""

from __future__ import annotations

import pytest

from dictionary_pipeline.drift.texts import Definition, canonical_check, plain_default, same_expression


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("'a'::character varying", "'a'"),
        ("((1))", "1"),
        ("now()", "CURRENT_TIMESTAMP"),
        ("NULL::text", None),
        ("nextval('a_seq'::regclass)", "nextval('public.b_seq'::regclass)"),
        ("getdate()", "(GETDATE())"),
        ("'t'::bool", "TRUE"),
    ],
)
def test_defaults_that_say_the_same_are_equal(before: str, after: str | None) -> None:
    assert plain_default(before) == plain_default(after)


@pytest.mark.parametrize(("before", "after"), [("'a'", "'A'"), ("1", "'1'"), ("(a)+(b)", "a"), ("'x::text'", "'x'")])
def test_defaults_that_differ_are_not_equal(before: str, after: str) -> None:
    assert plain_default(before) != plain_default(after)


def test_a_quoted_number_is_a_number_in_a_numeric_column() -> None:
    assert plain_default("'0'::numeric", numeric=True) == plain_default("0", numeric=True)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("SELECT a, b FROM t", "select a,\n b -- key\nfrom T", True),
        ("SELECT a FROM t", "SELECT t.a AS a FROM t", True),
        ("SELECT x.a FROM t AS x", "SELECT a FROM t x", True),
        ("CREATE VIEW v AS SELECT a FROM t", 'CREATE VIEW IF NOT EXISTS "w" AS SELECT "a" FROM "t"', True),
        ("CREATE VIEW v (b) AS SELECT a FROM t", "CREATE VIEW v AS SELECT a AS b FROM t", True),
        ("SELECT a FROM t", "SELECT a FROM t WHERE a > 1", False),
        ("SELECT a FROM t", "SELECT DISTINCT a FROM t", False),
        ("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = 'X'", False),
        ("SELECT a, b FROM t", "SELECT b, a FROM t", False),
        ("SELECT t.a FROM t JOIN u USING (i)", "SELECT u.a FROM t JOIN u USING (i)", False),
        ("SELECT (a + b) * c AS d FROM t", "SELECT a + b * c AS d FROM t", False),
        ("SELECT a FROM t WHERE a > 1 AND b IS NULL", "SELECT a FROM t WHERE ((a > 1) AND (b IS NULL))", True),
        ("SELECT a FROM t WHERE a OR b AND c", "SELECT a FROM t WHERE a OR (b AND c)", True),
        ("SELECT a FROM t WHERE a OR b AND c", "SELECT a FROM t WHERE (a OR b) AND c", False),
        ("SELECT a FROM t WHERE NOT a AND b", "SELECT a FROM t WHERE NOT (a AND b)", False),
        ("SELECT t.a FROM t JOIN u ON t.i = u.i", "SELECT t.a FROM main.t JOIN main.u ON (t.i = u.i)", True),
        ("SELECT a FROM t", "SELECT a FROM other.t", False),
        ("SELECT ((", "SELECT  ((", True),
    ],
)
def test_view_definitions_compare_by_meaning(before: str, after: str, same: bool) -> None:
    assert Definition(before, "sqlite").same_as(Definition(after, "sqlite"), {}) is same


def test_case_of_quoted_names_counts_where_the_engine_keeps_it() -> None:
    quoted, plain = 'SELECT "A" FROM t', "SELECT A FROM t"
    assert not Definition(quoted, "postgres").same_as(Definition(plain, "postgres"), {})
    assert Definition(quoted, "duckdb").same_as(Definition(plain, "duckdb"), {})


def test_a_definition_that_follows_a_rename_is_the_same() -> None:
    before = Definition("SELECT id, mail FROM t", "postgres")
    assert before.same_as(Definition("SELECT id, email AS mail FROM t", "postgres"), {"mail": "email"})
    assert before.same_as(Definition("SELECT id, email FROM t", "postgres"), {"mail": "email"})
    assert not before.same_as(Definition("SELECT id, email FROM t WHERE id > 1", "postgres"), {"mail": "email"})


def test_scrubbed_literals_match_any_literal() -> None:
    assert Definition("SELECT a FROM t WHERE b = 'x'", "duckdb").same_as(
        Definition("SELECT a FROM t WHERE b = '***'", "duckdb"), {}
    )


def test_checks_compare_by_meaning() -> None:
    assert same_expression("((x > 0))", "CHECK (x>0)", "duckdb")
    assert not same_expression("x > 0", "x >= 0", "duckdb")


_LISTED = "(({} = ANY ((ARRAY['x'::character varying, 'y'::character varying])::text[])))"


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        # what PostgreSQL makes of `IN` before and after a dump is restored, and once the column is text
        (_LISTED.format("(s)::text"), "(((s)::text = ANY (ARRAY[('x'::varchar)::text, ('y'::varchar)::text])))", True),
        (_LISTED.format("(s)::text"), "((s = ANY (ARRAY['x'::text, 'y'::text])))", True),
        ("((n > 0))", "((n > (0)::numeric))", True),
        ("((n > 0))", "((n > (1)::numeric))", False),
        (_LISTED.format("(s)::text"), "((s = ANY (ARRAY['x'::text, 'z'::text])))", False),
        ("((a)::date > b)", "(a > b)", False),
        ("((s)::varchar(2) = 'x')", "(s = 'x')", False),
        ("((a OR b) AND c)", "(a OR (b AND c))", False),
    ],
)
def test_checks_compare_without_the_casts_that_the_server_adds(before: str, after: str, same: bool) -> None:
    assert same_expression(before, after, "postgres") is same
    assert (canonical_check(before, "postgres", {}) == canonical_check(after, "postgres", {})) is same
