from __future__ import annotations

import polars as pl

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.extraction.graphrag import graphrag_frames
from dictionary_pipeline.extraction.merge import NamedGraph, merge_graphs
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
