"""Taking identifiers apart into words, and telling how alike two words are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from dictionary_pipeline import naming
from dictionary_pipeline.relationships.inference.lexicon import (
    CANONICAL,
    CODE_WORDS,
    ID_WORDS,
    IRREGULAR,
    MEASURES,
    NAME_WORDS,
    NOT_SPLIT,
    NUMBER_WORDS,
    ROLE_WORDS,
    STAFF_ROLES,
    USER_ROLES,
)

Tokens = tuple[str, ...]

_DIGITS = re.compile(r"[0-9]+|[^0-9]+")
_LAST = ("uid", "oid")
"""`stuid` is `stu` and `id` rather than `st` and `uid`."""
_TAILS = tuple(
    sorted(
        (ID_WORDS | NUMBER_WORDS | CODE_WORDS) - {"#", "ids", "bk", "rid", "sid", "iso", "symbol"},
        key=lambda word: (word in _LAST, -len(word), word),
    )
)
_SPLITTERS = frozenset(word for word in ROLE_WORDS | NAME_WORDS | MEASURES if len(word) >= 4) | {
    "name",
    "type",
    "item",
    "line",
}
_PERSON_WORDS = STAFF_ROLES | USER_ROLES
_MIN_PART = 3
ABBREVIATED = 0.5
"""Likeness from which two words are taken to mean the same."""


def tokens(identifier: str) -> Tokens:
    """Lower-case words of an identifier, digits apart: `ShipAddress2` -> ship, address, 2."""
    spelled = identifier.replace("#", " no ")
    return tuple(part for word in naming.words(spelled) for part in _DIGITS.findall(word.casefold()))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Singular of an English word."""
    known = IRREGULAR.get(word)
    if known:
        return known
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def stems(words: Iterable[str]) -> Tokens:
    """`stem` of every word."""
    return tuple(map(stem, words))


@lru_cache(maxsize=262_144)
def likeness(one: str, other: str) -> float:
    """How surely two stems mean the same thing, 0 to 1: equal, known abbreviation, or shortened."""
    if one == other:
        return 1.0
    if one.isdigit() or other.isdigit() or not one or not other:
        return 0.0
    if CANONICAL.get(one, one) == CANONICAL.get(other, other):
        return 0.95
    short, full = (one, other) if len(one) < len(other) else (other, one)
    if len(short) < 2:
        return 0.0
    if len(short) >= _MIN_PART and full.startswith(short):
        # What a shortened word leaves away decides: `cust` of `customer` rather than `part` of `partner`.
        return 0.88 if len(short) >= 4 or len(full) - len(short) >= 3 else 0.8
    if short[0] != full[0] or len(full) - len(short) < 2 or not _is_subsequence(short, full):
        return 0.0
    vowels = sum(letter in "aeiou" for letter in short[1:])
    if len(short) == 2:
        return 0.5 if vowels == 0 else 0.0
    return 0.72 if vowels == 0 else (0.55 if len(short) >= 4 else 0.0)


def with_stems(words: Iterable[str]) -> frozenset[str]:
    """The words and their singulars, to look stems up in."""
    listed = list(words)
    return frozenset([*listed, *map(stem, listed)])


def _is_subsequence(short: str, full: str) -> bool:
    rest = iter(full)
    return all(letter in rest for letter in short)


class Vocabulary:
    """The words of one schema; splits words that were run together (`custno`, `lineitem`, `shiptoid`)."""

    def __init__(self, table_names: Iterable[str], column_names: Iterable[str]) -> None:
        tables = {token for name in table_names for token in tokens(name)}
        columns = {token for name in column_names for token in tokens(name)}
        self._table_words = {stem(word) for word in tables if len(word) >= _MIN_PART} | tables
        spoken = {word for word in tables | columns if len(word) >= _MIN_PART and not word.isdigit()}
        by_letter: dict[str, list[str]] = {}
        for word in sorted({stem(word) for word in tables if len(word) > _MIN_PART}):
            by_letter.setdefault(word[:2], []).append(word)
        self._by_start = by_letter
        heads = {head for word in spoken if (head := self._before_tail(word))}
        self._parts = {*spoken, *map(stem, spoken), *heads, *_SPLITTERS}
        self._split: dict[str, Tokens] = {}

    def split(self, identifier: str) -> Tokens:
        """Words of an identifier, run-together ones apart."""
        return tuple(part for token in tokens(identifier) for part in self._apart(token))

    def _apart(self, token: str) -> Tokens:
        known = self._split.get(token)
        if known is None:
            known = self._split[token] = self._take_apart(token)
        return known

    def _take_apart(self, token: str) -> Tokens:
        if len(token) < 4 or token in NOT_SPLIT or token in NUMBER_WORDS | CODE_WORDS | ID_WORDS:
            return (token,)
        if stem(token) in self._table_words and not self._before_tail(token):
            return self._compound(token) or (token,)
        head = self._before_tail(token)
        if head:
            return (*(self._compound(head) or (head,)), token[len(head) :])
        return self._compound(token) or (token,)

    def _before_tail(self, token: str) -> str | None:
        """What stands before a run-together id word, when it is a word of this schema or shortens one."""
        if token in NOT_SPLIT or token in CANONICAL:
            return None
        for tail in _TAILS:
            head = token.removesuffix(tail)
            if head != token and len(head) >= 2 and (self._is_table_word(head) or (tail == "key" and len(head) >= 4)):
                return head
        return None

    def _is_table_word(self, head: str) -> bool:
        if stem(head) in self._table_words or head in CANONICAL or head in _PERSON_WORDS:
            return True
        near = self._by_start.get(head[:2], ())
        return len(head) >= _MIN_PART and any(likeness(stem(head), word) >= ABBREVIATED for word in near)

    def _compound(self, token: str) -> Tokens | None:
        """Two or three words of the schema that make up the token exactly; the longest first word wins."""
        if len(token) < 2 * _MIN_PART:
            return None
        for cut in range(len(token) - _MIN_PART, _MIN_PART - 1, -1):
            head, rest = token[:cut], token[cut:]
            if head not in self._parts:
                continue
            if rest in self._parts:
                return head, rest
            if (more := self._two(rest)) is not None:
                return head, *more
        return None

    def _two(self, token: str) -> Tokens | None:
        for cut in range(len(token) - _MIN_PART, 1, -1):
            head, rest = token[:cut], token[cut:]
            if (head in self._parts or head in ("to", "by", "of")) and rest in self._parts:
                return head, rest
        return None
