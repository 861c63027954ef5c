"""Withheld values under seal: keyed digests by which a value is recognised but cannot be read.

The stage that publishes may run in another process than the one that sampled, and raw values are
never written. So sampling leaves digests under a random key of the database's own, and whoever
searches texts digests what could be a value and looks it up. Sealed are only distinctive values:
`May` or `42` in a text proves no leak.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import jsontext
from dictionary_pipeline.sampling.treatment import mask
from dictionary_pipeline.store import Store

KEY = ".state/withheld_values.json"
_FORMAT = 1
_DIGEST_BYTES = 8
_COLUMN = ["schema", "table", "column"]
_MIN_LENGTH = 6
_LONG_LENGTH = 12
_MANY_DIGITS = 9
_MAX_WORDS = 8
_EDGES = ".,;:!?()[]{}<>\"'`“”‘’«»=*"
_NUMBER = re.compile(r"[+-]?[\d.,]+")
_MOMENT = re.compile(r"[+-]?\d{4,}-\d\d-\d\d(?:[ tT].*)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{1,2}:\d\d.*", re.DOTALL)
_SIGN = re.compile(r"[\d@]")
_WORD = re.compile(r"\S+")
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"([^\"]*)\"")
_TOKEN = re.compile(r"[\w.+@%-]+")

Name = tuple[str, str, str]
"""Schema, table and column."""


class SealedColumn(NamedTuple):
    """What is kept of the values of one column."""

    values: frozenset[bytes]
    """Digests of whole values."""
    starts: Mapping[bytes, int]
    """Digest of the first word of values of several words -> how many words they have at most."""


@dataclass(frozen=True)
class Sealed:
    """The withheld values of a database."""

    key: bytes = field(repr=False)
    columns: Mapping[Name, SealedColumn]

    def of(self, columns: pl.DataFrame) -> Sealed:
        """The values of some columns only (schema, table, column)."""
        wanted = set(columns.select(_COLUMN).iter_rows())
        return Sealed(self.key, {name: column for name, column in self.columns.items() if name in wanted})


class Match(NamedTuple):
    """A withheld value found in a text."""

    start: int
    end: int
    column: Name


def is_strong(text: str) -> bool:
    """Whether a text can hardly be anything else than one certain value, even amid other text."""
    if len(text) < _MIN_LENGTH or not _SIGN.search(text) or _MOMENT.fullmatch(text):
        return False
    return not _NUMBER.fullmatch(text) or sum(map(str.isdigit, text)) >= _MANY_DIGITS


def is_distinctive(text: str) -> bool:
    """Whether a text is telling when it stands alone."""
    return is_strong(text) or (
        len(text) >= _LONG_LENGTH and not _NUMBER.fullmatch(text) and not _MOMENT.fullmatch(text)
    )


def seal(values: pl.DataFrame, hidden: pl.DataFrame, previous: Sealed | None) -> Sealed:
    """Seal the raw values of this sampling.

    Args:
        values: Raw values, as `sampling.collect.HIDDEN_VALUES`.
        hidden: schema, table, column of all withheld and masked columns; of those that were not read
            this time, what was sealed before stays.
        previous: Its key is used on, so that unchanged values give unchanged state.
    """
    key = previous.key if previous else secrets.token_bytes(32)
    columns: dict[Name, SealedColumn] = {}
    for (schema, table, column), rows in values.group_by(_COLUMN, maintain_order=True):
        columns[str(schema), str(table), str(column)] = _sealed_column(rows["value"], key)
    for name in hidden.select(_COLUMN).iter_rows():
        if previous and name in previous.columns:
            columns.setdefault(name, previous.columns[name])
    return Sealed(key, dict(sorted(columns.items())))


def save_sealed(store: Store, sealed: Sealed, samples: str) -> None:
    """Keep what is sealed together with the hash of the samples that it belongs to."""
    rows = [
        [*name, _encoded(sorted(column.values)), _encoded(sorted(column.starts)), list(_words_of(column))]
        for name, column in sealed.columns.items()
    ]
    document = {"format": _FORMAT, "samples": samples, "key": sealed.key.hex(), "columns": rows}
    data = jsontext.pretty(document).encode()
    if store.read(KEY) != data:
        store.write(KEY, data)


def load_sealed(store: Store, samples: str | None = None) -> Sealed | None:
    """What was sealed last, or null when there is nothing that this version can use.

    Args:
        samples: Hash of the samples that it must belong to.
    """
    try:
        document = json.loads(store.read(KEY) or b"{}")
        if document.get("format") != _FORMAT or (samples is not None and document["samples"] != samples):
            return None
        columns = {
            (schema, table, column): SealedColumn(
                frozenset(_decoded(values)), dict(zip(_decoded(starts), words, strict=True))
            )
            for schema, table, column, values, starts, words in document["columns"]
        }
        return Sealed(bytes.fromhex(document["key"]), columns)
    except (ValueError, KeyError, TypeError, AttributeError):  # unreadable state is lost state
        return None


class Recogniser:
    """Finds sealed values in texts."""

    def __init__(self, sealed: Sealed) -> None:
        self._key = sealed.key
        self._owners: dict[bytes, Name] = {}
        self._starts: dict[bytes, int] = {}
        for name, column in sealed.columns.items():
            for digest in column.values:
                self._owners.setdefault(digest, name)
            for digest, words in column.starts.items():
                self._starts[digest] = max(words, self._starts.get(digest, 0))
        self._heard: set[str] = set()
        """Words as written that were looked at."""
        self._telling: set[str] = set()
        """Those of them that a value may be in or start with."""

    def matches(self, text: str) -> list[Match]:
        """Withheld values in a text: the text itself, quotations, words and runs of words."""
        if not self._owners or len(text) < _MIN_LENGTH:
            return []
        words = text.split()
        owner = self._distinctive(_bare(" ".join(words)))
        if owner is not None:
            return [Match(0, len(text), owner)]
        found = set(self._quoted(text)) if "'" in text or '"' in text else set()
        # Nearly every text says nothing, and texts share their words.
        if not self._heard.issuperset(words):
            new = set(words) - self._heard
            self._telling.update(filter(self._tells, new))
            self._heard |= new  # at last, because another thread may ask in between
        if not self._telling.isdisjoint(words):
            found.update(self._spoken(text))
        return sorted(found)

    def owner(self, text: str) -> Name | None:
        """The column of which the whole text is a value."""
        return self._distinctive(_plain(text))

    def masked(self, text: str, replacement: str) -> str:
        """The text with every withheld value replaced."""
        end = len(text)
        for match in reversed(self.matches(text)):
            if match.end <= end:
                text = text[: match.start] + replacement + text[match.end :]
                end = match.start
        return text

    def _quoted(self, text: str) -> Iterable[Match]:
        for found in _QUOTED.finditer(text):
            group = 1 if found[1] is not None else 2
            owner = self.owner(found[group].replace("''", "'"))
            if owner is not None:
                yield Match(*found.span(group), owner)

    def _spoken(self, text: str) -> Iterator[Match]:
        """Values that are words, parts of words or runs of words."""
        words = [_trimmed(text, *found.span()) for found in _WORD.finditer(text)]
        for place, (start, end) in enumerate(words):
            most_words = self._starts.get(self._digest(_plain(text[start:end])), 1)
            for _, last in reversed(words[place : place + most_words]):
                owner = self._strong(_plain(text[start:last]))
                if owner is not None:
                    yield Match(start, last, owner)
                    break
            else:
                for token in _TOKEN.finditer(text, start, end):
                    owner = self._strong(_plain(token.group()))
                    if owner is not None:
                        yield Match(*token.span(), owner)

    def _tells(self, word: str) -> bool:
        plain = _bare(word)
        digest = self._digest(plain)
        if digest in self._starts:
            return True
        if not _SIGN.search(plain):
            return False
        if digest in self._owners and is_strong(plain):
            return True
        parts = set(map(_bare, _TOKEN.findall(word))) - {plain}
        return any(self._strong(part) is not None for part in parts)

    def _strong(self, plain: str) -> Name | None:
        return self._owners.get(self._digest(plain)) if is_strong(plain) else None

    def _distinctive(self, plain: str) -> Name | None:
        # What is sealed is distinctive, so nearly all other texts are told apart by their digests alone.
        owner = self._owners.get(self._digest(plain)) if len(plain) >= _MIN_LENGTH else None
        return owner if owner is not None and is_distinctive(plain) else None

    def _digest(self, plain: str) -> bytes:
        return _digest(plain, self._key)


def _sealed_column(values: Iterable[str], key: bytes) -> SealedColumn:
    digests: set[bytes] = set()
    starts: dict[bytes, int] = {}
    for plain in dict.fromkeys(map(_plain, values)):
        # A value that equals its own mask may be shown.
        if not is_distinctive(plain) or mask(plain) == plain:
            continue
        digests.add(_digest(plain, key))
        words = plain.split(" ")
        if 1 < len(words) <= _MAX_WORDS and is_strong(plain):
            first = _digest(words[0].strip(_EDGES), key)
            starts[first] = max(len(words), starts.get(first, 0))
    return SealedColumn(frozenset(digests), starts)


def _plain(text: str) -> str:
    """One form of a value, however it is spaced, quoted or written in capitals."""
    return _bare(" ".join(text.split()))


def _bare(text: str) -> str:
    """The same of a text whose words stand one space apart."""
    return text.strip(_EDGES).casefold()


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start] in _EDGES:
        start += 1
    while start < end and text[end - 1] in _EDGES:
        end -= 1
    return start, end


def _digest(plain: str, key: bytes) -> bytes:
    return hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), key=key, digest_size=_DIGEST_BYTES).digest()


def _words_of(column: SealedColumn) -> Iterable[int]:
    return (column.starts[digest] for digest in sorted(column.starts))


def _encoded(digests: Iterable[bytes]) -> str:
    return base64.b64encode(b"".join(digests)).decode()


def _decoded(text: str) -> list[bytes]:
    data = base64.b64decode(text)
    return [data[place : place + _DIGEST_BYTES] for place in range(0, len(data), _DIGEST_BYTES)]
