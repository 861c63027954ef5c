from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge, PathLimits
from dictionary_pipeline.enrichment.definitions import define
from dictionary_pipeline.relationships.relate import relate
from unit.builders import make_catalog
from unit.enrichment.profiled import column_texts, make_definitions, make_profiles, table_texts


def shop() -> Catalog:
    return make_catalog(
        tables={
            "sales.products": ["product_id int", "name text", "list_price numeric(12,2)", "is_active boolean"],
            "sales.sales_orders": ["order_id int", "order_number text", "status text", "placed_at timestamp"],
            "sales.sales_order_lines": [
                "order_id int",
                "line_number int",
                "product_id int",
                "quantity int",
                "unit_price numeric(12,2)",
            ],
            "sales.shipment_lines": ["shipment_id int", "order_id int", "line_number int", "created_at timestamp"],
            "sales.tags": ["tag_id int", "label text"],
            "sales.product_tags": ["product_id int", "tag_id int"],
            "hr.employees": ["employee_id int", "manager_id int", "in/out text"],
            "sales.open_orders": ["order_id int", "total numeric"],
        },
        views={"sales.open_orders": "select 1"},
        primary_keys={
            "sales.products": ["product_id"],
            "sales.sales_orders": ["order_id"],
            "sales.sales_order_lines": ["order_id", "line_number"],
            "sales.shipment_lines": ["shipment_id"],
            "sales.tags": ["tag_id"],
            "sales.product_tags": ["product_id", "tag_id"],
            "hr.employees": ["employee_id"],
        },
        unique=[("sales.sales_orders", ["order_number"])],
        foreign_keys=[
            "sales.sales_order_lines(order_id) -> sales.sales_orders(order_id)",
            "sales.sales_order_lines(product_id) -> sales.products(product_id)",
            "sales.shipment_lines(order_id, line_number) -> sales.sales_order_lines(order_id, line_number)",
            "sales.product_tags(product_id) -> sales.products(product_id)",
            "sales.product_tags(tag_id) -> sales.tags(tag_id)",
            "hr.employees(manager_id) -> hr.employees(employee_id)",
            "hr.employees(employee_id) -> crm.persons(id)",
        ],
        lineage=[("sales.open_orders", "sales.sales_orders"), ("sales.open_orders", "sales.sales_order_lines")],
    )


def test_a_table_is_told_by_its_row_its_keys_its_neighbours_and_its_columns() -> None:
    texts = table_texts(make_definitions(shop()))

    assert texts["sales.sales_order_lines"] == (
        "Fact table with one row per sales order line, identified by order id and line number; "
        "belongs to sales order (order_id); refers to product (product_id). Referred to by shipment line. "
        "Order, in other words purchase or request for goods. Measures: quantity and unit price."
    )
    assert texts["sales.product_tags"] == (
        "Links product (product_id) and tag (tag_id), one row per product tag, identified by product id and tag id."
    )
    assert texts["sales.shipment_lines"] == (
        "One row per shipment line, identified by shipment id; refers to sales order line (order_id, line_number). "
        "Shipment, in other words parcel, consignment, delivery or goods sent."
    )
    assert texts["hr.employees"] == (
        "One row per employee, identified by employee id; belongs to person (employee_id); "
        "refers to another employee (manager_id). Employee, in other words worker, staff member or colleague. "
        "Holds in/out."
    )


def test_a_view_is_told_by_what_it_reads() -> None:
    text = table_texts(make_definitions(shop()))["sales.open_orders"]

    assert text == (
        "View over sales order lines and sales orders. Order, in other words purchase or request for goods. "
        "Holds order id and total."
    )


def test_columns_are_told_by_what_they_identify_refer_to_or_hold() -> None:
    texts = column_texts(make_definitions(shop()))

    assert texts["sales.products.product_id"] == "Identifier of the product (primary key)."
    assert texts["sales.products.is_active"] == "Flag of the product: is active, true or false."
    assert texts["sales.sales_order_lines.unit_price"] == "Unit price of the sales order line, a decimal number."
    assert texts["sales.sales_order_lines.product_id"] == "Refers to product (products.product_id)."
    assert texts["sales.sales_order_lines.order_id"] == (
        "Refers to sales order (sales_orders.order_id); part of the primary key of the sales order line."
    )
    assert texts["sales.sales_order_lines.line_number"] == (
        "Line number of the sales order line, a whole number; part of the primary key of the sales order line."
    )
    assert texts["sales.sales_orders.order_number"] == "Order number of the sales order, text; unique."
    assert texts["sales.sales_orders.placed_at"] == "Sales order placed at, a date and time."
    assert texts["hr.employees.employee_id"] == (
        "Employee, refers to person (crm.persons.id); primary key of the employee."
    )
    assert texts["hr.employees.manager_id"] == "Manager, refers to employee (employees.employee_id)."
    assert texts["sales.open_orders.total"] == "Total of the open orders view, a decimal number."


def test_generated_and_identity_columns_say_so() -> None:
    catalog = shop()
    name = pl.col("column")
    columns = catalog.columns.with_columns(is_generated=name == "list_price", is_identity=name == "tag_id")

    texts = column_texts(make_definitions(replace(catalog, columns=columns)))

    assert texts["sales.products.list_price"] == (
        "List price of the product, a decimal number; computed by the database."
    )
    assert texts["sales.tags.tag_id"] == "Identifier of the tag (primary key); numbered by the database."


def test_declared_values_are_told_on_the_column_and_on_its_table() -> None:
    catalog = shop()
    profiles = make_profiles(catalog, allowed={"sales.sales_orders.status": ["new", "paid", "void"]})

    definitions = make_definitions(catalog, profiles)

    assert column_texts(definitions)["sales.sales_orders.status"] == (
        "Status of the sales order, one of new, paid and void."
    )
    assert "Status is one of new, paid and void." in table_texts(definitions)["sales.sales_orders"]


@pytest.mark.parametrize(("origin", "withheld"), [("scan", ()), ("enum", ("sales.sales_orders.status",))])
def test_values_found_by_reading_the_table_or_withheld_are_not_told(origin: str, withheld: tuple[str, ...]) -> None:
    catalog = shop()
    allowed = {"sales.sales_orders.status": ["new", "paid"]}
    profiles = make_profiles(catalog, allowed=allowed, origin=origin, withheld=withheld)

    definitions = make_definitions(catalog, profiles)

    assert column_texts(definitions)["sales.sales_orders.status"] == "Status of the sales order, text."
    assert "paid" not in table_texts(definitions)["sales.sales_orders"]


def test_a_declared_set_of_the_catalog_counts_when_the_profile_has_none() -> None:
    catalog = shop()
    declared = pl.when(pl.col("column") == "status").then(pl.lit(["a", "b"]))
    columns = catalog.columns.with_columns(allowed_values=declared, allowed_values_origin=pl.lit("check"))

    texts = column_texts(make_definitions(replace(catalog, columns=columns)))

    assert texts["sales.sales_orders.status"] == "Status of the sales order, one of a and b."


def test_an_inferred_key_is_told_as_an_appearance() -> None:
    catalog = shop()
    profiles = make_profiles(catalog)
    graph = relate(catalog, profiles, HumanKnowledge(), PathLimits())
    inferred = replace(graph, relationships=graph.relationships.with_columns(origin=pl.lit("inferred")))

    definitions = define(catalog, profiles, inferred, HumanKnowledge())

    assert (
        "; appears to refer to product (product_id) and sales order (order_id)."
        in table_texts(definitions)["sales.sales_order_lines"]
    )
    assert column_texts(definitions)["sales.sales_order_lines.product_id"] == (
        "Appears to refer to product (products.product_id)."
    )


def test_column_lineage_of_a_view_is_told() -> None:
    catalog = shop()
    profiles = make_profiles(catalog)
    graph = relate(catalog, profiles, HumanKnowledge(), PathLimits())
    row = graph.lineage.head(1).with_columns(
        view_column=pl.lit("total"),
        source_schema=pl.lit("hr"),
        source_table=pl.lit("employees"),
        source_column=pl.lit("in/out"),
    )

    definitions = define(catalog, profiles, replace(graph, lineage=pl.concat([graph.lineage, row])), HumanKnowledge())

    assert column_texts(definitions)["sales.open_orders.total"] == (
        "Total of the open orders view, a decimal number, derived from hr.employees.in/out."
    )


def test_texts_stay_short_whatever_the_names_and_lists() -> None:
    long = "very_long_column_name_" * 12
    tables = {f"s.t{number}": ["id int", f"{long}{number} text"] for number in range(40)}
    tables["s.hub"] = ["id int", *(f"{long}{number} text" for number in range(40))]
    catalog = make_catalog(
        tables=tables,
        primary_keys={"s.hub": ["id"]},
        foreign_keys=[f"s.hub({long}{number}) -> s.t{number}(id)" for number in range(40)],
    )

    definitions = make_definitions(catalog)

    assert max(len(text) for text in table_texts(definitions).values()) <= 480
    assert max(len(text) for text in column_texts(definitions).values()) <= 200


def test_a_table_without_columns_keys_or_neighbours_still_has_a_text() -> None:
    definitions = make_definitions(make_catalog(tables={"s.x": []}))

    assert table_texts(definitions) == {"s.x": "One row per x."}
    assert definitions.columns.is_empty()
