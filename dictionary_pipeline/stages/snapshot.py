"""First stage: the catalog."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from dictionary_pipeline import handover, withholding
from dictionary_pipeline.engines.metering import usage, usage_metrics
from dictionary_pipeline.handover import SAMPLES, SNAPSHOT
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import PipelineRun, RunOptions
from dictionary_pipeline.stages.shared import check, head
from dictionary_pipeline.state import load_stage, save_stage

_VERDICTS = ("sensitivity",)


def schema_snapshot(run: PipelineRun) -> StageReport:
    """Read the catalog: tables, columns, keys, views, fingerprints."""
    before = usage(run.engine.meter)
    with run.engine.open() as session:
        catalog = take_snapshot(run.engine, session, run.config.selection)
    catalog = withholding.scrub_known(catalog, run.config, run.store, load_stage(run.store, SAMPLES, only=_VERDICTS))
    state = save_stage(run.store, SNAPSHOT, *handover.catalog_parts(catalog), {})
    tables = catalog.tables
    return StageReport(
        SNAPSHOT,
        metrics={
            "tables": tables.filter(~pl.col("kind").str.contains("view")).height,
            "views": tables.filter(pl.col("kind").str.contains("view")).height,
            "columns": catalog.columns.height,
            "keys": catalog.keys.height,
            "foreign_keys": catalog.foreign_keys.height,
            "schema_fingerprint": catalog.fingerprint or "",
            "problems": len(catalog.problems),
            **usage_metrics(run.engine.meter, before),
        },
        # Comments can quote values that only sampling recognises, and events are kept.
        tables={"table_list": head(tables.select("schema", "table", "kind", "row_estimate"))},
        problems=catalog.problems,
        warnings=(*run.engine.warnings, *_unmatched(run.options, tables)),
        checks=(check("catalog_is_complete", "Every object of the selection could be read", catalog.problems),),
        output=state.output,
    )


def _unmatched(options: RunOptions, tables: pl.DataFrame) -> tuple[str, ...]:
    """A warning for each pattern of `--entity` that nothing fits: the run did less than it was asked for."""
    names = tables.select("schema", "table").rows()
    return tuple(
        f"--entity {glob!r} fits no table or view. Patterns are case-sensitive and match `table` or `schema.table`."
        for glob in options.entities
        if not any(replace(options, entities=(glob,)).covers(schema, table) for schema, table in names)
    )
