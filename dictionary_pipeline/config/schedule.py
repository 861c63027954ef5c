"""When schedules are due: cron expressions, time zones and their checks.

Five fields as in crontab(5): when both day fields are restricted, either of them makes a day due; one that
begins with `*` restricts nothing alone. A wall-clock time that a change of the clock skips is due as
much later as the clock jumped; one that occurs twice is due the first time.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise
from typing import NamedTuple

from dictionary_pipeline.config.faults import did_you_mean
from dictionary_pipeline.config.resolved import ProbeWindow
from dictionary_pipeline.errors import ConfigurationError

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: tuple[tuple[str, int, int, list[str]], ...] = (
    ("minute", 0, 59, []),
    ("hour", 0, 23, []),
    ("day of month", 1, 31, []),
    ("month", 1, 12, ["", *_MONTHS]),
    ("day of week", 0, 7, _DAYS),
)
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SEARCHED_DAYS = 366 * 80
"""29 February on a certain weekday can be decades away."""
_NEIGHBOURS = 8


class _Cron(NamedTuple):
    """A parsed expression."""

    times: tuple[time, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    either_day: bool
    """Whether a day of month or a day of week is enough."""

    def falls_on(self, day: date) -> bool:
        """Whether anything is due on a day."""
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month or in_week if self.either_day else in_month and in_week


def previous_due(cron: str, timezone: str, now: datetime) -> datetime:
    """The last time that was due, `now` included; in UTC.

    Args:
        cron: Without a fault.
        timezone: Name of the IANA list.
        now: With a time zone.

    Raises:
        ConfigurationError: this machine does not know the time zone.
    """
    return next(_backwards(cron, timezone, now))


def next_due(cron: str, timezone: str, now: datetime) -> datetime:
    """The first time that is due after `now`; arguments and errors as of `previous_due`."""
    parsed, zone = _parsed(cron), zone_of(timezone)
    first = now.astimezone(zone).date() - timedelta(days=1)
    days = (first + timedelta(days=number) for number in range(_SEARCHED_DAYS))
    return next(due for day in days for due in _due_on(parsed, day, zone) if due > now)


def period(cron: str, timezone: str, now: datetime) -> timedelta:
    """The longest time between two neighbouring due times around now, e.g. three days over a weekend.

    Arguments and errors as of `previous_due`.
    """
    dues = [next_due(cron, timezone, now), *islice(_backwards(cron, timezone, now), _NEIGHBOURS)]
    return max(later - earlier for later, earlier in pairwise(dues))


def is_open(window: ProbeWindow, now: datetime) -> bool:
    """Whether a moment lies within a window."""
    at = now.astimezone(zone_of(window.timezone)).time()
    if window.start < window.end:
        return window.start <= at < window.end
    return at >= window.start or at < window.end


def next_opening(window: ProbeWindow, now: datetime) -> datetime:
    """When a window opens next, after `now`; in UTC."""
    return next_due(f"{window.start.minute} {window.start.hour} * * *", window.timezone, now)


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """A time zone. Raises ConfigurationError when this machine does not know it."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise ConfigurationError(
            f"this machine does not know the time zone {name!r}", fix="Install the package tzdata, or use UTC."
        ) from None


def _backwards(cron: str, timezone: str, now: datetime) -> Iterator[datetime]:
    parsed, zone = _parsed(cron), zone_of(timezone)
    last = now.astimezone(zone).date() + timedelta(days=1)
    for number in range(_SEARCHED_DAYS):
        for due in reversed(_due_on(parsed, last - timedelta(days=number), zone)):
            if due <= now:
                yield due


def _due_on(cron: _Cron, day: date, zone: zoneinfo.ZoneInfo) -> list[datetime]:
    if not cron.falls_on(day):
        return []
    return sorted({datetime.combine(day, at, zone).astimezone(UTC) for at in cron.times})


def _parsed(cron: str) -> _Cron:
    fields = cron.split()
    minutes, hours, days, months, weekdays = (
        frozenset(number for part in field.split(",") for number in _numbers(part, low, high, words))
        for field, (_, low, high, words) in zip(fields, _FIELDS, strict=True)
    )
    return _Cron(
        tuple(time(hour, minute) for hour in sorted(hours) for minute in sorted(minutes)),
        days,
        months,
        frozenset(weekday % 7 for weekday in weekdays),
        not fields[2].startswith("*") and not fields[4].startswith("*"),
    )


def _numbers(part: str, low: int, high: int, words: list[str]) -> range:
    """What a part without fault stands for; a single number with a step goes on to the end."""
    base, slash, step = part.partition("/")
    if base == "*":
        first, last = low, high
    else:
        bounds = [_number(bound, words) or 0 for bound in base.split("-")]
        first, last = bounds[0], high if slash and len(bounds) == 1 else bounds[-1]
    return range(first, last + 1, int(step) if slash else 1)


def cron_fault(text: str) -> str | None:
    """What is wrong with a five-field cron expression, or null."""
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"a cron expression has five fields, this one has {len(fields)}"
    for field, (name, low, high, words) in zip(fields, _FIELDS, strict=True):
        if not all(_fits(part, low, high, words) for part in field.split(",")):
            return f"{field!r} is not a valid {name} ({low}-{high}) in a cron expression"
    parsed = _parsed(text)
    if not parsed.either_day and min(parsed.days) > max(_LONGEST_MONTHS[month - 1] for month in parsed.months):
        return f"{text!r} is never due: no such month has a day {min(parsed.days)}"
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
