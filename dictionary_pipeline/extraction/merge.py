"""One graph of several databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.extraction.graphrag import graph_keys
from dictionary_pipeline.extraction.ids import extend_ids
from dictionary_pipeline.extraction.model import ALL_EDGE_TYPES, SQL_TYPES, KnowledgeGraph

_IS_SQL = pl.col("type").is_in(SQL_TYPES)


@dataclass(frozen=True)
class NamedGraph:
    """The graph of one database."""

    name: str
    """Under which the database is configured."""
    entities: pl.DataFrame
    """`frames.GRAPH_ENTITIES`."""
    edges: pl.DataFrame
    """`frames.GRAPH_EDGES`."""
    units: pl.DataFrame = field(default_factory=lambda: frames.empty(frames.GRAPH_UNITS))
    """`frames.GRAPH_UNITS`."""


def merge_graphs(graphs: Sequence[NamedGraph], previous_ids: pl.DataFrame | None) -> KnowledgeGraph:
    """Unite graphs; a table outside one database becomes the table of the other when both have its name.

    Titles of tables and columns hold the database where the engine has such a name. Of graphs that
    share such a title all the same, the first keeps its titles and the later ones get their name
    before theirs: new databases belong at the end. Business entities of one title are one entity.

    Args:
        graphs: In an order that stays.
        previous_ids: The id map of the last merge, null at first.
    """
    taken: set[str] = set()
    told_apart = []
    for graph in graphs:
        own = graph.entities.filter(_IS_SQL & ~pl.col("is_stub"))["title"]
        prefix = ""
        while not taken.isdisjoint(prefix + own):
            prefix += graph.name.upper() + "."
        named = _renamed(graph, prefix)
        taken |= set(named.entities.filter(_IS_SQL & ~pl.col("is_stub"))["title"])
        told_apart.append(named)
    order = {kind: rank for rank, kind in enumerate(ALL_EDGE_TYPES)}
    listed = pl.concat([graph.entities for graph in told_apart])
    proven_first = listed.sort(~_IS_SQL, "is_stub", maintain_order=True)
    entities = _united(proven_first, ["title"], listed.schema).sort(
        ~_IS_SQL, pl.col("type") == "SQLCOLUMN", maintain_order=True
    )
    stated = pl.concat([graph.edges for graph in told_apart])
    edges = _united(stated, ["source", "target", "type"], stated.schema).sort(
        pl.col("type").replace_strict(order, return_dtype=pl.Int64()), maintain_order=True
    )
    units = pl.concat([graph.units for graph in told_apart])
    return KnowledgeGraph(entities, edges, extend_ids(previous_ids, graph_keys(entities, edges, units)), units)


def _united(rows: pl.DataFrame, key: Sequence[str], schema: pl.Schema) -> pl.DataFrame:
    """The first row of every key, where business objects have the descriptions and text units of all."""
    is_said = pl.col("text_units").is_not_null()
    said = pl.col("description").filter(is_said).unique(maintain_order=True).str.join(" ")
    first = [pl.col(name).first() for name in schema if name not in key]
    whole = rows.group_by(key, maintain_order=True).agg(
        *first, said.alias("said"), pl.col("text_units").explode().drop_nulls().unique().sort().alias("all_units")
    )
    return whole.with_columns(
        pl.when(is_said).then("said").otherwise("description").alias("description"),
        pl.when(is_said).then("all_units").alias("text_units"),
    ).select(schema.names())


def _renamed(graph: NamedGraph, prefix: str) -> NamedGraph:
    """The graph with its name before its texts, and the prefix before all titles but stubs of another database."""
    here = graph.entities.filter(~pl.col("is_stub"))["database"].unique()
    is_own = ~pl.col("is_stub") | pl.col("database").is_null() | pl.col("database").is_in(here.implode())
    renamed = graph.entities.filter(_IS_SQL & is_own)["title"] if prefix else pl.Series([], dtype=pl.String())
    titles = dict(zip(renamed, prefix + renamed, strict=True))
    label = f"{graph.name}: "
    texts = {key: label + key for key in graph.units["key"]}
    cited = pl.col("text_units").list.eval(pl.element().replace({**titles, **texts}))
    return NamedGraph(
        graph.name,
        graph.entities.with_columns(pl.col("title").replace(titles), cited),
        graph.edges.with_columns(pl.col("source", "target").replace(titles), cited),
        graph.units.with_columns((pl.lit(label) + pl.col(name)).alias(name) for name in ("key", "document")),
    )
