"""What the name of a column says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from dictionary_pipeline import naming
from dictionary_pipeline.sampling.sensitivity import vocabulary
from dictionary_pipeline.sampling.sensitivity.vocabulary import fold

Bearer = Literal["person", "organisation", "thing", "unknown", "bare", "nobody"]
"""Whose name a `name` column holds: unknown for a word not known, bare for `name` alone, nobody when it is no name."""

_OTHER_SCRIPT = re.compile(r"[^\u0000-\u024f]")
"""Letters that are not Latin."""
_SEPARATORS = re.compile(r"[\s_.:/()-]+")
_LONGEST_NATIVE = 12
_SENTENCE_END = re.compile(r"[.;:(](?:\s|$)|\n")
_COMMENT_CHARACTERS = 80
_COMMENT_WORDS = 6
_SHORT_PARTS = frozenset(["no", "nr", "id", "nm", "dt", "cc", "ip"])
_LONGEST_SEGMENTED = 40
_MOST_PARTS = 5
_SUFFIX_LENGTH = 5
_SHORTEST_SINGULAR = 4
_LONG_PART = 4
_NAMES_OF_ANYTHING = frozenset(
    ("full name", "display name", "legal name", "preferred name", "real name", "nombre completo")
)
_DOERS = (("by",), ("par",), ("por",), ("von",), ("door",), ("da",))
"""`created_by`, `cree_par`."""
_NEVER_BEFORE_THINGS = frozenset(
    [
        "EMAIL_ADDRESS",
        "PHONE_NUMBER",
        "LOCATION",
        "PASSWORD",
        "SECRET",
        "CREDIT_CARD",
        "IBAN_CODE",
        "USERNAME",
        "IP_ADDRESS",
        "PERSON",
        "SALARY",
    ]
)
"""`phone model`, `email campaign`: what such a word describes is the thing behind it."""


_ABBREVIATED = {
    "nm": "name",
    "nme": "name",
    "num": "number",
    "nbr": "number",
    "nmbr": "number",
    "dt": "date",
    "dte": "date",
}


class Signal(NamedTuple):
    """A phrase of the name that tells a category."""

    category: str
    phrase: str
    strong: bool
    source: str = "name"
    """Of the phrase: the column's name or its comment."""


@dataclass(frozen=True)
class NameReading:
    """What a name says."""

    words: tuple[str, ...]
    signals: tuple[Signal, ...]
    """The telling one first."""
    harmless: bool
    """The name speaks of something sensitive, but says that it holds another thing (a count, a flag, a type)."""
    bearer: Bearer
    is_role: bool
    """Only a person's part in the matter: `owner`, `created_by`."""

    def any_of(self, section: str) -> bool:
        """Whether one of the words stands in a section of the vocabulary."""
        return not vocabulary.words()[section].isdisjoint(self.words)


@lru_cache(maxsize=65_536)
def read_name(identifier: str) -> NameReading:
    """Read an identifier: words of any case style or run together, in many languages."""
    words = split(identifier)
    found = _phrases(words)
    if not found and not _vocabulary().issuperset(words):
        # Capitals that part a name elsewhere than its words do: `MACaddr`.
        joined = _segmented("".join(words)) or ()
        found = _phrases(joined)
        words = joined if found else words
    kept = [hit for hit in found if not _is_harmless(words, hit)]
    signals = [hit.signal for hit in reversed(kept)]
    signals.sort(key=lambda signal: (not signal.strong, signal.category not in ("PASSWORD", "SECRET")))
    bearer = _bearer(words, kept)
    if bearer == "person" and not any(signal.category == "PERSON" for signal in signals):
        signals.append(Signal("PERSON", " ".join(words), True))
    if not signals:
        signals = _suffix_signals(words)
    is_role = not signals and not found and _is_role(words)
    return NameReading(words, tuple(signals), bool(found) and not kept, bearer, is_role)


@lru_cache(maxsize=16_384)
def read_comment(comment: str) -> tuple[Signal, ...]:
    """What the beginning of a database comment tells, as weak signals: comments speak of other columns too."""
    beginning = " ".join(comment[:_COMMENT_CHARACTERS].split()[:_COMMENT_WORDS])
    reading = read_name(_SENTENCE_END.split(beginning, maxsplit=1)[0])
    return tuple(signal._replace(strong=False, source="comment") for signal in reading.signals)


def split(identifier: str) -> tuple[str, ...]:
    """Words of an identifier, folded, without numbers, run-together ones apart."""
    parts: list[str] = []
    if _OTHER_SCRIPT.search(identifier):
        for word in _SEPARATORS.split(fold(identifier)):
            parts.extend(_native_parts(word))
    else:
        for word in naming.words(identifier):
            parts.extend(_known_parts(fold(word)))
    return tuple(_ABBREVIATED.get(part, part) for part in parts)


def _native_parts(text: str) -> list[str]:
    """Words of scripts that write them together or with marks, the longest first: `公司电话` -> `公司`, `电话`."""
    known = _native_vocabulary()
    parts: list[str] = []
    rest = start = 0
    while start < len(text):
        size = next((size for size in range(_LONGEST_NATIVE, 0, -1) if text[start : start + size] in known), 0)
        if size:
            parts.extend(_known_parts(text[rest:start]))
            parts.append(text[start : start + size])
            rest = start + size
        start += size or 1
    return [*parts, *_known_parts(text[rest:])]


def _known_parts(word: str) -> tuple[str, ...]:
    known = _vocabulary()
    if word in known:
        return (word,)
    bare = word.strip("0123456789")
    for form in (bare, bare.removesuffix("s"), bare.removesuffix("es")):
        if form in known and (form == bare or len(form) >= _SHORTEST_SINGULAR):
            return (form,)
    return _segmented(bare) or ((bare,) if bare else ())


@cache
def _vocabulary() -> frozenset[str]:
    told = {
        word
        for phrases in vocabulary.signals().values()
        for phrase in phrases
        for word in phrase.removeprefix("? ").split()
    }
    listed = (words for section, words in vocabulary.words().items() if section != "NAME_PARTICLE")
    return frozenset(told.union(*listed))


@cache
def _native_vocabulary() -> frozenset[str]:
    return frozenset(word for word in _vocabulary() if _OTHER_SCRIPT.search(word))


@lru_cache(maxsize=65_536)
def _segmented(word: str) -> tuple[str, ...] | None:
    """The fewest known words that make up `word`; None when not all of it is known."""
    if not 4 <= len(word) <= _LONGEST_SEGMENTED:
        return None
    known = _vocabulary()
    best: list[tuple[str, ...] | None] = [()] + [None] * len(word)
    for end in range(2, len(word) + 1):
        for start in range(end - 1):
            head, part = best[start], word[start:end]
            if head is None or part not in known or (len(part) < 3 and part not in _SHORT_PARTS):
                continue
            current = best[end]
            if current is None or len(head) + 1 < len(current):
                best[end] = (*head, part)
    whole = best[-1]
    return whole if whole is not None and len(whole) <= _MOST_PARTS and _is_plausible(whole) else None


def _is_plausible(parts: tuple[str, ...]) -> bool:
    """Whether short words stand beside words that run together with them: `emptel`, but no `cartel`."""
    sections = vocabulary.words()
    beside = sections["COMPANION"] | sections["PERSON"] | sections["NAME"] | _SHORT_PARTS
    return all(len(part) >= _LONG_PART for part in parts) or sum(part not in beside for part in parts) <= 1


class _Hit(NamedTuple):
    signal: Signal
    start: int
    end: int


@cache
def _phrase_index() -> dict[str, tuple[tuple[tuple[str, ...], str, bool], ...]]:
    index: dict[str, list[tuple[tuple[str, ...], str, bool]]] = {}
    for category, phrases in vocabulary.signals().items():
        for phrase in phrases:
            spoken = tuple(phrase.removeprefix("? ").split())
            numbered = [(*spoken[:-1], short) for short in ("no", "nr")] if spoken[-1] == "number" else []
            for form in (spoken, *numbered):
                index.setdefault(form[0], []).append((form, category, not phrase.startswith("?")))
    return {
        first: tuple(sorted(entries, key=lambda entry: (-len(entry[0]), not entry[2])))
        for first, entries in index.items()
    }


def _phrases(words: tuple[str, ...]) -> list[_Hit]:
    index = _phrase_index()
    hits = []
    position = 0
    while position < len(words):
        for spoken, category, strong in index.get(words[position], ()):
            if words[position : position + len(spoken)] == spoken:
                hits.append(_Hit(Signal(category, " ".join(spoken), strong), position, position + len(spoken)))
                position += len(spoken) - 1
                break
        position += 1
    return hits


def _suffix_signals(words: tuple[str, ...]) -> list[Signal]:
    """Weak signals of compounds with an unknown front, such as German ones."""
    known = _vocabulary()
    for word in reversed(words):
        if word in known:
            continue
        for cut in range(1, len(word) - _SUFFIX_LENGTH + 1):
            hits = _phrases((word[cut:],))
            if hits and hits[0].signal.strong:
                return [hits[0].signal._replace(strong=False)]
    return []


def _is_harmless(words: tuple[str, ...], hit: _Hit) -> bool:
    sections = vocabulary.words()
    category = hit.signal.category
    before, after = words[: hit.start], words[hit.end :]
    kept = sections.get(f"KEPT {category}", frozenset())
    if after and after[-1] in sections["HARMLESS_HEAD"] and after[-1] not in kept:
        return True
    if before and before[0] in sections["HARMLESS_LEAD"]:
        return True
    if category == "CREDIT_CARD" and not sections["OTHER_CARD"].isdisjoint(words):
        return True
    if hit.signal.phrase in _NAMES_OF_ANYTHING and sections["PERSON"].isdisjoint(before):
        return not (sections["THING"] | sections["ORGANISATION"]).isdisjoint(before)
    things = sections["THING"] - sections["PERSON"] - sections["GENERIC"] - kept
    if category in ("PASSWORD", "SECRET") and after and after[-1] in sections["NAME"]:
        return True
    return category in _NEVER_BEFORE_THINGS and bool(after) and after[-1] in things


def _is_role(words: tuple[str, ...]) -> bool:
    """Whether the word that says what a column holds says a person's part: the last but for `primary` and the like."""
    sections = vocabulary.words()
    if words[-1:] in _DOERS:
        return True
    told = [word for word in words if word not in sections["COMPANION"] or word in sections["PERSON"]]
    return bool(told) and told[-1] in sections["PERSON"] and not _has_harmless_head(words)


def _has_harmless_head(words: tuple[str, ...]) -> bool:
    sections = vocabulary.words()
    return bool(words) and (words[-1] in sections["HARMLESS_HEAD"] or words[0] in sections["HARMLESS_LEAD"])


def _bearer(words: tuple[str, ...], hits: list[_Hit]) -> Bearer:
    """Whose name it is: in English the word before `name` says it, in Romance languages the one behind."""
    sections = vocabulary.words()
    covered = {position for hit in hits for position in range(hit.start, hit.end)}
    places = [at for at, word in enumerate(words) if word in sections["NAME"] and at not in covered]
    if not places:
        return "nobody"
    at = places[-1]
    if at + 1 < len(words) and words[-1] in sections["HARMLESS_HEAD"]:
        return "nobody"
    telling = sections["PERSON"] | sections["THING"] | sections["ORGANISATION"]
    silent = (sections["COMPANION"] | sections["GENERIC"] | sections["NAME"]) - telling
    behind = [word for word in words[at + 1 :] if word not in silent and len(word) > 1]
    ahead = [word for word in reversed(words[:at]) if word not in silent and len(word) > 1]
    for word in (*ahead, *behind):
        if word in sections["PERSON"]:
            return "person"
        if word in sections["ORGANISATION"]:
            return "organisation"
        if word in sections["THING"]:
            return "thing"
    return "unknown" if ahead or behind else "bare"
