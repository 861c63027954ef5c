"""Key inference: from the facts of a schema to the relationships and keys that nobody declared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.inference.candidates import Candidate, CandidateFinder
from dictionary_pipeline.relationships.inference.checks import breakable, contradictions, inclusions
from dictionary_pipeline.relationships.inference.choosing import Judged, judge, solve
from dictionary_pipeline.relationships.inference.composite import composite_candidates, composite_keys
from dictionary_pipeline.relationships.inference.evidence import questions, sample_evidence, with_answers
from dictionary_pipeline.relationships.inference.facts import Facts, gather
from dictionary_pipeline.relationships.inference.keys import Key, primary_of, single_keys
from dictionary_pipeline.relationships.inference.lexicon import TYPE_WORDS
from dictionary_pipeline.relationships.inference.polymorphic import find_polymorphic
from dictionary_pipeline.relationships.inference.probes import NO_ANSWERS, Answers, Question
from dictionary_pipeline.relationships.inference.rows import Findings, identity, keys_frame, relationships_frame
from dictionary_pipeline.relationships.inference.values import Texts, range_candidates, value_candidates

Ask = Callable[[Sequence[Question], int], Answers]
"""Asks the database: (questions, number of tables)."""
Candidates = Mapping[int, list[Candidate]]

_PROMISING = 0.5


@dataclass(frozen=True)
class Given:
    """What inference works from. Frame schemas: `dictionary_pipeline.frames`."""

    catalog: Catalog
    keys: pl.DataFrame
    """`frames.KEYS`, declared and given by people."""
    relationships: pl.DataFrame
    """`frames.RELATIONSHIPS`, declared and given by people; their columns are left alone."""
    profiles: pl.DataFrame
    """`frames.PROFILES`; may be empty."""
    values: pl.DataFrame
    """`frames.VALUES`; may be empty."""
    denied: pl.DataFrame
    """schema, table, column of columns whose values must not be read, not even counted."""
    rejected: frozenset[tuple[object, ...]] = frozenset()
    """Relationships (`rows.identity`) that people rejected for good."""


@dataclass(frozen=True)
class Inferred:
    """What inference found."""

    relationships: pl.DataFrame
    """`frames.RELATIONSHIPS` of origin inferred, from the least confidence to list; and polymorphic ids."""
    keys: pl.DataFrame
    """`frames.KEYS` of origin inferred: primary keys of tables that declare none."""
    answers: Answers
    """What the database was asked, and said."""
    polymorphic: int
    """Ids that refer to rows of several tables."""
    contradicted: tuple[str, ...]
    """One sentence per declared relationship, of those that no engine enforces, that rows break."""


def infer(given: Given, *, list_at: float, accept_at: float, ask: Ask | None = None) -> Inferred:
    """Infer relationships and keys, and see whether rows keep the declared ones.

    Args:
        list_at: Confidence from which a relationship is listed.
        accept_at: Confidence from which it counts.
        ask: How to ask the database; null: names and samples only.
    """
    facts = gather(given.catalog, given.keys, given.profiles, given.denied)
    texts = Texts(facts, given.values)
    singles = single_keys(facts)
    declared = _declared_pairs(facts, given.relationships)
    taken = frozenset(child for child, _ in declared)
    polymorphic = find_polymorphic(facts, texts.of(_kind_columns(facts)))
    candidates = _candidates(facts, singles, texts, taken | polymorphic.keys())
    referring = frozenset(child for child, found in candidates.items() if found[0].name >= _PROMISING)
    several = composite_keys(facts, singles, referring | taken)
    composites = [
        item
        for item in composite_candidates(facts, several, taken)
        if identity(facts, item.children, item.key.columns) not in given.rejected
    ]
    evidence = sample_evidence(facts, candidates, texts)
    unenforced = breakable(facts, given.catalog, given.relationships)
    asked = [*questions(facts, candidates, composites, several, evidence), *inclusions(facts, unenforced)]
    answers = ask(asked, len(facts.tables)) if ask is not None and asked else NO_ANSWERS
    judged = judge(facts, candidates, with_answers(facts, evidence, answers), declared)
    primaries = {found[0].table: found[0] for found in singles if primary_of(found)}
    own_keys = frozenset(key.column for key in primaries.values())
    allowed = _without_rejected(facts, judged, given.rejected)
    chosen = solve(facts, allowed, own_keys, list_at)
    findings = Findings(
        chosen, composites, several, primaries, tuple(polymorphic.values()), answers, list_at, accept_at
    )
    return Inferred(
        relationships_frame(facts, findings),
        keys_frame(facts, findings),
        answers,
        len(polymorphic),
        contradictions(facts, unenforced, texts, answers),
    )


def _declared_pairs(facts: Facts, relationships: pl.DataFrame) -> list[tuple[int, int]]:
    """Column pairs of declared relationships; the key's is -1 when it is outside the selection."""
    pairs: list[tuple[int, int]] = []
    names = ("from_schema", "from_table", "from_columns", "to_schema", "to_table", "to_columns")
    for from_schema, from_table, columns, to_schema, to_table, to_columns in relationships.select(names).iter_rows():
        for column, to_column in zip(columns, to_columns, strict=False):
            child = facts.numbers.get((from_schema, from_table, column))
            if child is not None:
                pairs.append((child, facts.numbers.get((to_schema, to_table, to_column), -1)))
    return pairs


def _kind_columns(facts: Facts) -> list[int]:
    return [
        column.number
        for column in facts.columns
        if column.family == "text" and column.reading.plain and column.reading.plain[-1] in TYPE_WORDS
    ]


def _candidates(
    facts: Facts, singles: Sequence[Sequence[Key]], texts: Texts, left_out: frozenset[int] | set[int]
) -> Candidates:
    finder = CandidateFinder(facts, singles)
    found: dict[int, list[Candidate]] = defaultdict(list)
    for column in facts.columns:
        if column.number not in left_out:
            candidates = finder.find(column)
            if candidates:
                found[column.number] = candidates
    own = {key.column for keys in singles for key in keys[:1] if key.is_own}
    unnamed = [
        column
        for column in facts.columns
        if column.number not in left_out
        and column.number not in own
        and (column.number not in found or found[column.number][0].name < _PROMISING)
    ]
    by_value = value_candidates(facts, singles, texts, unnamed)
    for candidate in (*by_value, *range_candidates(facts, singles, unnamed)):
        if all(known.key.column != candidate.key.column for known in found[candidate.child]):
            found[candidate.child].append(candidate)
    for candidates in found.values():
        candidates.sort(key=lambda candidate: candidate.sort_key)
    return found


def _without_rejected(
    facts: Facts, judged: Mapping[int, list[Judged]], rejected: frozenset[tuple[object, ...]]
) -> Mapping[int, list[Judged]]:
    """A rejected parent makes room for the next likely one."""
    if not rejected:
        return judged
    return {
        child: [item for item in found if identity(facts, [child], [item.candidate.key.column]) not in rejected]
        for child, found in judged.items()
    }
