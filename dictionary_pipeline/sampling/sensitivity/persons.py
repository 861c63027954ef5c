"""Whether values are names of persons, by lists of given and family names of many languages."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from dictionary_pipeline.sampling.sensitivity import vocabulary
from dictionary_pipeline.sampling.sensitivity.valueset import ValueSet
from dictionary_pipeline.sampling.sensitivity.vocabulary import fold

_FORBIDDEN = re.compile(r"[\d@#_/\\:;|<>=+*%$€£?!\[\]{}\"“”]")
_LATIN_TOKEN = re.compile(r"[^\W\d_]+(?:['’`´.-][^\W\d_]+)*\.?")
_COMPANY = re.compile(
    r"&|\b(?:inc|llc|ltd|limited|plc|corp|corporation|company|co|gmbh|ag|kg|ohg|sa|sas|sarl|srl|spa|bv|nv|ab|oy|as|aps|group|"
    r"gruppe|groupe|holding|holdings|partners|associates|brothers|bros|sons|foundation|university|school|college|bank|hotel|"
    r"restaurant|cafe|church|institute|industries|services|solutions|systems|technologies|international|studio|studios|"
    r"records|orchestra|quartet|trio|choir|ensemble|band|street|road|avenue|drive|lane|park|lake|river|island|city|county)\b",
    re.I,
)
_TITLE = re.compile(
    r"^(?:(?:mrs?|ms|miss|herr|frau|mme|mlle|sra|srta|dhr|mevr)\.? |sig\.ra |(?:dr|prof|hr|fr|sr|sig|dott|ing)\. ?)+",
    re.I,
)
_HAN = re.compile(r"[一-龥々]{1,4}[ 　·]?[一-龥々ぁ-んァ-ンー]{1,4}")
_KANA = re.compile(r"[ァ-ヴー]{2,8}[ 　・][ァ-ヴー]{2,8}|[ぁ-ん]{2,8}[ 　][ぁ-ん]{2,8}")
_HANGUL = re.compile(r"[가-힣]{2,4}")
_OTHER_SCRIPT = re.compile(r"[ऀ-ॿ؀-ۿЀ-ӿ]")
_FAMILY_ENDING = re.compile(
    r".{2,}(?:ski|ska|sky|sson|sen|ova|ov|ev|eva|enko|chuk|ez|ini|elli|etti|oglu|yan|ian|vich|vic|mann|stein|berg|son|poulos|wicz|czyk)$"
)
_MOST_TOKENS = 5
_USER_NAME = re.compile(r"@?[a-z][a-z0-9._-]{3,30}", re.I)
_NOT_LETTERS = re.compile(r"[^a-z]+")
_LEAST_WHOLE = 3
_LEAST_PART = 5
_LEAST_PARTS = 2


class PersonShares(NamedTuple):
    """Shares of the values."""

    shaped: float
    """Written as names are: a few words of letters only."""
    known: float
    """Has a listed given or family name where one belongs."""
    full: float
    """A listed given name together with a family name."""
    place: float
    """Is, or has, the name of a town, country, make or month."""
    single: float
    """A single word."""


class _Kind(NamedTuple):
    shaped: bool = False
    known: bool = False
    full: bool = False
    place: bool = False
    single: bool = False


_NONE = _Kind()


def person_shares(values: ValueSet) -> PersonShares:
    """How much the values look like names of persons."""
    if not values.texts:
        return PersonShares(0.0, 0.0, 0.0, 0.0, 0.0)
    kinds = [_kind(text) for text in values.texts]
    return PersonShares(*(sum(flags) / len(kinds) for flags in zip(*kinds, strict=True)))


def name_derived_share(values: ValueSet) -> float:
    """Share of values that are user names made of a given or a family name: `jsmith`, `anna.k`."""
    return values.share(_is_name_derived)


@lru_cache(maxsize=16_384)
def _is_name_derived(text: str) -> bool:
    if not _USER_NAME.fullmatch(text) or text in _given() or text in _family():
        return False
    return any(_begins_or_ends_in_name(part) for part in _NOT_LETTERS.split(text.lower()) if part)


def _begins_or_ends_in_name(letters: str) -> bool:
    """Short names stand whole, or behind an initial."""
    if letters in _given() and len(letters) >= _LEAST_WHOLE:
        return True
    if len(letters) > _LEAST_WHOLE and letters[1:] in _family():
        return True
    sizes = range(_LEAST_PART, len(letters) + 1)
    return any(letters[:size] in _given() or letters[-size:] in _family() for size in sizes)


def personal_address_share(values: ValueSet) -> float:
    """Share of values that are e-mail addresses made of the parts of a person's name: `anna.keller@`, `j.smith7@`."""
    return values.share(_is_personal_address)


@lru_cache(maxsize=16_384)
def _is_personal_address(text: str) -> bool:
    local, at, _ = text.lower().removeprefix("mailto:").partition("@")
    parts = _NOT_LETTERS.sub(" ", local).split()
    if not at or len(parts) < _LEAST_PARTS:
        return False
    return any(part in _given() for part in parts) or (len(parts[0]) == 1 and parts[-1] in _family())


@cache
def _given() -> frozenset[str]:
    return vocabulary.word_list("given_names.txt")


@cache
def _family() -> frozenset[str]:
    return vocabulary.word_list("surnames.txt")


@lru_cache(maxsize=16_384)
def _kind(text: str) -> _Kind:
    if not 2 <= len(text) <= 60 or _FORBIDDEN.search(text):
        return _NONE
    if not text.isascii() and (_HAN.fullmatch(text) or _HANGUL.fullmatch(text)):
        return _eastern(text)
    if not text.isascii() and _KANA.fullmatch(text):
        return _Kind(shaped=True, known=True)
    if not text.isascii() and _OTHER_SCRIPT.search(text):
        return _other_script(text)
    if _COMPANY.search(text):
        return _NONE
    untitled = _TITLE.sub("", text)
    return _latin(untitled, titled=untitled != text)


def _latin(text: str, *, titled: bool) -> _Kind:
    family_first = "," in text
    tokens = _LATIN_TOKEN.findall(text)
    particles = vocabulary.words()["NAME_PARTICLE"]
    words = [token for token in tokens if not token.endswith(".") and len(token) > 1 and fold(token) not in particles]
    if not words or len(tokens) > _MOST_TOKENS + 1 or len(words) > _MOST_TOKENS - 1:
        return _NONE
    folded = [_plain(word) for word in words]
    place = len(words) == 1 and folded[0] in vocabulary.word_list("places.txt")
    given = [_is_given(word) for word in folded]
    family = [word in _family() or all(part in _family() for part in word.split("-")) for word in folded]
    if len(words) == 1:
        known = given[0] or family[0]
        shaped = not words[0][:1].islower() or known
        apart = titled or len(tokens) > 1
        return _Kind(shaped, known or titled, apart and (titled or family[0]), place, not apart)
    shaped = not any(word[:1].islower() for word in words) or (given[0] and family[-1])
    if not shaped:
        return _NONE
    first = 1 if family_first else 0
    has_given = given[first] or (len(words) > 2 and given[first - 1]) or (not family_first and family[0] and given[-1])
    last = folded[0] if family_first else folded[-1]
    has_family = any(family) or _FAMILY_ENDING.fullmatch(last) is not None
    known = has_given or family[0 if family_first else -1]
    return _Kind(True, known, has_given and has_family, place, False)


def _plain(word: str) -> str:
    """A name as the lists write it: `O'Neil` -> `oneil`."""
    return re.sub(r"['’`´.]", "", fold(word))


def _is_given(word: str) -> bool:
    return word in _given() or ("-" in word and any(part in _given() for part in word.split("-")))


def _eastern(text: str) -> _Kind:
    names = vocabulary.word_list("native_names.txt")
    bare = re.sub(r"[ 　·]", "", text)
    known = any(bare[:length] in names for length in (3, 2, 1)) and 2 <= len(bare) <= 6
    apart = len(bare) < len(text)
    return _Kind(2 <= len(bare) <= 6, known, known and (apart or len(bare) <= 3), False, not apart and len(bare) > 4)


def _other_script(text: str) -> _Kind:
    words = fold(text).replace(",", " ").split()
    if len(words) > _MOST_TOKENS:
        return _NONE
    names = vocabulary.word_list("native_names.txt")
    known = [
        word in names or (len(word) > 5 and word.endswith(("ов", "ова", "ев", "ева", "ский", "ская", "енко")))
        for word in words
    ]
    return _Kind(True, any(known), len(words) > 1 and sum(known) > 1, False, len(words) == 1)
