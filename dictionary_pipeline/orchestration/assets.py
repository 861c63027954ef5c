"""The six assets, one per stage, each a call of the core."""

# No `from __future__ import annotations` here: Dagster reads the annotations of asset functions as types.
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg

from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.metadata import shorten, stage_metadata
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.project import current_project, keep_last_good, run_config
from dictionary_pipeline.orchestration.resources import RefreshOptions
from dictionary_pipeline.orchestration.tags import tag_run
from dictionary_pipeline.report import Check, Refused, StageReport
from dictionary_pipeline.run import database_store, open_run, shared_store
from dictionary_pipeline.stages import STAGES, StageSpec
from dictionary_pipeline.unexpected import unexpected

KEY_PREFIX = "dictionary"
GROUP = "dictionary"
OWNER = "team:data-platform"
CONFIGURATION_CHECK = "configuration_is_valid"

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
        Refused: a gate refused the result.
    """
    overlay = Path(tempfile.gettempdir()) / f"dictionary_pipeline_{context.run.run_id}"
    is_last = _is_last(context, stage)
    try:
        report = _run_stage(context, stage, options, overlay, keep_lease=not is_last)
    except Exception as error:  # noqa: BLE001 - a foreign text could quote values of the database in an event
        failure = error if isinstance(error, DictionaryError) else unexpected(error)
        if not failure.retryable or context.retry_number >= RETRY.max_retries:
            shutil.rmtree(overlay, ignore_errors=True)
        raise (failure if isinstance(failure, Refused) else as_failure(failure)) from None
    if is_last:
        shutil.rmtree(overlay, ignore_errors=True)
    return report


def _run_stage(
    context: dg.AssetExecutionContext, stage: StageSpec, options: RefreshOptions, overlay: Path, *, keep_lease: bool
) -> StageReport:
    project, name = current_project(), context.partition_key
    config, fault = run_config(project, name)
    tag_run(context)
    for warning in config.warnings:
        context.log.warning(shorten(warning))
    if options.dry_run:
        overlay.mkdir(mode=0o700, exist_ok=True)  # it will hold samples
    with open_run(
        config,
        database_store(config, project.folder),
        run_id=context.run.run_id,
        options=options.options(),
        overlay_folder=overlay,
        keep_lease=keep_lease,
        shared=shared_store(config, project.folder),
        may_retry=context.retry_number < RETRY.max_retries,
    ) as run:
        report = stage.run(run)
        if stage is not STAGES[0]:
            return report
        if fault is None:
            keep_last_good(run.store, project, name)
        else:
            context.log.warning(shorten(f"{fault} Until then the last good configuration is used."))
        return replace(report, checks=(*report.checks, _configuration_check(fault)))


def _configuration_check(fault: str | None) -> Check:
    if fault is None:
        return Check(CONFIGURATION_CHECK, True, "The database's file is valid.")
    return Check(CONFIGURATION_CHECK, False, f"The last good configuration was used, because: {fault}", 1)


def as_failure(error: DictionaryError) -> dg.Failure:
    """The event of an error: product text, and what an alert tells it by."""
    metadata = {"error_code": error.identifier, "error_scope": error.scope}
    return dg.Failure(shorten(str(error)), metadata=metadata, allow_retries=error.retryable)


def stage_checks(stage: StageSpec) -> tuple[str, ...]:
    """Names of the asset checks that report a stage's gates."""
    return (*stage.checks, CONFIGURATION_CHECK) if stage is STAGES[0] else stage.checks


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
        check_specs=[dg.AssetCheckSpec(check, asset=key) for check in stage_checks(stage)],
    )
    def stage_asset(
        context: dg.AssetExecutionContext, refresh_options: RefreshOptions
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        try:
            report = run_stage(context, stage, refresh_options)
        except Refused as refusal:
            yield from (_check_result(check, key) for check in refusal.checks)
            raise as_failure(refusal) from None
        yield dg.MaterializeResult(
            metadata=stage_metadata(report),
            data_version=dg.DataVersion(report.output) if report.output else None,
            check_results=[_check_result(check, key) for check in report.checks],
        )

    return stage_asset


def _check_result(check: Check, key: dg.AssetKey) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=check.name,
        passed=check.passed,
        severity=dg.AssetCheckSeverity.WARN,
        description=shorten(check.description),
        metadata={"found": check.found},
    )


stage_assets = [_asset(stage, upstream) for stage, upstream in zip(STAGES, [None, *STAGES], strict=False)]
"""All stages in order of flow."""
