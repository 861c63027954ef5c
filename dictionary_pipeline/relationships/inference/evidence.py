"""What the data says: proofs from the samples first, questions to the database for what they leave open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from dictionary_pipeline.relationships.inference.candidates import Candidate
from dictionary_pipeline.relationships.inference.composite import CompositeCandidate, CompositeKey
from dictionary_pipeline.relationships.inference.facts import Column, Facts
from dictionary_pipeline.relationships.inference.probes import Answers, Inclusion, Question, Uniqueness
from dictionary_pipeline.relationships.inference.scoring import NO_DATA, DataEvidence, from_samples
from dictionary_pipeline.relationships.inference.values import Texts

Evidence = dict[tuple[int, int], DataEvidence]
"""(referring column, key column) -> what the data says."""

_ASKED_PER_COLUMN = 3
_NEAR = 0.3
"""Candidates whose names fit this much less than the best are not worth a question."""
_LEAST_NAME = 0.33
_UUID_LENGTH = 36
_GUESSES_PER_TABLE = 3


def sample_evidence(facts: Facts, candidates: Mapping[int, Sequence[Candidate]], texts: Texts) -> Evidence:
    """What the samples prove about every candidate that is worth a question."""
    pairs = [
        (facts.columns[candidate.child], candidate)
        for found in candidates.values()
        for candidate in worth_asking(found)
    ]
    of_text = {column for child, candidate in pairs if child.family == "text" for column in _ends(candidate)}
    known = texts.complete(of_text)
    evidence: Evidence = {}
    for child, candidate in pairs:
        key = facts.columns[candidate.key.column]
        data = from_samples(child, key, known.get(child.number), known.get(key.number))
        if candidate.key.proof == "declared":
            data = replace(data, is_unique=True)
        if child.family != key.family and not _can_compare(child, key):
            data = replace(data, contradicted=True)
        evidence[child.number, key.number] = data
    return evidence


def worth_asking(found: Sequence[Candidate]) -> Sequence[Candidate]:
    """The best few candidates of a column, names first."""
    best = found[0].name
    near = [item for item in found if item.name >= max(_LEAST_NAME, best - _NEAR)]
    return near[:_ASKED_PER_COLUMN]


def questions(
    facts: Facts,
    candidates: Mapping[int, Sequence[Candidate]],
    composites: Sequence[CompositeCandidate],
    composite_keys: Iterable[CompositeKey],
    evidence: Evidence,
) -> list[Question]:
    """What to ask the database, most promising first."""
    ranked: list[tuple[float, int, int, Question]] = []
    for (child, key), item in _open(facts, candidates, evidence):
        data = evidence[child.number, key.number]
        if data.included is None:
            ranked.append((item.name, child.number, key.number, inclusion(facts, [child.number], [key.number])))
        if data.is_unique is None:
            ranked.append((item.name, child.number, key.number, uniqueness(facts, [key.number])))
    for candidate in composites:
        if _readable(facts, [*candidate.children, *candidate.key.columns]):
            question = inclusion(facts, candidate.children, candidate.key.columns)
            ranked.append((candidate.name, candidate.children[0], candidate.key.columns[0], question))
    wanted = {candidate.key for candidate in composites}
    guesses: Counter[int] = Counter()
    for composite in composite_keys:
        if composite.declared or not _readable(facts, composite.columns):
            continue
        guesses[composite.table] += 1
        if composite in wanted or guesses[composite.table] <= _GUESSES_PER_TABLE:
            ranked.append((0.7, composite.columns[0], 0, uniqueness(facts, composite.columns)))
    ranked.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    return [entry[3] for entry in ranked]


def with_answers(facts: Facts, evidence: Evidence, answers: Answers) -> Evidence:
    """The evidence with what the database answered."""
    return {
        (child, key): replace(
            data,
            included=answers.included.get(inclusion(facts, [child], [key]), data.included),
            is_unique=_unique(answers, uniqueness(facts, [key]), data.is_unique),
        )
        for (child, key), data in evidence.items()
    }


def inclusion(facts: Facts, children: Sequence[int], keys: Sequence[int]) -> Inclusion:
    """The question whether the values of columns are found in a key."""
    differ = any(
        facts.columns[child].family != facts.columns[key].family for child, key in zip(children, keys, strict=True)
    )
    return Inclusion(
        facts.table_of(children[0]).name,
        tuple(facts.columns[column].name for column in children),
        facts.table_of(keys[0]).name,
        tuple(facts.columns[column].name for column in keys),
        differ,
    )


def uniqueness(facts: Facts, columns: Sequence[int]) -> Uniqueness:
    """The question whether columns identify the rows of their table."""
    return Uniqueness(facts.table_of(columns[0]).name, tuple(facts.columns[column].name for column in columns))


def _unique(answers: Answers, question: Uniqueness, known: bool | None) -> bool | None:
    counted = answers.counted.get(question)
    if counted is None or counted.rows == 0:
        return known
    return counted.is_unique


def _open(
    facts: Facts, candidates: Mapping[int, Sequence[Candidate]], evidence: Evidence
) -> Iterator[tuple[tuple[Column, Column], Candidate]]:
    for found in candidates.values():
        for item in worth_asking(found):
            child, key = facts.columns[item.child], facts.columns[item.key.column]
            data = evidence.get((child.number, key.number), NO_DATA)
            has_rows = not child.measured or (child.rows > 0 and child.nulls < 1.0)
            if has_rows and not data.contradicted and _readable(facts, (child.number, key.number)):
                yield (child, key), item


def _readable(facts: Facts, columns: Iterable[int]) -> bool:
    return not any(facts.columns[column].denied or facts.columns[column].failed for column in columns)


def _can_compare(child: Column, key: Column) -> bool:
    """Whether a text column can hold the numbers or UUIDs of the other, as far as samples tell."""
    text, other = (child, key) if child.family == "text" else (key, child)
    if not text.measured or text.rows == 0:
        return other.type_class != "float"
    if other.family == "uuid":
        return text.length is not None and round(text.length) == _UUID_LENGTH
    return other.type_class != "float" and text.looks_numeric


def _ends(candidate: Candidate) -> tuple[int, int]:
    return candidate.child, candidate.key.column
