from __future__ import annotations

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge, PathLimits
from dictionary_pipeline.relationships.relate import relate
from unit.builders import make_catalog


def roles(catalog: Catalog, profiled: dict[str, int] | None = None) -> dict[str, tuple[str, str]]:
    rows = [
        ("s", table, "id", "ok", count, *[None] * 5, True, *[None] * 3) for table, count in (profiled or {}).items()
    ]
    graph = relate(catalog, frames.from_rows(rows, frames.PROFILES), HumanKnowledge(), PathLimits())
    return {table: (role, reason) for _, table, role, reason in graph.roles.rows()}


def shop() -> Catalog:
    return make_catalog(
        tables={
            "s.orders": ["id integer", "customer_id integer", "state_id integer", "total numeric(12,2)"],
            "s.customer": ["id integer", "name text", "email text", "state_id integer", "boss_id integer"],
            "s.state": ["id integer", "label text"],
            "s.tag": ["id integer", "label text"],
            "s.order_tag": ["order_id integer", "tag_id integer", "added_at timestamp"],
            "s.settings": ["name text", "value text"],
            "s.recent": ["id integer"],
        },
        views={"s.recent": "SELECT id FROM orders"},
        primary_keys={
            "s.orders": ["id"],
            "s.customer": ["id"],
            "s.state": ["id"],
            "s.tag": ["id"],
            "s.order_tag": ["order_id", "tag_id"],
        },
        foreign_keys=[
            "s.orders(customer_id) -> s.customer(id)",
            "s.orders(state_id) -> s.state(id)",
            "s.customer(state_id) -> s.state(id)",
            "s.customer(boss_id) -> s.customer(id)",
            "s.order_tag(order_id) -> s.orders(id)",
            "s.order_tag(tag_id) -> s.tag(id)",
        ],
        row_estimates={"s.state": 12},
    )


def test_each_role_is_given_with_its_reason() -> None:
    assert roles(shop()) == {
        "orders": (
            "fact",
            "It refers to s.customer and s.state, holds 1 measure or date, and is referred to by s.order_tag.",
        ),
        "customer": ("dimension", "It is referred to by s.orders."),
        "state": (
            "lookup",
            "It has 2 columns, is referred to by s.customer and s.orders, and refers to no other table.",
        ),
        "tag": ("lookup", "It has 2 columns, is referred to by s.order_tag, and refers to no other table."),
        "order_tag": ("bridge", "Its primary key consists of references, and it refers to s.orders and s.tag."),
        "settings": ("other", "It is referred to by no other table and refers to no other table."),
        "recent": ("other", "It is a view."),
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


def test_table_referenced_by_many_is_a_dimension_although_it_refers_to_several() -> None:
    catalog = make_catalog(
        tables={f"s.{name}": ["id integer", "x integer", "y integer", "since date"] for name in "abcde"},
        foreign_keys=["s.c(x) -> s.a(id)", "s.c(y) -> s.b(id)", "s.d(x) -> s.c(id)", "s.e(x) -> s.c(id)"],
    )
    assert roles(catalog)["c"][0] == "dimension"
    assert roles(catalog)["d"][0] == "other"


def test_long_lists_of_tables_are_counted() -> None:
    catalog = make_catalog(
        tables={"s.hub": ["id integer", "a text", "b text", "c text", "d text"]}
        | {f"s.t{number}": ["hub_id integer"] for number in range(4)},
        foreign_keys=[f"s.t{number}(hub_id) -> s.hub(id)" for number in range(4)],
    )
    assert roles(catalog)["hub"] == ("dimension", "It is referred to by 4 other tables.")
