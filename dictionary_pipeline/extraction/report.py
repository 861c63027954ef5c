"""What the graph stage tells about itself: counts by type, expected report calls, a picture of the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from dictionary_pipeline.config.graph_settings import Granularity
from dictionary_pipeline.extraction.graphrag import at_granularity
from dictionary_pipeline.extraction.model import ALL_EDGE_TYPES, SQL_TYPES, KnowledgeGraph
from dictionary_pipeline.extraction.readme import expected_report_calls
from dictionary_pipeline.relationships.diagram.scene import Box, Link, Scene
from dictionary_pipeline.relationships.diagram.svg import draw
from dictionary_pipeline.report import MAX_IMAGE_BYTES

_MOST_SHOWN = (60, 40, 25, 12)
"""Entities of the picture, the best connected ones; fewer while the picture is too large for an event."""


class GraphFacts(NamedTuple):
    """Metadata of the stage, by their fixed names."""

    metrics: dict[str, int]
    tables: dict[str, pl.DataFrame]
    images: dict[str, bytes]


def graph_facts(graph: KnowledgeGraph, roles: pl.DataFrame, granularity: Granularity) -> GraphFacts:
    """Count and draw a graph.

    Args:
        roles: `frames.ROLES`, for the colours of tables.
        granularity: Of the published GraphRAG files, on which the number of reports depends.
    """
    entities, edges = graph.entities, graph.edges
    calls = expected_report_calls(at_granularity(entities, edges, granularity)[1])
    metrics = {
        "entities": entities.height,
        "edges": edges.height,
        "stubs": int(entities["is_stub"].sum()),
        "business_entities": entities.filter(~pl.col("type").is_in(SQL_TYPES)).height,
        "inferred_edges": int(edges["is_inferred"].sum()),
        "report_calls_at_least": calls.fewest,
        "report_calls_at_most": calls.most,
    }
    picture = graph_picture(entities, edges, roles, MAX_IMAGE_BYTES)
    tables = {
        "entities_by_type": entities["type"].value_counts(name="entities").sort("type"),
        "edges_by_type": edges["type"].value_counts(name="edges").sort(_rank()),
    }
    return GraphFacts(metrics, tables, {"table_graph": picture} if picture else {})


def graph_picture(entities: pl.DataFrame, edges: pl.DataFrame, roles: pl.DataFrame, most_bytes: int) -> bytes | None:
    """Draw tables, views and business entities and how they relate, as SVG; null when there is nothing to draw.

    Of a large graph the best connected entities are shown.

    Args:
        entities: `frames.GRAPH_ENTITIES`.
        edges: `frames.GRAPH_EDGES`.
        roles: `frames.ROLES`.
        most_bytes: Size of the picture at most.
    """
    nodes, links = at_granularity(entities, edges, "table")
    pairs = links.sort(_rank(), maintain_order=True).unique(["source", "target"], keep="first", maintain_order=True)
    degree = Counter([*pairs["source"], *pairs["target"]])
    ranked = sorted(nodes["title"], key=lambda title: (-degree[title], title))
    for limit in _MOST_SHOWN:
        svg = draw(_scene(nodes, pairs, roles, ranked[:limit]), tooltips=False)
        if ranked and len(svg) <= most_bytes:
            return svg
    return None


def _scene(nodes: pl.DataFrame, pairs: pl.DataFrame, roles: pl.DataFrame, titles: Sequence[str]) -> Scene:
    shown = nodes.filter(pl.col("title").is_in(titles)).sort("title")
    place = {title: number for number, title in enumerate(shown["title"])}
    colours = {(schema, table): role for schema, table, role in roles.select("schema", "table", "role").iter_rows()}
    fields = ("title", "type", "qualified_name", "database", "schema_name", "is_stub")
    boxes = tuple(_box(colours, *row) for row in shown.select(fields).iter_rows())
    drawn = pairs.filter(pl.col("source").is_in(titles) & pl.col("target").is_in(titles))
    links = tuple(
        Link(place[source], None, place[target], None, inferred, False, kind)
        for source, target, kind, inferred in drawn.select("source", "target", "type", "is_inferred").iter_rows()
    )
    left_out = nodes.height - len(boxes)
    notes = (f"{left_out} less connected ones not shown",) if left_out else ()
    is_proven = nodes["type"].is_in(SQL_TYPES).all()
    what = "tables and views" if is_proven else "tables, views and business entities"
    title = f"{nodes.height} {what} and their {pairs.height} relationships"
    shows_schemas = shown["schema_name"].drop_nulls().n_unique() > 1
    return Scene(title, boxes, links, shows_schemas, notes, ("refers to, reads or relates to", "the same, inferred"))


def _box(
    colours: dict[tuple[str, str], str],
    title: str,
    kind: str,
    qualified: str,
    database: str | None,
    schema: str | None,
    is_stub: bool,
) -> Box:
    if kind not in SQL_TYPES:
        return Box("", qualified, "business", title)
    name = "." + qualified.removeprefix(f"{database}.")
    table = name.partition(f".{schema}.")[2] or qualified
    known = colours.get((schema or "", table), "other")
    role = "outside" if is_stub else "view" if kind == "SQLVIEW" else known
    return Box(schema or "", table, role, title)


def _rank() -> pl.Expr:
    order = {kind: rank for rank, kind in enumerate(ALL_EDGE_TYPES)}
    return pl.col("type").replace_strict(order, return_dtype=pl.Int64())
