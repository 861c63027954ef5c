from __future__ import annotations

import xml.etree.ElementTree as ET

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.extraction.graphrag import at_granularity
from dictionary_pipeline.extraction.model import KnowledgeGraph
from dictionary_pipeline.extraction.report import graph_facts, graph_picture
from dictionary_pipeline.report import MAX_IMAGE_BYTES
from unit.builders import make_catalog
from unit.extraction.graphs import make_graph, make_relations
from unit.extraction.test_exact import shop


def with_business(graph: KnowledgeGraph) -> KnowledgeGraph:
    """The graph with a company that a column records and a table mentions, and a metric that nothing mentions."""
    entities = pl.DataFrame(
        {
            "title": ["ACME", "RETURN RATE"],
            "type": ["ORGANIZATION", "METRIC"],
            "qualified_name": ["Acme", "Return rate"],
            "description": ["Ships.", "Share."],
            "is_stub": [False, False],
            "text_units": [["SHOP.S.ORDERS TABLE"], ["SHOP.S.ORDERS TABLE"]],
        }
    )
    edges = pl.DataFrame(
        {
            "source": ["ACME", "ACME"],
            "target": ["SHOP.S.ORDERS.SHOP_ID COLUMN", "SHOP.S.LINES TABLE"],
            "type": ["IS_RECORDED_IN", "USES"],
            "description": ["Acme IS_RECORDED_IN it.", "Acme USES it."],
            "weight": [8.0, 3.0],
            "evidence": ["llm:x", "llm:x"],
            "confidence": [0.8, 0.3],
            "is_inferred": [True, True],
            "text_units": [["SHOP.S.ORDERS TABLE"], ["SHOP.S.ORDERS TABLE"]],
        }
    )
    return KnowledgeGraph(
        pl.concat([graph.entities, frames.fit(entities, frames.GRAPH_ENTITIES)]),
        pl.concat([graph.edges, frames.fit(edges, frames.GRAPH_EDGES)]),
        graph.ids,
    )


def words(svg: bytes) -> str:
    return " ".join(text for text in ET.fromstring(svg).itertext())


def test_metadata_counts_entities_and_edges_by_type_and_says_how_many_reports_to_expect() -> None:
    graph = with_business(make_graph(shop()))

    facts = graph_facts(graph, make_relations(shop()).roles, "table")

    assert facts.metrics == {
        "entities": graph.entities.height,
        "edges": graph.edges.height,
        "stubs": 2,
        "business_entities": 2,
        "inferred_edges": 2,
        "report_calls_at_least": 2,
        "report_calls_at_most": 4,
    }
    assert dict(facts.tables["entities_by_type"].iter_rows()) == {
        "METRIC": 1,
        "ORGANIZATION": 1,
        "SQLCOLUMN": 13,
        "SQLTABLE": 6,
        "SQLVIEW": 2,
    }
    assert facts.tables["edges_by_type"].row(0) == ("REFERENCES", 4)


def test_the_picture_shows_tables_views_stubs_and_business_entities_but_no_column() -> None:
    graph = with_business(make_graph(shop()))

    drawn = words(graph_picture(graph.entities, graph.edges, make_relations(shop()).roles, 42_000) or b"")

    for shown in ("orders", "totals", "rates", "Acme", "business entity", "outside this picture"):
        assert shown in drawn
    assert "10 tables, views and business entities and their 9 relationships" in drawn
    assert "order_no" not in drawn


def test_the_picture_of_a_large_graph_fits_an_event_and_says_what_it_leaves_out() -> None:
    tables = {f"s.table_{number}": ["id int", "parent_id int"] for number in range(400)}
    keys = [f"s.table_{number}(parent_id) -> s.table_{number // 3}(id)" for number in range(400)]
    catalog = make_catalog(tables=tables, foreign_keys=keys)
    graph = make_graph(catalog)

    picture = graph_picture(graph.entities, graph.edges, make_relations(catalog).roles, MAX_IMAGE_BYTES)

    assert picture is not None
    assert len(picture) <= MAX_IMAGE_BYTES
    assert "less connected ones not shown" in words(picture)


def test_an_empty_database_has_no_picture() -> None:
    graph = make_graph(make_catalog())

    facts = graph_facts(graph, make_relations(make_catalog()).roles, "table")

    assert facts.images == {}
    assert facts.metrics["report_calls_at_most"] == 0


def test_without_columns_a_business_edge_to_a_column_leads_to_its_table() -> None:
    graph = with_business(make_graph(shop()))

    entities, edges = at_granularity(graph.entities, graph.edges, "table")

    assert "SQLCOLUMN" not in set(entities["type"])
    business = edges.filter(pl.col("source") == "ACME").select("target", "type").rows()
    assert business == [("SHOP.S.ORDERS TABLE", "IS_RECORDED_IN"), ("SHOP.S.LINES TABLE", "USES")]
    assert {*edges["source"], *edges["target"]} <= set(entities["title"])
    assert at_granularity(graph.entities, graph.edges, "column") == (graph.entities, graph.edges)
