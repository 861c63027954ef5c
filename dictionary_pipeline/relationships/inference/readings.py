"""What names say: which thing a table is about, and which thing a column identifies, in which role."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dictionary_pipeline.relationships.inference.lexicon import (
    CODE_WORDS,
    ID_WORDS,
    LEADING_ID_WORDS,
    MARKERS,
    NAME_WORDS,
    NUMBER_WORDS,
    TABLE_NOISE,
)
from dictionary_pipeline.relationships.inference.words import ABBREVIATED, Tokens, Vocabulary, likeness, stem, stems

_SHORT_ID = re.compile("(?!uu|gu)[a-z]{1,2}id")
"""Initials of a table and `id`: `cid`, `pid`, `uid`."""
_PREFIX_SHARE = 0.8
"""Share of a table's columns that must begin alike for the beginning to be the table's own prefix."""
_TABLE_TAILS = ("master", "mast", "mstr", "mas", "mst", "header", "hdr", "dtl", "table", "tbl")
_COMMON_WORD_SHARE = 0.4
"""Share of tables whose names must begin (or end) with a word for it to say nothing."""


@dataclass(frozen=True, slots=True)
class TableReading:
    """A table's name."""

    words: Tokens
    """Stems of its name."""
    thing: Tokens
    """The same without words that only say what kind of table it is; never empty."""


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """A column's name."""

    plain: Tokens
    """Stems without the table's own prefix and without markers such as `fk`: equal for `l_partkey`, `p_partkey`."""
    things: tuple[Tokens, ...]
    """What it may be about: its words without id words, with and without the table's prefix; () is the row itself."""
    mark: str
    """How it says that it identifies something: id, number, code, name or nothing at all ("")."""
    marked: bool
    """It carries a word such as `fk` that says that it refers to something."""


def read_tables(names: Sequence[str], vocabulary: Vocabulary) -> list[TableReading]:
    """Read all table names of a schema together: a word that begins half of them says nothing."""
    split = [stems(_tail_apart(_words(name, vocabulary))) for name in names]
    first = Counter(words[0] for words in split if len(words) > 1)
    last = Counter(words[-1] for words in split if len(words) > 1)
    enough = max(4, _COMMON_WORD_SHARE * len(split))
    common_first = {word for word, count in first.items() if count >= enough}
    common_last = {word for word, count in last.items() if count >= enough}
    readings = []
    for words in split:
        thing = list(words)
        while len(thing) > 1 and (thing[0] in TABLE_NOISE or thing[0] in common_first) and not thing[1].isdigit():
            thing.pop(0)
        while len(thing) > 1 and (thing[-1] in TABLE_NOISE or thing[-1] in common_last):
            thing.pop()
        readings.append(TableReading(words, tuple(thing)))
    return readings


def _words(name: str, vocabulary: Vocabulary) -> Tokens:
    """The words of a name; one without any, such as `%`, stands for itself."""
    return vocabulary.split(name) or (name,)


def _tail_apart(words: Tokens) -> Tokens:
    """Take an ending such as `mas` or `hdr` from what it is run together with: `custmas`, `ordhdr`."""
    if len(words) == 1:
        for tail in _TABLE_TAILS:
            if words[0].endswith(tail) and len(words[0]) - len(tail) >= 3:
                return words[0].removesuffix(tail), tail
    return words


def read_columns(table: TableReading, names: Sequence[str], vocabulary: Vocabulary) -> list[ColumnReading]:
    """Read the column names of one table together: what begins nearly all of them is the table's prefix."""
    stripped = _without_letters(names)
    split = [_words(name, vocabulary) for name in stripped or names]
    prefix = None if stripped else _own_prefix(table, split)
    return [_read_column(words, prefix) for words in split]


def _without_letters(names: Sequence[str]) -> list[str] | None:
    """Names without two to four letters that begin every one of them, as in `OHORDNO`, `OHCUST`, `OHDATE`."""
    if len(names) < 4 or any("_" in name or " " in name for name in names):
        return None
    if not all(name.isupper() for name in names) and not all(name.islower() for name in names):
        return None
    length = 0
    for letters in zip(*names, strict=False):
        if len(set(letters)) != 1:
            break
        length += 1
    if not 2 <= length <= 4 or min(map(len, names)) - length < 2:
        return None
    return [name[length:] for name in names]


def _own_prefix(table: TableReading, split: Sequence[Tokens]) -> str | None:
    """A first word that nearly all columns share and that is not a word of the table's name, such as `c` or `ps`."""
    firsts = Counter(words[0] for words in split if len(words) > 1)
    if not firsts or len(split) < 2:
        return None
    word, count = firsts.most_common(1)[0]
    is_prefix = count >= max(2, _PREFIX_SHARE * len(split)) and word not in LEADING_ID_WORDS
    says_something = any(likeness(stem(word), other) >= ABBREVIATED for other in table.words)
    return word if is_prefix and not says_something else None


def _read_column(words: Tokens, prefix: str | None) -> ColumnReading:
    bare = words[1:] if prefix is not None and len(words) > 1 and words[0] == prefix else words
    core, marked = _without_markers(bare)
    thing, mark = _identified(core)
    things = [stems(thing)]
    if bare is not words:
        whole, _ = _identified(_without_markers(words)[0])
        things.append(stems(whole))
    return ColumnReading(stems(core), tuple(dict.fromkeys(things)), mark, marked)


def _without_markers(words: Tokens) -> tuple[Tokens, bool]:
    kept = tuple(word for word in words if word not in MARKERS)
    return (kept, len(kept) != len(words)) if kept else (words, False)


def _identified(words: Tokens) -> tuple[Tokens, str]:
    """The thing that a column identifies, and by which kind of mark."""
    if len(words) == 1 and _SHORT_ID.fullmatch(words[0]):
        return (words[0][:-2],), "id"
    if len(words) >= 2 and words[-1].isdigit() and _mark(words[-2]):
        return (*words[:-2], words[-1]), _mark(words[-2])
    if _mark(words[-1]):
        rest = words[:-1]
        # `kunden_nr_id` and `order_no_key` carry two marks for one thing.
        while len(rest) > 1 and _mark(rest[-1]) in ("id", "number") and rest[-1] != "no":
            rest = rest[:-1]
        return rest, _mark(words[-1])
    if len(words) > 1 and words[0] in LEADING_ID_WORDS:
        return words[1:], "code" if words[0].startswith("cod") else "id"
    for at in range(1, len(words) - 1):
        if words[at] in ID_WORDS:  # `customer_id_ship_to`
            return words[:at] + words[at + 1 :], "id"
    return words, ""


def _mark(word: str) -> str:
    for mark, known in (("id", ID_WORDS), ("number", NUMBER_WORDS), ("code", CODE_WORDS), ("name", NAME_WORDS)):
        if word in known:
            return mark
    return ""


def things_by_table(readings: Sequence[TableReading]) -> Mapping[Tokens, list[int]]:
    """Thing -> tables that are about it, by number."""
    index: dict[Tokens, list[int]] = defaultdict(list)
    for number, reading in enumerate(readings):
        index[reading.thing].append(number)
        if reading.words != reading.thing:
            index[reading.words].append(number)
    return index


@lru_cache(maxsize=262_144)
def sequence_likeness(one: Tokens, other: Tokens) -> float:
    """Mean likeness of two equally long sequences; 0 when one pair differs."""
    total = 0.0
    for left, right in zip(one, other, strict=True):
        alike = likeness(left, right)
        if alike < ABBREVIATED:
            return 0.0
        total += alike
    return total / len(one)
