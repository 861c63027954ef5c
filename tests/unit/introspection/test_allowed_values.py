from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from dictionary_pipeline.introspection.allowed_values import with_allowed_values
from unit.builders import make_catalog

Result = tuple[list[str] | None, str | None]


def allowed(
    *checks: str,
    data_type: str = "text",
    dialect: str = "postgres",
    enum: list[str] | None = None,
    domain: list[str] | None = None,
    validated: bool = True,
    name: str = "x",
) -> Result:
    catalog = make_catalog(
        tables={"s.t": [f"{name} {data_type}", "y text"]},
        checks=[("s.t", check) for check in checks],
        enums={f"s.t.{name}": enum} if enum else None,
        domains={f"s.t.{name}": domain} if domain else None,
    )
    catalog = replace(catalog, checks=catalog.checks.with_columns(pl.lit(validated).alias("is_validated")))
    row = with_allowed_values(catalog, dialect).columns.row(0, named=True)
    return row["allowed_values"], row["allowed_values_origin"]


TEXT_LISTS = [
    ("x IN ('b', 'a')", ["a", "b"]),
    ("CHECK ((x IN ('b', 'a')))", ["a", "b"]),
    ("(x = ANY (ARRAY['new'::text, 'paid'::text]))", ["new", "paid"]),
    ("((x)::text = ANY ((ARRAY['new'::character varying, 'paid'::character varying])::text[]))", ["new", "paid"]),
    ("((x)::text = ANY (ARRAY[('n'::character varying)::text, ('p'::character varying)::text]))", ["n", "p"]),
    ("(x = ANY ('{new,paid}'::text[]))", ["new", "paid"]),
    ("((x = 'a'::text) OR (x = 'b'::text))", ["a", "b"]),
    ("((x IS NULL) OR (x = ANY (ARRAY['a'::text])))", ["a"]),
    ("((x IS NOT NULL) AND (x = ANY (ARRAY['a'::text])))", ["a"]),
    ("(((x)))IN('a')", ["a"]),
    ("'a' = x", ["a"]),
    ("x IN ('o''brien', 'a\\b', '', 'ü', ' pad ')", ["", " pad ", "a\\b", "o'brien", "ü"]),
    ("x IN ('a', 'a', 'A')", ["A", "a"]),
    ("x IN ('a', 'b', 'c') AND x <> 'b'", ["a", "c"]),
    ("x IN ('a', 'b', 'c') AND x NOT IN ('a', 'z')", ["b", "c"]),
    ("(x <> ALL (ARRAY['a'::text])) AND x IN ('a', 'b')", ["b"]),
    ("NOT (x NOT IN ('a', 'b'))", ["a", "b"]),
    ("(x IN ('a', 'b') OR x = 'c') AND NOT x = 'a'", ["b", "c"]),
    ("x IN ('a', 'b') AND y = 'c'", ["a", "b"]),
    ("x IN ('a', 'b') AND (x <> 'b' OR y IS NOT NULL)", ["a", "b"]),
    ("x = 'a'::character varying(1)", ["a"]),
]


@pytest.mark.parametrize(("check", "expected"), TEXT_LISTS)
def test_check_that_lists_texts_gives_the_sorted_list(check: str, expected: list[str]) -> None:
    assert allowed(check) == (expected, "check")


NOT_LISTS = [
    "x IN ('a', NULL)",  # unknown for every other value, and a CHECK lets unknown pass
    "x = ANY (ARRAY['a'::text, NULL::text])",
    "x = ANY ('{a,NULL}'::text[])",
    "x = ANY ('{\"a b\",c}'::text[])",
    "x IN ('a') OR y = 'b'",
    "x IN ('a') OR length(x) > 5",
    "x IN ('a', 'b') AND length(x) > 5",
    "lower(x) IN ('a')",
    "x <> 'a'",
    "x NOT IN ('a', 'b')",
    "(x ~ '^(a|b)$'::text)",
    "x LIKE 'a'",
    "x BETWEEN 'a' AND 'b'",
    "x IN (SELECT 'a')",
    "x = ALL (ARRAY['a'::text, 'b'::text])",
    "x = y",
    "x IN ('a', y)",
    "x = 'a' || 'b'",
    "x = 'a' COLLATE nocase",
    "x IN ('a') IS NOT NULL",
    "x IN ('a') OR NULL",
    "(x, y) IN (('a', 'b'))",
    "(x)::character varying(1) = 'a'",  # the cast cuts 'ab' to 'a'
    "x = 'abc'::character varying(2)",
    "x = 'a'::citext",
    "x = 'a' AND x = 'b'",
    "x IS NULL",
    "y.x IN ('a')",  # a field of y, or of another table
    "x -> 'k' = 'a'",
    "x IN ('" + "a" * 201 + "')",
    "x = E'a\\\\b'",
    "x IN ('a'",
    "'; DROP TABLE t; --",
    "(" * 5000 + "x = 'a'" + ")" * 5000,
    "",
]


@pytest.mark.parametrize("check", NOT_LISTS)
def test_check_that_is_no_complete_list_gives_none(check: str) -> None:
    assert allowed(check) == (None, None)


NUMBERS = [
    ("x IN (10, 9, -3)", "integer", ["-3", "9", "10"]),
    ("(x = ANY (ARRAY[1, '-2'::integer, (3)::smallint, 007]))", "integer", ["-2", "1", "3", "7"]),
    ("(x = ANY (ARRAY[(0.50)::numeric, (10)::numeric]))", "numeric(5,2)", ["0.50", "10"]),
    ("x IN (1.5, 1.50)", "numeric(5,2)", ["1.5"]),
    ("x BETWEEN 1 AND 3", "integer", None),
    ("x IN (1, 2) AND x > 1", "integer", None),
    ("x IN (1.5)", "integer", None),
    ("(x)::integer IN (1, 2)", "numeric(5,2)", None),  # the cast rounds 1.4 to 1
    ("x = (1.7)::integer", "numeric(5,2)", None),
    ("x IN ('one')", "integer", None),
    ("x IN (1)", "text", None),
    ("x IN ('a')", "uuid", None),
    ("x IN ('2024-02-29'::date)", "date", ["2024-02-29"]),
    ("x IN ('yesterday'::date)", "date", None),
    ("x = true", "boolean", ["true"]),
]


@pytest.mark.parametrize(("check", "data_type", "expected"), NUMBERS)
def test_literals_are_read_by_the_type_of_the_column(check: str, data_type: str, expected: list[str] | None) -> None:
    assert allowed(check, data_type=data_type)[0] == expected


def test_several_checks_on_one_column_intersect() -> None:
    assert allowed("x IN ('a', 'b', 'c')", "x IN ('c', 'b', 'd')", "y <> 'b'") == (["b", "c"], "check")
    assert allowed("x IN (1.50, 2)", "x IN (1.5, 3)", data_type="numeric(5,2)") == (["1.5"], "check")


def test_another_check_on_the_column_that_is_not_understood_gives_no_list() -> None:
    assert allowed("x IN ('a', 'bc')", "length(x) = 1") == (None, None)


def test_check_that_is_not_validated_proves_nothing() -> None:
    assert allowed("x IN ('a')", validated=False) == (None, None)


def test_enum_keeps_declared_order_and_a_check_narrows_it() -> None:
    assert allowed(enum=["small", "large", "huge"]) == (["small", "large", "huge"], "enum")
    check = "(x = ANY (ARRAY['huge'::s.size, 'small'::s.size]))"
    assert allowed(check, enum=["small", "large", "huge"]) == (["small", "huge"], "check")
    assert allowed("x <> 'huge'::s.size", enum=["small", "large", "huge"]) == (["small", "large"], "check")


def test_array_of_an_enum_has_no_list() -> None:
    assert allowed(enum=["a"], data_type="text[]") == (None, None)


def test_domain_conditions_on_value_intersect_and_sort() -> None:
    assert allowed(domain=["(VALUE = ANY (ARRAY['b'::text, 'a'::text]))"]) == (["a", "b"], "domain")
    assert allowed(domain=["VALUE IN ('b', 'a')", "VALUE <> 'a'"]) == (["b"], "domain")
    assert allowed(domain=["VALUE ~ '^a'"]) == (None, None)
    assert allowed("x <> 'a'", domain=["VALUE IN ('b', 'a')"]) == (["b"], "check")


def test_boolean_is_a_list_only_where_the_engine_enforces_it() -> None:
    assert allowed(data_type="boolean") == (["false", "true"], "boolean")
    assert allowed(data_type="boolean", dialect="sqlite") == (None, None)
    assert allowed("x IN (0, 1)", data_type="boolean", dialect="sqlite") == (["false", "true"], "check")


def test_padded_text_is_listed_without_padding() -> None:
    assert allowed("x = 'ab '::bpchar", data_type="character(3)") == (["ab"], "check")


def test_case_insensitive_text_has_no_list() -> None:
    assert allowed("x = 'a'", data_type="citext") == (None, None)


@pytest.mark.parametrize(
    ("check", "name", "dialect"),
    [
        ("\"Mixed\" IN ('a')", "Mixed", "postgres"),
        ("mixed IN ('a')", "Mixed", "duckdb"),
        ("[Mixed]='a'", "Mixed", "tsql"),
        ("[mixed] IN (N'a')", "mixed", "tsql"),
        ("`mixed` IN ('a')", "mixed", "mysql"),
        ("(\"user\" = 'a'::text)", "user", "postgres"),
    ],
)
def test_column_is_found_as_the_dialect_writes_it(check: str, name: str, dialect: str) -> None:
    assert allowed(check, name=name, dialect=dialect) == (["a"], "check")


def test_tables_that_differ_in_case_keep_their_own_lists() -> None:
    catalog = make_catalog(
        tables={"s.t": ["x text"], "s.T": ["x text"]}, checks=[("s.t", "x = 'lower'"), ("s.T", "x = 'upper'")]
    )
    columns = with_allowed_values(catalog, "postgres").columns
    assert dict(columns.select("table", "allowed_values").iter_rows()) == {"T": ["upper"], "t": ["lower"]}


def test_thousands_of_alternatives_are_read() -> None:
    values, _ = allowed(" OR ".join(f"x = '{number:04}'" for number in range(3000)))
    assert values == [f"{number:04}" for number in range(3000)]
