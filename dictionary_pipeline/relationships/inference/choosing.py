"""Chooses among the candidates of a whole schema together, not pair by pair.

A schema names its keys in one or two ways. Which ones is learnt from the candidates that are beyond
doubt and from declared keys; candidates named in the same way gain, others lose. Then every column
gets at most one parent, and keys that share their values with other keys form no circles.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dictionary_pipeline.relationships.inference.candidates import Candidate
from dictionary_pipeline.relationships.inference.facts import Column, Facts
from dictionary_pipeline.relationships.inference.scoring import (
    NO_DATA,
    DataEvidence,
    data_odds,
    name_odds,
    probability,
)

Convention = tuple[str, str, bool]
"""How a reference is named: same name or not and its mark, mark of the key, key named like a plain `id`."""

_BEYOND_DOUBT = 0.8
"""Names that fit this well teach the convention."""
_ENOUGH = 4
_AMBIGUOUS = 0.5
"""Two parents within this many log-odds are a toss-up."""
_OWN_WAY = frozenset({"self", "person", "value", "range"})
"""Styles that no convention covers."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with everything that speaks for and against it."""

    candidate: Candidate
    data: DataEvidence
    odds: float
    confidence: float


class Conventions:
    """Which ways of naming references a schema uses, and how often."""

    def __init__(self, seen: Iterable[Convention]) -> None:
        self._counts = Counter(seen)
        self._total = self._counts.total()

    def bonus(self, convention: Convention) -> float:
        """Log-odds for a candidate that is named in this way."""
        if self._total < _ENOUGH:
            return 0.0
        share = self._counts[convention] / self._total
        return max(-0.5, min(0.6, 1.5 * (share - 0.2)))


def convention_of(child: Column, key: Column) -> Convention:
    """How a reference is named."""
    same = child.reading.plain == key.reading.plain
    return ("same" if same else child.reading.mark, key.reading.mark, () in key.reading.things)


def judge(
    facts: Facts,
    candidates: Mapping[int, Sequence[Candidate]],
    evidence: Mapping[tuple[int, int], DataEvidence],
    declared: Iterable[tuple[int, int]],
) -> dict[int, list[Judged]]:
    """Score all candidates, the likeliest parent of each column first.

    Args:
        candidates: Column -> its candidates, best names first.
        evidence: (child, key) -> what the data says.
        declared: Pairs of columns that declared keys join; they teach the convention too.
    """
    conventions = Conventions(_lessons(facts, candidates, evidence, declared))
    judged: dict[int, list[Judged]] = {}
    for child, found in candidates.items():
        scored = [_score(facts, candidate, evidence, conventions) for candidate in found]
        scored.sort(key=lambda item: (-item.odds, item.candidate.key.column))
        judged[child] = _doubt(facts, scored)
    return judged


def _lessons(
    facts: Facts,
    candidates: Mapping[int, Sequence[Candidate]],
    evidence: Mapping[tuple[int, int], DataEvidence],
    declared: Iterable[tuple[int, int]],
) -> Iterable[Convention]:
    for one, other in declared:
        if other >= 0:
            yield convention_of(facts.columns[one], facts.columns[other])
    for child, found in candidates.items():
        best = found[0]
        data = evidence.get((child, best.key.column), NO_DATA)
        refuted = data.contradicted or data.is_unique is False or data.orphan_share > 0.05
        if best.name >= _BEYOND_DOUBT and best.style not in _OWN_WAY and not refuted:
            yield convention_of(facts.columns[child], facts.columns[best.key.column])


def _score(
    facts: Facts,
    candidate: Candidate,
    evidence: Mapping[tuple[int, int], DataEvidence],
    conventions: Conventions,
) -> Judged:
    child, key = facts.columns[candidate.child], facts.columns[candidate.key.column]
    data = evidence.get((child.number, key.number), NO_DATA)
    odds = name_odds(candidate.name)
    if candidate.style not in _OWN_WAY:
        odds += conventions.bonus(convention_of(child, key))
    if child.table == key.table and child.measured and child.rows > 0 and child.nulls == 0.0 and not data.placeholder:
        # Where every row has a parent in its own table there is no root: the rows would go round in circles.
        odds -= 2.0
    else:
        odds += data_odds(child, key, data)
    return Judged(candidate, data, odds, probability(odds, data))


def _doubt(facts: Facts, scored: list[Judged]) -> list[Judged]:
    """Two parents in different tables that are about as likely are each less likely."""
    first = scored[0]
    table = facts.tables[first.candidate.key.table]
    for rival in scored[1:]:
        if first.odds - rival.odds >= _AMBIGUOUS:
            break
        other = facts.tables[rival.candidate.key.table]
        if other.number != table.number and other.name.table != table.name.table:
            odds = first.odds - 0.8
            return [Judged(first.candidate, first.data, odds, probability(odds, first.data)), *scored[1:]]
    return scored


def solve(facts: Facts, judged: Mapping[int, Sequence[Judged]], own_keys: frozenset[int], least: float) -> list[Judged]:
    """At most one parent per column, no circle among keys that share their values.

    Args:
        own_keys: Columns that are the likely primary key of their table.
        least: Confidence from which a candidate is kept.
    """
    ranked = sorted(
        (found[0] for found in judged.values() if found and found[0].confidence >= least),
        key=lambda item: (-item.odds, item.candidate.child),
    )
    chosen: list[Judged] = []
    leads: dict[int, set[int]] = defaultdict(set)
    for item in ranked:
        child, key = item.candidate.child, item.candidate.key.column
        if child in own_keys:
            if _reaches(leads, key, child):
                continue
            leads[child].add(key)
        chosen.append(item)
    return sorted(chosen, key=lambda item: item.candidate.child)


def _reaches(leads: Mapping[int, set[int]], start: int, goal: int) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        node = waiting.pop()
        if node == goal:
            return True
        for following in leads.get(node, ()):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return False
