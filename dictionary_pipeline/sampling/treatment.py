"""What is left of a column's profile after its treatment: everything, nothing but counts, or masked values.

This is the one place where values of sensitive columns are taken out of what sampling hands on.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from functools import lru_cache
from operator import itemgetter

from dictionary_pipeline.config.resolved import Treatment
from dictionary_pipeline.jsontext import compact, leaves
from dictionary_pipeline.sampling.profile import ColumnProfile

_MAX_RAW_TEXTS = 200


def treat(profile: ColumnProfile, treatment: Treatment) -> ColumnProfile:
    """A profile as it may be kept and published; numbers of rows, nulls and distinct values stay."""
    match treatment:
        case "allow":
            return profile
        case "mask":
            return profile._replace(
                samples=_distinct_masks(profile.samples),
                min=None if profile.min is None else mask(profile.min),
                max=None if profile.max is None else mask(profile.max),
                values=_masked_counts(profile.values),
            )
        case "withhold" | "deny":
            return profile._replace(samples=None, min=None, max=None, values=[])


def raw_texts(profile: ColumnProfile) -> list[str]:
    """Texts by which a leak of a column would be recognised, most frequent values first; at most 200.

    Whatever shows values by mistake shows the most frequent ones or the ends of the range.
    """
    ends = [text for text in (profile.min, profile.max) if text is not None]
    nested = [leaf for sample in profile.samples or () for leaf in leaves(json.loads(sample))]
    frequent = [value for value, _ in profile.values[:_MAX_RAW_TEXTS]]
    return list(dict.fromkeys([*ends, *nested, *profile.evidence, *frequent]))[:_MAX_RAW_TEXTS]


def mask(text: str) -> str:
    """The shape of a text: letters become `a` or `A`, digits `9`, everything else stays."""
    if text.isascii():
        return text.translate(_ASCII)
    return "".join(map(_masked, text))


def mask_json(json_text: str) -> str:
    """Mask a published value, given and returned as JSON text.

    A number stays a number where its mask is one; a nested value becomes the text of its shape.
    """
    value = json.loads(json_text)
    if isinstance(value, str):
        return compact(mask(value))
    masked = mask(json_text)
    return compact(masked) if any(map(str.isalpha, masked)) or isinstance(value, list | dict) else masked


def mask_set(json_texts: list[str]) -> list[str]:
    """Mask a set of published values: each mask once, sorted, so that no order tells anything."""
    return sorted(_distinct_masks(json_texts))


def _distinct_masks(json_texts: list[str] | None) -> list[str]:
    return list(dict.fromkeys(mask_json(text) for text in json_texts or ()))


def _masked_counts(values: list[tuple[str, int]]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for value, count in values:
        counts[mask(value)] += count
    return sorted(sorted(counts.items()), key=itemgetter(1), reverse=True)


@lru_cache(maxsize=4_096)
def _masked(char: str) -> str:
    category = unicodedata.category(char)
    if category in ("Lu", "Lt"):
        return "A"
    if category[0] in "LM":  # vowel signs and accents are marks
        return "a"
    return "9" if category[0] == "N" else char


_ASCII = {code: _masked(chr(code)) for code in range(128)}
