"""The relationship stage: keys, relationships, lineage, roles and join graph of one database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge, InferenceSettings, PathLimits
from dictionary_pipeline.engines.base import Engine
from dictionary_pipeline.relationships.declared import (
    KEY_ORDER,
    RELATIONSHIP_ORDER,
    declared_keys,
    declared_relationships,
    rejected_relationships,
)
from dictionary_pipeline.relationships.inference.infer import Given, Inferred, infer
from dictionary_pipeline.relationships.inference.probes import NO_ANSWERS, Answers, Question, ask
from dictionary_pipeline.relationships.lineage import view_lineage
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.relationships.names import Names
from dictionary_pipeline.relationships.paths import join_graph
from dictionary_pipeline.relationships.roles import table_roles


@dataclass(frozen=True)
class Evidence:
    """What inference may look at beside the catalog and the profiles."""

    values: pl.DataFrame
    """`frames.VALUES`"""
    sensitivity: pl.DataFrame
    """`frames.SENSITIVITY`; columns that must not be read are not asked about either."""
    settings: InferenceSettings
    engine: Engine | None = None
    """Where to count; null: names and samples only."""
    table_seconds: float = 10.0
    """Time that a statement may take per table that it covers."""
    known: Answers = NO_ANSWERS
    """What the database said before and would say again."""

    @property
    def can_ask(self) -> bool:
        """Whether the database is asked for counts."""
        if self.engine is None:
            return False
        return not self.engine.billed_by_scan if self.settings.probe is None else self.settings.probe


def relate(
    catalog: Catalog,
    profiles: pl.DataFrame,
    human: HumanKnowledge,
    paths: PathLimits,
    evidence: Evidence | None = None,
) -> RelationshipGraph:
    """Work out how the tables of a database relate.

    Args:
        catalog: The selected catalog.
        profiles: `frames.PROFILES`.
        human: Keys and relationships that people declared; names that do not exist become warnings.
        paths: Limits of the join graph.
        evidence: What to infer undeclared keys from; null: none are inferred.

    Raises:
        ConnectionFailed: the database is gone; raised only while it is asked for counts.
    """
    names = Names(catalog)
    keys, unmatched_keys = declared_keys(catalog, names, human.keys)
    relationships, unmatched = declared_relationships(catalog, names, keys, human.relationships)
    rejected, unmatched_rejections = rejected_relationships(names, human.rejected)
    contradicted: tuple[str, ...] = ()
    answers = NO_ANSWERS
    all_keys = keys
    if evidence is not None and evidence.settings.enabled:
        found = _infer(catalog, keys, relationships, profiles, rejected, evidence)
        contradicted, answers = found.contradicted, found.answers
        all_keys = frames.fit(pl.concat([keys, found.keys]), frames.KEYS, sort_by=KEY_ORDER)
        relationships = frames.fit(
            pl.concat([relationships, found.relationships]), frames.RELATIONSHIPS, sort_by=RELATIONSHIP_ORDER
        )
        keys = all_keys.filter((pl.col("origin") != "inferred") | (pl.col("confidence") >= evidence.settings.accept_at))
    lineage, unresolved = view_lineage(catalog, names)
    return RelationshipGraph(
        relationships=relationships,
        keys=keys,
        lineage=lineage,
        roles=table_roles(catalog, relationships, all_keys, profiles),
        join_graph=join_graph(catalog, relationships, paths),
        unmatched=tuple(sorted({*unmatched_keys, *unmatched, *unmatched_rejections})),
        unresolved=unresolved,
        contradicted=contradicted,
        answers=answers,
    )


def _infer(
    catalog: Catalog,
    keys: pl.DataFrame,
    relationships: pl.DataFrame,
    profiles: pl.DataFrame,
    rejected: frozenset[tuple[object, ...]],
    evidence: Evidence,
) -> Inferred:
    denied = evidence.sensitivity.filter(pl.col("treatment") == "deny")
    given = Given(catalog, keys, relationships, profiles, evidence.values, denied, rejected)
    engine = evidence.engine

    def count(questions: Sequence[Question], tables: int) -> Answers:
        assert engine is not None
        return ask(engine, questions, tables, evidence.table_seconds, evidence.known)

    return infer(
        given,
        list_at=min(evidence.settings.list_at, evidence.settings.accept_at),
        accept_at=evidence.settings.accept_at,
        ask=count if evidence.can_ask else None,
    )
