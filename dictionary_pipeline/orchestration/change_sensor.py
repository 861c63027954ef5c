"""`schema_change`: a run for every database whose change signal moved since the last publish."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg

from dictionary_pipeline.config.resolved import AutomationConfig, ProbeSettings, ProbeWindow, Project
from dictionary_pipeline.config.schedule import is_open, next_opening
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.cursor import JsonCursor
from dictionary_pipeline.orchestration.jobs import CHANGED_ONLY, refresh_dictionary
from dictionary_pipeline.orchestration.metadata import shorten
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.probing import Down, Outcome, Probed, ProbePool, probe_database
from dictionary_pipeline.orchestration.project import current_project
from dictionary_pipeline.orchestration.silence import note_outcomes
from dictionary_pipeline.orchestration.tags import RUN_KEY_TAG
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.run import database_store
from dictionary_pipeline.verified import verifications

_TICK_SECONDS = 60
_FIRST_PAUSE = 120.0
_LONGEST_PAUSE = 3_600.0
_LONGEST_OUTAGE_PAUSE = 600.0
"""Its end is told, so a server that is away is asked oftener than one that refuses the login."""
_POOL = ProbePool()
_FAILED = frozenset({dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED})


@dataclass(frozen=True)
class ChangeCursor(JsonCursor):
    """What the sensor remembers between ticks; databases with nothing to remember are not in it."""

    position: str = ""
    """The last database that was reached; the next round starts behind it."""
    counter: int = 0
    """Of requests, so that a schema that returns to an earlier state is requested again. Starts at the clock: a cursor
    that was reset must not repeat a run key, which Dagster would pass over."""
    not_before: dict[str, float] = field(default_factory=dict)
    """Database -> epoch seconds before which it is not asked."""
    down: dict[str, int] = field(default_factory=dict)
    """Database that does not answer -> how often in a row."""
    requested: dict[str, list[str]] = field(default_factory=dict)
    """Database -> probe and run key of the last request that no run has confirmed."""


@dataclass(frozen=True)
class Request:
    """A run to ask for."""

    database: str
    run_key: str


@dataclass(frozen=True)
class ChangePlan:
    """What one tick leads to."""

    requests: tuple[Request, ...]
    newly_down: Mapping[str, str]
    """Database -> why, for those that answered before."""
    back: tuple[str, ...]
    """Databases that answer again."""
    cursor: ChangeCursor


def due(settings: Mapping[str, ProbeSettings], cursor: ChangeCursor, now: float) -> list[str]:
    """The databases to ask, starting behind the one reached last, without those that pause or whose window is shut."""
    ordered = sorted(settings)
    start = bisect_right(ordered, cursor.position)
    moment = datetime.fromtimestamp(now, UTC)
    return [
        name
        for name in (*ordered[start:], *ordered[:start])
        if not _pauses(cursor.not_before.get(name, 0), settings[name], now) and _is_open(settings[name].window, moment)
    ]


def _pauses(until: float, settings: ProbeSettings, now: float) -> bool:
    """Whether a database is still not to be asked; longer than the longest pause means that a clock was wrong."""
    return now < until <= now + max(_LONGEST_PAUSE, 60 * settings.every_minutes)


def _is_open(window: ProbeWindow | None, moment: datetime) -> bool:
    return window is None or is_open(window, moment)


def plan_changes(
    settings: Mapping[str, ProbeSettings],
    asked: Sequence[str],
    outcomes: Mapping[str, Outcome],
    failed: Collection[str],
    cursor: ChangeCursor,
    now: float,
) -> ChangePlan:
    """Decide which databases need a run; a pure function so that every case is tested without Dagster.

    Args:
        settings: Of every database that is watched; what others left in the cursor is forgotten.
        asked: As `due` ordered them.
        outcomes: Of those that were reached.
        failed: Databases whose last requested run failed.
        cursor: Of the last tick.
        now: Epoch seconds.
    """
    not_before = {
        name: until
        for name, until in cursor.not_before.items()
        if name in settings and _pauses(until, settings[name], now)
    }
    first = max(cursor.counter, int(now)) + 1
    down = {name: count for name, count in cursor.down.items() if name in settings}
    requested = {name: list(last) for name, last in cursor.requested.items() if name in settings}
    newly_down: dict[str, str] = {}
    back: list[str] = []
    requests: list[Request] = []
    for name in asked:
        outcome = outcomes.get(name)
        if outcome is None:
            continue
        if isinstance(outcome, Down):
            if name not in down:
                newly_down[name] = outcome.error
            down[name] = down.get(name, 0) + 1
            longest = _LONGEST_PAUSE if outcome.lasting else _LONGEST_OUTAGE_PAUSE
            not_before[name] = now + min(_FIRST_PAUSE * 2 ** (down[name] - 1), longest)
            continue
        if down.pop(name, None) is not None and isinstance(outcome, Probed):
            back.append(name)
        if settings[name].every_minutes > 1:
            not_before[name] = _next_look(settings[name], now)
        if not isinstance(outcome, Probed) or outcome.probe == outcome.published:
            requested.pop(name, None)
        elif name in failed or requested.get(name, [""])[0] != outcome.probe:
            key = f"{name}:{outcome.probe}:{first + len(requests)}"
            requests.append(Request(name, key))
            requested[name] = [outcome.probe, key]
            if name in failed:
                not_before[name] = now + _LONGEST_PAUSE
    reached = [name for name in asked if name in outcomes]
    return ChangePlan(
        tuple(requests),
        newly_down,
        tuple(back),
        ChangeCursor(
            reached[-1] if reached else cursor.position,
            first + len(requests) - 1 if requests else cursor.counter,
            not_before,
            down,
            requested,
        ),
    )


def _next_look(settings: ProbeSettings, now: float) -> float:
    """After the configured time, or when the window opens: what happened while it was shut is to be seen first."""
    regular = now + 60 * settings.every_minutes - _TICK_SECONDS / 2
    if settings.window is None:
        return regular
    return min(regular, next_opening(settings.window, datetime.fromtimestamp(now, UTC)).timestamp())


def build_change_sensor(automation: AutomationConfig, pool: ProbePool = _POOL) -> dg.SensorDefinition:
    """The sensor with the default status that `project.yml` asks for."""
    status = dg.DefaultSensorStatus.RUNNING if automation.schema_change_enabled else dg.DefaultSensorStatus.STOPPED

    @dg.sensor(job=refresh_dictionary, minimum_interval_seconds=_TICK_SECONDS, default_status=status)
    def schema_change(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        """Request a run of every database whose schema may have changed since its last publish."""
        try:
            project = current_project()
        except DictionaryError as error:
            return dg.SkipReason(shorten(str(error)))  # `database_registry` logs it
        try:
            plan = _tick(project, context, pool)
        except DictionaryError as error:
            context.log.error(shorten(str(error)))
            return dg.SkipReason(shorten(str(error)))
        for name, reason in plan.newly_down.items():
            context.log.error(shorten(f"database {name} cannot be asked for changes: {reason}"))
        for name in plan.back:
            context.log.info(f"database {name} answers again")
        requests = [
            dg.RunRequest(run_key=item.run_key, partition_key=item.database, run_config=CHANGED_ONLY)
            for item in plan.requests
        ]
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else _skip_reason(plan),
            cursor=plan.cursor.dump(),
        )

    return schema_change


def _tick(project: Project, context: dg.SensorEvaluationContext, pool: ProbePool) -> ChangePlan:
    known = set(context.instance.get_dynamic_partitions(str(databases.name)))
    configs = {name: config for name, config in project.databases.items() if name in known}
    cursor = ChangeCursor.parse(context.cursor)
    now = time.time()
    settings = {name: config.probe for name, config in configs.items()}
    asked = due(settings, cursor, now)
    last = verifications(open_store(project.publish, project.folder, "")) if asked else {}

    def probe(name: str) -> Outcome:
        return probe_database(configs[name], database_store(configs[name], project.folder), last.get(name))

    outcomes = pool.round(asked, probe)
    note_outcomes(project, outcomes, last, now, context.log)
    failed = _failed(context.instance, cursor, outcomes)
    return plan_changes(settings, asked, outcomes, failed, cursor, now)


def _failed(instance: dg.DagsterInstance, cursor: ChangeCursor, outcomes: Mapping[str, Outcome]) -> set[str]:
    """Databases whose last requested run failed, so that the change is still to be published."""
    failed: set[str] = set()
    for name, (probe, run_key) in cursor.requested.items():
        outcome = outcomes.get(name)
        if isinstance(outcome, Probed) and probe == outcome.probe != outcome.published:
            runs = instance.get_runs(filters=dg.RunsFilter(tags={RUN_KEY_TAG: run_key}), limit=1)
            if runs and runs[0].status in _FAILED:
                failed.add(name)
    return failed


def _skip_reason(plan: ChangePlan) -> str:
    silent = sorted(plan.cursor.down)
    if not silent:
        return "No schema changed."
    return shorten(f"No schema changed, as far as databases answer. No answer from: {', '.join(silent)}")
