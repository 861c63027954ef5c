"""How likely two identifiers are names of one thing, and two columns hold the same values."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from dictionary_pipeline.drift.tables import Profile
from dictionary_pipeline.naming import words

_MIN_PREFIX = 3
_STEM = 0.8
"""Similarity of a word and its abbreviation."""
_FILLERS = frozenset({"old", "new", "tmp", "temp", "bak", "backup", "v", "v1", "v2", "v3", "the", "of", "tbl", "t"})


def name_similarity(before: str, after: str) -> float:
    """From 0 (nothing in common) to 1 (the same words): words, abbreviations, initials, spelling."""
    if before.casefold() == after.casefold():
        return 1.0
    ours, theirs = _words(before), _words(after)
    if ours == theirs:
        return 0.95
    shorter, longer = sorted((ours, theirs), key=len)
    shared = sum(max((_word_similarity(word, other) for other in longer), default=0.0) for word in shorter)
    # Words that only one name has count less: `email` -> `email_address`.
    by_words = shared / (len(shorter) + 0.25 * (len(longer) - len(shorter))) if shorter else 0.0
    if _initials(before) == "".join(theirs) or _initials(after) == "".join(ours):
        by_words = max(by_words, _STEM)
    joined = SequenceMatcher(None, "".join(ours), "".join(theirs), autojunk=False).ratio()
    return round(max(by_words, joined if joined >= 0.6 else joined / 2), 3)


def _words(name: str) -> list[str]:
    found = [_singular(word.lower()) for word in words(name)]
    kept = [word for word in found if word not in _FILLERS]
    return kept or found


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def _initials(name: str) -> str:
    parts = [word.lower() for word in words(name)]
    return "".join(part[0] for part in parts) if len(parts) > 1 else ""


def _word_similarity(one: str, other: str) -> float:
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if len(short) >= _MIN_PREFIX and long.startswith(short):
        return _STEM
    if len(short) >= 2 and short[0] == long[0] and _without_vowels(long).startswith(_without_vowels(short)):
        return _STEM if _is_subsequence(short, long) else 0.0
    if _is_contraction(short, long):
        return _STEM
    ratio = SequenceMatcher(None, one, other, autojunk=False).ratio()
    return ratio if ratio >= 0.75 else 0.0


def _is_contraction(short: str, long: str) -> bool:
    """Whether first, last and some letters between stand for a word: `qty`, `dept`, `msg`."""
    whole = long.rstrip("e") or long
    return (
        len(short) >= _MIN_PREFIX
        and (short[0], short[-1]) == (whole[0], whole[-1])
        and _is_subsequence(short, whole)
        and (_without_vowels(short) == short or long.startswith(short[:_MIN_PREFIX]))
    )


def _without_vowels(word: str) -> str:
    return word[0] + "".join(char for char in word[1:] if char not in "aeiou")


def _is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(char in rest for char in short)


def value_similarity(before: Profile | None, after: Profile | None) -> tuple[float, float] | None:
    """Agreement of two columns' values and how much it proves, both from 0 to 1; null when not known.

    Few or small distinct values prove little: two flags look alike whatever they mean. Samples of large
    tables may miss each other, so disagreement proves less there.
    """
    if before is None or after is None:
        return None
    if not before.samples or not after.samples:
        return _range_similarity(before, after)
    shared = len(before.samples & after.samples) / min(len(before.samples), len(after.samples))
    if before.is_complete and after.is_complete:
        same_range = (before.low, before.high, before.distinct) == (after.low, after.high, after.distinct)
        agreement = shared if same_range else shared * 0.7
        weight = 1.0
    else:
        agreement, weight = shared, 0.5 + 0.5 * shared
    trivial = all(len(value.strip('"')) <= 2 for value in before.samples) or len(before.samples) == 1
    return agreement, weight * (0.3 if trivial and agreement > 0.5 else 1.0)


def _range_similarity(before: Profile, after: Profile) -> tuple[float, float] | None:
    """The same from the least and greatest values, which are all that a published dictionary holds of most columns.

    Ranges that merely overlap prove nothing: tables live on.
    """
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return None
    texts = before.low, before.high, after.low, after.high
    low, high, new_low, new_high = _ordered(texts)
    if (low, high) == (new_low, new_high):
        return 1.0, 0.3 if low == high or all(len(text) <= 2 for text in texts) else 1.0
    if before.is_complete and after.is_complete and (high < new_low or new_high < low):
        return 0.0, 0.5
    return None


def _ordered(texts: Sequence[str]) -> list[tuple[float, str]]:
    """The texts as what compares like their values: as numbers if all are."""
    try:
        return [(float(text), "") for text in texts]
    except ValueError:
        return [(0.0, text) for text in texts]
