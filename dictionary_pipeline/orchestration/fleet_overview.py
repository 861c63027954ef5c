"""`fleet_overview`: how the dictionaries of all databases are doing, as a table in the UI."""

# No `from __future__ import annotations` here: Dagster reads the annotations of asset functions as types.
from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg

from dictionary_pipeline.config.resolved import AutomationConfig
from dictionary_pipeline.fleet import survey
from dictionary_pipeline.orchestration.assets import GROUP, OWNER, asset_key
from dictionary_pipeline.orchestration.metadata import shorten, table_value
from dictionary_pipeline.orchestration.project import current_project

FRESH_CHECK = "every_dictionary_is_fresh"
_MAX_BYTES = 75_000
FLEET_KEY = asset_key("fleet_overview")
"""It covers all databases, so it has no partition."""


@dg.asset(
    key=FLEET_KEY,
    group_name=GROUP,
    owners=[OWNER],
    kinds={"json"},
    check_specs=[dg.AssetCheckSpec(FRESH_CHECK, asset=FLEET_KEY)],
)
def fleet_overview(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
    """Age, drift, problems and definitions of every dictionary, from manifests and state; connects to no database."""
    fleet = survey(current_project(), datetime.now(UTC))
    if fleet.fault is not None:
        context.log.error(shorten(fleet.fault))
    numbers: dict[str, float] = dict(fleet.counts())
    if fleet.cost_this_month is not None:
        numbers["cost_this_month"] = fleet.cost_this_month
    table, _ = table_value(fleet.frame(), _MAX_BYTES)
    stale = ", ".join(fleet.stale)
    found = f"To look after: {stale}" if stale else "Every dictionary was verified within its window."
    check = dg.AssetCheckResult(
        asset_key=FLEET_KEY,
        check_name=FRESH_CHECK,
        passed=fleet.exit_code == 0,
        severity=dg.AssetCheckSeverity.WARN,
        description=shorten(fleet.fault or found),
        metadata={"found": len(fleet.stale)},
    )
    yield dg.MaterializeResult(metadata={"fleet": table, **numbers}, check_results=[check])


report_fleet = dg.define_asset_job(
    "report_fleet",
    selection=dg.AssetSelection.assets(FLEET_KEY),
    executor_def=dg.in_process_executor,
    description="Look at all dictionaries without connecting to any database.",
)


def build_fleet_schedule(automation: AutomationConfig) -> dg.ScheduleDefinition:
    """Once a day, a few hours after the usual night; off where the nightly schedule is off."""
    status = dg.DefaultScheduleStatus.RUNNING if automation.nightly_enabled else dg.DefaultScheduleStatus.STOPPED
    return dg.ScheduleDefinition(
        name="daily_fleet_report",
        job=report_fleet,
        cron_schedule="0 6 * * *",
        execution_timezone=automation.timezone,
        default_status=status,
    )
