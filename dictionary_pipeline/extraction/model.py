"""The knowledge graph of one database."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.problems import Problem


@dataclass(frozen=True)
class KnowledgeGraph:
    """Entities and typed edges, with the ids under which they are published."""

    entities: pl.DataFrame
    """`frames.GRAPH_ENTITIES`: tables and views by title, columns by table and position, business entities by title."""
    edges: pl.DataFrame
    """`frames.GRAPH_EDGES`, unique on (source, target, type), in the order of `ALL_EDGE_TYPES`."""
    ids: pl.DataFrame
    """`IDS` of `extraction.ids`: the append-only id map, older objects included."""
    units: pl.DataFrame = field(default_factory=lambda: frames.empty(frames.GRAPH_UNITS))
    """`frames.GRAPH_UNITS`: texts beside those of tables and views that business entities are drawn from."""
    problems: tuple[Problem, ...] = ()
    """Texts that could not be read or asked about."""


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

BUSINESS_EDGE_TYPES = (
    "IS_RECORDED_IN",
    "MANAGES",
    "SUPPLIES",
    "USES",
    "MEASURES",
    "PART_OF",
    "LOCATED_IN",
    "PRECEDES",
    "RELATED_TO",
)
"""Edge types of the model's part; none of them is ever an edge of the catalog.

- IS_RECORDED_IN: business entity -> table, view or column that holds data about it.
- MANAGES: who is responsible -> what it is responsible for.
- SUPPLIES: who makes or delivers -> what, or to whom.
- USES: who or what needs -> what is needed.
- MEASURES: metric -> what it measures.
- PART_OF: part, member or kind -> whole.
- LOCATED_IN: -> place.
- PRECEDES: process or event -> the one that follows.
- RELATED_TO: anything else that a text states.
"""
ALL_EDGE_TYPES = (*EDGE_TYPES, *BUSINESS_EDGE_TYPES)
SQL_TYPES = ("SQLTABLE", "SQLVIEW", "SQLCOLUMN")
"""Types of entities that only the catalog gives."""

VIEW_KINDS = ("view", "materialized_view")
"""Kinds of `frames.TABLES` that become SQLVIEW entities; all others are SQLTABLE."""
