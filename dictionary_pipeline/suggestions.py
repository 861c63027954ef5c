"""\"Did you mean\": near names for a name that matches nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that differs only in case, else the most similar one, else null."""
    pool = sorted(set(candidates))
    folded = [candidate for candidate in pool if candidate.casefold() == name.casefold()]
    return next(iter(folded or difflib.get_close_matches(name, pool, n=1, cutoff=0.6)), None)


def did_you_mean(name: str, candidates: Iterable[str], otherwise: str) -> str:
    """A sentence that offers the closest candidate, or `otherwise` when none is near."""
    near = closest(name, candidates)
    return otherwise if near is None else f"Did you mean `{near}`?"
