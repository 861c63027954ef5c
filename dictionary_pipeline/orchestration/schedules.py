"""`nightly_refresh`: a look at every database when its own schedule says so, and a run where there is work.

Dagster calls the schedule every 15 minutes; which databases are due is read from the YAML each time. One is due
until a run or a look has verified it since its last due time, so what a stopped daemon missed is made up once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg

from dictionary_pipeline.config.resolved import AutomationConfig, DatabaseConfig, Project
from dictionary_pipeline.config.schedule import previous_due
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.jobs import CHANGED_ONLY, refresh_dictionary
from dictionary_pipeline.orchestration.metadata import shorten
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.probing import Down, Outcome, ProbePool, Unchanged, look_for_work
from dictionary_pipeline.orchestration.project import current_project, run_config
from dictionary_pipeline.orchestration.silence import note_outcomes
from dictionary_pipeline.orchestration.tags import PARTITION_TAG, RUN_KEY_TAG
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.run import database_store
from dictionary_pipeline.verified import Verification, record_verified, verifications

TICK_MINUTES = 15
_POOL = ProbePool()
_STEP = 16
"""How much later in the list each tick starts; so many are asked even when none answers."""
_UNFINISHED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


@dataclass(frozen=True)
class RefreshPlan:
    """What the looks of one tick lead to."""

    run_keys: Mapping[str, str]
    """Database to run -> key of the run."""
    verified: Mapping[str, Verification]
    """Databases that need no run."""
    silent: Mapping[str, str]
    """Database that did not answer -> why; it stays due."""
    unreached: tuple[str, ...]
    """Databases for which the tick had no time; they stay due."""

    def summary(self) -> str:
        """For people."""
        parts = {
            "Runs requested": self.run_keys,
            "Verified, nothing to do": self.verified,
            "No answer, asked again at the next tick": self.silent,
            "Not reached in time": self.unreached,
        }
        told = [f"{text}: {', '.join(sorted(names))}." for text, names in parts.items() if names]
        return shorten(" ".join(told)) or "Nothing is due."


def due_refreshes(
    configs: Mapping[str, DatabaseConfig], last: Mapping[str, Verification], now: datetime
) -> dict[str, datetime]:
    """Databases that nothing has verified since their last due time, and that time."""
    times = {
        name: previous_due(config.schedule.cron, config.schedule.timezone, now) for name, config in configs.items()
    }
    return {name: due for name, due in times.items() if name not in last or last[name].at < due}


def in_turn(names: Collection[str], now: datetime) -> list[str]:
    """Names in an order that starts elsewhere at each tick, so that hanging ones keep none from being reached."""
    ordered = sorted(names)
    start = int(now.timestamp()) // (60 * TICK_MINUTES) * _STEP % max(len(ordered), 1)
    return [*ordered[start:], *ordered[:start]]


def run_key(name: str, due: datetime) -> str:
    """Key of the one run of a due time."""
    return f"{name}:due:{due.isoformat()}"


def plan_refreshes(due: Mapping[str, datetime], outcomes: Mapping[str, Outcome]) -> RefreshPlan:
    """Decide what to run; a pure function so that every case is tested without Dagster.

    A database that cannot answer before somebody repairs something gets its run, which says so once.
    """
    run_keys: dict[str, str] = {}
    verified: dict[str, Verification] = {}
    silent: dict[str, str] = {}
    for name in sorted(outcomes):
        match outcomes[name]:
            case Unchanged(found):
                verified[name] = found
            case Down(error, lasting=False):
                silent[name] = error
            case _:
                run_keys[name] = run_key(name, due[name])
    return RefreshPlan(run_keys, verified, silent, tuple(sorted(set(due) - set(outcomes))))


def build_nightly_schedule(automation: AutomationConfig, pool: ProbePool = _POOL) -> dg.ScheduleDefinition:
    """The schedule with the default status that `project.yml` asks for."""
    status = dg.DefaultScheduleStatus.RUNNING if automation.nightly_enabled else dg.DefaultScheduleStatus.STOPPED

    @dg.schedule(
        job=refresh_dictionary,
        cron_schedule=f"*/{TICK_MINUTES} * * * *",
        execution_timezone="UTC",
        default_status=status,
    )
    def nightly_refresh(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Look at the databases that are due and run those where there may be work."""
        try:
            plan = _tick(current_project(), context, pool)
        except DictionaryError as error:
            context.log.error(shorten(str(error)))
            yield dg.SkipReason(shorten(str(error)))
            return
        for name, reason in plan.silent.items():
            context.log.error(shorten(f"database {name} is due and does not answer: {reason}"))
        for name, key in plan.run_keys.items():
            yield dg.RunRequest(run_key=key, partition_key=name, run_config=CHANGED_ONLY)
        context.log.info(plan.summary())
        if not plan.run_keys:
            yield dg.SkipReason(plan.summary())

    return nightly_refresh


def _tick(project: Project, context: dg.ScheduleEvaluationContext, pool: ProbePool) -> RefreshPlan:
    now = context.scheduled_execution_time
    known = context.instance.get_dynamic_partitions(str(databases.name))
    configs = _runnable(project, known)
    shared = open_store(project.publish, project.folder, "")
    last = verifications(shared)
    due = due_refreshes(configs, last, now)
    due = _not_requested(context.instance, due) if due else {}

    # The UI can test ticks of the future; nothing is verified before it is looked at.
    moment = min(now, _clock())

    def look(name: str) -> Outcome:
        return look_for_work(configs[name], database_store(configs[name], project.folder), last.get(name), moment)

    outcomes = pool.round(in_turn(due, now), look)
    note_outcomes(project, outcomes, last, now.timestamp(), context.log)
    plan = plan_refreshes(due, outcomes)
    record_verified(shared, plan.verified)
    return plan


def _clock() -> datetime:
    return datetime.now(UTC)


def _runnable(project: Project, names: Collection[str]) -> dict[str, DatabaseConfig]:
    """Configurations of databases that have a valid file, or had one at their last run."""
    configs: dict[str, DatabaseConfig] = {}
    for name in sorted(names):
        try:
            configs[name] = run_config(project, name).config
        except DictionaryError:  # `database_registry` reports it
            continue
    return configs


def _not_requested(instance: dg.DagsterInstance, due: Mapping[str, datetime]) -> dict[str, datetime]:
    """Without databases on which a run is at work, or whose run for this due time there already was."""
    unfinished = instance.get_runs(filters=dg.RunsFilter(statuses=_UNFINISHED))
    busy = {run.tags.get(PARTITION_TAG) for run in unfinished}
    keys = [run_key(name, at) for name, at in due.items()]
    asked = {run.tags.get(RUN_KEY_TAG) for run in instance.get_runs(filters=dg.RunsFilter(tags={RUN_KEY_TAG: keys}))}
    return {name: at for name, at in due.items() if name not in busy and run_key(name, at) not in asked}
