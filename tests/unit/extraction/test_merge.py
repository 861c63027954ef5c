from __future__ import annotations

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.extraction.graphrag import graphrag_frames
from dictionary_pipeline.extraction.merge import NamedGraph, merge_graphs
from dictionary_pipeline.frames import GRAPH_EDGES, GRAPH_ENTITIES, GRAPH_UNITS
from unit.builders import make_catalog
from unit.extraction.graphs import edges_of, make_graph


def named(name: str, catalog: Catalog) -> NamedGraph:
    graph = make_graph(catalog)
    return NamedGraph(name, graph.entities, graph.edges)


def database(name: str | None, *tables: str, keys: tuple[str, ...] = ()) -> Catalog:
    return make_catalog(
        tables={table: ["id int", "other int"] for table in tables},
        foreign_keys=keys,
        identity=Identity("postgres", database=name),
    )


def test_databases_of_other_names_keep_their_titles_and_all_edges() -> None:
    a = named("a", database("a", "s.t", "s.u", keys=("f: s.t(other) -> s.u(id)",)))
    b = named("b", database("b", "s.t"))

    merged = merge_graphs([a, b], None)

    assert edges_of(merged, "REFERENCES") == ["a.s.t REFERENCES a.s.u"]
    assert merged.entities["title"].n_unique() == merged.entities.height == 9
    assert merged.edges.height == a.edges.height + b.edges.height
    assert graphrag_frames(merged.entities, merged.edges, merged.ids).entities.height == 3


def test_a_table_outside_becomes_the_table_of_the_database_that_holds_it() -> None:
    a = named("a", database("a", "s.t"))
    stub = a.entities.head(1).with_columns(pl.lit(True).alias("is_stub"), pl.lit("Outside.").alias("description"))

    merged = merge_graphs([NamedGraph("b", stub, a.edges.clear()), a], None)

    assert merged.entities.filter(pl.col("title") == stub["title"][0])["is_stub"].to_list() == [False]


def test_of_databases_with_the_same_titles_the_later_one_gets_its_name_and_ids_stay() -> None:
    catalog = database(None, "s.t", "s.u", keys=("f: s.t(other) -> s.u(id)",))
    alone = merge_graphs([named("one", catalog)], None)

    merged = merge_graphs([named("one", catalog), named("two", catalog)], alone.ids)

    assert alone.ids.join(merged.ids, on=alone.ids.columns, how="anti").is_empty()
    assert merged.edges.filter(pl.col("type") == "REFERENCES").select("source", "target").rows() == [
        ("S.T TABLE", "S.U TABLE"),
        ("TWO.S.T TABLE", "TWO.S.U TABLE"),
    ]
    assert merged.entities["title"].is_unique().all()


def test_a_name_that_is_put_before_titles_makes_no_table_the_table_of_another_database() -> None:
    first, twin = database(None, "main.t"), database("twin", "main.t")

    merged = merge_graphs([named("first", first), named("other", twin), named("twin", first)], None)

    assert merged.entities.filter(pl.col("type") == "SQLTABLE")["title"].to_list() == [
        "MAIN.T TABLE",
        "TWIN.MAIN.T TABLE",
        "TWIN.TWIN.MAIN.T TABLE",
    ]


def with_company(graph: NamedGraph, says: str) -> NamedGraph:
    """The graph with a company that the first table and a document mention."""
    table = graph.entities["title"][0]
    entity = {"title": "ACME", "type": "ORGANIZATION", "qualified_name": "Acme", "description": says, "is_stub": False}
    edge = {"source": "ACME", "target": table, "type": "USES", "description": f"Acme USES {table}.", "weight": 2.0}
    facts = {"evidence": "llm:x", "confidence": 0.2, "is_inferred": True, "text_units": ["notes.md #1"]}
    unit = {"key": "notes.md #1", "document": "notes.md", "text": "Acme ships."}
    return NamedGraph(
        graph.name,
        pl.concat(
            [
                graph.entities,
                frames.fit(pl.DataFrame([entity | {"text_units": [table, "notes.md #1"]}]), GRAPH_ENTITIES),
            ]
        ),
        pl.concat([graph.edges, frames.fit(pl.DataFrame([edge | facts]), GRAPH_EDGES)]),
        frames.fit(pl.DataFrame([unit]), GRAPH_UNITS),
    )


def test_a_business_entity_of_two_databases_is_one_entity_with_the_texts_of_both() -> None:
    catalog = database(None, "s.t")
    one, two = with_company(named("one", catalog), "Ships."), with_company(named("two", catalog), "Sells.")

    merged = merge_graphs([one, two], None)
    rag = graphrag_frames(merged.entities, merged.edges, merged.ids, units=merged.units)

    company = merged.entities.filter(pl.col("title") == "ACME")
    assert company["description"].to_list() == ["Ships. Sells."]
    assert company["text_units"].to_list() == [["S.T TABLE", "TWO.S.T TABLE", "one: notes.md #1", "two: notes.md #1"]]
    assert merged.edges.filter(pl.col("source") == "ACME").select("target", "text_units").rows() == [
        ("S.T TABLE", ["one: notes.md #1"]),
        ("TWO.S.T TABLE", ["two: notes.md #1"]),
    ]
    assert rag.text_units.height == 4
    assert rag.entities.filter(pl.col("title") == "ACME")["frequency"].to_list() == [4]
    assert merged.entities["type"].to_list()[-1] == "ORGANIZATION"


def test_a_business_entity_that_is_called_like_a_table_of_another_database_does_not_replace_it() -> None:
    a, b = named("a", database("a", "s.t")), named("b", database(None, "s.u"))
    title = b.entities["title"][0]
    said = {"title": [title], "type": ["EVENT"], "description": ["Said."], "is_stub": [False], "text_units": [["x"]]}
    business = frames.fit(pl.DataFrame(said), GRAPH_ENTITIES)

    merged = merge_graphs([NamedGraph("a", pl.concat([a.entities, business]), a.edges), b], None)

    assert merged.entities.filter(pl.col("title") == title)["type"].to_list() == ["SQLTABLE"]
