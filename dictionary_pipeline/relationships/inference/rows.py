"""From what was chosen to rows of the catalog frames, with the evidence in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.relationships.inference.choosing import Judged
from dictionary_pipeline.relationships.inference.composite import CompositeCandidate, CompositeKey
from dictionary_pipeline.relationships.inference.evidence import inclusion, uniqueness
from dictionary_pipeline.relationships.inference.facts import Facts
from dictionary_pipeline.relationships.inference.keys import LIKELY, Key
from dictionary_pipeline.relationships.inference.polymorphic import Polymorphic
from dictionary_pipeline.relationships.inference.probes import Answers, Included
from dictionary_pipeline.relationships.inference.scoring import DataEvidence, name_odds, probability

Row = tuple[object, ...]

POLYMORPHIC_CONFIDENCE = 0.49
"""Each of the tables that a polymorphic id may refer to; listed, never accepted."""
_NAMES = {
    "same": "same name as the key",
    "suffix": "name ends in the key's name",
    "exact": "name match",
    "role": "name match with a role",
    "part": "name match in part",
    "own": "name match, completed by its own table's name",
    "initials": "name is the table's initials",
    "self": "name speaks of another row of the same table",
    "person": "name speaks of a person",
    "value": "no name match, the values fit",
    "range": "no name match, the numbers end where the key ends",
}


@dataclass(frozen=True, slots=True)
class Findings:
    """What inference decided, and what it decided from."""

    chosen: Sequence[Judged]
    composites: Sequence[CompositeCandidate]
    composite_keys: Sequence[CompositeKey]
    primaries: Mapping[int, Key]
    """Table -> its likely primary key of one column."""
    polymorphic: Sequence[Polymorphic]
    answers: Answers
    list_at: float
    accept_at: float


def identity(facts: Facts, children: Sequence[int], keys: Sequence[int]) -> tuple[object, ...]:
    """What makes two statements of a relationship the same: the ends and the column pairs, in any order."""
    names = [(facts.columns[one].name, facts.columns[other].name) for one, other in zip(children, keys, strict=True)]
    return (*facts.table_of(children[0]).name, None, *facts.table_of(keys[0]).name, frozenset(names))


def relationships_frame(facts: Facts, findings: Findings) -> pl.DataFrame:
    """`frames.RELATIONSHIPS` of origin inferred."""
    rows = [*_single_rows(facts, findings), *_composite_rows(facts, findings), *_polymorphic_rows(facts, findings)]
    return frames.from_rows(rows, frames.RELATIONSHIPS)


def _row(
    facts: Facts,
    children: Sequence[int],
    keys: Sequence[int],
    confidence: float,
    cardinality: str,
    evidence: str,
    *,
    accepted: bool,
) -> Row:
    child, parent = facts.table_of(children[0]).name, facts.table_of(keys[0]).name
    return (
        *child,
        [facts.columns[column].name for column in children],
        None,
        *parent,
        [facts.columns[column].name for column in keys],
        None,
        "inferred",
        confidence,
        cardinality,
        evidence,
        accepted,
        False,
    )


def _single_rows(facts: Facts, findings: Findings) -> Iterator[Row]:
    for item in findings.chosen:
        child, key = item.candidate.child, item.candidate.key.column
        column = facts.columns[child]
        unique = column.is_unique or (child,) in facts.table_of(child).unique
        words = [_counts(facts, [child], [key], item.data.included), _NAMES[item.candidate.style]]
        words += _remarks(facts, child, key, item.data)
        yield _row(
            facts,
            [child],
            [key],
            item.confidence,
            "one_to_one" if unique else "many_to_one",
            "; ".join(words),
            accepted=item.confidence >= findings.accept_at,
        )


def _counts(facts: Facts, children: Sequence[int], keys: Sequence[int], included: Included | None) -> str:
    names = ", ".join(facts.columns[column].name for column in children)
    target = ", ".join(f"{facts.table_of(key).name.table}.{facts.columns[key].name}" for key in keys)
    if included is None or included.values == 0:
        return f"{names} to {target}: not checked against data"
    kind = "values" if len(children) == 1 else "combinations"
    return f"{names}: {included.values_found:,} of {included.values:,} sampled {kind} found in {target}"


def _remarks(facts: Facts, child: int, key: int, data: DataEvidence) -> Iterator[str]:
    if facts.columns[child].family != facts.columns[key].family:
        yield f"types differ, {facts.columns[child].type_class} to {facts.columns[key].type_class}"
    if data.placeholder and data.included and data.included.values > data.included.values_found:
        yield "one value stands for none"
    elif data.orphan_share > 0.0 and data.included:
        lost = data.included.rows - data.included.rows_found
        yield f"{lost:,} of {data.included.rows:,} rows refer to nothing"


def _composite_rows(facts: Facts, findings: Findings) -> Iterator[Row]:
    best: dict[frozenset[int], tuple[float, Row]] = {}
    for item in findings.composites:
        children, key = item.children, item.key
        included = findings.answers.included.get(inclusion(facts, children, key.columns))
        data = DataEvidence(included, _is_unique(facts, findings, key))
        confidence = probability(_composite_odds(facts, item, data), data)
        if confidence < findings.list_at:
            continue
        evidence = f"{_counts(facts, children, key.columns, included)}; name match of all columns"
        own = facts.table_of(children[0]).unique
        one = any(set(unique) <= set(children) for unique in own)
        row = _row(
            facts,
            children,
            key.columns,
            confidence,
            "one_to_one" if one else "many_to_one",
            evidence,
            accepted=confidence >= findings.accept_at,
        )
        known = best.get(frozenset(children))
        if known is None or confidence > known[0]:
            best[frozenset(children)] = confidence, row
    yield from (row for _, row in best.values())


def _composite_odds(facts: Facts, item: CompositeCandidate, data: DataEvidence) -> float:
    odds = name_odds(item.name)
    if data.is_unique is False:
        return -6.0
    if data.is_unique is None:
        odds -= 1.5
    if data.included is None or data.included.values == 0:
        return odds
    if data.orphan_share > 0.01:
        return odds - (1.0 if data.orphan_share <= 0.05 else 6.0)
    return odds + (0.6 if _is_full_grid(facts, item.key) else 2.0 + min(1.5, math.log(data.included.values) / 3.0))


def _is_full_grid(facts: Facts, key: CompositeKey) -> bool:
    """A key that holds every combination of its columns' values holds any combination by chance."""
    combinations = math.prod(facts.columns[column].distinct or 1_000_000 for column in key.columns)
    rows = facts.tables[key.table].rows
    return rows is not None and rows >= 0.9 * combinations


def _is_unique(facts: Facts, findings: Findings, key: CompositeKey) -> bool | None:
    if key.declared:
        return True
    counted = findings.answers.counted.get(uniqueness(facts, key.columns))
    return None if counted is None or counted.rows == 0 else counted.is_unique


def _polymorphic_rows(facts: Facts, findings: Findings) -> Iterator[Row]:
    for item in findings.polymorphic:
        kind = facts.columns[item.kind_column].name
        evidence = f"polymorphic id: {kind} says which of {len(item.targets)} tables it refers to"
        for target in item.targets:
            key = findings.primaries.get(target)
            if key is not None:
                ends = [item.column], [key.column]
                yield _row(facts, *ends, POLYMORPHIC_CONFIDENCE, "many_to_one", evidence, accepted=False)


def keys_frame(facts: Facts, findings: Findings) -> pl.DataFrame:
    """`frames.KEYS` of origin inferred: primary keys of tables that declare none."""
    composite = {key.table: (key, confidence) for key, confidence in _composite_primaries(facts, findings)}
    rows: list[Row] = []
    for table in facts.tables:
        if table.has_primary:
            continue
        single = findings.primaries.get(table.number)
        if single is not None and (single.strength >= LIKELY or table.number not in composite):
            columns, confidence = [facts.columns[single.column].name], _key_confidence(facts, findings, single)
        elif table.number in composite:
            key, confidence = composite[table.number]
            columns = [facts.columns[column].name for column in key.columns]
        else:
            continue
        if confidence >= findings.list_at and not _is_stated(table.unique, facts, columns):
            rows.append((*table.name, None, "primary", columns, "inferred", confidence))
    return frames.from_rows(rows, frames.KEYS)


def _is_stated(unique: Sequence[tuple[int, ...]], facts: Facts, columns: Sequence[str]) -> bool:
    return any({facts.columns[column].name for column in key} == set(columns) for key in unique)


def _key_confidence(facts: Facts, findings: Findings, key: Key) -> float:
    counted = findings.answers.counted.get(uniqueness(facts, [key.column]))
    if counted is not None and counted.rows > 0:
        proven = counted.is_unique
    else:
        column = facts.columns[key.column]
        proven = key.proof == "declared" or column.is_unique
        if not proven and column.complete and column.rows > 0:
            return 0.0
    if counted is not None and counted.rows > 0 and not proven:
        return 0.0
    return round(min(0.98, 0.7 + 0.28 * key.strength) if proven else min(0.89, 0.45 + 0.44 * key.strength), 2)


def _composite_primaries(facts: Facts, findings: Findings) -> Iterator[tuple[CompositeKey, float]]:
    """The first proven composite key of each table; where there is no data, what a bridge refers to."""
    referring = {item.candidate.child: item.candidate.key.table for item in findings.chosen}
    seen: set[int] = set()
    ordered = sorted(findings.composite_keys, key=lambda key: (key.table, len(key.columns)))
    for key in ordered:
        proven = _is_unique(facts, findings, key)
        refers = len({referring.get(column, -1) for column in key.columns} - {-1}) == len(key.columns)
        few = len(facts.tables[key.table].columns) <= len(key.columns) + 2
        if key.table not in seen and not key.declared and (proven or (proven is None and refers and few)):
            seen.add(key.table)
            yield key, (0.95 if refers else 0.9) if proven else 0.75
