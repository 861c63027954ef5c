"""Which removed column or table lives on under another name.

Evidence is added up to a confidence from 0 to 1; the best pairs win, each name once. A pair that is not
better than a rival for the same name proves nothing, so neither is taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from dictionary_pipeline.drift.model import Key
from dictionary_pipeline.drift.similarity import name_similarity, value_similarity
from dictionary_pipeline.drift.tables import Column, Table
from dictionary_pipeline.drift.texts import Definition
from dictionary_pipeline.drift.types import compare_types

RENAMED_AT = 0.7
"""Confidence from which a pair counts as renamed."""
CERTAIN_AT = 0.85
"""Confidence from which an edit of the YAML is proposed."""
_MARGIN = 0.03
_MOST_PAIRS = 20_000
"""Beyond it (a schema replaced by another) a table is compared to those of its name, else of its columns."""
_MOST_TWINS = 50
"""Tables of equal columns; beyond it their columns tell nothing."""
_COMMON = frozenset(
    {
        *("id", "name", "code", "label", "title", "description", "descr", "note", "notes", "status", "type", "key"),
        *("value", "created_at", "updated_at", "created", "updated", "created_on", "updated_on", "is_active"),
        "sort_order",
    }
)
"""Column names of so many tables that they tell nothing."""


class Rename(NamedTuple):
    """A pair and why it was taken."""

    before: str
    after: str
    confidence: float
    reason: str


class TableRename(NamedTuple):
    """A pair of tables and why it was taken."""

    before: Key
    after: Key
    confidence: float
    reason: str


_Name = TypeVar("_Name", str, Key)


class _Pair(NamedTuple):
    score: float
    reason: str


def column_renames(before: Table, after: Table, removed: Sequence[str], added: Sequence[str]) -> list[Rename]:
    """Pairs of a removed and an added column that are one column."""
    neighbours = _neighbours(before, set(removed)), _neighbours(after, set(added))
    scored: dict[tuple[str, str], _Pair] = {}
    for old in removed:
        for new in added:
            same_place = (
                before.columns[old].place == after.columns[new].place or neighbours[0][old] == neighbours[1][new]
            )
            scored[old, new] = _column_score(before, before.columns[old], after, after.columns[new], same_place)
    return [Rename(old, new, pair.score, pair.reason) for (old, new), pair in _best(scored)]


def _column_score(before: Table, old: Column, after: Table, new: Column, same_place: bool) -> _Pair:
    verdict = compare_types(old.native, new.native)
    by_type = {"same": 0.25, "widened": 0.15, "narrowed": 0.12, "related": 0.1, "changed": -0.15}[verdict]
    similar = name_similarity(old.name, new.name)
    role = _roles(before, old.name)
    same_role = bool(role) and role == _roles(after, new.name)
    comment = bool(old.comment) and old.comment == new.comment
    attributes = (old.is_nullable, old.is_identity, old.is_generated) == (
        new.is_nullable,
        new.is_identity,
        new.is_generated,
    )
    score = by_type + 0.2 * same_place + 0.05 * attributes + 0.2 * same_role + 0.3 * comment + 0.4 * similar
    reasons = [
        text
        for holds, text in (
            (verdict == "same", "type"),
            (same_place, "position"),
            (same_role, "key role"),
            (comment, "comment"),
            (similar >= 0.5, "name"),
        )
        if holds
    ]
    if role and not same_role:
        score -= 0.1
    values = value_similarity(old.profile, new.profile)
    if values is not None:
        agreement, weight = values
        score += 0.45 * weight * agreement if agreement >= 0.6 else -0.6 * weight * (1 - agreement)
        reasons += ["values"] if agreement >= 0.6 else []
    return _Pair(round(min(max(score, 0.0), 0.99), 2), ", ".join(reasons))


def _roles(table: Table, column: str) -> frozenset[str]:
    """What the column takes part in, in words that do not depend on its name."""
    found = {"primary"} if table.primary and column in table.primary[1] else set()
    found |= {"unique"} if any(column in columns for columns in table.unique) else set()
    found |= {f"to {key.parent}" for key in table.foreign_keys if column in key.columns}
    found |= {"indexed"} if any(column in index.columns for index in table.indexes) else set()
    return frozenset(found)


def _neighbours(table: Table, going: set[str]) -> dict[str, tuple[str | None, str | None]]:
    """For each column that has no equal: the nearest ones before and after it that have, and how far."""
    names = list(table.columns)
    found = {}
    for place, name in enumerate(names):
        left = next((f"{place - at}:{names[at]}" for at in range(place - 1, -1, -1) if names[at] not in going), None)
        right = next(
            (f"{at - place}:{names[at]}" for at in range(place + 1, len(names)) if names[at] not in going), None
        )
        found[name] = (left, right)
    return found


def table_renames(
    before: Mapping[Key, Table], after: Mapping[Key, Table], removed: Sequence[Key], added: Sequence[Key], engine: str
) -> list[TableRename]:
    """Pairs of a removed and an added table or view that are one; views may follow their tables' new names."""
    candidates = _Candidates(after, added)
    few = len(removed) * len(added) <= _MOST_PAIRS
    found: list[TableRename] = []
    for is_view in (False, True):
        names = {rename.before.table.lower(): rename.after.table for rename in found}
        scored: dict[tuple[Key, Key], _Pair] = {}
        for old in (key for key in removed if before[key].is_view == is_view):
            for new in added if few else candidates.of(before[old]):
                if after[new].is_view == is_view:
                    scored[old, new] = _table_score(before[old], after[new], engine, names)
        found += [TableRename(old, new, pair.score, pair.reason) for (old, new), pair in _best(scored)]
    return found


class _Candidates:
    """Finds the tables that are worth comparing to one."""

    def __init__(self, tables: Mapping[Key, Table], names: Iterable[Key]) -> None:
        self._named: dict[str, list[Key]] = defaultdict(list)
        self._alike: dict[frozenset[str], list[Key]] = defaultdict(list)
        for name in names:
            self._named[name.table].append(name)
            self._alike[_folded(tables[name])].append(name)

    def of(self, table: Table) -> list[Key]:
        alike = self._alike.get(_folded(table), [])
        return self._named.get(table.key.table) or (alike if len(alike) <= _MOST_TWINS else [])


def _folded(table: Table) -> frozenset[str]:
    return frozenset(name.lower() for name in table.columns)


def _table_score(before: Table, after: Table, engine: str, names: Mapping[str, str]) -> _Pair:
    ours = {name.lower(): column for name, column in before.columns.items()}
    theirs = {name.lower(): column for name, column in after.columns.items()}
    if not ours or not theirs:
        return _Pair(0.0, "")
    common = ours.keys() & theirs.keys()
    alike = [name for name in common if compare_types(ours[name].native, theirs[name].native) != "changed"]
    overlap = len(alike) / len(ours.keys() | theirs.keys())
    similar = name_similarity(before.key.table, after.key.table)
    if before.is_view:
        old_sql, new_sql = Definition(before.view_sql, engine), Definition(after.view_sql, engine)
        same = old_sql.same_as(new_sql, {}) or (bool(names) and old_sql.same_as(new_sql, names))
        score = 0.95 if same and before.view_sql else overlap * 0.6 + 0.35 * similar
        return _Pair(round(score, 2), "definition" if same else "columns, name")
    # Columns that many tables have say little about which table it is.
    telling = min(1.0, sum(0.3 if name in _COMMON else 1.0 for name in alike) / 2.5)
    score = overlap * (0.45 + 0.3 * telling)
    key = (
        before.primary is not None
        and after.primary is not None
        and _lower(before.primary[1]) == _lower(after.primary[1])
    )
    moved = before.key.schema != after.key.schema and before.key.table == after.key.table
    score += 0.1 * key + 0.15 * similar + 0.1 * moved + 0.1 * _same_order(ours, theirs, common)
    values = [value_similarity(ours[name].profile, theirs[name].profile) for name in common]
    known = [value for value in values if value is not None]
    if known:
        agreement = sum(share * weight for share, weight in known) / sum(weight for _, weight in known)
        proof = max(weight for _, weight in known)
        score += proof * (0.2 * agreement if agreement >= 0.6 else -0.4 * (1 - agreement))
    reason = ", ".join(
        text
        for holds, text in (
            (overlap >= 0.5, "columns"),
            (key, "primary key"),
            (similar >= 0.4, "name"),
            (bool(known), "values"),
        )
        if holds
    )
    return _Pair(round(min(max(score, 0.0), 0.99), 2), reason)


def _same_order(ours: Iterable[str], theirs: Iterable[str], common: set[str]) -> bool:
    """Whether three or more shared columns stand in the same order."""
    if len(common) < 3:
        return False
    return [name for name in ours if name in common] == [name for name in theirs if name in common]


def _lower(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def _best(scored: Mapping[tuple[_Name, _Name], _Pair]) -> list[tuple[tuple[_Name, _Name], _Pair]]:
    """The pairs of a one-to-one assignment, best first; pairs without a clear lead over a rival are left out."""
    likely = [item for item in scored.items() if item[1].score > RENAMED_AT - _MARGIN]
    ranked = sorted(likely, key=lambda item: (-item[1].score, item[0]))
    by_old, by_new = defaultdict(list), defaultdict(list)
    for (old, new), pair in ranked:
        by_old[old].append((new, pair.score))
        by_new[new].append((old, pair.score))
    chosen: list[tuple[tuple[_Name, _Name], _Pair]] = []
    gone: set[_Name] = set()
    come: set[_Name] = set()
    for (old, new), pair in ranked:
        if pair.score < RENAMED_AT:
            break
        if old in gone or new in come:
            continue
        rivals = [score for other, score in by_old[old] if other != new and other not in come]
        rivals += [score for other, score in by_new[new] if other != old and other not in gone]
        if not any(rival > pair.score - _MARGIN for rival in rivals):
            gone.add(old)
            come.add(new)
            chosen.append(((old, new), pair))
    return chosen
