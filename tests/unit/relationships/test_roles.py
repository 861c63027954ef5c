from __future__ import annotations

import polars as pl
import pytest

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge, PathLimits
from dictionary_pipeline.relationships.relate import relate
from dictionary_pipeline.relationships.roles import table_roles
from unit.builders import make_catalog

SHOP_TABLES = {
    "s.orders": [
        "id integer",
        "customer_id integer",
        "state_id integer",
        "ordered_at timestamp",
        "total numeric(12,2)",
    ],
    "s.order_line": ["order_id integer", "line integer", "product_id integer", "quantity integer", "price numeric"],
    "s.shipment_line": ["id integer", "order_id integer", "line integer", "shipped_on date"],
    "s.product": ["id integer", "maker_id integer", "kind_id integer", "name text", "price numeric", "launched date"],
    "s.customer": ["id integer", "name text", "email text", "state_id integer", "boss_id integer"],
    "s.maker": ["id integer", "title text", "city text", "state_id integer", "fax text"],
    "s.kind": ["id integer", "label text"],
    "s.state": ["id integer", "label text"],
    "s.order_tag": ["order_id integer", "kind_id integer", "added_at timestamp"],
    "s.settings": ["name text", "value text"],
    "s.recent": ["id integer"],
}
SHOP_KEYS = {
    "s.orders": ["id"],
    "s.order_line": ["order_id", "line"],
    "s.shipment_line": ["id"],
    "s.product": ["id"],
    "s.customer": ["id"],
    "s.maker": ["id"],
    "s.kind": ["id"],
    "s.state": ["id"],
    "s.order_tag": ["order_id", "kind_id"],
}
SHOP_REFERENCES = [
    "s.orders(customer_id) -> s.customer(id)",
    "s.orders(state_id) -> s.state(id)",
    "s.order_line(order_id) -> s.orders(id)",
    "s.order_line(product_id) -> s.product(id)",
    "s.shipment_line(order_id, line) -> s.order_line(order_id, line)",
    "s.product(maker_id) -> s.maker(id)",
    "s.product(kind_id) -> s.kind(id)",
    "s.customer(state_id) -> s.state(id)",
    "s.customer(boss_id) -> s.customer(id)",
    "s.maker(state_id) -> s.state(id)",
    "s.order_tag(order_id) -> s.orders(id)",
    "s.order_tag(kind_id) -> s.kind(id)",
]


def roles(catalog: Catalog, profiled: dict[str, int] | None = None) -> dict[str, tuple[str, str]]:
    rows = [
        ("s", table, "id", "ok", count, *[None] * 5, True, *[None] * 3) for table, count in (profiled or {}).items()
    ]
    graph = relate(catalog, frames.from_rows(rows, frames.PROFILES), HumanKnowledge(), PathLimits())
    return {table: (role, reason) for _, table, role, reason in graph.roles.rows()}


def role_of(table: str, **tables: list[str]) -> str:
    """Role of a table whose columns `x_id` refer to the table `x`."""
    columns = {f"s.{name}": columns for name, columns in tables.items()}
    references = [
        f"s.{name}({column.split()[0]}) -> s.{column.split()[0].removesuffix('_id')}(id)"
        for name, own in tables.items()
        for column in own
        if column.split()[0].removesuffix("_id") in tables and column.split()[0] != "id"
    ]
    keys = {f"s.{name}": ["id"] for name, own in tables.items() if own[0].startswith("id ")}
    return roles(make_catalog(tables=columns, primary_keys=keys, foreign_keys=references))[table][0]


def shop(**rows: int) -> Catalog:
    return make_catalog(
        tables=SHOP_TABLES,
        views={"s.recent": "SELECT id FROM orders"},
        primary_keys=SHOP_KEYS,
        foreign_keys=SHOP_REFERENCES,
        row_estimates={f"s.{table}": count for table, count in rows.items()},
    )


def test_each_role_is_given_with_its_reason() -> None:
    assert roles(shop()) == {
        "orders": (
            "fact",
            "It refers to s.customer and s.state, holds 1 date and 1 measure, and is referred to by "
            "s.order_line and s.order_tag.",
        ),
        "order_line": (
            "fact",
            "It refers to s.orders and s.product, holds 2 measures, and is referred to by s.shipment_line.",
        ),
        "shipment_line": (
            "fact",
            "It refers to s.order_line, holds 1 date, and is referred to by no other table.",
        ),
        "product": ("dimension", "It is referred to by s.order_line."),
        "customer": ("dimension", "It is referred to by s.orders."),
        "maker": ("dimension", "It is referred to by s.product."),
        "kind": (
            "lookup",
            "It has 2 columns, is referred to by s.order_tag and s.product, and refers to no other table.",
        ),
        "state": (
            "lookup",
            "It has 2 columns, is referred to by s.customer, s.maker and s.orders, and refers to no other table.",
        ),
        "order_tag": ("bridge", "Its primary key consists of references, and it refers to s.kind and s.orders."),
        "settings": ("other", "It is referred to by no other table and refers to no other table."),
        "recent": ("other", "It is a view."),
    }


@pytest.mark.parametrize("rows", [1, 999, 1_000_000_000])
def test_facts_dimensions_and_bridges_stay_what_they_are_as_tables_grow(rows: int) -> None:
    sizes = dict.fromkeys(("orders", "order_line", "shipment_line", "product", "customer", "maker", "order_tag"), rows)
    assert {table: role for table, (role, _) in roles(shop(**sizes)).items()} == {
        table: role for table, (role, _) in roles(shop()).items()
    }


def test_large_table_is_no_lookup_whoever_knows_its_size() -> None:
    def tag(estimate: dict[str, int], profiled: dict[str, int]) -> str:
        catalog = make_catalog(
            tables={"s.tag": ["id integer"], "s.item": ["tag_id integer"]},
            foreign_keys=["s.item(tag_id) -> s.tag(id)"],
            row_estimates=estimate,
        )
        return roles(catalog, profiled)["tag"][0]

    assert tag({}, {}) == "lookup"
    assert tag({"s.tag": 50_000}, {}) == "dimension"
    assert tag({}, {"tag": 5_000}) == "dimension"
    assert tag({"s.tag": 10}, {"tag": 5_000}) == "lookup"


def test_table_that_is_identified_by_references_but_says_much_is_a_fact() -> None:
    catalog = make_catalog(
        tables={
            "s.stock": ["shop_id integer", "item_id integer", "quantity integer", "price numeric", "counted date"],
            "s.shop": ["id integer"],
            "s.item": ["id integer"],
        },
        primary_keys={"s.stock": ["shop_id", "item_id"]},
        foreign_keys=["s.stock(shop_id) -> s.shop(id)", "s.stock(item_id) -> s.item(id)"],
    )
    assert roles(catalog)["stock"][0] == "fact"


def test_a_link_is_a_bridge_even_without_a_known_key_of_references() -> None:
    both = {"actor": ["id integer", "name text"], "film": ["id integer", "title text"]}
    assert (
        role_of("casting", casting=["actor_id integer", "film_id integer", "last_update timestamp"], **both) == "bridge"
    )
    assert role_of("casting", casting=["id integer", "actor_id integer", "film_id integer"], **both) == "bridge"
    assert role_of("casting", casting=["actor_id integer", "film_id integer", "fee numeric"], **both) == "fact"


def test_many_children_and_a_name_of_its_own_make_a_dimension_of_what_refers_to_several() -> None:
    parents = {"maker": ["id integer"], "kind": ["id integer"]}
    columns = ["id integer", "maker_id integer", "kind_id integer", "price numeric", "launched date"]
    children = {f"use{number}": ["item_id integer"] for number in range(5)}
    assert role_of("item", item=columns, use0=["item_id integer"], **parents) == "fact"
    assert role_of("item", item=[*columns, "item_name text"], use0=["item_id integer"], **parents) == "dimension"
    assert role_of("item", item=columns, **parents, **children) == "dimension"


@pytest.mark.parametrize("column", ["name text", "trip_name text", "title text", "t_name text", "firstName text"])
def test_a_column_that_names_the_thing_is_a_name_of_its_own(column: str) -> None:
    assert role_of("trip", trip=["id integer", "shop_id integer", column, "tickets integer"], shop=["id integer"]) == (
        "dimension"
    )


@pytest.mark.parametrize("column", ["ship_name text", "note text", "name_id integer"])
def test_other_columns_are_no_name_of_the_thing(column: str) -> None:
    assert role_of("trip", trip=["id integer", "shop_id integer", column], shop=["id integer"]) == "other"


@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("sold_on date", "fact"),
        ("created_at timestamp", "other"),
        ("LastUpdate timestamp", "other"),
        ("valid_from date", "other"),
        ("amount numeric", "fact"),
        ("qty integer", "fact"),
        ("year integer", "other"),
    ],
)
def test_events_and_amounts_make_a_fact_and_dates_of_writing_or_codes_do_not(column: str, role: str) -> None:
    assert role_of("trip", trip=["id integer", "shop_id integer", column], shop=["id integer"]) == role


@pytest.mark.parametrize(
    ("table", "role"),
    [
        ("dim_person", "dimension"),
        ("FactSale", "fact"),
        ("person_xref", "bridge"),
        ("LKP_STATE", "lookup"),
        ("dimple", "other"),
    ],
)
def test_the_role_that_a_name_says_counts(table: str, role: str) -> None:
    assert role_of(table, **{table: ["x integer"]}) == role


def test_a_proposed_relationship_is_enough_for_a_role() -> None:
    catalog = make_catalog(
        tables={"s.sale": ["id integer", "shop_id integer", "amount numeric"], "s.shop": ["id integer", "name text"]}
    )
    proposal = (
        "s",
        "sale",
        ["shop_id"],
        None,
        "s",
        "shop",
        ["id"],
        None,
        "inferred",
        0.6,
        "many_to_one",
        "",
        False,
        False,
    )
    relationships = frames.from_rows([proposal], frames.RELATIONSHIPS)
    found = table_roles(catalog, relationships, catalog.keys, frames.empty(frames.PROFILES))
    assert dict(found.select("table", "role").iter_rows()) == {"sale": "fact", "shop": "lookup"}
    assert found.filter(pl.col("role_reason").is_null()).is_empty()


def test_long_lists_of_tables_are_counted() -> None:
    catalog = make_catalog(
        tables={"s.hub": ["id integer", "a text", "b text", "c text", "d text"]}
        | {f"s.t{number}": ["hub_id integer"] for number in range(4)},
        foreign_keys=[f"s.t{number}(hub_id) -> s.hub(id)" for number in range(4)],
    )
    assert roles(catalog)["hub"] == ("dimension", "It is referred to by 4 other tables.")
