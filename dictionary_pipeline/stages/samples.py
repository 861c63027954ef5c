"""Second stage: samples, value profiles, sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl

from dictionary_pipeline import handover, withholding
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.engines.metering import usage, usage_metrics
from dictionary_pipeline.handover import SAMPLES, SNAPSHOT
from dictionary_pipeline.publishing.scrub import scrub_catalog
from dictionary_pipeline.publishing.sealed import load_sealed, save_sealed
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.sampling.marks import Marks, TableKey, take_marks
from dictionary_pipeline.sampling.privacy import masked_of, withheld_of
from dictionary_pipeline.sampling.sample import SampleResult, sample_tables
from dictionary_pipeline.sampling.successors import successor_warnings
from dictionary_pipeline.sampling_age import SamplingAge, load_age, sampling_bases, save_age
from dictionary_pipeline.stages.shared import check, head
from dictionary_pipeline.state import StageState, load_stage, require_stages, save_stage


def column_samples(run: PipelineRun) -> StageReport:
    """Sample every table once: value profiles, samples, allowed values, values."""
    upstream = require_stages(run.store, SNAPSHOT)
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    before, started = usage(run.engine.meter), now()
    marks = _marks(run, catalog)
    bases = sampling_bases(catalog, run.config, marks)
    total, done = catalog.tables.height, 0

    def step(_table: str) -> None:
        nonlocal done
        done += 1
        run.progress(SAMPLES, done, total)

    last = _last_samples(run)
    previous = handover.samples_from(last) if last else None
    age = load_age(run.store, last.output) if last else SamplingAge()
    only = _wanted(run, last, age.unchanged(bases, started, run.config.sampling.max_age_hours)) if last else None
    policy = withholding.policy_of(run.config, catalog, run.store)
    result = sample_tables(
        run.engine, catalog, run.config, previous=previous, marks=marks, only=only, on_table=step, policy=policy
    )
    sealed = withholding.sealed_values(run.store, result, previous)
    shown = scrub_catalog(catalog, result.sensitivity, sealed)
    result = withholding.without_scrubbed_lists(result, shown)
    snapshot = upstream[SNAPSHOT].output
    if not withholding.same_texts(shown, catalog):
        snapshot = save_stage(run.store, SNAPSHOT, *handover.catalog_parts(shown), {}).output
    state = save_stage(run.store, SAMPLES, *handover.sample_parts(result), {SNAPSHOT: snapshot})
    save_sealed(run.store, sealed, state.output)
    save_age(run.store, _age_after(run, age, result, bases, started), state.output)
    hidden = result.sensitivity.filter(pl.col("treatment") != "allow")
    profiles = result.profiles
    rows_per_table = profiles.group_by("schema", "table").agg(pl.col("sampled_rows").max())["sampled_rows"]
    return StageReport(
        SAMPLES,
        metrics={
            "entities": total,
            "tables_read": len(result.read),
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
        warnings=successor_warnings(policy),
        checks=(check("tables_were_sampled", "Every readable table was sampled", result.problems),),
        output=state.output,
    )


def now() -> datetime:
    """The time, by which the age of samples is told."""
    return datetime.now(UTC)


def _marks(run: PipelineRun, catalog: Catalog) -> Marks:
    """Change marks of now, as far as anything is to be read at all."""
    tables = catalog.tables.select("schema", "table").rows() if run.config.sampling.enabled else ()
    return take_marks(run.engine, tables)


def _last_samples(run: PipelineRun) -> StageState | None:
    """Last samples, unless they are to be recomputed from nothing."""
    return None if run.options.forces("samples") else load_stage(run.store, SAMPLES)


def _wanted(run: PipelineRun, last: StageState, unchanged: frozenset[TableKey]) -> Callable[[str, str], bool]:
    """Whether a table is to be read again."""
    covers = run.options.covers
    # Of values that are not read again, only their seal tells the gate; when it is lost, they are read.
    if not run.options.changed_only or load_sealed(run.store, last.output) is None:
        return covers
    return lambda schema, table: covers(schema, table) and (schema, table) not in unchanged


def _age_after(
    run: PipelineRun, age: SamplingAge, result: SampleResult, bases: Mapping[TableKey, str], started: datetime
) -> SamplingAge:
    """When each table was sampled, without those that had a problem, so that they are tried again."""
    troubled = {problem.object for problem in result.problems}
    sampled = result.profiles.filter(pl.col("sampled_rows").is_not_null()).select("schema", "table").unique()
    well = {key: bases[key] for key in sampled.iter_rows() if ".".join(key) not in troubled}
    new = age.after(result.read & well.keys(), well, started)
    return replace(new, max_age_hours=run.config.sampling.max_age_hours)
