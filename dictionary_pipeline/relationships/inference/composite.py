"""Keys of several columns: which tables may have one, and which other tables repeat it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dictionary_pipeline.relationships.inference.facts import Column, Facts, Table
from dictionary_pipeline.relationships.inference.keys import LIKELY, Key
from dictionary_pipeline.relationships.inference.matching import owns
from dictionary_pipeline.relationships.inference.words import Tokens

_MAX_KEY_COLUMNS = 4
_MAX_LEADING = 4
_MAX_GUESSES = 8
_MAX_CHILDREN = 12
_POSTINGS = 200
"""A column name that more tables have says nothing about which of them belong together."""
_ROW_WORDS = frozenset({"line", "seq", "sequence", "pos", "position", "item", "version", "revision", "copy", "draft"})
"""Words of columns that number rows within a parent."""


@dataclass(frozen=True, slots=True)
class CompositeKey:
    """Columns that together may identify the rows of a table."""

    table: int
    columns: tuple[int, ...]
    declared: bool


@dataclass(frozen=True, slots=True)
class CompositeCandidate:
    """Columns of a table that may refer to a composite key, pair by pair."""

    children: tuple[int, ...]
    key: CompositeKey
    name: float
    """How well the names fit, 0 to 1."""


def composite_keys(facts: Facts, singles: Sequence[Sequence[Key]], referring: frozenset[int]) -> list[CompositeKey]:
    """Composite keys that are declared, and those that tables without a single key may have.

    Args:
        singles: Keys of one column per table.
        referring: Columns that have candidates: a bridge is identified by what it refers to.
    """
    found: list[CompositeKey] = []
    for table in facts.tables:
        declared = [key for key in table.unique if len(key) > 1]
        found += [CompositeKey(table.number, key, True) for key in declared if len(key) <= _MAX_KEY_COLUMNS]
        if not declared and not table.has_primary and _needs_several(table, singles[table.number]):
            found += [CompositeKey(table.number, key, False) for key in _guesses(table, referring)]
    return found


def _needs_several(table: Table, singles: Sequence[Key]) -> bool:
    """Whether no single column looks like the table's key."""
    if not singles:
        return True
    best = singles[0]
    return best.proof != "declared" and best.strength < LIKELY


def _guesses(table: Table, referring: frozenset[int]) -> list[tuple[int, ...]]:
    """Column sets that may be a table's key: the leading key-like columns, and what it refers to."""
    leading: list[Column] = []
    for column in table.columns[:_MAX_LEADING]:
        if not _is_key_like(column, referring):
            break
        leading.append(column)
    references = [column for column in table.columns if column.number in referring and column.nulls == 0.0][:3]
    sets: dict[tuple[int, ...], None] = {}
    for several in (leading[:2], leading[:3], *combinations(references, 2), *combinations(leading[:4], 2)):
        if len(several) > 1 and _may_be_unique(several):
            sets[tuple(column.number for column in several)] = None
    return list(sets)[:_MAX_GUESSES]


def _may_be_unique(columns: Sequence[Column]) -> bool:
    """Whether there are as many combinations of the values as rows."""
    if not all(column.complete and column.rows > 0 for column in columns):
        return True
    return math.prod(column.distinct or 0 for column in columns) >= columns[0].rows


def _is_key_like(column: Column, referring: frozenset[int]) -> bool:
    if column.nulls > 0.0 or column.family not in ("number", "text", "uuid", "date"):
        return False
    if column.number in referring or column.reading.mark in ("id", "number", "code"):
        return True
    return bool(_ROW_WORDS & set(column.reading.plain))


def composite_candidates(facts: Facts, keys: Iterable[CompositeKey], taken: frozenset[int]) -> list[CompositeCandidate]:
    """Tables that have columns of the same names as all columns of a composite key.

    Args:
        taken: Columns that declared relationships already explain.
    """
    tables_with = _tables_by_name(facts)
    found: list[CompositeCandidate] = []
    for key in keys:
        postings = [_postings(facts, key.table, column, tables_with) for column in key.columns]
        rarest = min(postings, key=len)
        if len(rarest) > _POSTINGS:
            continue
        children = [table for table in rarest if table != key.table and all(table in posting for posting in postings)]
        for table in sorted(children)[:_MAX_CHILDREN]:
            pairs = tuple(posting[table] for posting in postings)
            if len(set(pairs)) == len(pairs) and _fits(facts, key, table, pairs, taken):
                claim = _claim(facts, key.table, key.columns)
                if claim >= _claim(facts, table, pairs):
                    found.append(CompositeCandidate(pairs, key, (0.75 if key.declared else 0.68) + 0.2 * claim))
    return found


def _postings(facts: Facts, table: int, column: int, tables_with: Mapping[Tokens, dict[int, int]]) -> Mapping[int, int]:
    """Table -> its column that is named like a column of a key; `no` of `order` is `order_no` elsewhere."""
    reading, thing = facts.columns[column].reading, facts.tables[table].reading.thing
    named = tables_with.get(reading.plain, {})
    if () not in reading.things:
        return named
    return {**tables_with.get(thing[-1:] + reading.plain, {}), **tables_with.get(thing + reading.plain, {})}


def _claim(facts: Facts, table: int, columns: Iterable[int]) -> float:
    """How surely one of the columns is named after the table, which then is where the key comes from."""
    target = facts.tables[table].reading.thing
    return max(owns(thing, target) for column in columns for thing in facts.columns[column].reading.things)


def _tables_by_name(facts: Facts) -> Mapping[Tokens, dict[int, int]]:
    """Column name without its table's prefix -> table -> column."""
    index: dict[Tokens, dict[int, int]] = defaultdict(dict)
    for column in facts.columns:
        if column.family in ("number", "text", "uuid", "date"):
            index[column.reading.plain].setdefault(column.table, column.number)
    return index


def _fits(facts: Facts, key: CompositeKey, table: int, children: tuple[int, ...], taken: frozenset[int]) -> bool:
    child = facts.tables[table]
    if all(column in taken for column in children):
        return False
    if any(
        facts.columns[one].family != facts.columns[other].family
        for one, other in zip(children, key.columns, strict=True)
    ):
        return False
    # The key of a detail contains the key of its master, not the other way round.
    own = [unique for unique in child.unique if len(unique) > 1 and set(unique) < set(children)]
    single = any(facts.columns[column].is_unique for column in children)
    return not own and not single
