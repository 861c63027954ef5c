"""From names and data to a probability that a column refers to a key.

The score is a sum of log-odds: names, then what the data says, then how the rest of the schema names
its keys. The weights are set by hand; `docs` and tests hold what they must achieve: at 0.9 and above
at least 95 of 100 are right, and without data nothing is above 0.89.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dictionary_pipeline.relationships.inference.facts import Column
from dictionary_pipeline.relationships.inference.probes import Included

WITHOUT_DATA = 0.89
"""Highest confidence that names alone can give."""
_HIGHEST = 0.99
_PLACEHOLDERS = (0.0, -1.0)
"""Values that stand for "none" in databases that avoid nulls."""


@dataclass(frozen=True, slots=True)
class DataEvidence:
    """What the data says about one candidate."""

    included: Included | None = None
    """Counts, from the database or from complete samples."""
    is_unique: bool | None = None
    """Whether the key is one; null when nobody looked."""
    placeholder: bool = False
    """One value outside the key, such as 0, stands for "none"."""
    outside: bool = False
    """A sampled value is not in the whole key."""
    contradicted: bool = False
    """There are more values than keys, or no value of the whole key."""

    @property
    def orphan_share(self) -> float:
        """Share of the rows looked for that were not found, a placeholder left out."""
        if self.included is None or self.included.rows == 0:
            return 0.0
        lost = self.included.rows - self.included.rows_found
        if self.placeholder and self.included.values - self.included.values_found <= 1:
            return 0.0
        return lost / self.included.rows

    @property
    def speaks(self) -> bool:
        """At least one value was looked for."""
        return self.included is not None and self.included.values > 0


NO_DATA = DataEvidence()


def from_samples(
    child: Column, key: Column, child_texts: list[str] | None, key_texts: list[str] | None
) -> DataEvidence:
    """What complete samples prove without asking the database.

    A key that holds every whole number of its range holds every value between; a key of which all texts are
    known holds exactly these.
    """
    if not child.measured or not key.measured or child.rows == 0:
        return NO_DATA
    unique = key.is_unique if key.complete and key.rows else None
    placeholder = _has_placeholder(child, key)
    if not key.complete:
        return DataEvidence(None, unique, placeholder)
    distinct, rows = child.distinct or 0, round(child.rows * (1.0 - child.nulls))
    more = distinct > (key.distinct or 0) * 1.02 + (1 if placeholder else 0)
    if child.family == key.family == "number":
        if child.low is None or child.high is None or key.low is None or key.high is None:
            return DataEvidence(None, unique, placeholder, contradicted=more)
        outside = child.high > key.high or (child.low < key.low and not placeholder)
        gapless = key.density == 1.0 and key.type_class != "float"
        if gapless and not outside and not placeholder and not more:
            return DataEvidence(Included(distinct, rows, distinct, rows), unique)
        return DataEvidence(None, unique, placeholder, outside, more)
    if child.family == key.family and child_texts and key_texts is not None and len(key_texts) == (key.distinct or 0):
        known = set(key_texts)
        found = sum(text in known for text in child_texts)
        if len(child_texts) == distinct and found == distinct:
            return DataEvidence(Included(distinct, rows, distinct, rows), unique)
        return DataEvidence(None, unique, placeholder, found < len(child_texts), more or found == 0)
    return DataEvidence(None, unique, placeholder, contradicted=more)


def _has_placeholder(child: Column, key: Column) -> bool:
    return child.low is not None and key.low is not None and child.low in _PLACEHOLDERS and key.low > child.low


def name_odds(name: float) -> float:
    """Log-odds of names that fit this well."""
    return 7.0 * (name - 0.62)


def data_odds(child: Column, key: Column, data: DataEvidence) -> float:
    """Log-odds that the data adds or takes away."""
    if data.is_unique is False:
        return -6.0
    if data.included is None:
        return -3.0 if data.contradicted else -1.5 if data.outside else 0.0
    if data.included.values == 0:
        return 0.0
    information = _information(child, key, data.included)
    orphans = data.orphan_share
    if orphans == 0.0:
        return information
    if orphans <= 0.01:
        return 0.8 * information - 0.1
    if orphans <= 0.05:
        return 0.3 * information - 0.8
    return -2.5 if orphans <= 0.2 else -6.0


def _information(child: Column, key: Column, included: Included) -> float:
    """How much it says that values were found: little for small numbers in a key 1..N, much for codes."""
    seen = included.values
    if child.family == key.family != "number":
        few = (key.distinct or seen) <= 5
        return min(4.0, 0.9 + math.log(seen)) * (0.5 if few else 1.0)
    density = key.density
    chance = 0.9 if density is None else min(0.9, max(0.02, 0.9 * density))
    information = min(3.5, -min(seen, 12) * math.log(chance))
    return information + _range_fit(child, key, seen)


def _range_fit(child: Column, key: Column, seen: int) -> float:
    """Numbers that use the whole range of the key, and many of its values, do so for a reason."""
    if child.high is None or child.low is None or key.high is None or key.low is None or key.high <= key.low:
        return 0.0
    reach = (child.high - key.low) / (key.high - key.low)
    total = key.distinct or 0
    bonus = 0.8 if seen >= 5 and 0.8 <= reach <= 1.0 else 0.0
    if total >= 10 and (child.distinct or 0) >= 0.5 * total:
        bonus += 0.6
    if total > 50 and reach < 0.1 and key.density is not None and key.density > 0.5:
        bonus -= 0.8
    return bonus


def probability(odds: float, data: DataEvidence) -> float:
    """Confidence, in steps of 0.01 so that a living table does not change it every night."""
    cap = _HIGHEST if data.speaks else WITHOUT_DATA
    return min(cap, round(1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds)))), 2))
