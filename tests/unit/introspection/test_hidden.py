"""A hidden column leaves the catalog together with what uses it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog
from dictionary_pipeline.config.resolved import ColumnPatterns
from dictionary_pipeline.introspection.hidden import hide_columns
from unit.builders import make_catalog


def shop() -> Catalog:
    catalog = make_catalog(
        tables={
            "s.customer": ["id int", "email text", "email_domain text", "rating int"],
            "s.orders": ["id int", "customer_id int", "customer_email text", "note text"],
            "s.recent": ["id int", "email text"],
        },
        views={
            "s.recent": "SELECT c.id, c.email FROM s.customer c",
            "s.rated": "SELECT id FROM s.customer WHERE rating > 3",
        },
        primary_keys={"s.customer": ["id"], "s.orders": ["id"]},
        unique=[("s.customer", ["email"])],
        foreign_keys=[
            "by_email: s.orders(customer_email) -> s.customer(email)",
            "by_id: s.orders(customer_id) -> s.customer(id)",
        ],
        indexes=[("s.customer", "by_domain", ["email_domain"]), ("s.customer", "folded", ["lower(email)"])],
        checks=[("s.customer", "email LIKE '%@%'"), ("s.customer", "rating < 6"), ("s.orders", "email <> ''")],
        lineage=[("s.recent", "s.customer")],
    )
    generated = pl.col("column") == "email_domain"
    columns = catalog.columns.with_columns(
        is_generated=generated, default=pl.when(generated).then(pl.lit("split_part(Email, '@', 2)"))
    )
    return replace(catalog, columns=columns)


def hidden(*exclude: str, include: tuple[str, ...] = ()) -> Catalog:
    return hide_columns(shop(), ColumnPatterns(include, exclude))


def names(catalog: Catalog) -> list[str]:
    return [".".join(row) for row in catalog.columns.select("table", "column").iter_rows()]


def test_without_patterns_nothing_changes() -> None:
    catalog = shop()
    assert hide_columns(catalog, ColumnPatterns()) is catalog


def test_nothing_in_the_catalog_names_the_column_but_the_problem() -> None:
    left = hidden("S.Customer.EMAIL", "recent.email")
    assert names(left) == [
        "customer.id", "customer.email_domain", "customer.rating",
        "orders.id", "orders.customer_id", "orders.customer_email", "orders.note",
        "recent.id",
    ]  # fmt: skip
    assert left.columns.filter(table="customer")["ordinal"].to_list() == [1, 2, 3]
    assert left.columns.filter(column="email_domain")["default"].to_list() == [None]
    assert left.keys["name"].to_list() == ["customer_pkey", "orders_pkey"]
    assert left.foreign_keys["name"].to_list() == ["by_id"]
    assert left.indexes["name"].to_list() == ["by_domain"]
    assert left.checks["expression"].to_list() == ["rating < 6", "email <> ''"]
    assert dict(left.tables.filter(kind="view").select("table", "view_sql").iter_rows()) == {
        "recent": None,
        "rated": "SELECT id FROM s.customer WHERE rating > 3",
    }


def test_each_key_that_is_left_out_is_a_problem() -> None:
    assert [(problem.object, problem.message) for problem in hidden("customer.email").problems] == [
        ("s.customer", "key customer_email_key uses the hidden column s.customer.email and is left out"),
        ("s.orders", "key by_email uses the hidden column s.customer.email and is left out"),
    ]
    assert hidden("note").problems == ()


def test_a_key_to_a_hidden_column_of_a_table_outside_the_selection_is_left_out_too() -> None:
    catalog = shop()
    orders = replace(
        catalog,
        tables=catalog.tables.filter(table="orders"),
        columns=catalog.columns.filter(table="orders"),
        keys=catalog.keys.filter(table="orders"),
    )
    assert hide_columns(orders, ColumnPatterns((), ("s.customer.email",))).foreign_keys["name"].to_list() == ["by_id"]


def test_included_columns_are_the_only_ones_and_exclusion_wins() -> None:
    left = hidden("*.email", include=("id", "customer.*"))
    assert names(left) == ["customer.id", "customer.email_domain", "customer.rating", "orders.id", "recent.id"]


def test_lineage_of_a_hidden_column_is_lineage_of_its_table() -> None:
    catalog = shop()
    rows = [
        ("s", "recent", "email", "s", "customer", "email", "catalog"),
        ("s", "recent", "id", "s", "customer", "id", "catalog"),
    ]
    catalog = replace(catalog, lineage=frames.from_rows(rows, frames.LINEAGE))
    left = hide_columns(catalog, ColumnPatterns((), ("email",)))
    assert left.lineage.rows() == [
        ("s", "recent", None, "s", "customer", None, "catalog"),
        rows[1],
    ]


def test_frames_keep_their_schemas() -> None:
    left = hidden("email")
    for name, (schema, _) in FRAME_SCHEMAS.items():
        assert dict(getattr(left, name).schema) == dict(schema), name
