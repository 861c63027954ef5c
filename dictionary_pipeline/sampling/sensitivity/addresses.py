"""Whether values are street addresses: a street's word and a number, in several languages."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from dictionary_pipeline.sampling.sensitivity import vocabulary
from dictionary_pipeline.sampling.sensitivity.valueset import ValueSet
from dictionary_pipeline.sampling.sensitivity.vocabulary import fold

_EASTERN = re.compile(r"[路街道巷弄].{0,12}[号號]|丁目|番地|[区市町村區].{1,14}\d+[-ー−]\d|[동로길] ?\d+")
_WORD = re.compile(r"[^\W\d_]+")
_HOUSE_NUMBER = re.compile(r"(?<![\w.])\d{1,5}[a-zA-Z]?(?:[-/]\d{1,4}[a-zA-Z]?)?(?![\w.]\d)")
_TECHNICAL = re.compile(
    r"(?:0x)?[0-9a-f]{6,}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|\S+@\S+|\w+://\S+|[\d.:/]+|\w|true|false", re.I
)
_FRONT = re.compile(r"[,\n;]| (?:Apt|Suite|Unit|Ste|#)\b")
_MILITARY = re.compile(r"\b[AFD]PO A[AEP]\b")
_CODE = re.compile(r"(?:[0-9a-fA-F]+[-:.]){2,}[0-9a-fA-F]+|[\w.]+://\S*|\S+@\S+")
_SINGLE_WORD = re.compile(r"[^\W\d_]+")
_MOST_LENGTH = 160
_LONG_ENOUGH = 6
_MOST_WORDS = 4
_SHORT_COMPOUND = 6


class _Streets(NamedTuple):
    words: frozenset[str]
    endings: tuple[str, ...]
    """Of compounds."""
    last_words: frozenset[str]
    """Behind a leading number only."""


@cache
def _streets() -> _Streets:
    listed = vocabulary.word_list("streets.txt")
    return _Streets(
        words=frozenset(word for word in listed if word[0] not in "+-"),
        endings=tuple(sorted(word[1:] for word in listed if word[0] == "-")),
        last_words=frozenset(word[1:] for word in listed if word[0] == "+"),
    )


def street_share(values: ValueSet) -> float:
    """Share of values that name a street and a number."""
    return values.share(is_street_address) if values.has_digits else 0.0


@lru_cache(maxsize=16_384)
def is_street_address(text: str) -> bool:
    """Whether a text names a street and a number."""
    if not _LONG_ENOUGH <= len(text) <= _MOST_LENGTH:
        return False
    if not text.isascii() and _EASTERN.search(text):
        return True
    if not _HOUSE_NUMBER.search(text) or _CODE.fullmatch(text) or " " not in text:
        return False
    streets = _streets()
    front = [fold(word) for word in _WORD.findall(_FRONT.split(text, maxsplit=1)[0])]
    if text[0].isdigit() and 2 <= len(front) <= _MOST_WORDS and front[-1] in streets.last_words:
        return True
    if _MILITARY.search(text):
        return True
    spoken = [fold(word) for word in _WORD.findall(text)]
    return any(
        (word in streets.words and len(spoken) > 1) or (len(word) > _SHORT_COMPOUND and word.endswith(streets.endings))
        for word in spoken
    )


def technical_share(values: ValueSet) -> float:
    """Share of values that are machine, mail or wallet addresses, plain numbers or flags."""
    return values.share(_TECHNICAL.fullmatch)


def single_word_share(values: ValueSet) -> float:
    """Share of values that are one word of Latin letters."""
    return values.share(lambda text: text.isascii() and _SINGLE_WORD.fullmatch(text))
