"""The knowledge graph of one database."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class KnowledgeGraph:
    """Entities and typed edges, with the ids under which they are published."""

    entities: pl.DataFrame
    """`frames.GRAPH_ENTITIES`: tables and views by title, then columns by table and position."""
    edges: pl.DataFrame
    """`frames.GRAPH_EDGES`, unique on (source, target, type), in the order of `EDGE_TYPES`."""
    ids: pl.DataFrame
    """`IDS` of `extraction.ids`: the append-only id map, older objects included."""


EDGE_TYPES = (
    "REFERENCES",
    "IS_CREATED_USING",
    "IS_FOREIGN_KEY_REF_FOR",
    "IS_DERIVED_FROM",
    "IS_FOREIGN_KEY_IN",
    "IS_PRIMARY_KEY_OF",
    "HAS_COLUMN",
)
"""Edge types of the exact part, what says most about the schema first.

GraphRAG shows a report writer only the first edges of each node, so row order is meaning.

- REFERENCES: table -> table that a foreign key of it points to.
- IS_CREATED_USING: view -> table or view that it reads directly.
- IS_FOREIGN_KEY_REF_FOR: foreign key column -> the parent's column it refers to.
- IS_DERIVED_FROM: column of a view -> a column of its direct source that its values come from.
- IS_FOREIGN_KEY_IN: foreign key column -> the table that contains it.
- IS_PRIMARY_KEY_OF: primary key column -> its table.
- HAS_COLUMN: table or view -> its column.
"""

VIEW_KINDS = ("view", "materialized_view")
"""Kinds of `frames.TABLES` that become SQLVIEW entities; all others are SQLTABLE."""
