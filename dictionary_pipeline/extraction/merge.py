"""One graph of several databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from dictionary_pipeline.extraction.graphrag import graph_keys
from dictionary_pipeline.extraction.ids import extend_ids
from dictionary_pipeline.extraction.model import EDGE_TYPES, KnowledgeGraph


class NamedGraph(NamedTuple):
    """The graph of one database."""

    name: str
    """Under which the database is configured."""
    entities: pl.DataFrame
    """`frames.GRAPH_ENTITIES`."""
    edges: pl.DataFrame
    """`frames.GRAPH_EDGES`."""


def merge_graphs(graphs: Sequence[NamedGraph], previous_ids: pl.DataFrame | None) -> KnowledgeGraph:
    """Unite graphs; a table outside one database becomes the table of the other when both have its name.

    Titles hold the database where the engine has such a name. Of graphs that share a title all the
    same, the first keeps its titles and the later ones get their name before theirs: new databases
    belong at the end.

    Args:
        graphs: In an order that stays.
        previous_ids: The id map of the last merge, null at first.
    """
    taken: set[str] = set()
    told_apart = []
    for graph in graphs:
        own = set(graph.entities.filter(~pl.col("is_stub"))["title"])
        named = _prefixed(graph) if own & taken else graph
        taken |= set(named.entities.filter(~pl.col("is_stub"))["title"])
        told_apart.append(named)
    order = {kind: rank for rank, kind in enumerate(EDGE_TYPES)}
    entities = (
        pl.concat([graph.entities for graph in told_apart])
        .sort("is_stub", maintain_order=True)
        .unique("title", keep="first", maintain_order=True)
        .sort(pl.col("type") == "SQLCOLUMN", maintain_order=True)
    )
    edges = (
        pl.concat([graph.edges for graph in told_apart])
        .unique(["source", "target", "type"], keep="first", maintain_order=True)
        .sort(pl.col("type").replace_strict(order, return_dtype=pl.Int64()), maintain_order=True)
    )
    return KnowledgeGraph(entities, edges, extend_ids(previous_ids, graph_keys(entities, edges)))


def _prefixed(graph: NamedGraph) -> NamedGraph:
    """The graph with its name before all titles but those of stubs that name another database."""
    prefix = graph.name.upper() + "."
    here = graph.entities.filter(~pl.col("is_stub"))["database"].unique()
    is_own = ~pl.col("is_stub") | pl.col("database").is_null() | pl.col("database").is_in(here.implode())
    renamed = graph.entities.filter(is_own)["title"]
    titles = dict(zip(renamed, prefix + renamed, strict=True))
    return NamedGraph(
        graph.name,
        graph.entities.with_columns(pl.col("title").replace(titles)),
        graph.edges.with_columns(pl.col("source", "target").replace(titles)),
    )
