"""Second stage: samples, value profiles, sensitivity."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline import handover, withholding
from dictionary_pipeline.engines.metering import usage, usage_metrics
from dictionary_pipeline.handover import SAMPLES, SNAPSHOT
from dictionary_pipeline.publishing.scrub import scrub_catalog
from dictionary_pipeline.publishing.sealed import save_sealed
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.sampling.privacy import masked_of, withheld_of
from dictionary_pipeline.sampling.sample import SampleResult, sample_tables
from dictionary_pipeline.stages.shared import check, head
from dictionary_pipeline.state import load_stage, require_stages, save_stage


def column_samples(run: PipelineRun) -> StageReport:
    """Sample every table once: value profiles, samples, allowed values, values."""
    upstream = require_stages(run.store, SNAPSHOT)
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    total, done = catalog.tables.height, 0

    def step(_table: str) -> None:
        nonlocal done
        done += 1
        run.progress(SAMPLES, done, total)

    previous = _previous_samples(run)
    only = run.options.covers if previous else None
    before = usage(run.engine.meter)
    result = sample_tables(run.engine, catalog, run.config, previous=previous, only=only, on_table=step)
    sealed = withholding.sealed_values(run.store, result, previous)
    shown = scrub_catalog(catalog, result.sensitivity, sealed)
    snapshot = upstream[SNAPSHOT].output
    if not withholding.same_texts(shown, catalog):
        snapshot = save_stage(run.store, SNAPSHOT, *handover.catalog_parts(shown), {}).output
    state = save_stage(run.store, SAMPLES, *handover.sample_parts(result), {SNAPSHOT: snapshot})
    save_sealed(run.store, sealed, state.output)
    hidden = result.sensitivity.filter(pl.col("treatment") != "allow")
    profiles = result.profiles
    rows_per_table = profiles.group_by("schema", "table").agg(pl.col("sampled_rows").max())["sampled_rows"]
    return StageReport(
        SAMPLES,
        metrics={
            "entities": total,
            "statements": result.statements,
            "sampled_rows": int(rows_per_table.sum()),
            "columns_withheld": withheld_of(result.sensitivity).height,
            "columns_masked": masked_of(result.sensitivity).height,
            "columns_with_allowed_values": int(profiles["allowed_values"].is_not_null().sum()),
            "values": result.values.height,
            "problems": len(result.problems),
            **usage_metrics(run.engine.meter, before),
        },
        tables={"withheld_columns": head(hidden.drop("confidence"))},
        problems=result.problems,
        checks=(check("tables_were_sampled", "Every readable table was sampled", result.problems),),
        output=state.output,
    )


def _previous_samples(run: PipelineRun) -> SampleResult | None:
    """Last samples, unless they are to be recomputed from nothing."""
    if run.options.forces("samples"):
        return None
    state = load_stage(run.store, SAMPLES)
    return handover.samples_from(state) if state else None
