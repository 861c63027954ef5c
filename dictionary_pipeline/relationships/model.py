"""What the relationship stage hands on."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class RelationshipGraph:
    """How the tables of one database relate. Frame schemas: `dictionary_pipeline.frames`."""

    relationships: pl.DataFrame
    """`frames.RELATIONSHIPS`, one row per constraint, sorted by child, parent, name and columns."""
    keys: pl.DataFrame
    """`frames.KEYS`: the catalog's and those that people declared."""
    lineage: pl.DataFrame
    """`frames.LINEAGE`: what the catalog records, else what the view's SQL says; table level only."""
    roles: pl.DataFrame
    """`frames.ROLES`, one row per table and view."""
    join_graph: pl.DataFrame
    """`frames.JOIN_GRAPH`, one row per table and view."""
    unmatched: tuple[str, ...] = ()
    """One sentence per declaration of people that names something unknown; warnings, not problems."""
    unresolved: tuple[str, ...] = ()
    """Sources of views that could not be matched to the catalog, for logs; nothing is guessed."""
