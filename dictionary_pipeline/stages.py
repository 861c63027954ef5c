"""The six stages of a run, in order of flow: load upstream state, call the pure core, save, report.

Dagster's assets and the command line both call these functions; nothing else decides what a stage
does. A stage that fails raises; what it could not read of single objects becomes problem rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from dictionary_pipeline import drifting, handover, jsontext, withholding, writing
from dictionary_pipeline.bundling import bundle_inputs
from dictionary_pipeline.engines.metering import usage, usage_metrics
from dictionary_pipeline.enrichment.definitions import define
from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.extraction.checks import check_graph
from dictionary_pipeline.extraction.exact import build_graph
from dictionary_pipeline.extraction.graphrag import graph_keys
from dictionary_pipeline.extraction.ids import extend_ids
from dictionary_pipeline.extraction.model import KnowledgeGraph
from dictionary_pipeline.handover import DEFINITIONS, GRAPH, PUBLISHED, RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing.bundle import Bundle, build_bundle
from dictionary_pipeline.publishing.differences import compare_bundles
from dictionary_pipeline.publishing.index import list_database
from dictionary_pipeline.publishing.lease import Lease
from dictionary_pipeline.publishing.previous import PreviousBundle, read_previous
from dictionary_pipeline.publishing.publish import Changes, plan_publish, publish
from dictionary_pipeline.publishing.scrub import scrub_catalog
from dictionary_pipeline.publishing.sealed import save_sealed
from dictionary_pipeline.publishing.store import BatchStore, Store
from dictionary_pipeline.publishing.verify import PRIVACY, Finding, require_verified, verify
from dictionary_pipeline.relationships.relate import Evidence, relate
from dictionary_pipeline.relationships.report import CHECKS as RELATION_CHECKS
from dictionary_pipeline.relationships.report import relationship_report
from dictionary_pipeline.report import MAX_TABLE_ROWS, Check, Refused, StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.sampling.privacy import masked_of, withheld_of
from dictionary_pipeline.sampling.sample import SampleResult, sample_tables
from dictionary_pipeline.state import StageState, load_stage, require_stages, save_stage

_VERDICTS = ("sensitivity",)


class StageSpec(NamedTuple):
    """A stage: what it is called, what it does, and the gates it reports."""

    name: str
    run: Callable[[PipelineRun], StageReport]
    checks: tuple[str, ...]


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
        tables={"table_list": _head(tables.select("schema", "table", "kind", "row_estimate"))},
        problems=catalog.problems,
        warnings=run.engine.warnings,
        checks=(_check("catalog_is_complete", "Every object of the selection could be read", catalog.problems),),
        output=state.output,
    )


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
        tables={"withheld_columns": _head(hidden.drop("confidence"))},
        problems=result.problems,
        checks=(_check("tables_were_sampled", "Every readable table was sampled", result.problems),),
        output=state.output,
    )


def relationship_graph(run: PipelineRun) -> StageReport:
    """Work out how tables relate: keys, relationships, lineage, roles, join paths."""
    upstream = require_stages(run.store, SNAPSHOT, SAMPLES)
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    samples = handover.samples_from(upstream[SAMPLES])
    config = run.config
    engine = run.engine if config.sampling.enabled else None
    evidence = Evidence(samples.values, samples.sensitivity, config.inference, engine, config.sampling.table_seconds)
    graph = relate(catalog, samples.profiles, config.human, config.paths, evidence)
    state = save_stage(run.store, RELATIONS, *handover.relation_parts(graph), _outputs(upstream))
    return relationship_report(RELATIONS, catalog, graph, state.output)


def entity_definitions(run: PipelineRun) -> StageReport:
    """Write definitions: human over database over inherited over model over derived, each with its source."""
    upstream = require_stages(run.store, SNAPSHOT, SAMPLES, RELATIONS)
    samples = handover.samples_from(upstream[SAMPLES])
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    relations = handover.relations_from(upstream[RELATIONS])
    model = writing.model_texts(run, catalog, samples, relations, DEFINITIONS)
    definitions = define(catalog, samples.profiles, relations, run.config.human, model.texts if model else None)
    frames, facts = handover.definition_parts(replace(definitions, problems=model.problems if model else ()))
    frames |= writing.state_frames(model)
    state = save_stage(run.store, DEFINITIONS, frames, facts, _outputs(upstream))
    sources = _counts(definitions.tables["definition_source"])
    shown = definitions.tables.select("schema", "table", "entity_name", "definition_source", "definition")
    return StageReport(
        DEFINITIONS,
        metrics={
            "tables_defined": int(definitions.tables["definition"].is_not_null().sum()),
            "columns_defined": int(definitions.columns["definition"].is_not_null().sum()),
            **{f"tables_from_{source}": sources.get(source, 0) for source in ("human", "database", "model", "derived")},
            "columns_inherited": int((definitions.columns["definition_source"] == "inherited").sum()),
            "unmatched_entries": len(definitions.unmatched),
            "problems": len(model.problems) if model else 0,
            **writing.model_metrics(model),
        },
        tables={"table_definitions": _head(shown), **writing.model_tables(model)},
        problems=model.problems if model else (),
        warnings=definitions.unmatched,
        checks=(
            _check("human_entries_match_catalog", "Every human entry names an existing object", definitions.unmatched),
            writing.budget_check(model),
        ),
        output=state.output,
    )


def knowledge_graph(run: PipelineRun) -> StageReport:
    """Extract the exact knowledge graph of tables, views, columns and their relationships."""
    upstream = require_stages(run.store, SNAPSHOT, SAMPLES, RELATIONS, DEFINITIONS)
    samples = handover.samples_from(upstream[SAMPLES])
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    relations = handover.relations_from(upstream[RELATIONS])
    entities, edges = build_graph(
        catalog, samples.profiles, relations, handover.definitions_from(upstream[DEFINITIONS])
    )
    previous = read_previous(run.store)
    graph = KnowledgeGraph(entities, edges, extend_ids(previous.ids if previous else None, graph_keys(entities, edges)))
    findings = check_graph(catalog, relations, graph)
    if findings:
        raise ContractViolation(
            f"the knowledge graph contradicts the catalog in {len(findings)} places, first: {findings[0]}",
            where=run.config.name,
            fix="Nothing was published; this is a defect of the product, please report it.",
        )
    state = save_stage(run.store, GRAPH, *handover.graph_parts(graph), _outputs(upstream))
    return StageReport(
        GRAPH,
        metrics={"entities": entities.height, "edges": edges.height, "stubs": int(entities["is_stub"].sum())},
        tables={"edges_by_type": edges["type"].value_counts().sort("type")},
        checks=(_check("graph_equals_catalog", "Every edge has both ends and the graph equals the catalog", findings),),
        output=state.output,
    )


def published_dictionary(run: PipelineRun) -> StageReport:
    """Build the bundle, verify it and publish it atomically."""
    upstream = require_stages(run.store, SNAPSHOT, SAMPLES, RELATIONS, DEFINITIONS, GRAPH)
    previous = read_previous(run.store)
    sealed = withholding.require_sealed(run.store, upstream[SAMPLES].output)
    drift = drifting.record_drift(run, upstream[SNAPSHOT], upstream[SAMPLES], previous, sealed)
    with tempfile.TemporaryDirectory(prefix="dictionary-bundle-") as staging:
        bundle = build_bundle(Path(staging), bundle_inputs(run.config, upstream, previous, drift.files))
        findings = verify(bundle, sealed)
        gates = _gates(findings)
        try:
            require_verified(findings, run.config.name)
        except ContractViolation as refusal:
            raise Refused(refusal, gates) from None
        if run.lease is None:
            outcome, tables = _plan(run, bundle, previous)
        else:
            if previous is None and run.shared is not None and run.config.publish.azure:
                list_database(run.shared, run.config.name)
            outcome, tables = _publish(run, bundle, run.lease)
            drifting.keep_baseline(run.store, upstream[SNAPSHOT], bundle.files)
    facts = bundle.facts
    return StageReport(
        PUBLISHED,
        metrics={
            **outcome,
            **drift.metrics(),
            "files": len(bundle.files),
            "bytes": sum(info.bytes for info in bundle.files.values()),
            "complete": facts.complete,
            "problems": len(facts.problems),
            "location": run.store.location,
        },
        tables=drift.tables() | tables,
        problems=facts.problems,
        warnings=(*drift.drift.notes, *(_kept_after_purge(run.store) if outcome.get("objects_purged") else ())),
        checks=(
            *gates,
            _check("dictionary_is_complete", "Every object could be described", facts.problems),
            drift.check(),
        ),
        output=jsontext.digest({path: info.sha256 for path, info in bundle.files.items()}),
    )


def _kept_after_purge(store: Store) -> tuple[str, ...]:
    """A warning when the service itself keeps what a purge deleted."""
    kept = store.kept_after_deletion() if isinstance(store, BatchStore) else None
    return (f"{kept}: values that were purged can still be restored there.",) if kept else ()


def _gates(findings: Sequence[Finding]) -> tuple[Check, ...]:
    leaks = [finding for finding in findings if finding.check == PRIVACY]
    others = [finding for finding in findings if finding.check != PRIVACY]
    return (
        _check("bundle_is_valid", "Every file keeps the published contract", others),
        _check("no_sensitive_values_published", "No value of a withheld column stands in any file", leaks),
    )


Outcome = tuple[dict[str, int | float | str | bool], dict[str, pl.DataFrame]]
"""Metrics and tables of a publish."""


def _publish(run: PipelineRun, bundle: Bundle, lease: Lease) -> Outcome:
    report = publish(
        run.store,
        bundle,
        run_id=run.run_id,
        lease=lease,
        now=datetime.now(UTC),
        plain=run.config.publish.plain_folders,
        thorough=run.options.forces("all"),
    )
    outcome: dict[str, int | float | str | bool] = {
        "status": report.status,
        "objects_written": report.objects_written,
        "objects_purged": report.objects_purged,
        "plain_files_written": report.plain_written,
        "plain_files_deleted": report.plain_deleted,
    }
    return outcome, {"changed_files": _head(_file_changes(report.changes))}


def _plan(run: PipelineRun, bundle: Bundle, previous: PreviousBundle | None) -> Outcome:
    changes = _file_changes(plan_publish(run.store, bundle))
    differences = compare_bundles(previous, bundle)
    outcome: dict[str, int | float | str | bool] = {
        "status": "dry run, nothing written",
        "files_would_change": changes.height,
        "definitions_would_change": differences.definitions.height,
        "relationships_would_change": differences.relationships.height,
    }
    tables = {"files": changes, "definitions": differences.definitions, "relationships": differences.relationships}
    return outcome, {f"changed_{name}": frame for name, frame in tables.items()}


def _file_changes(changes: Changes) -> pl.DataFrame:
    rows = [(kind, path) for kind in ("added", "changed", "removed") for path in getattr(changes, kind)]
    return pl.DataFrame(rows, schema={"change": pl.String(), "path": pl.String()}, orient="row")


STAGES: tuple[StageSpec, ...] = (
    StageSpec(SNAPSHOT, schema_snapshot, ("catalog_is_complete",)),
    StageSpec(SAMPLES, column_samples, ("tables_were_sampled",)),
    StageSpec(RELATIONS, relationship_graph, RELATION_CHECKS),
    StageSpec(DEFINITIONS, entity_definitions, ("human_entries_match_catalog", writing.BUDGET_CHECK)),
    StageSpec(GRAPH, knowledge_graph, ("graph_equals_catalog",)),
    StageSpec(
        PUBLISHED,
        published_dictionary,
        ("bundle_is_valid", "no_sensitive_values_published", "dictionary_is_complete", drifting.BREAKING_CHECK),
    ),
)


def _previous_samples(run: PipelineRun) -> SampleResult | None:
    """Last samples, unless they are to be recomputed from nothing."""
    if run.options.forces("samples"):
        return None
    state = load_stage(run.store, SAMPLES)
    return handover.samples_from(state) if state else None


def _outputs(upstream: Mapping[str, StageState]) -> dict[str, str]:
    return {name: state.output for name, state in upstream.items()}


def _head(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.head(MAX_TABLE_ROWS)


def _counts(values: pl.Series) -> dict[str, int]:
    return dict(values.value_counts().iter_rows())


def _check(name: str, question: str, findings: Sequence[Any]) -> Check:
    """A passed check says what holds; a failed one what was found first."""
    if not findings:
        return Check(name, True, f"{question}.")
    first = findings[0]
    match first:
        case Problem():
            shown = f"{first.object}: {first.message}"
        case Finding():
            shown = f"{first.path}: {first.message}"
        case _:
            shown = str(first)
    return Check(name, False, f"{question}: no, first of {len(findings)}: {shown}", len(findings))
