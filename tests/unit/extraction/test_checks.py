from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from dictionary_pipeline.extraction.checks import check_graph
from dictionary_pipeline.extraction.model import KnowledgeGraph
from unit.extraction.graphs import make_graph, make_relations
from unit.extraction.test_exact import shop

Damage = Callable[[KnowledgeGraph], KnowledgeGraph]


def without_edges(kind: str) -> Damage:
    return lambda graph: replace(graph, edges=graph.edges.filter(pl.col("type") != kind))


def added_edge(kind: str) -> Damage:
    """Turn an edge of the type round, which no catalog says."""
    return lambda graph: replace(
        graph,
        edges=pl.concat(
            [
                graph.edges,
                graph.edges.filter((pl.col("type") == kind) & (pl.col("source") != pl.col("target")))
                .head(1)
                .rename({"source": "target", "target": "source"})
                .select(graph.edges.columns),
            ]
        ),
    )


KINDS = [
    "REFERENCES",
    "IS_CREATED_USING",
    "IS_FOREIGN_KEY_REF_FOR",
    "IS_FOREIGN_KEY_IN",
    "IS_PRIMARY_KEY_OF",
    "HAS_COLUMN",
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_edge_is_found(kind: str) -> None:
    catalog = shop()

    findings = check_graph(catalog, make_relations(catalog), without_edges(kind)(make_graph(catalog)))

    assert len(findings) == 1
    assert "edges of the catalog are missing" in findings[0]
    assert kind in findings[0]


@pytest.mark.parametrize("kind", KINDS)
def test_an_invented_edge_is_found(kind: str) -> None:
    catalog = shop()

    findings = check_graph(catalog, make_relations(catalog), added_edge(kind)(make_graph(catalog)))

    assert [finding for finding in findings if finding.startswith("1 edges are not in the catalog") and kind in finding]


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        (
            lambda graph: replace(graph, edges=pl.concat([graph.edges, graph.edges.head(1)])),
            "1 edges occur twice, e.g. SHOP.S.CUSTOMERS TABLE SHOP.GEO.REGIONS TABLE REFERENCES",
        ),
        (
            lambda graph: replace(graph, entities=pl.concat([graph.entities, graph.entities.head(1)])),
            "1 entities share a title, e.g. SHOP.EXT.RATES TABLE",
        ),
        (
            lambda graph: replace(graph, entities=graph.entities.filter(pl.col("title") != "SHOP.GEO.REGIONS TABLE")),
            "1 edges start or end at no entity, e.g. SHOP.GEO.REGIONS TABLE",
        ),
        (
            lambda graph: replace(graph, edges=graph.edges.with_columns(weight=pl.lit(11.0))),
            "edges have a weight outside 1 to 10",
        ),
        (
            lambda graph: replace(graph, edges=graph.edges.with_columns(description=pl.lit("related"))),
            "edges do not say their type",
        ),
        (
            lambda graph: replace(
                graph, entities=graph.entities.filter(pl.col("title") != "SHOP.S.ADDRESSES.ID COLUMN")
            ),
            "1 entities of the catalog are missing, e.g. SQLCOLUMN shop.s.addresses.id",
        ),
        (
            lambda graph: replace(graph, entities=graph.entities.with_columns(is_stub=pl.lit(False))),
            "2 entities are not in the catalog, e.g. SQLTABLE shop.ext.rates; SQLTABLE shop.geo.regions",
        ),
    ],
)
def test_a_malformed_graph_is_found(damage: Damage, finding: str) -> None:
    catalog = shop()

    findings = check_graph(catalog, make_relations(catalog), damage(make_graph(catalog)))

    assert [found for found in findings if finding in found], findings


def test_a_declared_key_that_the_relationship_stage_lost_is_found() -> None:
    catalog = shop()
    relations = make_relations(catalog)
    lossy = replace(relations, relationships=relations.relationships.filter(pl.col("name") != "fk_bill"))

    findings = check_graph(catalog, lossy, make_graph(catalog, lossy))

    assert any("IS_FOREIGN_KEY_IN shop.s.customers.billing_id" in finding for finding in findings)
