"""The exact part of the knowledge graph: what the catalog proves, without a model."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.enrichment.definitions import Definitions
from dictionary_pipeline.extraction.descriptions import describe_columns, describe_tables
from dictionary_pipeline.extraction.edges import build_edges, foreign_keys
from dictionary_pipeline.extraction.nodes import build_nodes
from dictionary_pipeline.relationships.model import RelationshipGraph


def build_graph(
    catalog: Catalog, profiles: pl.DataFrame, graph: RelationshipGraph, definitions: Definitions
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Build entities and edges of all tables, views, columns and keys.

    Only accepted relationships count. A table that keys or views point to but the catalog does not
    hold becomes a stub: an entity without columns.

    Args:
        profiles: `frames.PROFILES`.

    Returns:
        `frames.GRAPH_ENTITIES` and `frames.GRAPH_EDGES`, ordered as `KnowledgeGraph` says.
    """
    nodes = build_nodes(catalog, graph)
    tables = nodes.tables.join(
        describe_tables(nodes, catalog, graph, foreign_keys(nodes, graph), definitions),
        on="title",
        maintain_order="left",
    )
    columns = nodes.columns.join(
        describe_columns(nodes, catalog, profiles, definitions), on="title", maintain_order="left"
    ).with_columns(type=pl.lit("SQLCOLUMN"), is_stub=pl.lit(False))
    naming = {"qualified": "qualified_name", "schema": "schema_name"}
    entities = [frames.fit(objects.rename(naming), frames.GRAPH_ENTITIES) for objects in (tables, columns)]
    return pl.concat(entities), build_edges(nodes, graph)
