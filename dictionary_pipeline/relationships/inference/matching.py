"""How well the name of a column fits the name of the table or key that it may refer to."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from dictionary_pipeline.relationships.inference.lexicon import ROLE_WORDS, WEAK_HEADS
from dictionary_pipeline.relationships.inference.readings import sequence_likeness
from dictionary_pipeline.relationships.inference.words import Tokens, likeness, with_stems


class Fit(NamedTuple):
    """Result of matching what a column is about with what a table is about."""

    score: float
    """0 to 1."""
    style: str
    """exact | role (words stand before the table's name) | part (it names the table's head only)
    | own (its own table's name completes it) | initials."""


NO_FIT = Fit(0.0, "")
_ROLES = with_stems(ROLE_WORDS)


@lru_cache(maxsize=524_288)
def fit(thing: Tokens, target: Tokens, own: Tokens) -> Fit:
    """Match what a column is about with a table's name.

    The head of a name is its last word: `ship_to_customer` is a customer, `customer_status` is not.

    Args:
        thing: What the column is about.
        target: What the table to refer to is about.
        own: What the column's own table is about; `status` of `order` may be `order_status`.
    """
    if not thing or not target:
        return NO_FIT
    best = NO_FIT
    for length in range(min(len(thing), len(target)), 0, -1):
        for start in range(len(thing) - length, -1, -1):
            window = thing[start : start + length]
            before, after = thing[:start], thing[start + length :]
            alike = sequence_likeness(window, target[-length:])
            if alike:
                best = max(best, _weigh(alike, before, after, target[:-length], own))
            if length < len(target):
                alike = sequence_likeness(window, target[:length])
                if alike:
                    best = max(best, _weigh_front(alike, before, after, target[length:]))
    if best.score < 0.6 and len(thing) == 1 and len(target) >= 2 and _initials(thing[0], target):
        best = max(best, Fit(0.6, "initials"))
    return best


def _weigh(alike: float, before: Tokens, after: Tokens, missing: Tokens, own: Tokens) -> Fit:
    """A window that matches the end of the target; `missing` words of the target stand before it."""
    style, score = "exact", alike
    if missing:
        if _names(missing, own):
            style, score = "own", score * 0.95
        else:
            style, score = "part", score * (0.78 if len(missing) == 1 else 0.72)
    if before:
        known = all(word in _ROLES or word.isdigit() for word in before)
        style = "role" if style == "exact" else style
        score *= 0.95 if known else 0.88 if len(before) == 1 else 0.8
    if after:
        known = all(word in _ROLES or word.isdigit() for word in after)
        style = "role" if style == "exact" else style
        score *= 0.9 if known else 0.3
    return Fit(score, style)


def _weigh_front(alike: float, before: Tokens, after: Tokens, missing: Tokens) -> Fit:
    """A window that matches the beginning of the target, whose head the column leaves out."""
    score = alike * (0.7 if all(word in WEAK_HEADS for word in missing) else 0.35)
    if before:
        score *= 0.85
    if after:
        score *= 0.85 if all(word in _ROLES or word.isdigit() for word in after) else 0.3
    return Fit(score, "part")


def _names(words: Tokens, own: Tokens) -> bool:
    """Whether words are (the end or the beginning of) the name of a column's own table."""
    length = len(words)
    if length > len(own):
        return False
    return bool(sequence_likeness(words, own[-length:]) or sequence_likeness(words, own[:length]))


def _initials(word: str, target: Tokens) -> bool:
    return word == "".join(part[0] for part in target)


def owns(thing: Tokens, table: Tokens) -> float:
    """How surely a column that identifies `thing` is the key of the table, 0 to 1.

    A key may leave words of its table out (`order_id` of `customer_order`, `dept_id` of `department`), and
    may be its initial (`d` of `domain`), but does not name anything else.
    """
    if not thing:
        return 1.0
    best = fit(thing, table, ()).score if len(thing) <= len(table) else 0.8 * fit(thing, table, ()).score
    if 1 < len(thing) < len(table) and thing[-1] == table[-1] and _in_order(thing, table):
        best = max(best, 0.85)
    if len(thing) == 1 and len(thing[0]) <= 2:
        letters = "".join(part[0] for part in table)
        if letters == thing[0]:
            best = max(best, 0.75)
        elif table[0].startswith(thing[0]):
            best = max(best, 0.6 if len(table) == 1 else 0.45)
    if len(thing) == 1 and len(table) == 1 and likeness(thing[0], table[0]) >= 0.7:
        best = max(best, 0.9)
    return best


def _in_order(words: Tokens, target: Tokens) -> bool:
    rest = iter(target)
    return all(word in rest for word in words)
