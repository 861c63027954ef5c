"""`nightly_refresh`: every database once a night."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from dictionary_pipeline.config.resolved import AutomationConfig, Project
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.jobs import refresh_dictionary
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.project import current_project, run_config


def build_nightly_schedule(automation: AutomationConfig) -> dg.ScheduleDefinition:
    """The schedule at the time that `project.yml automation:` says."""
    status = dg.DefaultScheduleStatus.RUNNING if automation.nightly_enabled else dg.DefaultScheduleStatus.STOPPED

    @dg.schedule(
        job=refresh_dictionary,
        cron_schedule=automation.nightly_cron,
        execution_timezone=automation.timezone,
        default_status=status,
    )
    def nightly_refresh(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """One run per database that has a partition and a valid file, or had one at its last run."""
        try:
            project = current_project()
        except DictionaryError as error:
            yield dg.SkipReason(str(error))
            return
        known = context.instance.get_dynamic_partitions(str(databases.name))
        due = [name for name in sorted(known) if _can_run(project, name)]
        for name in due:
            yield dg.RunRequest(
                run_key=f"{name}:{context.scheduled_execution_time.isoformat()}",
                partition_key=name,
            )
        if not due:
            yield dg.SkipReason("No configured database has a partition yet.")

    return nightly_refresh


def _can_run(project: Project, name: str) -> bool:
    try:
        run_config(project, name)
    except DictionaryError:  # `database_registry` reports it
        return False
    return True
