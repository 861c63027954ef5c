"""What the relationship stage hands on."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dictionary_pipeline.relationships.inference.probes import NO_ANSWERS, Answers


@dataclass(frozen=True)
class RelationshipGraph:
    """How the tables of one database relate. Frame schemas: `dictionary_pipeline.frames`."""

    relationships: pl.DataFrame
    """`frames.RELATIONSHIPS`, one row per constraint, sorted by child, parent, name and columns."""
    keys: pl.DataFrame
    """`frames.KEYS`: the catalog's, those that people declared, and those that were inferred."""
    lineage: pl.DataFrame
    """`frames.VIEW_LINEAGE`: tables as the catalog records them, else as the view's SQL says; columns by the SQL."""
    roles: pl.DataFrame
    """`frames.ROLES`, one row per table and view."""
    join_graph: pl.DataFrame
    """`frames.JOIN_GRAPH`, one row per table and view."""
    unmatched: tuple[str, ...] = ()
    """One sentence per declaration of people that names something unknown; warnings, not problems."""
    unresolved: tuple[str, ...] = ()
    """Sources of views that could not be matched to the catalog, for logs; nothing is guessed."""
    contradicted: tuple[str, ...] = ()
    """One sentence per declared relationship that the engine does not enforce and that rows break."""
    answers: Answers = NO_ANSWERS
    """What the database was asked about undeclared keys, and said."""
