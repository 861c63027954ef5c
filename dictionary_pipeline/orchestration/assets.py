"""The six assets, one per stage, each a call of the core."""

# No `from __future__ import annotations` here: Dagster reads the annotations of asset functions as types.
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.metadata import stage_metadata
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.project import current_project, database_config
from dictionary_pipeline.orchestration.resources import RefreshOptions
from dictionary_pipeline.orchestration.tags import tag_run
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import database_store, open_run
from dictionary_pipeline.stages import STAGES, StageSpec

KEY_PREFIX = "dictionary"
GROUP = "dictionary"
OWNER = "team:data-platform"

RETRY = dg.RetryPolicy(max_retries=2, delay=30, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)
"""For outages. Errors that cannot go away by themselves are raised as not retryable instead."""

_KINDS = {
    "schema_snapshot": {"sql", "polars"},
    "column_samples": {"sql", "polars"},
    "relationship_graph": {"polars"},
    "entity_definitions": {"polars"},
    "knowledge_graph": {"polars", "parquet"},
    "published_dictionary": {"json", "parquet"},
}


def asset_key(stage: str) -> dg.AssetKey:
    """Key of a stage's asset."""
    return dg.AssetKey([KEY_PREFIX, stage])


def run_stage(context: dg.AssetExecutionContext, stage: StageSpec, options: RefreshOptions) -> StageReport:
    """Run one stage of this run's partition under the database's lease.

    Raises:
        dg.Failure: product text only; allows a retry exactly when the error may go away by itself.
    """
    name = context.partition_key
    try:
        project = current_project()
        config = database_config(project, name)
        tag_run(context)
        for warning in config.warnings:
            context.log.warning(warning)
        with open_run(
            config,
            database_store(config, project.folder),
            run_id=context.run.run_id,
            options=options.options(),
            overlay_folder=Path(tempfile.gettempdir()) / f"dictionary_pipeline_{context.run.run_id}",
            keep_lease=not _is_last(context, stage),
        ) as run:
            return stage.run(run)
    except DictionaryError as error:
        raise dg.Failure(str(error), allow_retries=error.retryable) from None


def _is_last(context: dg.AssetExecutionContext, stage: StageSpec) -> bool:
    """Whether no later stage of this run follows, so that the lease can be given back."""
    selected = {key.path[-1] for key in context.job_def.asset_layer.selected_asset_keys}
    return [item.name for item in STAGES if item.name in selected][-1:] == [stage.name]


def _asset(stage: StageSpec, upstream: StageSpec | None) -> dg.AssetsDefinition:
    key = asset_key(stage.name)

    @dg.asset(
        key=key,
        deps=[asset_key(upstream.name)] if upstream else [],
        partitions_def=databases,
        group_name=GROUP,
        owners=[OWNER],
        kinds=_KINDS[stage.name],
        description=stage.run.__doc__,
        retry_policy=RETRY,
        check_specs=[dg.AssetCheckSpec(check, asset=key) for check in stage.checks],
    )
    def stage_asset(
        context: dg.AssetExecutionContext, refresh_options: RefreshOptions
    ) -> Iterator[dg.MaterializeResult[None]]:
        report = run_stage(context, stage, refresh_options)
        yield dg.MaterializeResult(
            metadata=stage_metadata(report),
            data_version=dg.DataVersion(report.output) if report.output else None,
            check_results=[
                dg.AssetCheckResult(
                    check_name=check.name,
                    passed=check.passed,
                    severity=dg.AssetCheckSeverity.WARN,
                    description=check.description,
                    metadata={"found": check.found},
                )
                for check in report.checks
            ],
        )

    return stage_asset


stage_assets = [_asset(stage, upstream) for stage, upstream in zip(STAGES, [None, *STAGES], strict=False)]
"""All stages in order of flow."""
