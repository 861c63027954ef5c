"""The graph as GraphML, for Gephi, yEd and networkx: one edge per source, target and type.

Edges carry no sentences: these repeat what type and ends say, and would double the file.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from dictionary_pipeline.extraction.model import KnowledgeGraph

_NODE_TEXTS = ("title", "type", "qualified_name", "database", "schema_name", "data_type", "description")
_EDGE_TEXTS = ("type", "evidence", "constraint_name")
_NODE = (*_NODE_TEXTS, "is_stub")
_EDGE = (*_EDGE_TEXTS, "weight", "confidence", "is_inferred")
_TYPES = {"is_stub": "boolean", "is_inferred": "boolean", "weight": "double", "confidence": "double"}
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_FORBIDDEN = r"[\x00-\x08\x0B\x0C\x0E-\x1F\x{FFFE}\x{FFFF}]"
"""What XML 1.0 cannot hold, not even as a reference."""

_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
{keys}
<graph edgedefault="directed">
"""
_TAIL = "</graph>\n</graphml>\n"


def graphml(graph: KnowledgeGraph) -> str:
    """Write all entities and edges; missing attributes are left out, control characters become spaces."""
    numbers = graph.ids.filter(pl.col("kind") == "entity").select(
        title="key", node=pl.format("n{}", "human_readable_id")
    )
    nodes = graph.entities.join(numbers, on="title", maintain_order="left").select(
        pl.concat_str(pl.format('<node id="{}">', "node"), *_data("n", _NODE), pl.lit("</node>"))
    )
    edges = graph.edges
    for end in ("source", "target"):
        ends = numbers.select(pl.col("title").alias(end), pl.col("node").alias(f"{end}_node"))
        edges = edges.join(ends, on=end, maintain_order="left")
    lines = edges.select(
        pl.concat_str(
            pl.format('<edge source="{}" target="{}">', "source_node", "target_node"),
            *_data("e", _EDGE),
            pl.lit("</edge>"),
        )
    )
    keys = [*_keys("node", _NODE), *_keys("edge", _EDGE)]
    body = [*nodes.to_series(), *lines.to_series()]
    return _HEAD.format(keys="\n".join(keys)) + "".join(f"{line}\n" for line in body) + _TAIL


def _keys(owner: str, names: Sequence[str]) -> list[str]:
    """Declarations of attributes, whose keys are the initial of the owner and their position."""
    return [
        f'<key id="{owner[0]}{place}" for="{owner}" attr.name="{name}" attr.type="{_TYPES.get(name, "string")}"/>'
        for place, name in enumerate(names)
    ]


def _data(initial: str, names: Sequence[str]) -> list[pl.Expr]:
    return [
        pl.format('<data key="{}">{}</data>', pl.lit(f"{initial}{place}"), _escaped(name)).fill_null("")
        for place, name in enumerate(names)
    ]


def _escaped(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String())
    if name in _TYPES:
        return text
    return text.str.replace_all(_FORBIDDEN, " ").str.replace_many(list(_ESCAPES), list(_ESCAPES.values()))
