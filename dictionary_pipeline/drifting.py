"""Drift of a run: what changed since the current manifest, and the log that the next one publishes.

The baseline is what the current manifest describes, so a run that failed loses no change. The
moment of detection is kept in the state before anything is published: a retry of a killed run
writes the same bytes, and once the manifest is swapped there is nothing left to detect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import handover, jsontext
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.diffing import Outcome, Side, catalog_of, compare
from dictionary_pipeline.drift.acks import acknowledged
from dictionary_pipeline.drift.carrying import carried
from dictionary_pipeline.drift.diff import Profiles, compare_catalogs
from dictionary_pipeline.drift.holding import Pending
from dictionary_pipeline.drift.log import appended, is_log, rewritten
from dictionary_pipeline.drift.model import SEVERITIES, Drift
from dictionary_pipeline.drift.record import Detection, Entry, Step, entries_of, moment
from dictionary_pipeline.drift.trust import judge
from dictionary_pipeline.introspection.hidden import hide_columns
from dictionary_pipeline.introspection.selection import select
from dictionary_pipeline.publishing.manifest import FileInfo
from dictionary_pipeline.publishing.previous import PreviousBundle, read_object
from dictionary_pipeline.publishing.scrub import MASK, scrub_catalog, scrub_prose
from dictionary_pipeline.publishing.sealed import Recogniser, Sealed
from dictionary_pipeline.renaming import rename_patch, renames_of
from dictionary_pipeline.report import MAX_TABLE_ROWS, Check
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.sampling.privacy import hidden_of
from dictionary_pipeline.sampling.sample import SampleResult
from dictionary_pipeline.state import StageState, load_stage, save_stage
from dictionary_pipeline.store import Store

BREAKING_CHECK = "no_breaking_drift"
_BASELINE = "drift_baseline"
_CARRIED = "carried"
"""Fact of a baseline that is not the catalog as it was read."""
_DETECTIONS = ".state/drift_detections.json"
_FORMAT = 1
_MAX_REPORT = 12_000
_QUOTING = frozenset(
    {"default_changed", "check_changed", "view_definition_changed", "comment_changed", "generated_changed"}
)
"""Kinds whose before and after are texts that can quote values."""
_LABELS = frozenset({"enum_value_added", "enum_value_removed"})


@dataclass(frozen=True)
class Recorded:
    """The drift of one run."""

    drift: Drift
    entries: tuple[Entry, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Path in the bundle -> content, of every month of the log."""
    held: Pending | None = None
    """Why the published bundle is to stay as it is until somebody acknowledges; null: nothing holds."""
    patch: str = ""
    """Edit of the database's YAML file that follows its renames."""
    carried: Catalog | None = None
    """What the next comparison starts from, where something is in doubt."""

    def hold_warnings(self, database: str, *, is_held: bool) -> tuple[str, ...]:
        """What is to be said of breaking changes that hold the published bundle, or were to hold it."""
        if self.held is None:
            return ()
        if not is_held:
            return ("breaking changes were not held: a column is newly withheld, so the old dictionary had to go",)
        return (
            f"the old dictionary stays published: breaking changes wait since {self.held.since}; "
            f"`data_dictionary drift {database}` lists them, "
            f"`data_dictionary drift ack {database} --all --reason TEXT` lets the next run publish them",
        )

    def metrics(self) -> dict[str, int]:
        """How many changes there are, and of the severities that matter."""
        found = [change.severity for change in self.drift.changes]
        return {
            "drift_changes": len(found),
            "drift_breaking": found.count("breaking"),
            "drift_risky": found.count("risky"),
        }

    def tables(self) -> dict[str, pl.DataFrame]:
        """The changes, worst first."""
        rows = [
            (change.severity, change.kind, change.object, change.before, change.after, ", ".join(change.consumers))
            for change in self.drift.changes[:MAX_TABLE_ROWS]
        ]
        names = ("severity", "change", "object", "before", "after", "used_by")
        return {"drift": pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")}

    def texts(self) -> dict[str, str]:
        """The drift report as Markdown, cut at a line; nothing where nothing changed."""
        if not self.drift.changes:
            return {}
        lines, room = [], _MAX_REPORT
        for line in Outcome("", "", self.drift, self.patch).markdown():
            room -= len(line) + 1
            if room < 0:
                lines.append(f"\n... cut; `data_dictionary drift` lists all {len(self.drift.changes)} changes.")
                break
            lines.append(line)
        return {"drift_report": "\n".join(lines)}

    def check(self) -> Check:
        """Whether nothing broke that readers relied on."""
        breaking = [change for change in self.drift.changes if change.severity == SEVERITIES[0]]
        if not breaking:
            return Check(BREAKING_CHECK, True, "Nothing changed since the last publish that breaks queries or joins.")
        first = f"{breaking[0].kind} {breaking[0].object}"
        text = f"Nothing changed that breaks queries or joins: no, first of {len(breaking)}: {first}"
        return Check(BREAKING_CHECK, False, text, len(breaking))


def record_drift(
    run: PipelineRun, snapshot: StageState, samples: StageState, previous: PreviousBundle | None, sealed: Sealed
) -> Recorded:
    """Compare the snapshot with what is published, and continue the log.

    Args:
        snapshot: State of `schema_snapshot`.
        samples: State of `column_samples`, whose verdicts say which texts may be shown.
        previous: The published bundle; without one there is no drift.
        sealed: Values of withheld columns, which no text may show.
    """
    if previous is None:
        return Recorded(Drift(()))
    catalog, result = handover.catalog_from(snapshot), handover.samples_from(samples)
    kept = _carried_over(run.store, previous, result.sensitivity, sealed)
    if previous.manifest.retired is not None:
        return Recorded(Drift(()), files=kept)  # what is published may be of another database
    compared = _compared(run, catalog, result, previous, sealed)
    drift = compared.drift
    entries = _entries(run, drift, Step(previous.manifest.schema_fingerprint, catalog.fingerprint), previous)
    return Recorded(
        drift,
        entries,
        appended(kept, entries),
        _held(run, drift, entries, catalog.fingerprint, previous.manifest.pending),
        _shown_patch(rename_patch(run.config.file, renames_of(drift.changes)), sealed),
        compared.carried,
    )


def _shown_patch(patch: str, sealed: Sealed) -> str:
    """The proposed edit, unless the lines around it quote a value that nothing may show."""
    return patch if Recogniser(sealed).masked(patch, MASK) == patch else ""


def _held(
    run: PipelineRun, drift: Drift, entries: tuple[Entry, ...], fingerprint: str | None, waiting: Pending | None
) -> Pending | None:
    """What holds the published bundle, where breaking drift is to be acknowledged first."""
    settings = run.config.drift
    if settings.on_breaking != "hold" and not (drift.suspicious and settings.on_suspicious == "hold"):
        return None
    if waiting is not None and not drift.authoritative:
        entries, fingerprint = waiting.entries, waiting.schema_fingerprint  # nobody knows that they are undone
    known = acknowledged(run.store)
    if all(entry.severity != SEVERITIES[0] or entry.key in known for entry in entries):
        return None
    if waiting is not None and (waiting.entries, waiting.schema_fingerprint) == (entries, fingerprint):
        return waiting
    return Pending(min(entry.detected_at for entry in entries), run.run_id, fingerprint, entries)


def keep_baseline(store: Store, snapshot: StageState, files: Mapping[str, FileInfo], carried: Catalog | None) -> None:
    """Keep the catalog behind a publish for the next comparison: it holds more than the bundle does.

    Losing it, or dying before it is kept, costs precision only: the bundle itself is the baseline then.

    Args:
        carried: What the next comparison is to start from instead, where something is in doubt.
    """
    key = _baseline_key(snapshot.facts["fingerprint"], files)
    known = load_stage(store, _BASELINE, only=())
    if carried is None and known is not None and known.inputs == key and not known.facts.get(_CARRIED):
        return
    catalog = handover.catalog_from(snapshot) if carried is None else carried
    frames, facts = handover.catalog_parts(replace(catalog, probe=None))
    save_stage(store, _BASELINE, frames, facts | ({_CARRIED: True} if carried is not None else {}), key)


class _Compared(NamedTuple):
    """The drift, and what the next comparison starts from where something is in doubt."""

    drift: Drift
    carried: Catalog | None = None


def _compared(
    run: PipelineRun, catalog: Catalog, samples: SampleResult, previous: PreviousBundle, sealed: Sealed
) -> _Compared:
    manifest, settings = previous.manifest, run.config.drift
    is_same = manifest.schema_fingerprint is not None and manifest.schema_fingerprint == catalog.fingerprint
    if is_same and manifest.complete:
        return _Compared(Drift(()))

    def shown(side: Catalog) -> Catalog:
        # What the configuration no longer selects is not gone from the database.
        selection = run.config.selection
        chosen = hide_columns(select(side, selection), selection.columns)
        return scrub_catalog(replace(chosen, problems=side.problems), samples.sensitivity, sealed)

    kept = load_stage(run.store, _BASELINE)
    is_kept = kept is not None and kept.inputs == _baseline_key(manifest.schema_fingerprint, manifest.files)
    if is_same and not (is_kept and kept is not None and kept.facts.get(_CARRIED)):
        return _Compared(Drift(()))
    after = scrub_catalog(catalog, samples.sensitivity, sealed)
    if kept is not None and is_kept:
        profiles = Profiles(previous.value_profiles, samples.profiles) if previous.value_profiles is not None else None
        before = shown(handover.catalog_from(kept))
        drift = compare_catalogs(before, after, settings=settings, human=run.config.human, profiles=profiles)
        return _Compared(drift, carried(before, after, judge(before, after, settings)))
    published = Side(run.config.name, shown(catalog_of(previous)), is_bundle=True, profiles=previous.value_profiles)
    return _Compared(compare(published, Side(run.config.name, after, False, samples.profiles, run.config)).drift)


def _baseline_key(fingerprint: str | None, files: Mapping[str, FileInfo]) -> dict[str, str]:
    """Names the published catalog that a kept one belongs to."""
    catalog = {path: info.sha256 for path, info in files.items() if path.startswith("catalog/")}
    return {"published": jsontext.digest([fingerprint, catalog])}


def _entries(run: PipelineRun, drift: Drift, step: Step, previous: PreviousBundle) -> tuple[Entry, ...]:
    """Entries of all changes; new ones are detected now, which is kept before anything is published."""
    if not drift.changes:
        return ()
    seen = _detections(run.store, previous.sha256)
    now = Detection(moment(datetime.now(UTC)), run.run_id)
    held = previous.manifest.pending
    entries = entries_of(drift.changes, step, now, seen, held.entries if held else ())
    found = {entry.step_key: Detection(entry.detected_at, entry.run_id) for entry in entries}
    if found != seen:
        document = {"format": _FORMAT, "manifest": previous.sha256, "detections": found}
        run.store.write(_DETECTIONS, jsontext.pretty(document).encode())
    return entries


def _detections(store: Store, manifest: str) -> dict[str, Detection]:
    """What an earlier run detected against the same manifest; nothing when that was lost or damaged."""
    data = store.read(_DETECTIONS)
    try:
        document = json.loads(data) if data is not None else None
        if document is None or (document["format"], document["manifest"]) != (_FORMAT, manifest):
            return {}
        return {key: Detection(str(when), str(who)) for key, (when, who) in document["detections"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _carried_over(
    store: Store, previous: PreviousBundle, sensitivity: pl.DataFrame, sealed: Sealed
) -> dict[str, bytes]:
    """Every month published so far, without what shows a value that is withheld by now."""
    months = {path: read_object(store, info) for path, info in previous.manifest.files.items() if is_log(path)}
    hidden = hidden_of(sensitivity)
    if not months or hidden.is_empty():
        return months
    names = set(hidden.select("schema", "table", "column").iter_rows())
    columns = {name[2].casefold() for name in names}
    recogniser = Recogniser(sealed)

    def cleaned(entry: Entry) -> Entry:
        texts = [entry.before, entry.after]
        is_hidden = (entry.schema, entry.table, entry.column) in names
        if entry.kind in _LABELS and is_hidden:
            texts = [MASK if text else text for text in texts]
        elif entry.kind in _QUOTING:
            mentioned = is_hidden or any(column in text.casefold() for text in texts for column in columns)
            if mentioned:
                texts = [scrub_prose(text) for text in texts]
        before, after = (recogniser.masked(text, MASK) for text in texts)
        return replace(entry, before=before, after=after)

    return {path: rewritten(content, cleaned) for path, content in months.items()}
