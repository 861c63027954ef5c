"""`drift_alerts` and `failure_alerts`: tell people what the pipeline found, through the channels of `project.yml`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import dagster as dg

from dictionary_pipeline.alerts.causes import RUN_LOST, Place, place_of
from dictionary_pipeline.alerts.drift import tell_drift
from dictionary_pipeline.alerts.evaluation import Evaluated
from dictionary_pipeline.alerts.failures import RunEnd, Watched, start, tell_failures
from dictionary_pipeline.alerts.reading import PublishedReader, Reading
from dictionary_pipeline.alerts.state import Failure
from dictionary_pipeline.config.alerts_section import alert_settings
from dictionary_pipeline.config.environment import load_env_file
from dictionary_pipeline.config.loader import read_project_file
from dictionary_pipeline.config.resolved import Project
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.cursor import JsonCursor
from dictionary_pipeline.orchestration.jobs import refresh_dictionary
from dictionary_pipeline.orchestration.metadata import shorten
from dictionary_pipeline.orchestration.project import current_project, project_folder
from dictionary_pipeline.orchestration.tags import PARTITION_TAG
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.run import database_store
from dictionary_pipeline.store import Store
from dictionary_pipeline.unexpected import unexpected
from dictionary_pipeline.verified import last_verified

_INTERVAL_SECONDS = 30
_LOOKBACK_SECONDS = 7 * 86_400
_MOST_RUNS = 500
"""Ended runs that one tick looks at; the next one goes on from there."""
_OVERLAP_SECONDS = 60.0
"""A run's end may be written a little after that of a later one; to look at one twice does no harm."""
_UNTOLD = "the run failed outside its stages; its event log in Dagster tells more"
_LOST = "the run ended without a result: its process was killed, never started, or hung"
_READER = PublishedReader()


@dataclass(frozen=True)
class AlertCursor(JsonCursor):
    """What an alert sensor remembers between ticks; what was told to whom is in the store."""

    since: float = 0.0
    """Runs that ended later are new; epoch seconds."""
    unsaved: str | None = None
    """State that the store did not take."""
    unsaved_since: float = 0.0
    """`since` of the last state that the store took, while there is an unsaved one."""


def build_alert_sensors() -> list[dg.SensorDefinition]:
    """Both sensors, running by default; without a channel a tick does nothing."""

    @dg.sensor(minimum_interval_seconds=_INTERVAL_SECONDS, default_status=dg.DefaultSensorStatus.RUNNING)
    def drift_alerts(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        """Tell about changed schemas until somebody acknowledges them."""
        return _tick(context, _drift_tick)

    @dg.sensor(minimum_interval_seconds=_INTERVAL_SECONDS, default_status=dg.DefaultSensorStatus.RUNNING)
    def failure_alerts(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        """Tell about failed runs and silent databases, one message for each cause, and about their end."""
        return _tick(context, _failure_tick)

    return [drift_alerts, failure_alerts]


_Tick = Callable[[dg.SensorEvaluationContext, Project, Store, AlertCursor], tuple[Evaluated, AlertCursor]]


def _tick(context: dg.SensorEvaluationContext, evaluate: _Tick) -> dg.SkipReason:
    try:
        if not _has_channels():
            return dg.SkipReason("No alert channel is configured; see docs/alerts.md.")
        project = current_project()
        shared = open_store(project.publish, project.folder, "")
        came, cursor = evaluate(context, project, shared, AlertCursor.parse(context.cursor))
    except Exception as error:  # noqa: BLE001 - a foreign text could quote values of the database
        failure = error if isinstance(error, DictionaryError) else unexpected(error)
        context.log.error(shorten(f"no alert could be sent: {failure}"))
        return dg.SkipReason(shorten(str(failure)))
    context.update_cursor(cursor.dump())
    for line in came.delivered:
        context.log.info(shorten(f"sent to {line}"))
    for line in came.failed:
        context.log.error(shorten(line))
    return dg.SkipReason(_summary(came))


def _summary(came: Evaluated) -> str:
    if came.is_busy:
        return "Another evaluation is under way."
    told = f"{len(came.delivered)} alerts sent." if came.delivered else "Nothing to tell."
    kept = " The store cannot be used; what was told is kept in the cursor." if came.unsaved else ""
    failed = f" {len(came.failed)} not delivered, first: {came.failed[0]}" if came.failed else ""
    unread = "".join(f" {name} cannot be read: {reason}" for name, reason in sorted(came.unread.items()))
    return shorten(f"{told}{kept}{failed}{unread}")


def _drift_tick(
    context: dg.SensorEvaluationContext, project: Project, shared: Store, cursor: AlertCursor
) -> tuple[Evaluated, AlertCursor]:
    unusable = {item.name for item in project.invalid}
    came = tell_drift(project.alerts, shared, partial(_read, project), unusable, cursor.unsaved, time.time())
    return came, cursor if came.is_busy else AlertCursor(unsaved=came.unsaved)


def _failure_tick(
    context: dg.SensorEvaluationContext, project: Project, shared: Store, cursor: AlertCursor
) -> tuple[Evaluated, AlertCursor]:
    now = time.time()
    names = frozenset({*project.databases, *(item.name for item in project.invalid)})
    watched = Watched(
        project.alerts,
        shared,
        partial(_places, project),
        names,
        partial(_read, project),
        partial(last_verified, shared),
    )
    kept = start(watched, cursor.unsaved)
    # Nothing ended later than now, whatever a wrong clock left.
    since = max(min(cursor.since, now), now - _LOOKBACK_SECONDS)
    if not kept.is_away and (kept.stored is None or cursor.unsaved is not None):
        # What happened while the store was away, or before its record was lost, is looked at once more.
        lost_since = cursor.unsaved_since if kept.stored is not None else 0.0
        since = max(lost_since, now - _LOOKBACK_SECONDS)
    ends, seen = _run_ends(context.instance, since)
    came = tell_failures(watched, kept, ends, now)
    if came.is_busy:
        return came, cursor
    if came.unsaved is None:
        return came, AlertCursor(since=seen)
    first = cursor.unsaved_since if cursor.unsaved is not None else cursor.since
    return came, AlertCursor(seen, came.unsaved, first)


def _has_channels() -> bool:
    """Whether there is anything to do: looks at `project.yml` only, which a tick can afford."""
    folder = project_folder()
    load_env_file(folder)
    return bool(alert_settings(read_project_file(folder).alerts).channels)


def _places(project: Project) -> dict[str, Place]:
    return {name: place_of(config) for name, config in project.databases.items()}


def _read(project: Project) -> Reading:
    stores: Mapping[str, Callable[[], Store]] = {
        name: partial(database_store, config, project.folder) for name, config in project.databases.items()
    }
    return _READER.read_all(stores)


def _run_ends(instance: dg.DagsterInstance, since: float) -> tuple[list[RunEnd], float]:
    """How runs ended since a moment, and up to which moment that is known."""
    filters = dg.RunsFilter(
        job_name=refresh_dictionary.name,
        statuses=[dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE],
        updated_after=datetime.fromtimestamp(since - _OVERLAP_SECONDS, UTC),
    )
    records = instance.get_run_records(filters, limit=_MOST_RUNS, order_by="update_timestamp", ascending=True)
    ends = [end for record in records for end in _run_end(instance, record)]
    return ends, max([since, *(_updated(record) for record in records)])


def _updated(record: dg.RunRecord) -> float:
    return record.update_timestamp.replace(tzinfo=UTC).timestamp()


def _run_end(instance: dg.DagsterInstance, record: dg.RunRecord) -> Iterable[RunEnd]:
    run = record.dagster_run
    database = run.tags.get(PARTITION_TAG)
    if database is None or _is_dry(run.run_config):
        return
    at = record.end_time or _updated(record)
    failure = None if run.is_success else _failure(instance, run.run_id, database, at)
    yield RunEnd(database, at, failure)


def _is_dry(run_config: Mapping[str, object]) -> bool:
    found: object = run_config
    for key in ("resources", "refresh_options", "config", "dry_run"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found is True


def _failure(instance: dg.DagsterInstance, run_id: str, database: str, at: float) -> Failure:
    """Why a run failed, in the product's words."""
    page = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_FAILURE, limit=1, ascending=False)
    event = page.records[0].event_log_entry.dagster_event if page.records else None
    if event is None:
        return Failure(database, RUN_LOST, "run", _LOST, "", run_id, at)
    told = event.step_failure_data.user_failure_data
    metadata = {name: value.value for name, value in told.metadata.items()} if told else {}
    return Failure(
        database,
        str(metadata.get("error_code", DictionaryError.identifier)),
        str(metadata.get("error_scope", DictionaryError.scope)),
        str(told.description) if told and told.description else _UNTOLD,
        (event.step_key or "").rpartition("__")[2],
        run_id,
        at,
    )
