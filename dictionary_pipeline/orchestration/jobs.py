"""The one job: all stages of one database, in one process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from dictionary_pipeline.orchestration.assets import GROUP
from dictionary_pipeline.orchestration.fleet_overview import FLEET_KEY
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.tags import partition_tags

CHANGED_ONLY: Mapping[str, Any] = {"resources": {"refresh_options": {"config": {"changed_only": True}}}}
"""Run configuration of what nobody watches: tables that did not change keep their samples."""

refresh_dictionary = dg.define_asset_job(
    "refresh_dictionary",
    selection=dg.AssetSelection.groups(GROUP) - dg.AssetSelection.assets(FLEET_KEY),
    config=dg.PartitionedConfig(
        partitions_def=databases,
        run_config_for_partition_key_fn=lambda name: {},
        tags_for_partition_key_fn=partition_tags,
    ),
    executor_def=dg.in_process_executor,
    description="Introspect, sample, relate, define, extract and publish one database.",
)
"""Parallelism between databases comes from runs; inside one from the core's own thread pool."""
