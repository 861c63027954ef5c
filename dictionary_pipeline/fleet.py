"""How the dictionaries of all databases of a project are doing, from manifests and state alone.

No database is connected to: what counts is what the last runs left behind, so that a daemon that died
shows as dictionaries that grow old.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import polars as pl

from dictionary_pipeline.alerts.state import DeliveryFailure, delivery_failures
from dictionary_pipeline.config.resolved import DatabaseConfig, Project, ScheduleSettings
from dictionary_pipeline.config.schedule import period
from dictionary_pipeline.drift.acks import acknowledged
from dictionary_pipeline.drift.reading import published_entries
from dictionary_pipeline.drift.record import moment
from dictionary_pipeline.enrichment.model.budget import LEDGER_KEY, spent_by_day
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.publishing.bundle import DEFINITION_SOURCES
from dictionary_pipeline.publishing.manifest import Manifest, read_manifest
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.retiring import retired_names
from dictionary_pipeline.run import database_store
from dictionary_pipeline.store import Store
from dictionary_pipeline.verified import Verification, verifications

State = Literal["fresh", "stale", "never published", "unreadable", "retired"]
_WORKERS = 16
_PERIODS = 2
"""A dictionary is stale when its schedule passed it over so many times."""
_DRIFT_DAYS = 366
"""How far back unacknowledged drift is counted."""
_MICRO = 1_000_000


@dataclass(frozen=True)
class DatabaseStatus:
    """One line of the overview."""

    name: str
    state: State
    published_at: datetime | None = None
    verified_at: datetime | None = None
    """When database and dictionary were last known to agree."""
    age: timedelta | None = None
    """Since the later of the two."""
    window: timedelta | None = None
    """The age up to which it is fresh."""
    held_since: str | None = None
    """Breaking drift waits since then, and the dictionary of before is published."""
    breaking: int = 0
    risky: int = 0
    """Changes that nobody acknowledged, those that wait included."""
    complete: bool | None = None
    problems: int = 0
    definitions: Mapping[str, int] = field(default_factory=dict)
    """Source -> tables and columns."""
    run_id: str | None = None
    retired_at: str | None = None
    fault: str | None = None
    """What is wrong with its file or its store."""

    @property
    def is_stale(self) -> bool:
        """Whether somebody has to look after it."""
        return self.state not in ("fresh", "retired")

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "name": self.name,
            "state": self.state,
            "published_at": _stamp(self.published_at),
            "verified_at": _stamp(self.verified_at),
            "age_seconds": _seconds(self.age),
            "window_seconds": _seconds(self.window),
            "held_since": self.held_since,
            "unacknowledged": {"breaking": self.breaking, "risky": self.risky},
            "complete": self.complete,
            "problems": self.problems,
            "definitions": dict(self.definitions),
            "run_id": self.run_id,
            "retired_at": self.retired_at,
            "fault": self.fault,
        }


@dataclass(frozen=True)
class Fleet:
    """All databases of a project."""

    checked_at: datetime
    databases: tuple[DatabaseStatus, ...]
    """Those that need somebody first, then by name."""
    cost_this_month: float | None = None
    """What all databases spent on models since the first of the month (UTC), in the currency of the prices; null
    where no run recorded any."""
    failing_alerts: tuple[DeliveryFailure, ...] = ()
    fault: str | None = None
    """What could not be read of what the databases share."""

    @property
    def stale(self) -> tuple[str, ...]:
        """Names of the databases that somebody has to look after."""
        return tuple(item.name for item in self.databases if item.is_stale)

    @property
    def exit_code(self) -> int:
        """1 when anything is stale, or what the databases share cannot be read."""
        return 1 if self.stale or self.fault else 0

    def counts(self) -> dict[str, int]:
        """Numbers to plot."""
        listed = self.databases
        return {
            "databases": sum(item.state != "retired" for item in listed),
            "fresh": sum(item.state == "fresh" for item in listed),
            "stale": len(self.stale),
            "held": sum(item.held_since is not None for item in listed),
            "retired": sum(item.state == "retired" for item in listed),
            "unacknowledged_breaking": sum(item.breaking for item in listed),
            "with_problems": sum(item.problems > 0 for item in listed),
            "alert_channels_failing": len(self.failing_alerts),
        }

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "checked_at": _stamp(self.checked_at),
            "stale": list(self.stale),
            "counts": self.counts(),
            "cost_this_month": self.cost_this_month,
            "alert_deliveries_failing": [failure._asdict() for failure in self.failing_alerts],
            "fault": self.fault,
            "databases": [item.as_json() for item in self.databases],
        }

    def frame(self) -> pl.DataFrame:
        """The table that people see."""
        rows = [
            (
                item.name,
                item.state if item.held_since is None else f"{item.state}, held",
                _minutes(item.published_at),
                _minutes(item.verified_at),
                _age(item),
                _drift(item),
                str(item.problems) if item.published_at else "",
                _coverage(item.definitions),
                item.fault or (f"retired {item.retired_at}" if item.retired_at else ""),
            )
            for item in self.databases
        ]
        names = (
            "database",
            "state",
            "published",
            "verified",
            "age",
            "unacknowledged",
            "problems",
            "definitions",
            "note",
        )
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")


def survey(project: Project, now: datetime) -> Fleet:
    """Look at every configured and every retired database of a project.

    Args:
        project: The configuration as it is now.
        now: With a time zone.
    """
    fault = None
    verified: Mapping[str, Verification] = {}
    retired: frozenset[str] = frozenset()
    cost: float | None = None
    failing: tuple[DeliveryFailure, ...] = ()
    try:
        shared = open_store(project.publish, project.folder, "")
        verified, retired = verifications(shared), frozenset(retired_names(shared))
        channels = {channel.name for channel in project.alerts.channels}
        failing = tuple(failure for failure in delivery_failures(shared) if failure.channel in channels)
        cost = _cost(shared, now)
    except DictionaryError as error:
        fault = str(error)
    broken = {item.name: item.error for item in project.invalid}
    schedule = ScheduleSettings(project.automation.nightly_cron, project.automation.timezone)

    def look(name: str) -> DatabaseStatus:
        config = project.databases.get(name)
        found = _status(
            name,
            _opener(config, project, name),
            config.schedule if config else schedule,
            verified.get(name),
            now,
            is_configured=config is not None or name in broken,
        )
        return found if name not in broken else replace(found, fault=found.fault or broken[name])

    names = sorted({*project.databases, *broken, *retired})
    with ThreadPoolExecutor(_WORKERS) as pool:
        found = [item for item in pool.map(look, names) if item.state != "retired" or item.retired_at]
    found.sort(key=lambda item: (not item.is_stale, item.state == "retired", item.name))
    return Fleet(now, tuple(found), cost, failing, fault)


def _opener(config: DatabaseConfig | None, project: Project, name: str) -> Callable[[], Store]:
    if config is not None:
        return lambda: database_store(config, project.folder)
    return lambda: open_store(project.publish, project.folder, name)


def _status(
    name: str,
    opened: Callable[[], Store],
    schedule: ScheduleSettings,
    last: Verification | None,
    now: datetime,
    *,
    is_configured: bool,
) -> DatabaseStatus:
    """One database; an error of its store is its state, as the others are to be shown all the same."""
    try:
        store = opened()
        stored = read_manifest(store)
        if stored is None or (is_configured and stored.manifest.retired is not None):
            return DatabaseStatus(name, "never published" if is_configured else "retired")
        breaking, risky = _unacknowledged(store, stored.manifest, now) if is_configured else (0, 0)
        window = _PERIODS * period(schedule.cron, schedule.timezone, now)
    except DictionaryError as error:
        return DatabaseStatus(name, "unreadable", fault=str(error))
    manifest = stored.manifest
    published = datetime.fromisoformat(manifest.published_at)
    # What `restore` brought back is not what the last run verified; a note of held drift changes no dictionary.
    is_current = last is not None and (last.manifest == stored.sha256 or manifest.pending is not None)
    verified = last.at if last is not None and is_current else None
    age = now - max(published, verified or published)
    state: State = "fresh" if age <= window else "stale"
    return DatabaseStatus(
        name,
        state if is_configured else "retired",
        published,
        verified,
        age,
        window if is_configured else None,
        manifest.pending.since if manifest.pending else None,
        breaking,
        risky,
        manifest.complete,
        len(manifest.problems),
        {source: manifest.counts.get(f"definitions_{source}", 0) for source in DEFINITION_SOURCES},
        manifest.run_id,
        manifest.retired,
    )


def _unacknowledged(store: Store, manifest: Manifest, now: datetime) -> tuple[int, int]:
    """How many breaking and how many risky changes nobody acknowledged."""
    since = moment(now - timedelta(days=_DRIFT_DAYS))
    waiting = manifest.pending.entries if manifest.pending else ()
    logged = published_entries(store, since) if any(path.startswith("drift/") for path in manifest.files) else ()
    grave = [entry for entry in (*waiting, *logged) if entry.severity in ("breaking", "risky")]
    known = acknowledged(store) if grave else frozenset()
    open_ = [entry.severity for entry in grave if entry.key not in known]
    return open_.count("breaking"), open_.count("risky")


def _cost(shared: Store, now: datetime) -> float | None:
    data = shared.read(LEDGER_KEY)
    days = spent_by_day(data) if data is not None else {}
    if not days:
        return None
    month = now.astimezone(UTC).strftime("%Y-%m")
    return sum(spent for day, spent in days.items() if day[:7] == month) / _MICRO


def _stamp(at: datetime | None) -> str | None:
    return moment(at) if at is not None else None


def _minutes(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if at is not None else ""


def _seconds(length: timedelta | None) -> int | None:
    return int(length.total_seconds()) if length is not None else None


def _age(item: DatabaseStatus) -> str:
    if item.age is None:
        return ""
    return _length(item.age) + (f" of {_length(item.window)}" if item.window is not None else "")


def _length(length: timedelta) -> str:
    hours = length.total_seconds() / 3600
    return f"{hours:.0f} h" if hours < 72 else f"{hours / 24:.0f} d"


def _drift(item: DatabaseStatus) -> str:
    counts = ((item.breaking, "breaking"), (item.risky, "risky"))
    return ", ".join(f"{count} {severity}" for count, severity in counts if count)


def _coverage(definitions: Mapping[str, int]) -> str:
    total = sum(definitions.values())
    told = ((source, round(100 * count / total)) for source, count in definitions.items() if count)
    return ", ".join(f"{source} {share} %" for source, share in told)
