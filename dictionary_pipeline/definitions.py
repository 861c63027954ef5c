"""The one place where Dagster objects are wired."""

from __future__ import annotations

import logging

import dagster as dg

from dictionary_pipeline.config.resolved import AutomationConfig
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.alert_sensors import build_alert_sensors
from dictionary_pipeline.orchestration.assets import stage_assets
from dictionary_pipeline.orchestration.change_sensor import build_change_sensor
from dictionary_pipeline.orchestration.jobs import refresh_dictionary
from dictionary_pipeline.orchestration.project import current_project
from dictionary_pipeline.orchestration.resources import RefreshOptions
from dictionary_pipeline.orchestration.schedules import build_nightly_schedule
from dictionary_pipeline.orchestration.sensors import build_registry_sensor


def _automation() -> AutomationConfig:
    """Automation settings; the defaults while `project.yml` is invalid, so that the location loads."""
    try:
        return current_project().automation
    except DictionaryError as error:
        logging.getLogger("dagster").error("%s Default automation settings are used.", error)
        return AutomationConfig()


def _search_assets() -> list[dg.AssetsDefinition]:
    """The asset that pushes to a search service, where `project.yml` configures one."""
    try:
        configured = current_project().search is not None
    except DictionaryError:  # told already
        configured = False
    if not configured:
        return []
    from dictionary_pipeline.orchestration.search_index import search_index

    return [search_index]


automation = _automation()

defs = dg.Definitions(
    assets=[*stage_assets, *_search_assets()],
    jobs=[refresh_dictionary],
    sensors=[build_registry_sensor(automation), build_change_sensor(automation), *build_alert_sensors()],
    schedules=[build_nightly_schedule(automation)],
    resources={"refresh_options": RefreshOptions()},
    executor=dg.in_process_executor,
)
