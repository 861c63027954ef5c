"""The one place where Dagster objects are wired."""

from __future__ import annotations

import logging
from pathlib import Path

import dagster as dg

from dictionary_pipeline.config.resolved import Project
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.handover import PUBLISHED
from dictionary_pipeline.orchestration.alert_sensors import build_alert_sensors
from dictionary_pipeline.orchestration.assets import asset_key, stage_assets
from dictionary_pipeline.orchestration.batch_sensor import build_batch_sensor
from dictionary_pipeline.orchestration.change_sensor import build_change_sensor
from dictionary_pipeline.orchestration.fleet_overview import build_fleet_schedule, fleet_overview, report_fleet
from dictionary_pipeline.orchestration.freshness import with_freshness
from dictionary_pipeline.orchestration.jobs import refresh_dictionary
from dictionary_pipeline.orchestration.project import current_project
from dictionary_pipeline.orchestration.resources import RefreshOptions
from dictionary_pipeline.orchestration.schedules import build_nightly_schedule
from dictionary_pipeline.orchestration.sensors import build_registry_sensor


def _project() -> Project:
    """The configuration; defaults while `project.yml` is invalid, so that the location loads."""
    try:
        return current_project()
    except DictionaryError as error:
        logging.getLogger("dagster").error("%s Default automation settings are used.", error)
        return Project(Path())


def search_assets() -> list[dg.AssetsDefinition]:
    """The asset that pushes to a search service, where `project.yml` configures one."""
    try:
        settings = current_project().search
    except DictionaryError:  # told already
        settings = None
    if settings is None or not settings.automatic:
        return []
    from dictionary_pipeline.orchestration.search_index import search_index

    return [search_index]


project = _project()
automation = project.automation

defs = dg.Definitions(
    assets=[
        *with_freshness(stage_assets, asset_key(PUBLISHED), project.databases.values()),
        *search_assets(),
        fleet_overview,
    ],
    jobs=[refresh_dictionary, report_fleet],
    sensors=[
        build_registry_sensor(automation),
        build_change_sensor(automation),
        build_batch_sensor(project.databases.values()),
        *build_alert_sensors(),
    ],
    schedules=[build_nightly_schedule(automation), build_fleet_schedule(automation)],
    resources={"refresh_options": RefreshOptions()},
    executor=dg.in_process_executor,
)
