"""`database_registry`: one partition per file of `dbt_like_configs/databases/`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg

from dictionary_pipeline.config.resolved import AutomationConfig, Project
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.cursor import JsonCursor
from dictionary_pipeline.orchestration.jobs import refresh_dictionary
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.project import current_project
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.retiring import retire

_TICKS_BEFORE_REMOVAL = 2
_FEWEST_LOST = 3
"""Fewer files may well be removed together."""


@dataclass(frozen=True)
class RegistryCursor(JsonCursor):
    """What the registry remembers between ticks."""

    absent: dict[str, int] = field(default_factory=dict)
    """Partition -> consecutive ticks without a file; an editor's save must not remove it."""
    reported: dict[str, str] = field(default_factory=dict)
    """Invalid file -> the error already logged."""


@dataclass(frozen=True)
class RegistryPlan:
    """What one tick changes."""

    add: tuple[str, ...]
    remove: tuple[str, ...]
    newly_invalid: tuple[str, ...]
    """Names whose error was not logged before."""
    cursor: RegistryCursor
    is_emptied: bool = False
    """Every file of several is gone at once: rather a folder that is not mounted than a decision."""


def plan_registry(project: Project, partitions: set[str], cursor: RegistryCursor) -> RegistryPlan:
    """Compare files and partitions; a pure function so that every case is tested without Dagster."""
    invalid = {item.name: item.error for item in project.invalid}
    absent = {
        name: cursor.absent.get(name, 0) + 1 for name in sorted(partitions - set(project.databases) - set(invalid))
    }
    is_emptied = len(absent) >= _FEWEST_LOST and not project.databases and not invalid
    remove = () if is_emptied else tuple(name for name, ticks in absent.items() if ticks >= _TICKS_BEFORE_REMOVAL)
    return RegistryPlan(
        add=tuple(sorted(set(project.databases) - partitions)),
        remove=remove,
        newly_invalid=tuple(sorted(name for name, error in invalid.items() if cursor.reported.get(name) != error)),
        cursor=RegistryCursor({name: ticks for name, ticks in absent.items() if name not in remove}, invalid),
        is_emptied=is_emptied,
    )


def build_registry_sensor(automation: AutomationConfig) -> dg.SensorDefinition:
    """The sensor with the default status that `project.yml` asks for."""
    status = dg.DefaultSensorStatus.RUNNING if automation.registry_sensor_enabled else dg.DefaultSensorStatus.STOPPED

    @dg.sensor(job=refresh_dictionary, minimum_interval_seconds=30, default_status=status)
    def database_registry(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        """Add a partition and its first run for every new file; remove those whose file is gone."""
        try:
            project = current_project()
        except DictionaryError as error:
            context.log.error(str(error))
            return dg.SkipReason(str(error))
        known = set(context.instance.get_dynamic_partitions(str(databases.name)))
        plan = plan_registry(project, known, RegistryCursor.parse(context.cursor))
        for name in plan.newly_invalid:
            context.log.error(f"database {name}: {plan.cursor.reported[name]}")
        changes: list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest] = []
        if plan.add:
            changes.append(databases.build_add_request(list(plan.add)))
        gone = [name for name in plan.remove if _retired(project, name, context)]
        if gone:
            changes.append(databases.build_delete_request(gone))
        requests = [
            dg.RunRequest(
                # A cursor that was reset must not repeat a key, which Dagster would pass over.
                run_key=f"{name}:added:{time.time_ns()}",
                partition_key=name,
            )
            for name in plan.add
        ]
        skip = None if requests else _skip_reason(plan)
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=skip,
            dynamic_partitions_requests=changes,
            cursor=plan.cursor.dump(),
        )

    return database_registry


def _retired(project: Project, name: str, context: dg.SensorEvaluationContext) -> bool:
    """Mark a database's dictionary as retired; where that fails, its partition stays and later ticks try again."""
    try:
        store, shared = (open_store(project.publish, project.folder, part) for part in (name, ""))
        since = retire(store, shared, name, datetime.now(UTC), plain=project.publish.plain_folders)
    except DictionaryError as error:
        context.log.error(f"database {name} cannot be retired yet: {error}")
        return False
    if since is not None:
        context.log.info(f"database {name} has no file any more; its dictionary is marked as retired")
    return True


def _skip_reason(plan: RegistryPlan) -> str:
    if plan.is_emptied:
        return (
            f"None of the {len(plan.cursor.absent)} database files is there any more, so nothing is retired. "
            "Mount or restore dbt_like_configs/databases, or run `data_dictionary retire NAME` for each."
        )
    if plan.cursor.reported:
        return "; ".join(f"database {name}: {error}" for name, error in sorted(plan.cursor.reported.items()))[:2_000]
    return "No new database file."
