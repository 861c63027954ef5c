"""Sixth stage: build, verify and publish the bundle."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from dictionary_pipeline import drifting, jsontext, withholding
from dictionary_pipeline.bundling import bundle_inputs
from dictionary_pipeline.drift.holding import Pending
from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.handover import DEFINITIONS, GRAPH, PUBLISHED, RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.publishing.bundle import Bundle, build_bundle
from dictionary_pipeline.publishing.differences import compare_bundles
from dictionary_pipeline.publishing.hold import hold
from dictionary_pipeline.publishing.index import list_database
from dictionary_pipeline.publishing.lease import Lease
from dictionary_pipeline.publishing.manifest import read_manifest
from dictionary_pipeline.publishing.previous import PreviousBundle, read_previous
from dictionary_pipeline.publishing.publish import Changes, plan_publish, publish
from dictionary_pipeline.publishing.purge import must_purge
from dictionary_pipeline.publishing.verify import (
    PRIVACY,
    Finding,
    remember_accepted,
    require_verified,
    verify,
    was_accepted,
)
from dictionary_pipeline.report import HELD, Check, Refused, StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.stages.hand_edits import hand_edit_warnings, hand_edited
from dictionary_pipeline.stages.shared import check, head
from dictionary_pipeline.state import require_stages
from dictionary_pipeline.store import BatchStore, Store
from dictionary_pipeline.verified import record_run


def published_dictionary(run: PipelineRun) -> StageReport:
    """Build the bundle, verify it and publish it atomically."""
    upstream = require_stages(run.store, SNAPSHOT, SAMPLES, RELATIONS, DEFINITIONS, GRAPH)
    previous = read_previous(run.store)
    sealed = withholding.require_sealed(run.store, upstream[SAMPLES].output)
    drift = drifting.record_drift(run, upstream[SNAPSHOT], upstream[SAMPLES], previous, sealed)
    with tempfile.TemporaryDirectory(prefix="dictionary-bundle-") as staging:
        bundle = build_bundle(Path(staging), bundle_inputs(run.config, upstream, previous, drift.files))
        is_known = was_accepted(run.store, bundle, sealed) and not run.options.forces("all")
        findings = () if is_known else verify(bundle, sealed)
        gates = _gates(findings)
        try:
            require_verified(findings, run.config.name)
        except ContractViolation as refusal:
            raise Refused(refusal, gates) from None
        remember_accepted(run.store, bundle, sealed)
        unrecorded: tuple[str, ...] = ()
        if run.lease is None:
            outcome, tables = _plan(run, bundle, previous, drift)
        elif (held := _held(run, bundle, drift)) is not None:
            # Not verified: the published dictionary is not what the database is.
            edited = hold(run.store, held, run.lease, plain=run.config.publish.plain_folders)
            outcome, tables = {"status": HELD}, hand_edited(edited, run.config.name, purged=False)
        else:
            if previous is None and run.shared is not None and run.config.publish.azure:
                list_database(run.shared, run.config.name)
            outcome, tables = _publish(run, bundle, run.lease)
            drifting.keep_baseline(run.store, upstream[SNAPSHOT], bundle.files, drift.carried)
            unrecorded = record_run(run, upstream)
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
        texts=drift.texts(),
        problems=facts.problems,
        warnings=(
            *drift.drift.notes,
            *drift.hold_warnings(run.config.name, is_held=run.lease is None or outcome["status"] == HELD),
            *(_kept_after_purge(run.store) if outcome.get("objects_purged") else ()),
            *unrecorded,
            *hand_edit_warnings(tables),
        ),
        checks=(
            *gates,
            check("dictionary_is_complete", "Every object could be described", facts.problems),
            drift.check(),
        ),
        output=jsontext.digest({path: info.sha256 for path, info in bundle.files.items()}),
    )


def _held(run: PipelineRun, bundle: Bundle, drift: drifting.Recorded) -> Pending | None:
    """What holds the bundle; nothing where values that are newly withheld must go: privacy wins."""
    if drift.held is None or must_purge(run.store, bundle, read_manifest(run.store)):
        return None
    return drift.held


def _kept_after_purge(store: Store) -> tuple[str, ...]:
    """A warning when the service itself keeps what a purge deleted."""
    kept = store.kept_after_deletion() if isinstance(store, BatchStore) else None
    return (f"{kept}: values that were purged can still be restored there.",) if kept else ()


def _gates(findings: Sequence[Finding]) -> tuple[Check, ...]:
    leaks = [finding for finding in findings if finding.check == PRIVACY]
    others = [finding for finding in findings if finding.check != PRIVACY]
    return (
        check("bundle_is_valid", "Every file keeps the published contract", others),
        check("no_sensitive_values_published", "No value of a withheld column stands in any file", leaks),
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
    tables = {"changed_files": head(_file_changes(report.changes))}
    return outcome, tables | hand_edited(report.hand_edited, run.config.name, purged=bool(report.objects_purged))


def _plan(run: PipelineRun, bundle: Bundle, previous: PreviousBundle | None, drift: drifting.Recorded) -> Outcome:
    changes = _file_changes(plan_publish(run.store, bundle))
    differences = compare_bundles(previous, bundle)
    outcome: dict[str, int | float | str | bool] = {
        "status": "dry run, nothing written",
        "files_would_change": changes.height,
        "definitions_would_change": differences.definitions.height,
        "relationships_would_change": differences.relationships.height,
        "would_hold": drift.held is not None,
    }
    tables = {"files": changes, "definitions": differences.definitions, "relationships": differences.relationships}
    return outcome, {f"changed_{name}": frame for name, frame in tables.items()}


def _file_changes(changes: Changes) -> pl.DataFrame:
    rows = [(kind, path) for kind in ("added", "changed", "removed") for path in getattr(changes, kind)]
    return pl.DataFrame(rows, schema={"change": pl.String(), "path": pl.String()}, orient="row")
