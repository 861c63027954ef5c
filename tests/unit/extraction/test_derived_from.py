from __future__ import annotations

import polars as pl
import pytest

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.extraction.checks import check_graph
from dictionary_pipeline.extraction.graphrag import graphrag_frames
from dictionary_pipeline.extraction.model import KnowledgeGraph
from unit.builders import make_catalog
from unit.extraction.graphs import edge, edges_of, make_graph, make_relations


def sales() -> Catalog:
    return make_catalog(
        tables={
            "s.orders": ["id int", "amount int", "tax int"],
            "s.totals": ["order_id int", "gross int", "made text"],
            "s.top": ["gross int"],
        },
        views={
            "s.totals": "select id as order_id, amount + tax as gross, 'now' as made from s.orders",
            "s.top": "select gross from s.totals",
        },
    )


def test_a_view_column_is_derived_from_every_column_its_values_come_from_and_only_directly() -> None:
    assert edges_of(make_graph(sales()), "IS_DERIVED_FROM") == [
        "shop.s.top.gross IS_DERIVED_FROM shop.s.totals.gross",
        "shop.s.totals.gross IS_DERIVED_FROM shop.s.orders.amount",
        "shop.s.totals.gross IS_DERIVED_FROM shop.s.orders.tax",
        "shop.s.totals.order_id IS_DERIVED_FROM shop.s.orders.id",
    ]


def test_the_edge_says_its_type_both_names_and_where_it_is_known_from() -> None:
    found = edge(make_graph(sales()), "IS_DERIVED_FROM", "shop.s.top.gross")

    assert found["description"] == "Column shop.s.top.gross IS_DERIVED_FROM column shop.s.totals.gross."
    assert (found["evidence"], found["weight"], found["is_inferred"]) == ("sqlglot:lineage", 4.0, False)


def test_columns_of_tables_outside_the_selection_have_no_such_edge() -> None:
    catalog = make_catalog(tables={"s.v": ["rate int"]}, views={"s.v": "select rate from ext.rates"})
    relations = make_relations(catalog)

    graph = make_graph(catalog, relations)

    assert edges_of(graph, "IS_DERIVED_FROM") == []
    assert check_graph(catalog, relations, graph) == ()


@pytest.mark.parametrize("damage", ["missing", "turned round"])
def test_the_gate_finds_a_damaged_derivation(damage: str) -> None:
    catalog, graph = sales(), make_graph(sales())
    derived = pl.col("type") == "IS_DERIVED_FROM"
    others = graph.edges.filter(~derived)
    turned = graph.edges.filter(derived).rename({"source": "target", "target": "source"}).select(others.columns)
    edges = others if damage == "missing" else pl.concat([others, turned])

    findings = check_graph(catalog, make_relations(catalog), KnowledgeGraph(graph.entities, edges, graph.ids))

    assert check_graph(catalog, make_relations(catalog), graph) == ()
    assert any(finding.startswith("4 edges of the catalog are missing") for finding in findings)
    assert damage == "missing" or any(finding.startswith("4 edges are not in the catalog") for finding in findings)


def test_derivations_appear_with_columns_only() -> None:
    graph = make_graph(sales())

    def types(granularity: str) -> set[str]:
        rag = graphrag_frames(graph.entities, graph.edges, graph.ids, granularity=granularity)  # type: ignore[arg-type]
        return set(rag.relationships["relationship_type"])

    assert "IS_DERIVED_FROM" not in types("table")
    assert "IS_DERIVED_FROM" in types("column")
