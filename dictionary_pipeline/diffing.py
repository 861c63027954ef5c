"""`data_dictionary diff`: what differs between two published bundles or two databases."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from dictionary_pipeline import frames, jsontext
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.config.drift_settings import DriftSettings
from dictionary_pipeline.config.loader import load_project
from dictionary_pipeline.config.predecessor import ENGINES
from dictionary_pipeline.config.resolved import DatabaseConfig, Selection
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.drift.diff import Profiles, compare_catalogs
from dictionary_pipeline.drift.model import SEVERITIES, Change, Drift, Facts, Severity
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.handover import SAMPLES
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.manifest import MANIFEST_KEY
from dictionary_pipeline.publishing.previous import PreviousBundle, read_previous
from dictionary_pipeline.renaming import rename_patch, renames_of
from dictionary_pipeline.run import database_store
from dictionary_pipeline.state import load_stage
from dictionary_pipeline.suggestions import closest
from dictionary_pipeline.terminal import complain, say
from dictionary_pipeline.withholding import scrub_known

EXIT_CODES: dict[Severity | None, int] = {None: 0, "cosmetic": 4, "safe": 4, "risky": 5, "breaking": 6}
PARTIAL = 3
"""Exit code where nothing was found but not everything could be compared."""
_LONGEST = 100
_NAME = re.compile(r"[\w-]+")
_FENCE = "~" * 8
_MOST_PROBLEMS = 20
_PUBLISHED = Facts(checks=False, rules=False)
"""What published frames hold of a catalog."""


@dataclass(frozen=True)
class Side:
    """One of the two things compared."""

    label: str
    catalog: Catalog
    is_bundle: bool
    profiles: pl.DataFrame | None = None
    config: DatabaseConfig | None = None
    """Of a configured database."""


@dataclass(frozen=True)
class Outcome:
    """Everything `diff` tells."""

    before: str
    after: str
    drift: Drift
    patch: str = ""
    """Edit of the database's YAML file that follows its renames."""

    @property
    def exit_code(self) -> int:
        """0 none, 4 only safe or cosmetic, 5 risky, 6 breaking; 3 none found, but part could not be compared."""
        code = EXIT_CODES[self.drift.worst]
        return PARTIAL if code == 0 and not self.drift.authoritative else code

    def counts(self) -> dict[Severity, int]:
        """How many changes there are of each severity."""
        found = Counter(change.severity for change in self.drift.changes)
        return {severity: found[severity] for severity in SEVERITIES}

    def summary(self) -> str:
        """One line."""
        changes = self.drift.changes
        if not changes:
            return "no difference"
        counted = ", ".join(f"{count} {severity}" for severity, count in self.counts().items() if count)
        return f"{len(changes)} change{'' if len(changes) == 1 else 's'}: {counted}"

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        drift = self.drift
        return {
            "before": self.before,
            "after": self.after,
            "worst": drift.worst,
            "authoritative": drift.authoritative,
            "suspicious": drift.suspicious,
            "notes": list(drift.notes),
            "counts": self.counts(),
            "proposed_edit": self.patch,
            "changes": [{**asdict(change), "consumers": list(change.consumers)} for change in drift.changes],
        }

    def lines(self) -> Iterator[str]:
        """For people."""
        yield self.summary()
        for change in self.drift.changes:
            yield f"{change.severity:<9} {change.kind:<24} {_plain(change.object)}{_shown(change)}"
            if change.reason:
                yield f"          {_plain(change.reason)}"
            if change.consumers:
                yield f"          used by {_plain(', '.join(change.consumers), 10 * _LONGEST)}"
        yield from edit_lines(self.patch)

    def markdown(self) -> Iterator[str]:
        """For pull requests and messages."""
        yield f"**{self.summary()}**"
        if not self.drift.changes:
            return
        yield ""
        yield "| severity | change | object | before | after | used by |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for change in self.drift.changes:
            cells = (
                *(change.severity, change.kind, change.object, change.before, change.after),
                ", ".join(change.consumers),
            )
            yield "| " + " | ".join(_cell(cell) for cell in cells) + " |"
        if self.patch:
            yield from ("", "Proposed edit:", "", f"{_FENCE}diff", *map(printable, self.patch.splitlines()), _FENCE)


def show_diff(before: str, after: str, *, project: Path | None, as_json: bool, as_markdown: bool) -> int:
    """`diff`: compare, print, and return the exit code.

    Raises:
        ConfigurationError: both formats are wanted, or a target means nothing.
        DictionaryError: a side cannot be read.
    """
    if as_json and as_markdown:
        raise ConfigurationError("--json and --markdown exclude each other", fix="Choose one.")
    outcome = compare(read_side(before, project), read_side(after, project))
    if as_json:
        say(json.dumps(outcome.as_json(), ensure_ascii=False, indent=1))
    else:
        for line in outcome.markdown() if as_markdown else outcome.lines():
            say(line)
    for note in outcome.drift.notes:
        complain("warning", note)
    return outcome.exit_code


def compare(before: Side, after: Side) -> Outcome:
    """Compare two sides by the facts that both hold."""
    bundled = before.is_bundle or after.is_bundle
    facts = _PUBLISHED if bundled else Facts()
    catalogs = [_as_published(side.catalog) if bundled else side.catalog for side in (before, after)]
    profiles = None
    if before.profiles is not None and after.profiles is not None:
        profiles = Profiles(before.profiles, after.profiles)
    config = after.config or before.config
    drift = compare_catalogs(
        *catalogs,
        settings=config.drift if config else DriftSettings(),
        human=config.human if config else None,
        profiles=profiles,
        facts=facts,
    )
    fingerprints = (before.catalog.fingerprint, after.catalog.fingerprint)
    if bundled and not drift.changes and None not in fingerprints and fingerprints[0] != fingerprints[1]:
        note = (
            "the fingerprints differ although no published fact does: CHECK constraints, names of constraints or rules "
            "of foreign keys changed, which a bundle does not hold; compare two databases to see them"
        )
        drift = replace(drift, notes=(*drift.notes, note))
    patch = rename_patch(config.file, renames_of(drift.changes)) if config else ""
    return Outcome(before.label, after.label, drift, patch)


def read_side(target: str, project: Path | None) -> Side:
    """A bundle's folder, the name of a configured database, or a database given as in `build`.

    Args:
        target: As on the command line.
        project: The project folder, whose databases may be named and whose severities hold for them.

    Raises:
        ConfigurationError: it is a folder without a bundle, or means nothing.
        DictionaryError: it cannot be read.
    """
    folder = Path(target)
    configured = load_project(project).databases if project is not None else {}
    if folder.is_dir():
        ours = (config for config in configured.values() if project is not None and _lies_in(config, project, folder))
        return _bundle(folder, next(ours, None))
    config = None if folder.exists() else configured.get(target)
    near = closest(target, configured)
    if near and config is None and not folder.exists() and _NAME.fullmatch(target) and target.lower() not in ENGINES:
        raise ConfigurationError(f"no database is configured under the name {target!r}", fix=f"Did you mean {near!r}?")
    spec, name = (config.connection, target) if config else resolve_target(target, folder=project)
    engine = create_engine(spec)
    with engine.open() as session:
        catalog = take_snapshot(engine, session, config.selection if config else Selection())
    if config is not None and project is not None:
        store = database_store(config, project)
        catalog = scrub_known(catalog, config, store, load_stage(store, SAMPLES, only=("sensitivity",)))
    for warning in engine.warnings:
        complain("warning", warning)
    for problem in catalog.problems[:_MOST_PROBLEMS]:
        complain("warning", f"{problem.object}: {problem.message}. {problem.hint}")
    # A URL can hold a password, so the label of a database is its name.
    return Side(name, catalog, is_bundle=False, config=config)


def _lies_in(config: DatabaseConfig, project: Path, folder: Path) -> bool:
    """Whether a database's dictionary is published to a folder."""
    target = config.publish
    return target.azure is None and (project / target.root / config.name).resolve() == folder.resolve()


def _bundle(folder: Path, config: DatabaseConfig | None) -> Side:
    published = read_previous(LocalStore(folder))
    if published is None:
        raise ConfigurationError(
            "the folder holds no published dictionary",
            where=str(folder),
            fix=f"Name the folder of one database, in which {MANIFEST_KEY} lies.",
        )
    return Side(str(folder), catalog_of(published), is_bundle=True, profiles=published.value_profiles, config=config)


def catalog_of(published: PreviousBundle) -> Catalog:
    """As much of the catalog as a bundle's frames hold.

    CHECK constraints, rules of foreign keys and privileges are not published; enum labels are, as
    allowed values, unless their column is withheld.
    """
    found = {name: published.frame(f"catalog/{name}.parquet") for name in FRAME_SCHEMAS if name != "checks"}
    relationships = published.frame("catalog/relationships.parquet")
    given = {name: frame for name, frame in found.items() if frame is not None}
    if "keys" in given:
        given["keys"] = given["keys"].filter(pl.col("origin") == "declared")
    if relationships is not None:
        given["foreign_keys"] = relationships.filter(pl.col("origin") == "declared")
    if "columns" in given and published.value_profiles is not None:
        labels = _labels(published.value_profiles)
        given["columns"] = given["columns"].join(labels, on=["schema", "table", "column"], how="left")
    fitted: dict[str, Any] = {
        name: frames.fit(given.get(name, frames.empty(schema)), schema, sort_by=order)
        for name, (schema, order) in FRAME_SCHEMAS.items()
    }
    manifest = published.manifest
    return Catalog(
        identity=Identity(manifest.engine),
        **fitted,
        problems=manifest.problems,
        fingerprint=manifest.schema_fingerprint,
        complete=manifest.complete,
    )


def _labels(profiles: pl.DataFrame) -> pl.DataFrame:
    """Enum labels from the published allowed values."""
    enums = profiles.filter(pl.col("allowed_values_origin") == "enum", pl.col("allowed_values").is_not_null())
    decoded = [[jsontext.loads_strict(text.encode()) for text in texts] for texts in enums["allowed_values"].to_list()]
    series = pl.Series("enum_values", decoded, dtype=pl.List(pl.String))
    return enums.select("schema", "table", "column").with_columns(series)


def _as_published(catalog: Catalog) -> Catalog:
    """A catalog without what published frames do not hold, so that it compares to them."""
    nothing = pl.lit(None, dtype=pl.String)
    return replace(
        catalog,
        checks=frames.empty(frames.CHECKS),
        foreign_keys=catalog.foreign_keys.with_columns(to_database=nothing),
    )


def _shown(change: Change) -> str:
    before, after = _plain(change.before), _plain(change.after)
    sure = f" (confidence {change.confidence:.2f})" if change.confidence < 1 else ""
    if before and after:
        return f": {before} -> {after}{sure}"
    return f": {before or after}" if before or after else ""


def _plain(text: str, longest: int = _LONGEST) -> str:
    """One line that cannot steer a terminal, cut where it is long."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def printable(text: str) -> str:
    """A text that cannot steer a terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def edit_lines(patch: str) -> Iterator[str]:
    """A proposed edit for people; nothing where there is none."""
    if patch:
        yield "proposed edit of what people wrote; save it and apply it with `git apply` or `patch -p1`:"
        yield from map(printable, patch.splitlines())


def _cell(text: str) -> str:
    """Text of a Markdown table: no name may end the cell, become HTML, or load a picture."""
    shown = _plain(text).replace("\\", "\\\\").replace("<", "&lt;")
    for sign in "|`[":
        shown = shown.replace(sign, f"\\{sign}")
    return shown
