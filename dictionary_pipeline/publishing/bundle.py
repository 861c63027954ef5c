"""The bundle: every file of a published dictionary, staged on the local disk."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from dictionary_pipeline.problems import Problem, sorted_unique
from dictionary_pipeline.publishing.catalog_frames import FOLDER, build_catalog_frames
from dictionary_pipeline.publishing.inputs import BundleInputs, without_withheld
from dictionary_pipeline.publishing.manifest import FileInfo, Limit
from dictionary_pipeline.publishing.schema_store import foreign_identity, stage_schema_store
from dictionary_pipeline.publishing.search.definitions import definition_files
from dictionary_pipeline.publishing.staging import StagedContent, Staging
from dictionary_pipeline.publishing.value_store import ValueStoreResult, stage_value_store

__all__ = ["Bundle", "BundleFacts", "BundleInputs", "Stub", "build_bundle"]


@dataclass(frozen=True)
class BundleFacts:
    """What the manifest says beside the files."""

    database: str
    engine: str
    schema_fingerprint: str | None
    probe: str | None
    complete: bool
    """Every object could be handled: no problems, and the catalog was read whole."""
    problems: tuple[Problem, ...]
    counts: Mapping[str, int]
    limits: tuple[Limit, ...]


class Stub(NamedTuple):
    """An object outside the selection, unreadable or in another database."""

    schema: str
    table: str
    fqn: str


@dataclass(frozen=True)
class Bundle:
    """A built bundle."""

    content: StagedContent
    files: Mapping[str, FileInfo]
    """Published path -> hash and size."""
    facts: BundleFacts
    stubs: frozenset[Stub]
    """Objects that relationships may name though they have no file."""

    def read(self, path: str) -> bytes:
        """Content of one file; KeyError when the bundle has none of that name."""
        return self.content.require(self.files[path].sha256)

    def frame(self, path: str) -> pl.DataFrame:
        """One Parquet file; KeyError when the bundle has none of that name."""
        return pl.read_parquet(io.BytesIO(self.read(path)))


DEFINITION_SOURCES = ("human", "database", "inherited", "model", "derived", "none")
"""Where definitions come from, the most trusted first; counted in the manifest as `definitions_<source>`."""


def build_bundle(staging: Path, inputs: BundleInputs) -> Bundle:
    """Build all files of a bundle.

    Args:
        staging: Empty local folder; keep it until the bundle is published.
        inputs: Results of all stages.

    Returns:
        The bundle; the same inputs give the same bytes.
    """
    inputs = without_withheld(inputs)
    with Staging(staging) as files:
        stage_schema_store(inputs, files)
        values = stage_value_store(inputs, files)
        for name, frame in build_catalog_frames(inputs).items():
            files.add_frame(f"{FOLDER}/{name}.parquet", frame)
        for path, content in sorted(inputs.graph_files.items()):
            if isinstance(content, pl.DataFrame):
                files.add_frame(f"graph/{path}", content)
            else:
                files.add(f"graph/{path}", content.encode())
        for name, svg in sorted(inputs.diagrams.items()):
            files.add(f"diagrams/{name}.svg", svg)
        for path, log in sorted(inputs.drift_files.items()):
            files.add(path, log)
        for path, definition in definition_files(inputs.config).items():
            files.add(path, definition)
    return Bundle(files.content(), dict(sorted(files.files.items())), _facts(inputs, values), _stubs(inputs))


def _facts(inputs: BundleInputs, values: ValueStoreResult) -> BundleFacts:
    catalog = inputs.catalog
    problems = sorted_unique([*inputs.problems, *catalog.problems])
    is_view = catalog.tables["kind"].is_in(["view", "materialized_view"])
    return BundleFacts(
        database=inputs.config.name,
        engine=catalog.identity.engine,
        schema_fingerprint=catalog.fingerprint,
        probe=catalog.probe,
        complete=catalog.complete and not problems,
        problems=problems,
        counts={
            "tables": int((~is_view).sum()),
            "views": int(is_view.sum()),
            "columns": catalog.columns.height,
            "keys": inputs.keys.height,
            "relationships": int(inputs.relationships["accepted"].sum()),
            "columns_withheld": inputs.withheld.height,
            "value_files": values.files,
            "values": values.values,
            **_definition_counts(inputs),
        },
        limits=_limits(inputs, values),
    )


def _definition_counts(inputs: BundleInputs) -> dict[str, int]:
    """How many tables and columns have their definition from which source."""
    sources = pl.concat([frame["definition_source"] for frame in (inputs.table_definitions, inputs.column_definitions)])
    found = dict(sources.fill_null("none").value_counts().iter_rows())
    return {f"definitions_{source}": int(found.get(source, 0)) for source in DEFINITION_SOURCES}


def _limits(inputs: BundleInputs, values: ValueStoreResult) -> tuple[Limit, ...]:
    config = inputs.config
    partly_read = inputs.profiles.filter((pl.col("status") == "ok") & ~pl.col("complete"))
    sampled = partly_read.select("schema", "table").unique().iter_rows()
    nearest_only = inputs.join_graph.filter("aborted").select("schema", "table").iter_rows()
    return tuple(
        sorted(
            [
                *values.limits,
                *(Limit(".".join(name), "sampled", config.sampling.row_limit) for name in sampled),
                *(Limit(".".join(name), "join_paths", config.paths.max_paths) for name in nearest_only),
            ],
            key=lambda limit: (limit.object, limit.limit),
        )
    )


def _stubs(inputs: BundleInputs) -> frozenset[Stub]:
    outside = inputs.relationships.filter("to_stub").select("to_database", "to_schema", "to_table").unique()
    return frozenset(
        Stub(schema, table, foreign_identity(inputs.catalog.identity, database).fqn(schema, table))
        for database, schema, table in outside.iter_rows()
    )
