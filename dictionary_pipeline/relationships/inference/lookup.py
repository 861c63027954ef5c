"""Indexes over names: which tables a column may mean by what it is about, without comparing all pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Generic, TypeVar

from dictionary_pipeline.relationships.inference.facts import Table
from dictionary_pipeline.relationships.inference.lexicon import CANONICAL, WEAK_HEADS
from dictionary_pipeline.relationships.inference.words import ABBREVIATED, Tokens, likeness

MAX_FOUND = 16
"""Tables or keys of one name that are looked at: those of the column's own schema, then the first others."""
_MAX_SPELLINGS = 28
_NEAR_WORDS = 3

Name = TypeVar("Name", bound=Hashable)
Item = TypeVar("Item")


class Postings(Generic[Name, Item]):
    """Name -> items, those of one's own schema first."""

    def __init__(self) -> None:
        self._own: dict[tuple[str, Name], list[Item]] = defaultdict(list)
        self._all: dict[Name, list[Item]] = defaultdict(list)

    def add(self, name: Name, schema: str, item: Item) -> None:
        """Add the next item; the best must come first."""
        for items in (self._own[schema, name], self._all[name]):
            if len(items) < MAX_FOUND:
                items.append(item)

    def of(self, name: Name, schema: str) -> Iterator[Item]:
        """The items of a name; an item of the own schema may come twice."""
        yield from self._own.get((schema, name), ())
        yield from self._all.get(name, ())


class TableIndex:
    """Tables by what they are about: whole, by its end, without a weak head, by initials, abbreviated."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._whole: Postings[Tokens, int] = Postings()
        self._end: Postings[Tokens, int] = Postings()
        self._front: Postings[Tokens, int] = Postings()
        self._initials: Postings[str, int] = Postings()
        for table in sorted(tables, key=lambda table: (len(table.reading.thing), table.number)):
            self._add(table)
        self.things = frozenset(table.reading.thing for table in tables)
        words = sorted({word for table in tables for word in table.reading.thing})
        self._by_letter: dict[str, list[str]] = defaultdict(list)
        for word in words:
            self._by_letter[word[:1]].append(word)
        self._known = frozenset(words)
        self._near: dict[str, tuple[str, ...]] = {}

    def _add(self, table: Table) -> None:
        reading, schema = table.reading, table.name.schema
        thing = reading.thing
        for whole in dict.fromkeys((thing, reading.words)):
            self._whole.add(whole, schema, table.number)
        for start in range(1, len(thing)):
            self._end.add(thing[start:], schema, table.number)
        if len(thing) > 1:
            self._initials.add("".join(word[0] for word in thing if word), schema, table.number)
            if thing[-1] in WEAK_HEADS:
                self._front.add(thing[:-1], schema, table.number)

    def find(self, thing: Tokens, own: Table) -> Iterable[int]:
        """Tables that a column of the table `own` may mean, by number, in no order of merit."""
        if not thing:
            return ()
        found: dict[int, None] = {}
        schema, leads = (
            own.name.schema,
            dict.fromkeys((own.reading.thing, own.reading.thing[:1], own.reading.thing[-1:])),
        )
        for spelled in self._spellings(thing):
            for length in range(len(spelled), 0, -1):
                for start in range(len(spelled) - length, -1, -1):
                    found.update(dict.fromkeys(self._whole.of(spelled[start : start + length], schema)))
            for start in range(len(spelled)):
                found.update(dict.fromkeys(self._end.of(spelled[start:], schema)))
                found.update(dict.fromkeys(self._front.of(spelled[start:], schema)))
            for lead in leads:
                found.update(dict.fromkeys(self._whole.of(lead + spelled, schema)))
        if len(thing) == 1 and len(thing[0]) > 1:
            found.update(dict.fromkeys(self._initials.of(thing[0], schema)))
        return found

    def _spellings(self, thing: Tokens) -> Iterator[Tokens]:
        """The words as they are, and with words of table names that they may be short for."""
        yield thing
        if len(thing) <= 4:
            choices = [(word, *self._near_words(word)) for word in thing]
            if any(len(choice) > 1 for choice in choices):
                yield from list(product(*choices))[1:_MAX_SPELLINGS]

    def _near_words(self, word: str) -> tuple[str, ...]:
        near = self._near.get(word)
        if near is None:
            alike = {
                other: likeness(word, other)
                for other in self._by_letter.get(word[:1], ())
                if other != word and likeness(word, other) >= ABBREVIATED
            }
            # A foreign word does not begin like what it means.
            for other in _SPELLINGS.get(CANONICAL.get(word, word), ()):
                if other in self._known and other != word:
                    alike[other] = likeness(word, other)
            ranked = sorted(alike.items(), key=lambda pair: (-pair[1], pair[0]))
            near = tuple(other for other, _ in ranked[:_NEAR_WORDS])
            self._near[word] = near
        return near


def _spellings_of() -> Mapping[str, list[str]]:
    """Full word -> itself and its abbreviations."""
    spellings: dict[str, list[str]] = defaultdict(list)
    for short, full in sorted(CANONICAL.items()):
        if full not in spellings:
            spellings[full].append(full)
        spellings[full].append(short)
    return spellings


_SPELLINGS = _spellings_of()
