"""When Dagster looks after a database: the sections `schedule` and `probe` of its file."""

from __future__ import annotations

import re
from datetime import time
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from dictionary_pipeline.config import schedule
from dictionary_pipeline.config.resolved import ProbeSettings, ProbeWindow, ScheduleSettings
from dictionary_pipeline.config.section import Section, mistake

if TYPE_CHECKING:
    from dictionary_pipeline.config.models import Automation

_PROBE = ProbeSettings()
_DURATION = re.compile(r"(\d{1,6})\s*([mhd]?)")
_MINUTES = {"": 1, "m": 1, "h": 60, "d": 1_440}
_LONGEST_MINUTES = 7 * 1_440
_WINDOW = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")


def checked_cron(value: str) -> str:
    """A cron expression without fault, for validators."""
    fault = schedule.cron_fault(value)
    if fault:
        raise mistake(fault, 'Write five fields in quotes, e.g. "0 2 * * *" for every night at two.')
    return value


def checked_timezone(value: str) -> str:
    """A known time zone, for validators."""
    fix = schedule.timezone_fix(value)
    if fix:
        raise mistake(f"unknown time zone {value!r}", fix)
    return value


class Schedule(Section):
    """When `nightly_refresh` is due for this database."""

    cron: str | None = Field(
        default=None, description="Five cron fields in quotes; `automation: nightly_cron` of `project.yml` by default."
    )
    timezone: str | None = Field(
        default=None,
        description="Time zone of `cron` and of `probe: window`; `automation: timezone` of `project.yml` by default.",
    )

    @field_validator("cron")
    @classmethod
    def _is_cron(cls, value: str) -> str:
        return checked_cron(value)

    @field_validator("timezone")
    @classmethod
    def _is_timezone(cls, value: str) -> str:
        return checked_timezone(value)


class Probe(Section):
    """How the sensor `schema_change` looks for changes."""

    enabled: bool | None = Field(
        default=_PROBE.enabled,
        description="Whether the database is asked for changes of its schema. By default only where asking costs "
        "nothing: everywhere but on Databricks and with generic URLs.",
    )
    every: str = Field(
        default=f"{_PROBE.every_minutes}m",
        description="Time between two looks, from `1m` to `7d`: minutes, hours (`2h`) or days.",
    )
    window: str | None = Field(
        default=None,
        description='Time of day within which the sensor looks, e.g. `"22:00-06:00"`, in the time zone of `schedule`; '
        "the first look is when it opens. The schedule itself looks whenever it is due. Any time by default.",
    )

    @field_validator("every")
    @classmethod
    def _is_duration(cls, value: str) -> str:
        if not 1 <= _minutes(value) <= _LONGEST_MINUTES:
            raise mistake(f"{value!r} is not a time from 1m to 7d", "Write minutes, hours or days: 15m, 2h or 1d.")
        return value

    @field_validator("window")
    @classmethod
    def _is_window(cls, value: str) -> str:
        if _bounds(value) is None:
            raise mistake(f"{value!r} is not a window of time", 'Write two different times, e.g. "22:00-06:00".')
        return value


def schedule_settings(project: Automation, own: Schedule) -> ScheduleSettings:
    """What a database's file says over what `project.yml` says."""
    return ScheduleSettings(own.cron or project.nightly_cron, own.timezone or project.timezone)


def probe_settings(own: Probe, timezone: str) -> ProbeSettings:
    """The section as the sensor needs it; the time zone is that of the schedule."""
    bounds = _bounds(own.window) if own.window else None
    return ProbeSettings(own.enabled, _minutes(own.every), ProbeWindow(*bounds, timezone) if bounds else None)


def _minutes(text: str) -> int:
    """Minutes of a duration; 0 when it is none."""
    found = _DURATION.fullmatch(text.strip())
    return int(found[1]) * _MINUTES[found[2]] if found else 0


def _bounds(text: str) -> tuple[time, time] | None:
    """Start and end of a window; null when it is none."""
    found = _WINDOW.fullmatch(text.strip())
    if found is None:
        return None
    hour, minute, end_hour, end_minute = map(int, found.groups())
    try:
        start, end = time(hour, minute), time(end_hour, end_minute)
    except ValueError:  # no clock shows it
        return None
    return (start, end) if start != end else None
