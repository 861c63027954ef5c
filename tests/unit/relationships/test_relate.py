from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKey, HumanKnowledge, HumanRelationship, PathLimits
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.relationships.relate import relate
from unit.builders import make_catalog


def shop() -> Catalog:
    return make_catalog(
        tables={
            "sales.orders": ["tenant integer", "no integer", "bill_to integer", "ship_to integer", "parent_no integer"],
            "sales.line": ["tenant integer", "order_no integer", "pos integer", "Product integer"],
            "sales.invoice": ["tenant integer", "order_no integer"],
            "crm.address": ["id integer", "code text"],
        },
        primary_keys={
            "sales.orders": ["tenant", "no"],
            "sales.line": ["tenant", "order_no", "pos"],
            "sales.invoice": ["tenant", "order_no"],
            "crm.address": ["id"],
        },
        foreign_keys=[
            "fk_line: sales.line(tenant, order_no) -> sales.orders(tenant, no)",
            "fk_invoice: sales.invoice(tenant, order_no) -> sales.orders(tenant, no)",
            "fk_ship: sales.orders(ship_to) -> crm.address(id)",
            "fk_bill: sales.orders(bill_to) -> crm.address(id)",
            "fk_parent: sales.orders(tenant, parent_no) -> sales.orders(tenant, no)",
            "fk_product: sales.line(Product) -> stock.product(id)",
        ],
    )


def related(catalog: Catalog, **human: tuple[HumanRelationship, ...] | tuple[HumanKey, ...]) -> RelationshipGraph:
    return relate(catalog, frames.empty(frames.PROFILES), HumanKnowledge(**human), PathLimits())  # type: ignore[arg-type]


def to_address(
    *,
    table: str = "line",
    column: str = "product",
    parent: str = "address",
    parent_column: str = "id",
    origin: str = "",
) -> HumanRelationship:
    return HumanRelationship("sales", table, (column,), "crm", parent, (parent_column,), origin)


def test_each_constraint_is_one_row_with_its_columns_in_order() -> None:
    frame = related(shop()).relationships
    assert frame.schema == pl.Schema(frames.RELATIONSHIPS)
    assert frame.select("from_table", "from_columns", "to_table", "to_columns", "name").rows() == [
        ("invoice", ["tenant", "order_no"], "orders", ["tenant", "no"], "fk_invoice"),
        ("line", ["tenant", "order_no"], "orders", ["tenant", "no"], "fk_line"),
        ("line", ["Product"], "product", ["id"], "fk_product"),
        ("orders", ["bill_to"], "address", ["id"], "fk_bill"),
        ("orders", ["ship_to"], "address", ["id"], "fk_ship"),
        ("orders", ["tenant", "parent_no"], "orders", ["tenant", "no"], "fk_parent"),
    ]
    assert set(frame["origin"]) == {"declared"}
    assert set(frame["confidence"]) == {1.0}
    assert frame["accepted"].all()
    assert frame["evidence"][0] == "declared foreign key fk_invoice"


def test_child_columns_that_hold_a_key_make_it_one_to_one() -> None:
    found = dict(related(shop()).relationships.select("name", "cardinality").iter_rows())
    assert found.pop("fk_invoice") == "one_to_one"
    assert set(found.values()) == {"many_to_one"}


def test_unique_key_that_people_declare_makes_it_one_to_one() -> None:
    graph = related(shop(), keys=(HumanKey("sales", "orders", ("ship_to",)),))
    assert dict(graph.relationships.select("name", "cardinality").iter_rows())["fk_ship"] == "one_to_one"


def test_parent_outside_the_selection_or_database_is_a_stub() -> None:
    catalog = shop()
    away = pl.when(pl.col("name") == "fk_ship").then(pl.lit("crm_db")).alias("to_database")
    graph = related(replace(catalog, foreign_keys=catalog.foreign_keys.with_columns(away)))
    stubs = graph.relationships.filter("to_stub").select("name", "to_database").rows()
    assert stubs == [("fk_product", None), ("fk_ship", "crm_db")]


def test_key_that_is_not_validated_says_so() -> None:
    catalog = shop()
    loose = replace(catalog, foreign_keys=catalog.foreign_keys.with_columns(pl.lit(False).alias("is_validated")))
    first = related(loose).relationships.row(0, named=True)
    assert first["evidence"] == "declared foreign key fk_invoice, not validated: existing rows may break it"
    assert first["accepted"] is True


def test_relationship_that_people_declare_is_matched_whatever_the_case() -> None:
    graph = related(shop(), relationships=(to_address(table="LINE", origin="dbt_like_configs/databases/shop.yml:12"),))
    row = graph.relationships.filter(pl.col("origin") == "dbt").row(0, named=True)
    assert (row["from_table"], row["from_columns"]) == ("line", ["Product"])
    assert (row["to_schema"], row["to_table"], row["to_columns"]) == ("crm", "address", ["id"])
    assert (row["name"], row["confidence"], row["accepted"], row["to_stub"]) == (None, 1.0, True, False)
    assert row["evidence"] == "declared by people in shop.yml"
    assert graph.unmatched == ()


def test_declared_relationship_equal_to_a_constraint_or_to_another_is_not_doubled() -> None:
    turned = HumanRelationship("sales", "line", ("order_no", "tenant"), "sales", "orders", ("no", "tenant"))
    graph = related(shop(), relationships=(turned, to_address(), to_address(column="Product")))
    assert graph.relationships["origin"].to_list().count("dbt") == 1


def test_exact_name_wins_over_case() -> None:
    catalog = make_catalog(tables={"s.t": ["x text", "X text"], "s.T": ["x text"], "s.u": ["x text"]})
    declared = HumanRelationship("s", "T", ("x",), "s", "t", ("X",))
    row = related(catalog, relationships=(declared,)).relationships.row(0, named=True)
    assert (row["from_table"], row["to_table"], row["to_columns"]) == ("T", "t", ["X"])
    ambiguous = HumanRelationship("S", "t", ("x",), "s", "u", ("x",))
    assert len(related(catalog, relationships=(ambiguous,)).unmatched) == 1


@pytest.mark.parametrize(
    ("declared", "unknown", "hint"),
    [
        (to_address(table="lines"), "table `sales.lines`", "Did you mean `sales.line`?"),
        (to_address(column="produkt"), "column `sales.line.produkt`", "Did you mean `Product`?"),
        (to_address(parent="adress"), "table `crm.adress`", "Did you mean `crm.address`?"),
        (to_address(parent_column="zzzzzz"), "column `crm.address.zzzzzz`", "Check the column's name."),
    ],
)
def test_relationship_that_names_something_unknown_is_a_warning(
    declared: HumanRelationship, unknown: str, hint: str
) -> None:
    graph = related(shop(), relationships=(replace(declared, origin="shop.yml:7"),))
    (warning,) = graph.unmatched
    assert f"`sales.{declared.from_table}`" in warning
    assert warning.endswith(f"names the unknown {unknown}. {hint} It is declared in shop.yml:7.")
    assert "dbt" not in graph.relationships["origin"].to_list()


def test_relationship_whose_sides_differ_in_length_is_a_warning() -> None:
    uneven = HumanRelationship("sales", "line", ("tenant", "order_no"), "crm", "address", ("id",))
    (warning,) = related(shop(), relationships=(uneven,)).unmatched
    assert "2 columns to 1" in warning


def test_unique_keys_of_people_join_the_catalogs_keys_once() -> None:
    human = (
        HumanKey("crm", "address", ("CODE",)),
        HumanKey("crm", "address", ("code",)),
        HumanKey("crm", "address", ("id",)),
        HumanKey("crm", "adress", ("id",)),
    )
    graph = related(shop(), keys=human)
    assert graph.keys.schema == pl.Schema(frames.KEYS)
    added = graph.keys.filter(pl.col("origin") == "dbt")
    assert added.rows() == [("crm", "address", None, "unique", ["code"], "dbt", 1.0)]
    assert graph.keys.height == shop().keys.height + 1
    (warning,) = graph.unmatched
    assert "crm.adress" in warning
    assert warning.endswith("Did you mean `crm.address`?")


def test_result_does_not_depend_on_the_order_of_keys() -> None:
    catalog = shop()
    turned = replace(catalog, foreign_keys=catalog.foreign_keys.reverse())
    assert related(turned).relationships.equals(related(catalog).relationships)


def test_catalog_without_tables_relates_to_nothing() -> None:
    graph = related(make_catalog())
    assert graph.relationships.is_empty()
    assert graph.roles.is_empty()
    assert graph.join_graph.is_empty()
