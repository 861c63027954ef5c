"""Finds, for every column that may refer to something, the few keys that it may refer to.

Candidates come from indexes over names, never from comparing all pairs: what a column is about is
looked up among what tables are about (whole, by its end, completed by the own table's name, by
abbreviations), and its whole name among the names of keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dictionary_pipeline.relationships.inference.facts import Column, Facts, Table
from dictionary_pipeline.relationships.inference.keys import OWNED, Key, primary_of
from dictionary_pipeline.relationships.inference.lexicon import (
    CANONICAL,
    HIERARCHY_WORDS,
    MEASURES,
    POLYMORPHIC_WORDS,
    ROLE_WORDS,
    STAFF_ROLES,
    STAFF_TABLES,
    USER_ROLES,
    USER_TABLES,
)
from dictionary_pipeline.relationships.inference.lookup import MAX_FOUND, Postings, TableIndex
from dictionary_pipeline.relationships.inference.matching import Fit, fit
from dictionary_pipeline.relationships.inference.words import Tokens, with_stems

_MAX_KEYS_PER_TABLE = 3
_OTHER_SCHEMA = 0.97
"""Of two tables of one name, the one in the column's own schema is meant."""
_LEAST_FIT = 0.3
_LEAST_NAME = 0.25
_HIERARCHY = with_stems(HIERARCHY_WORDS)
_MEASURES = with_stems(MEASURES)
_PEOPLE = with_stems(STAFF_ROLES | USER_ROLES)
_MIXED = {frozenset({"number", "text"}): 0.75, frozenset({"uuid", "text"}): 0.9}
"""Kinds of values that are stored as one another."""
_COUNTS = frozenset({"number", "num", "no", "nr", "count", "total", "sum", "max", "min", "avg", "is", "has", "pct"})
_STAFF_HEADS = frozenset({"manager", "mgr", "supervisor", "boss", "superior", "head", "chief", "lead", "leader"})

_MARKS = {
    "id": {"id": 1.0, "number": 0.88, "code": 0.75, "name": 0.45, "": 0.8},
    "number": {"id": 0.9, "number": 1.0, "code": 0.85, "name": 0.4, "": 0.75},
    "code": {"id": 0.7, "number": 0.8, "code": 1.0, "name": 0.45, "": 0.85},
    "name": {"id": 0.15, "number": 0.15, "code": 0.3, "name": 0.9, "": 0.7},
    "": {"id": 0.92, "number": 0.9, "code": 0.9, "name": 0.82, "": 0.85},
}
"""Mark of the referring column -> mark of the key -> how well they go together."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A column that may refer to a key."""

    child: int
    key: Key
    name: float
    """How well the names fit, 0 to 1."""
    style: str
    """How they fit: same (the key's own name) | suffix (it ends in the key's name) | exact | role | part | own |
    initials | self (a word such as parent) | person (a word such as manager) | value, range (only the values)."""

    @property
    def sort_key(self) -> tuple[float, int, int]:
        """Best names first, then by column numbers."""
        return -self.name, self.child, self.key.column


class CandidateFinder:
    """Looks candidates up for one column at a time."""

    def __init__(self, facts: Facts, keys: Sequence[Sequence[Key]]) -> None:
        self._facts = facts
        self._keys = keys
        self._index = TableIndex(facts.tables)
        self._by_name = self._keys_by_name()
        self._tables_with: dict[Tokens, set[int]] = defaultdict(set)
        for column in facts.columns:
            if column.reading.mark in ("id", "number", "code"):
                self._tables_with[column.reading.plain].add(column.table)
        self._people = {
            kind: [table.number for table in facts.tables if _is_about(table.reading.thing[-1], heads)]
            for kind, heads in (("staff", STAFF_TABLES), ("user", USER_TABLES))
        }

    def find(self, column: Column) -> list[Candidate]:
        """The candidates of a column, best names first."""
        if column.family not in ("number", "text", "uuid"):
            return []
        table = self._facts.tables[column.table]
        own_key = primary_of(self._keys[table.number])
        is_own_key = own_key is not None and own_key.column == column.number and own_key.is_own
        best: dict[int, Candidate] = {}
        for candidate in self._all(column, table, own_key, is_own_key=is_own_key):
            known = best.get(candidate.key.column)
            if candidate.name >= _LEAST_NAME and (known is None or candidate.name > known.name):
                best[candidate.key.column] = candidate
        return sorted(best.values(), key=lambda candidate: candidate.sort_key)

    def _all(self, column: Column, table: Table, own_key: Key | None, *, is_own_key: bool) -> Iterator[Candidate]:
        if is_own_key and own_key is not None:
            if () not in column.reading.things:
                yield from self._same_name(column, own_key)
            return
        if _measures(column) and column.reading.things[0][-1:] not in self._index.things:
            proven = [candidate for candidate in self._same_name(column, own_key) if candidate.key.proof != "open"]
            yield from proven
            return
        yield from self._same_name(column, own_key)
        named = 0.0
        for other, match in self._tables(column, table):
            for key in self._keys[other][:_MAX_KEYS_PER_TABLE]:
                if key.column != column.number and self._may_mean(column, table, other, key, match):
                    candidate = self._named(column, key, match)
                    named = max(named, candidate.name)
                    yield candidate
        yield from self._hierarchy(column, table, own_key)
        if named < 0.6:
            yield from self._persons(column, table)

    def _named(self, column: Column, key: Key, match: Fit) -> Candidate:
        target = self._facts.columns[key.column]
        score = match.score * _MARKS[column.reading.mark][target.reading.mark] * (0.7 + 0.3 * key.strength)
        if self._keys[key.table][0] is not key:
            score *= 0.85 if target.reading.mark != "name" else 0.6
        if key.table != column.table and self._repeats(key.table, column.reading.plain, target.reading.plain):
            # A table that repeats the column refers to the same thing itself rather than being it.
            score *= 0.5
        if column.reading.mark == "" and not column.reading.marked and not _points(column):
            # Without an id word a number refers to a row only by the table's very name.
            score *= {"exact": 0.95, "own": 0.9, "role": 0.85}.get(match.style, 0.6)
        return self._candidate(column, key, score, match.style)

    def _repeats(self, table: int, name: Tokens, key: Tokens) -> bool:
        ends = (name[start:] for start in range(len(name) - 1))
        return any(end != key and table in self._tables_with.get(end, ()) for end in ends)

    def _may_mean(self, column: Column, table: Table, other: int, key: Key, match: Fit) -> bool:
        """A column named like its own table describes it, unless a word says which other row is meant."""
        if self._facts.tables[other].reading.thing != table.reading.thing:
            return True
        target = self._facts.columns[key.column].reading
        return match.style == "role" and column.reading.mark != "name" and column.reading.mark == target.mark

    # ---- by the key's own name

    def _keys_by_name(self) -> Postings[Tokens, Key]:
        keys = [key for found in self._keys for key in found]
        keys.sort(key=lambda key: (-round(key.owned, 3), -round(key.strength, 3), key.column))
        by_name: Postings[Tokens, Key] = Postings()
        for key in keys:
            reading = self._facts.columns[key.column].reading
            if () not in reading.things:
                by_name.add(reading.plain, self._schema(key.table), key)
        return by_name

    def _schema(self, table: int) -> str:
        return self._facts.tables[table].name.schema

    def _same_name(self, column: Column, own_key: Key | None) -> Iterator[Candidate]:
        reading, schema = column.reading, self._schema(column.table)
        if () in reading.things or _says_nothing(reading.things[0]):
            return
        is_own_key = own_key is not None and own_key.column == column.number
        for key in dict.fromkeys(self._by_name.of(reading.plain, schema)):
            if key.table == column.table or (is_own_key and not self._may_share(key, own_key)):
                continue
            score = self._same_name_score(column, key) * (0.9 if is_own_key else 1.0)
            yield self._candidate(column, key, score, "same")
        if is_own_key or reading.mark not in ("id", "number", "code"):
            return
        for start in range(1, len(reading.plain) - 1):
            for key in dict.fromkeys(self._by_name.of(reading.plain[start:], schema)):
                if key.column != column.number:
                    score = 0.55 + 0.25 * key.strength + 0.12 * key.owned
                    yield self._candidate(column, key, score, "suffix")

    def _may_share(self, key: Key, own_key: Key | None) -> bool:
        """Whether a table may share another's key: not a copy of it, and not one with the better claim to its name."""
        tables = self._facts.tables
        return (
            own_key is not None
            and not _precedes(own_key, key)
            and tables[key.table].reading.thing != tables[own_key.table].reading.thing
        )

    def _same_name_score(self, column: Column, key: Key) -> float:
        reading, target = column.reading, self._facts.columns[key.column].reading
        base = 0.62 if reading.mark in ("id", "number", "code") else 0.35
        score = base + 0.25 * key.strength + (0.75 - base) * key.owned
        if key.owned < OWNED and (reading.mark != "id" or target.mark != "id"):
            score *= 0.8
        first = self._keys[key.table][0]
        if first is not key:
            # A column beside the likely primary key is rarely what others refer to.
            score *= 0.6 if key.owned < OWNED and first.strength >= 0.9 else 0.9
            score *= 1.0 if reading.mark in ("id", "code", "number") else 0.8
        return score

    def _candidate(self, column: Column, key: Key, score: float, style: str) -> Candidate:
        score *= _type_fit(column, self._facts.columns[key.column])
        if self._schema(key.table) != self._schema(column.table):
            score *= _OTHER_SCHEMA
        return Candidate(column.number, key, min(1.0, score), style)

    # ---- by the table's name

    def _tables(self, column: Column, table: Table) -> Iterator[tuple[int, Fit]]:
        own = table.reading.thing
        found: dict[int, Fit] = {}
        for thing in column.reading.things:
            for number in self._index.find(thing, table):
                match = fit(thing, self._facts.tables[number].reading.thing, own)
                if match.score >= _LEAST_FIT and (number not in found or match > found[number]):
                    found[number] = match
        yield from sorted(found.items(), key=lambda item: (-item[1].score, item[0]))[:MAX_FOUND]

    # ---- by words that speak of a row of the own table, or of a person

    def _hierarchy(self, column: Column, table: Table, own_key: Key | None) -> Iterator[Candidate]:
        words = {word for thing in column.reading.things for word in thing} & _HIERARCHY
        if not words or own_key is None or own_key.column == column.number:
            return
        if words <= _STAFF_HEADS | {"report"} and not _is_about(table.reading.thing[-1], STAFF_TABLES | USER_TABLES):
            return
        spoken = column.reading.things[-1]
        if column.reading.mark == "" and not ({"to", "by", "parent"} & set(spoken)):
            return
        rest = [word for word in spoken if word not in _HIERARCHY and word not in ("to", "by", "of")]
        score = 0.78 if not rest or _about(rest, table) else 0.4
        yield self._candidate(column, own_key, score, "self")

    def _persons(self, column: Column, table: Table) -> Iterator[Candidate]:
        words = {word for thing in column.reading.things for word in thing}
        is_number = column.family == "number" and column.reading.plain[-1] in _PEOPLE
        points = column.reading.mark in ("id", "number") or bool({"by", "to"} & words) or is_number
        for kind, roles in (("staff", STAFF_ROLES), ("user", USER_ROLES)):
            if not (words & with_stems(roles)) or not points:
                continue
            for number in self._people[kind][:MAX_FOUND]:
                key = primary_of(self._keys[number])
                if key is None or key.column == column.number:
                    continue
                head = self._facts.tables[number].reading.thing
                preferred = head[-1] in (("employee", "emp", "staff") if kind == "staff" else ("user", "usr", "member"))
                score = (0.64 if preferred else 0.56) - 0.06 * (len(head) - 1)
                yield self._candidate(column, key, score, "person")


def _says_nothing(thing: Tokens) -> bool:
    """Words such as `parent` or `link` say how rows relate, not to what."""
    return all(word in _HIERARCHY or word in ROLE_WORDS or word in POLYMORPHIC_WORDS for word in thing)


def _is_about(head: str, people: frozenset[str]) -> bool:
    return head in people or CANONICAL.get(head) in people


def _about(rest: Sequence[str], table: Table) -> bool:
    return fit(tuple(rest), table.reading.thing, ()).score >= OWNED


def _precedes(key: Key, own_key: Key) -> bool:
    """Whether a table has a better claim to the name of a key than another; with equal claims the data decides."""
    return (round(key.owned, 2), round(key.strength, 2)) > (round(own_key.owned, 2), round(own_key.strength, 2))


def _points(column: Column) -> bool:
    """A number whose name ends in a word such as `via` or `to` refers to something."""
    plain = column.reading.plain
    return column.family == "number" and len(plain) > 1 and plain[-1] in ("via", "by", "to")


def _measures(column: Column) -> bool:
    """A column that measures or describes, and does not say that it identifies anything."""
    reading = column.reading
    if reading.mark not in ("", "name") or reading.marked:
        return False
    thing = reading.things[0]
    return bool(thing) and (thing[-1] in _MEASURES or (len(thing) > 1 and thing[0] in _COUNTS))


def _type_fit(column: Column, target: Column) -> float:
    if column.family == target.family:
        return 0.85 if column.type_class == "float" and target.type_class == "integer" else 1.0
    return _MIXED.get(frozenset({column.family, target.family}), 0.0)
