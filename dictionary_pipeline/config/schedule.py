"""When schedules are due: cron expressions, time zones and their checks.

Five fields as in crontab(5), evaluated by cronsim as Debian's cron does: when both day fields are restricted, either of
them makes a day due; one that begins with `*` restricts nothing alone. A wall-clock time that a change of the clock
skips is due when the clock has jumped; one that occurs twice is due the first time.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

from cronsim import CronSim, CronSimError

from dictionary_pipeline.config.faults import did_you_mean
from dictionary_pipeline.config.resolved import ProbeWindow
from dictionary_pipeline.errors import ConfigurationError

_FIELDS = (
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day-of-month", "1-31"),
    ("month", "1-12 or jan-dec"),
    ("day-of-week", "0-7 or sun-sat"),
)
"""Names as cronsim uses them, and what they may hold."""
_NEIGHBOURS = 8
_MINUTE = timedelta(minutes=1)


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
    return next(CronSim(cron, _minute(now, timezone))).astimezone(UTC)


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
    return (due.astimezone(UTC) for due in CronSim(cron, _minute(now + _MINUTE, timezone), reverse=True))


def _minute(moment: datetime, timezone: str) -> datetime:
    """The whole minute, by the clock of a time zone."""
    return moment.astimezone(zone_of(timezone)).replace(second=0, microsecond=0)


def cron_fault(text: str) -> str | None:
    """What is wrong with a five-field cron expression, or null."""
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"a cron expression has five fields, this one has {len(fields)}"
    fault = _fault(text)
    if fault is None:
        return None
    if _fault(" ".join([*fields[:3], "*", fields[4]])) is None and _fault(" ".join(["* * *", *fields[3:]])) is None:
        return f"{text!r} is never due: no such month has such a day"
    for field, (name, allowed) in zip(fields, _FIELDS, strict=True):
        if fault.endswith(name):
            return f"{field!r} is not a valid {name} ({allowed}) in a cron expression"
    return f"{text!r} is no cron expression"


def _fault(text: str) -> str | None:
    try:
        CronSim(text, datetime(2024, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        return str(error)
    return None


def timezone_fix(name: str) -> str | None:
    """How to repair an unknown time zone; null when it is known or the machine has no list of them."""
    known = zoneinfo.available_timezones()
    if not known or name in known:
        return None
    fix = did_you_mean(name, known, noun="time zones")
    return fix if fix.startswith("Did you mean") else "Use a name of the IANA list, e.g. Europe/Berlin or UTC."
