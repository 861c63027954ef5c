from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog
from dictionary_pipeline.introspection.fingerprint import with_fingerprints
from unit.builders import make_catalog


def shop() -> Catalog:
    return make_catalog(
        tables={
            "s.customer": ["id integer not null", "email text", "size text", "code text"],
            "s.orders": ["id integer not null", "customer_id integer not null", "state text"],
            "s.recent": ["id integer"],
        },
        views={"s.recent": "SELECT id\nFROM s.orders WHERE state = 'a  b'"},
        primary_keys={"s.customer": ["id"], "s.orders": ["id"]},
        unique=[("s.customer", ["email", "code"])],
        foreign_keys=["fk_customer: s.orders(customer_id) -> s.customer(id)"],
        indexes=[("s.orders", "by_customer", ["customer_id", "id"])],
        checks=[("s.orders", "state <> ''")],
        comments={"s.customer": "People", "s.customer.email": "Where to write"},
        enums={"s.customer.size": ["small", "large"]},
        domains={"s.customer.code": ["VALUE <> ''", "length(VALUE) = 3"]},
        row_estimates={"s.customer": 10},
    )


def prints(catalog: Catalog) -> dict[str, str]:
    return dict(with_fingerprints(catalog).tables.select("table", "fingerprint").iter_rows())


def changed(catalog: Catalog, frame: str, table: str, **values: Any) -> Catalog:
    """Set cells of the first row of a table in one frame."""
    owner = {"foreign_keys": "from_table"}.get(frame, "table")
    old: pl.DataFrame = getattr(catalog, frame)
    rows = old.to_dicts()
    next(row for row in rows if row[owner] == table).update(values)
    return replace(catalog, **{frame: pl.DataFrame(rows, schema=old.schema)})


STRUCTURE: list[tuple[str, str, dict[str, Any]]] = [
    ("tables", "customer", {"kind": "foreign_table"}),
    ("tables", "customer", {"comment": "Persons"}),
    ("tables", "customer", {"comment": None}),
    ("tables", "recent", {"view_sql": "SELECT id FROM s.orders WHERE state = 'a b'"}),
    ("tables", "recent", {"view_sql": None}),
    ("columns", "customer", {"column": "Id"}),
    ("columns", "customer", {"ordinal": 9}),
    ("columns", "customer", {"data_type": "bigint"}),
    ("columns", "customer", {"is_nullable": True}),
    ("columns", "customer", {"default": "0"}),
    ("columns", "customer", {"default": ""}),
    ("columns", "customer", {"is_identity": True}),
    ("columns", "customer", {"is_generated": True}),
    ("columns", "customer", {"comment": "x"}),
    ("columns", "customer", {"enum_values": []}),
    ("columns", "customer", {"enum_values": ["a"]}),
    ("columns", "customer", {"domain_checks": ["VALUE > 0"]}),
    ("keys", "customer", {"name": "pk"}),
    ("keys", "customer", {"kind": "primary"}),
    ("keys", "customer", {"columns": ["code", "email"]}),
    ("foreign_keys", "orders", {"name": "fk"}),
    ("foreign_keys", "orders", {"from_columns": ["id"]}),
    ("foreign_keys", "orders", {"to_database": "other"}),
    ("foreign_keys", "orders", {"to_schema": "other"}),
    ("foreign_keys", "orders", {"to_table": "client"}),
    ("foreign_keys", "orders", {"to_columns": ["code"]}),
    ("foreign_keys", "orders", {"is_validated": False}),
    ("foreign_keys", "orders", {"on_update": "CASCADE"}),
    ("foreign_keys", "orders", {"on_delete": "CASCADE"}),
    ("indexes", "orders", {"name": "other"}),
    ("indexes", "orders", {"columns": ["id", "customer_id"]}),
    ("indexes", "orders", {"is_unique": True}),
    ("checks", "orders", {"name": "other"}),
    ("checks", "orders", {"expression": "state <> 'x'"}),
    ("checks", "orders", {"is_validated": False}),
]


@pytest.mark.parametrize(("frame", "table", "values"), STRUCTURE)
def test_each_fact_of_a_table_changes_its_fingerprint_and_no_other(
    frame: str, table: str, values: dict[str, Any]
) -> None:
    before, after = prints(shop()), prints(changed(shop(), frame, table, **values))
    assert {name for name in before if before[name] != after[name]} == {table}
    assert (
        with_fingerprints(shop()).fingerprint != with_fingerprints(changed(shop(), frame, table, **values)).fingerprint
    )


@pytest.mark.parametrize(
    ("frame", "table", "values"),
    [
        ("tables", "customer", {"row_estimate": 99, "size_bytes": 4096, "readable": False}),
        ("tables", "recent", {"view_sql": "  SELECT id FROM   s.orders\tWHERE state = 'a  b'\n"}),
        ("columns", "customer", {"type_class": "other", "allowed_values": ["1"], "allowed_values_origin": "check"}),
        ("columns", "orders", {"ordinal": 0}),
        ("keys", "customer", {"confidence": 0.5}),
    ],
)
def test_sizes_statistics_and_derived_facts_do_not_matter(frame: str, table: str, values: dict[str, Any]) -> None:
    assert prints(changed(shop(), frame, table, **values)) == prints(shop())


def test_gaps_that_dropped_columns_leave_do_not_matter() -> None:
    gaps = replace(shop(), columns=shop().columns.with_columns(pl.col("ordinal") * 3))
    assert with_fingerprints(gaps).fingerprint == with_fingerprints(shop()).fingerprint


def test_swapped_columns_matter() -> None:
    first = make_catalog(tables={"s.t": ["a text", "b text"]})
    second = make_catalog(tables={"s.t": ["b text", "a text"]})
    assert prints(first) != prints(second)


def test_enum_order_matters_and_order_of_domain_checks_does_not() -> None:
    def with_facts(enum: list[str], domain: list[str]) -> dict[str, str]:
        return prints(make_catalog(tables={"s.t": ["a text"]}, enums={"s.t.a": enum}, domains={"s.t.a": domain}))

    assert with_facts(["x", "y"], ["1", "2"]) == with_facts(["x", "y"], ["2", "1"])
    assert with_facts(["x", "y"], ["1", "2"]) != with_facts(["y", "x"], ["1", "2"])


def test_renamed_table_keeps_its_fingerprint_and_changes_that_of_the_schema() -> None:
    before = with_fingerprints(make_catalog(tables={"s.t": ["a text"]}))
    after = with_fingerprints(make_catalog(tables={"s.u": ["a text"]}))
    assert before.tables["fingerprint"].to_list() == after.tables["fingerprint"].to_list()
    assert before.fingerprint != after.fingerprint


@pytest.mark.parametrize("cut", [lambda text: text[1:], lambda text: text + "1:a", lambda text: text + "\x00"])
def test_values_cannot_be_mistaken_for_each_other(cut: Callable[[str], str]) -> None:
    first = make_catalog(tables={"s.t": ["a text"]}, comments={"s.t": "1:a2:bc", "s.t.a": "x"})
    second = make_catalog(tables={"s.t": ["a text"]}, comments={"s.t": cut("1:a2:bc"), "s.t.a": "x"})
    assert prints(first) != prints(second)
    split = [make_catalog(tables={"s.t": ["a text"]}, enums={"s.t.a": labels}) for labels in (["a,b"], ["a", "b"])]
    assert prints(split[0]) != prints(split[1])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SELECT 1 -- one\n, 2", "SELECT 1 -- one , 2", False),
        ("SELECT 'a\nb'", "SELECT 'a b'", False),
        ('SELECT "a  b"', 'SELECT "a b"', False),
        ("SELECT 'it''s  x',\n 1", "SELECT 'it''s  x', 1", True),
        ("SELECT /* a\nb */  1", "SELECT /* a\nb */ 1", True),
    ],
)
def test_blanks_of_view_sql_matter_only_inside_literals_and_comments(one: str, other: str, same: bool) -> None:
    first, second = (make_catalog(views={"s.v": sql}) for sql in (one, other))
    assert (prints(first) == prints(second)) is same


def test_catalog_of_an_empty_table_and_of_nothing_have_fingerprints() -> None:
    assert len(prints(make_catalog(tables={"s.t": []}))["t"]) == 64
    assert with_fingerprints(make_catalog()).fingerprint is not None


def test_fingerprint_is_stable_across_releases() -> None:
    # A changed value here means that every bundle in the field would report drift.
    assert with_fingerprints(shop()).fingerprint == "ccd19877bee68e2423ee45c9c557de0969a3c315c1b27f26699f02902e1b7832"


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_fingerprint_does_not_depend_on_the_order_of_catalog_rows(random: Any) -> None:
    def shuffled(frame: pl.DataFrame) -> pl.DataFrame:
        return frame[random.sample(range(frame.height), frame.height)]

    catalog = shop()
    mixed = replace(catalog, **{name: shuffled(getattr(catalog, name)) for name in FRAME_SCHEMAS})
    assert prints(mixed) == prints(catalog)
    assert with_fingerprints(mixed).fingerprint == with_fingerprints(catalog).fingerprint
