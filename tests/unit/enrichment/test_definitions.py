from __future__ import annotations

import itertools

import pytest

from dictionary_pipeline import frames
from dictionary_pipeline.config.resolved import HumanColumn, HumanKnowledge, HumanTable
from unit.builders import make_catalog
from unit.enrichment.profiled import column_texts, make_definitions, table_texts


def knowledge(*tables: HumanTable) -> HumanKnowledge:
    return HumanKnowledge(tables=tables)


@pytest.mark.parametrize(
    ("human", "comment"), list(itertools.product([None, " ", "From people"], [None, "  ", "From the database"]))
)
def test_people_come_before_the_database_and_the_database_before_derived_text(
    human: str | None, comment: str | None
) -> None:
    comments = {} if comment is None else {"s.orders": comment, "s.orders.id": comment}
    catalog = make_catalog(tables={"s.orders": ["id int"]}, comments=comments)

    definitions = make_definitions(
        catalog, human=knowledge(HumanTable("s", "orders", human, columns=(HumanColumn("id", human),)))
    )

    said = bool(human and human.strip())
    commented = bool(comment and comment.strip())
    expected = "human" if said else "database" if commented else "derived"
    assert definitions.tables["definition_source"].to_list() == [expected]
    assert definitions.columns["definition_source"].to_list() == [expected]
    text = {
        "human": "From people",
        "database": "From the database",
        "derived": "One row per order. Order, in other words purchase or request for goods. Holds id.",
    }
    assert table_texts(definitions) == {"s.orders": text[expected]}


def test_the_frames_have_their_published_schemas() -> None:
    definitions = make_definitions(make_catalog(tables={"s.orders": ["id int"]}))

    assert definitions.tables.schema == dict(frames.TABLE_DEFINITIONS)
    assert definitions.columns.schema == dict(frames.COLUMN_DEFINITIONS)
    assert definitions.problems == ()


def test_an_entity_name_comes_from_people_else_from_the_words_of_the_name() -> None:
    catalog = make_catalog(tables={"s.SalesOrder": ["id int"], "s.sku_list": ["id int"]})

    definitions = make_definitions(catalog, human=knowledge(HumanTable("s", "sku_list", entity_name="Articles")))

    names = definitions.tables.select("table", "entity_name", "entity_name_source").rows()
    assert names == [("SalesOrder", "Sales Order", "derived"), ("sku_list", "Articles", "human")]


def test_a_name_in_another_case_is_found_when_only_one_object_has_it() -> None:
    catalog = make_catalog(tables={"Sales.Orders": ["Id int"]})

    definitions = make_definitions(
        catalog, human=knowledge(HumanTable("sales", "ORDERS", "Ours", columns=(HumanColumn("ID", "Key"),)))
    )

    assert table_texts(definitions) == {"Sales.Orders": "Ours"}
    assert column_texts(definitions) == {"Sales.Orders.Id": "Key"}
    assert definitions.unmatched == ()


def test_a_name_that_two_objects_have_in_other_cases_is_reported_and_used_for_none() -> None:
    catalog = make_catalog(tables={"s.Orders": ["id int"], "s.orders": ["id int"]})

    definitions = make_definitions(catalog, human=knowledge(HumanTable("s", "ORDERS", "Ours", origin="shop.yml:4")))

    assert set(definitions.tables["definition_source"]) == {"derived"}
    assert definitions.unmatched == (
        "shop.yml:4: s.ORDERS is described but no such table or view is within this run's selection. "
        "Write it exactly as one of s.Orders, s.orders.",
    )


def test_the_exactly_spelled_entry_wins_and_the_other_fills_its_gaps() -> None:
    catalog = make_catalog(tables={"s.orders": ["id int"]})

    definitions = make_definitions(
        catalog,
        human=knowledge(
            HumanTable("S", "ORDERS", "Other", entity_name="From the other"), HumanTable("s", "orders", "Exact")
        ),
    )

    assert definitions.tables.select("definition", "entity_name").rows() == [("Exact", "From the other")]


def test_what_matches_nothing_is_reported_with_a_near_name() -> None:
    catalog = make_catalog(tables={"s.orders": ["order_id int", "total int"]})

    definitions = make_definitions(
        catalog,
        human=knowledge(
            HumanTable("s", "ordres", "x", origin="shop.yml:3"),
            HumanTable("s", "orders", columns=(HumanColumn("order_di", "x"),), origin="shop.yml:9"),
            HumanTable("zz", "qqqqqq", "x"),
        ),
    )

    assert definitions.unmatched == (
        "shop.yml:3: s.ordres is described but no such table or view is within this run's selection. "
        "Did you mean `s.orders`?",
        "zz.qqqqqq is described but no such table or view is within this run's selection. "
        "Check its spelling and the selection of schemas and entities.",
        "shop.yml:9: column s.orders.order_di is described but the table has no such column. Did you mean `order_id`?",
    )
