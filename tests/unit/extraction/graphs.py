"""Knowledge graphs of hand-made catalogs, and edges in a notation that reads like a sentence."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge, PathLimits
from dictionary_pipeline.enrichment.definitions import define
from dictionary_pipeline.extraction.exact import build_graph
from dictionary_pipeline.extraction.graphrag import graph_keys
from dictionary_pipeline.extraction.ids import extend_ids
from dictionary_pipeline.extraction.model import KnowledgeGraph
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.relationships.relate import relate
from unit.enrichment.profiled import make_profiles


def make_relations(catalog: Catalog, human: HumanKnowledge | None = None) -> RelationshipGraph:
    """Run the relationship stage on unread tables."""
    return relate(catalog, make_profiles(catalog), human or HumanKnowledge(), PathLimits())


def make_graph(
    catalog: Catalog,
    relations: RelationshipGraph | None = None,
    *,
    profiles: pl.DataFrame | None = None,
    previous_ids: pl.DataFrame | None = None,
) -> KnowledgeGraph:
    """Run definitions and the exact part of the graph."""
    relations = make_relations(catalog) if relations is None else relations
    profiles = make_profiles(catalog) if profiles is None else profiles
    definitions = define(catalog, profiles, relations, HumanKnowledge())
    entities, edges = build_graph(catalog, profiles, relations, definitions)
    return KnowledgeGraph(entities, edges, extend_ids(previous_ids, graph_keys(entities, edges)))


def edges_of(graph: KnowledgeGraph, *kinds: str) -> list[str]:
    """`source TYPE target` of edges, by exact names in the order of the frame."""
    names = dict(graph.entities.select("title", "qualified_name").iter_rows())
    rows = graph.edges.select("source", "type", "target").iter_rows()
    return [f"{names[source]} {kind} {names[target]}" for source, kind, target in rows if not kinds or kind in kinds]


def edge(graph: KnowledgeGraph, kind: str, source: str) -> dict[str, object]:
    """The only edge of a type from the entity with this exact name."""
    titles = graph.entities.filter(pl.col("qualified_name") == source)["title"]
    return graph.edges.filter((pl.col("type") == kind) & pl.col("source").is_in(titles.implode())).row(0, named=True)
