"""Checks of cron expressions and time zones, so that a typo cannot stop the code location."""

from __future__ import annotations

import re
import zoneinfo

from dictionary_pipeline.config.faults import did_you_mean

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: tuple[tuple[str, int, int, list[str]], ...] = (
    ("minute", 0, 59, []),
    ("hour", 0, 23, []),
    ("day of month", 1, 31, []),
    ("month", 1, 12, ["", *_MONTHS]),
    ("day of week", 0, 7, _DAYS),
)


def cron_fault(text: str) -> str | None:
    """What is wrong with a five-field cron expression, or null."""
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"a cron expression has five fields, this one has {len(fields)}"
    for field, (name, low, high, words) in zip(fields, _FIELDS, strict=True):
        if not all(_fits(part, low, high, words) for part in field.split(",")):
            return f"{field!r} is not a valid {name} ({low}-{high}) in a cron expression"
    return None


def _fits(part: str, low: int, high: int, words: list[str]) -> bool:
    base, slash, step = part.partition("/")
    if slash and not (step.isdecimal() and int(step) > 0):
        return False
    if base == "*":
        return True
    bounds = [_number(bound, words) for bound in base.split("-")]
    if len(bounds) > 2 or any(bound is None or not low <= bound <= high for bound in bounds):
        return False
    return len(bounds) == 1 or (bounds[0] or 0) <= (bounds[1] or 0)


def _number(text: str, words: list[str]) -> int | None:
    if re.fullmatch(r"\d{1,2}", text):
        return int(text)
    return words.index(text.lower()) if text and text.lower() in words else None


def timezone_fix(name: str) -> str | None:
    """How to repair an unknown time zone; null when it is known or the machine has no list of them."""
    known = zoneinfo.available_timezones()
    if not known or name in known:
        return None
    fix = did_you_mean(name, known, noun="time zones")
    return fix if fix.startswith("Did you mean") else "Use a name of the IANA list, e.g. Europe/Berlin or UTC."
