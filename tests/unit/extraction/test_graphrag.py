from __future__ import annotations

import io
from typing import get_args

import polars as pl
import pytest
from ruamel.yaml import YAML

from dictionary_pipeline.config.graph_settings import Granularity
from dictionary_pipeline.errors import StateMismatch
from dictionary_pipeline.extraction.graphrag import (
    DOCUMENTS,
    ENTITIES,
    RELATIONSHIPS,
    TEXT_UNITS,
    GraphRagSet,
    graph_keys,
    graphrag_frames,
)
from dictionary_pipeline.extraction.ids import extend_ids
from dictionary_pipeline.extraction.model import KnowledgeGraph
from dictionary_pipeline.extraction.settings import graphrag_settings
from unit.builders import make_catalog
from unit.extraction.graphs import make_graph
from unit.extraction.test_exact import shop

_RESERVED = {"community", "level", "parent", "node_details", "edge_details", "community_x"}


def published(graph: KnowledgeGraph, granularity: Granularity = "table") -> GraphRagSet:
    return graphrag_frames(graph.entities, graph.edges, graph.ids, granularity=granularity)


@pytest.mark.parametrize("granularity", get_args(Granularity))
def test_the_set_meets_what_graphrag_relies_on(granularity: Granularity) -> None:
    found = published(make_graph(shop()), granularity)
    entities, relationships, units, documents = (
        found.entities,
        found.relationships,
        found.text_units,
        found.documents,
    )

    assert entities.schema == dict(ENTITIES)
    assert relationships.schema == dict(RELATIONSHIPS)
    assert units.schema == dict(TEXT_UNITS)
    assert documents.schema == dict(DOCUMENTS)
    assert not _RESERVED & {*entities.columns, *relationships.columns}
    required = [*entities.columns[:11], "is_stub"]
    assert not any(entities[column].has_nulls() for column in required)
    assert not any(relationships[column].has_nulls() for column in relationships.columns[:-1])
    assert entities["title"].is_unique().all()
    assert relationships.select("source", "target").is_unique().all()
    assert {*relationships["source"], *relationships["target"]} <= set(entities["title"])
    for frame in (entities, relationships, units, documents):
        assert frame["id"].is_unique().all()
        assert frame["human_readable_id"].is_unique().all()
    for frame in (entities, relationships, documents):
        assert frame["text_unit_ids"].list.len().min() >= 1
        assert set(frame["text_unit_ids"].explode()) <= set(units["id"])
    assert set(units["entity_ids"].explode()) == set(entities["id"])
    assert set(units["relationship_ids"].explode()) - {None} == set(relationships["id"])
    assert units["document_id"].to_list() == documents["id"].to_list()
    assert relationships["weight"].is_between(1, 10).all()
    assert (entities["frequency"] == entities["text_unit_ids"].list.len()).all()


def test_degrees_count_distinct_neighbours_and_a_self_reference_twice() -> None:
    found = published(make_graph(shop()))

    degrees = dict(found.entities.select("title", "degree").iter_rows())
    assert degrees == {
        "SHOP.EXT.RATES TABLE": 1,
        "SHOP.GEO.REGIONS TABLE": 1,
        "SHOP.S.ADDRESSES TABLE": 1,
        "SHOP.S.CUSTOMERS TABLE": 2,
        "SHOP.S.LINES TABLE": 1,
        "SHOP.S.ORDERS TABLE": 4,
        "SHOP.S.TOP VIEW": 2,
        "SHOP.S.TOTALS VIEW": 2,
    }
    for source, target, combined in found.relationships.select("source", "target", "combined_degree").iter_rows():
        assert combined == degrees[source] + degrees[target]


def test_opposite_edges_between_two_entities_count_as_one_neighbour() -> None:
    catalog = make_catalog(
        tables={"s.a": ["id int", "b_id int"], "s.b": ["id int", "a_id int"]},
        foreign_keys=["s.a(b_id) -> s.b(id)", "s.b(a_id) -> s.a(id)"],
    )

    assert published(make_graph(catalog)).entities["degree"].to_list() == [1, 1]


def test_table_granularity_keeps_tables_views_and_the_edges_between_them() -> None:
    found = published(make_graph(shop()))

    assert set(found.entities["type"]) == {"SQLTABLE", "SQLVIEW"}
    assert found.relationships["relationship_type"].to_list() == ["REFERENCES"] * 4 + ["IS_CREATED_USING"] * 3


def test_edges_of_a_pair_are_merged_strongest_weight_first_type_first_row() -> None:
    found = published(make_graph(shop()), "column")

    pair = found.relationships.filter(
        (pl.col("source") == "SHOP.S.LINES.SHOP_ID COLUMN") & (pl.col("target") == "SHOP.S.LINES TABLE")
    )
    assert pair["relationship_type"].to_list() == ["IS_FOREIGN_KEY_IN|IS_PRIMARY_KEY_OF"]
    assert pair["weight"].to_list() == [5.0]
    assert pair["evidence"].to_list() == ["catalog:foreign_key|catalog:primary_key"]
    assert pair["constraint_name"].to_list() == ["fk_order, lines_pkey"]
    assert pair["description"][0].count(" shop.s.lines.shop_id ") == 2
    first_types = found.relationships["relationship_type"].str.split("|").list.first().to_list()
    assert list(dict.fromkeys(first_types)) == [
        "REFERENCES",
        "IS_CREATED_USING",
        "IS_FOREIGN_KEY_REF_FOR",
        "IS_FOREIGN_KEY_IN",
        "IS_PRIMARY_KEY_OF",
        "HAS_COLUMN",
    ]


def test_a_text_unit_holds_a_table_with_its_columns_and_a_stub_belongs_to_those_that_point_to_it() -> None:
    found = published(make_graph(shop()))

    unit = found.documents.filter(pl.col("title") == "SHOP.S.CUSTOMERS TABLE")
    lines = unit["text"][0].split("\n")
    assert [line.split(". ")[0] for line in lines] == [
        "Table shop.s.customers",
        "Column shop.s.customers.id",
        "Column shop.s.customers.billing_id",
        "Column shop.s.customers.shipping_id",
        "Column shop.s.customers.region_id",
    ]
    stub = found.entities.filter(pl.col("title") == "SHOP.GEO.REGIONS TABLE")
    assert stub["text_unit_ids"].to_list() == unit["text_unit_ids"].to_list()
    assert found.text_units["text"].to_list() == found.documents["text"].to_list()
    assert found.text_units["n_tokens"].to_list() == [len(text.encode()) // 4 + 1 for text in found.text_units["text"]]
    assert found.documents.height == 6


def test_an_added_table_leaves_every_other_row_as_it_was() -> None:
    before = make_graph(make_catalog(tables={"s.b": ["id int"], "s.c": ["id int"]}))
    catalog = make_catalog(tables={"s.a": ["id int"], "s.b": ["id int"], "s.c": ["id int"]})
    after = make_graph(catalog, previous_ids=before.ids)

    for granularity in get_args(Granularity):
        old, new = published(before, granularity), published(after, granularity)
        for name in ("entities", "relationships", "text_units", "documents"):
            kept = getattr(new, name).join(getattr(old, name).select("id"), on="id", how="semi")
            assert kept.equals(getattr(old, name)), name


def test_pairs_whose_titles_hold_arrows_have_keys_of_their_own() -> None:
    graph = make_graph(shop())
    edges = graph.edges.head(3).with_columns(source=pl.Series(["A", "A->B", "X"]), target=pl.Series(["B->C", "C", "Y"]))

    keys = [key for kind, key in graph_keys(graph.entities, edges) if kind == "relationship"]

    assert len(set(keys)) == 3
    assert "X->Y" in keys


def test_an_id_map_that_lacks_an_object_is_refused_with_its_name() -> None:
    graph = make_graph(shop())
    ids = graph.ids.filter(pl.col("key") != "SHOP.S.LINES TABLE")

    with pytest.raises(StateMismatch, match=r"lacks the text unit SHOP\.S\.LINES TABLE"):
        graphrag_frames(graph.entities, graph.edges, ids)


def test_a_graph_without_edges_gives_empty_relationships() -> None:
    graph = make_graph(make_catalog(tables={"s.a": []}))

    found = published(graph)

    assert found.relationships.is_empty()
    assert found.entities["degree"].to_list() == [0]
    assert found.text_units["relationship_ids"].to_list() == [[]]
    assert found.text_units["covariate_ids"].to_list() == [[]]


def test_the_same_graph_gives_the_same_bytes() -> None:
    def content() -> bytes:
        buffer = io.BytesIO()
        for frame in vars(published(make_graph(shop()), "column")).values():
            frame.write_parquet(buffer)
        return buffer.getvalue()

    assert content() == content()


def test_settings_are_yaml_with_no_secret_and_keep_every_component() -> None:
    settings = YAML(typ="safe").load(graphrag_settings())

    assert settings["cluster_graph"]["use_lcc"] is False
    assert settings["workflows"] == ["create_communities", "create_community_reports", "generate_text_embeddings"]
    for models in ("completion_models", "embedding_models"):
        assert [model["api_key"] for model in settings[models].values()] == ["${GRAPHRAG_API_KEY}"]


def test_ids_cover_both_granularities_at_once() -> None:
    graph = make_graph(shop())

    assert graph.ids.equals(extend_ids(graph.ids, graph_keys(graph.entities, graph.edges)))
    assert dict(graph.ids.group_by("kind").len().iter_rows()) == {
        "entity": graph.entities.height,
        "relationship": graph.edges.select("source", "target").n_unique(),
        "text_unit": 6,
        "document": 6,
    }
