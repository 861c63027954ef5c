"""The gate of the graph looks at the model's part too."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from dictionary_pipeline.extraction.checks import check_graph
from dictionary_pipeline.extraction.graphrag import graph_keys, graphrag_frames
from dictionary_pipeline.extraction.ids import extend_ids
from dictionary_pipeline.extraction.model import KnowledgeGraph
from unit.builders import make_catalog
from unit.extraction.business.texts import edge, entity, found, graph, unit
from unit.extraction.graphs import make_graph, make_relations

CATALOG = make_catalog(tables={"s.orders": ["id int"]})
TEXT = "Acme Bolt"


def whole() -> KnowledgeGraph:
    """An exact graph with a business part drawn from one document and its table."""
    exact = make_graph(CATALOG)
    table = replace(unit("SHOP.S.ORDERS TABLE", TEXT), table=("s", "orders"))
    built = graph(
        [table, unit("a.md#start", TEXT), unit("a.md#end", "Nothing.")],
        {
            "a.md#start": found(entity("Acme"), entity("Bolt"), edge("Acme", "Bolt"), edge("Bolt", "shop.s.orders")),
            "SHOP.S.ORDERS TABLE": found(entity("Acme"), edge("Acme", "Bolt")),
        },
    )
    entities, edges = pl.concat([exact.entities, built.entities]), pl.concat([exact.edges, built.edges])
    return KnowledgeGraph(entities, edges, extend_ids(exact.ids, graph_keys(entities, edges, built.units)), built.units)


def findings(graph: KnowledgeGraph) -> tuple[str, ...]:
    return check_graph(CATALOG, make_relations(CATALOG), graph)


def test_a_business_part_that_cites_its_texts_passes() -> None:
    assert findings(whole()) == ()


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("text_units", [], "business edges cite no text"),
        ("text_units", ["gone.md#start"], "business edges cite no text"),
        ("text_units", None, "business edges cite no text"),
        ("evidence", "catalog:foreign_key", "business edges look proven"),
        ("is_inferred", False, "business edges look proven"),
        ("confidence", 1.0, "business edges look proven"),
        ("source", "SHOP.S.ORDERS TABLE", "business edges start at a database object"),
        ("type", "REFERENCES", "edges are not in the catalog"),
        ("target", "NOTHING", "edges start or end at no entity"),
    ],
)
def test_a_business_edge_that_claims_more_is_refused(column: str, value: object, expected: str) -> None:
    good = whole()
    is_one = pl.col("evidence").str.starts_with("llm:") & (pl.col("target") == "BOLT")
    new = pl.lit(value, dtype=good.edges.schema[column])
    bad = replace(good, edges=good.edges.with_columns(pl.when(is_one).then(new).otherwise(column).alias(column)))
    assert any(expected in finding for finding in findings(bad)), findings(bad)


def test_a_business_entity_of_an_sql_type_is_no_object_of_the_catalog() -> None:
    good = whole()
    kind = pl.when(pl.col("title") == "ACME").then(pl.lit("SQLTABLE")).otherwise("type").alias("type")
    assert any(
        "entities are not in the catalog" in text
        for text in findings(replace(good, entities=good.entities.with_columns(kind)))
    )


def test_every_text_and_document_is_published_with_what_it_states() -> None:
    built = whole()
    rag = graphrag_frames(built.entities, built.edges, built.ids, units=built.units)
    keys = dict(built.ids.filter(kind="text_unit").select("id", "key").iter_rows())
    units = {
        title: [keys[one] for one in ids] for title, ids in rag.entities.select("title", "text_unit_ids").iter_rows()
    }
    assert units == {
        "SHOP.S.ORDERS TABLE": ["SHOP.S.ORDERS TABLE"],
        "ACME": ["SHOP.S.ORDERS TABLE", "a.md#start"],
        "BOLT": ["a.md#start"],
    }
    pairs = {
        (source, target): [keys[one] for one in ids]
        for source, target, ids in rag.relationships.select("source", "target", "text_unit_ids").iter_rows()
    }
    assert pairs == {
        ("ACME", "BOLT"): ["SHOP.S.ORDERS TABLE", "a.md#start"],
        ("BOLT", "SHOP.S.ORDERS TABLE"): ["a.md#start"],
    }
    assert rag.entities.filter(title="ACME")["frequency"].item() == 2
    documents = rag.documents.select("title", "text", pl.col("text_unit_ids").list.len()).rows()
    assert documents[1:] == [("a.md", f"{TEXT}\n\nNothing.", 2)]
    assert rag.text_units["document_id"].to_list() == [rag.documents["id"][0], *[rag.documents["id"][1]] * 2]
