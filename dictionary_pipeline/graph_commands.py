"""The command that works on published graphs: `merge-graph`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.extraction.exports import graph_texts
from dictionary_pipeline.extraction.graphrag import graphrag_frames
from dictionary_pipeline.extraction.ids import IDS
from dictionary_pipeline.extraction.merge import NamedGraph, merge_graphs
from dictionary_pipeline.extraction.model import SQL_TYPES
from dictionary_pipeline.extraction.readme import expected_report_calls
from dictionary_pipeline.extraction.settings import graphrag_settings
from dictionary_pipeline.publishing.local import LocalStore, file_errors
from dictionary_pipeline.publishing.manifest import MANIFEST_KEY
from dictionary_pipeline.publishing.reading import PublishedBundle
from dictionary_pipeline.store_commands import open_published
from dictionary_pipeline.terminal import say

_IDS = "ids.parquet"
_INPUT = "graph/input/"


def merge_published(locations: Sequence[str], folder: Path, project: Path | None) -> int:
    """`merge-graph`: write one graph folder for several published databases.

    Raises:
        ConfigurationError: a database is named twice, or the folder holds something else.
        StoreError: the folder cannot be written to.
    """
    bundles = [open_published(location, project) for location in locations]
    names = [bundle.manifest.database for bundle in bundles]
    if len(set(names)) < len(names):
        raise ConfigurationError(
            "a database is named twice",
            where=", ".join(names),
            fix="Name each database once; build different databases of one name under names of their own (--name).",
        )
    previous = _known_ids(folder)
    graph = merge_graphs([_graph(bundle) for bundle in bundles], previous)
    rag = graphrag_frames(graph.entities, graph.edges, graph.ids, units=graph.units)
    texts = graph_texts(graph, rag, _documents(bundles)) | {"settings.yaml": graphrag_settings()}
    tables = {f"output/{name}.parquet": getattr(rag, name) for name in rag.__dataclass_fields__}
    target = LocalStore(folder)
    # The ids come first: whatever dies later, the next merge goes on with the same ones.
    for name, frame in ({_IDS: graph.ids, "edges.parquet": graph.edges} | tables).items():
        data = io.BytesIO()
        frame.write_parquet(data)
        target.write(name, data.getvalue())
    for name, text in texts.items():
        target.write(name, text.encode())
    with file_errors(folder):
        for path in (folder / "input").glob("*.txt"):
            if f"input/{path.name}" not in texts:
                path.unlink()
    calls = expected_report_calls(rag.relationships)
    say(
        f"{folder}: {graph.entities.height} entities and {graph.edges.height} edges of {', '.join(names)}; "
        f"reports that GraphRAG will ask for: {calls.told}."
    )
    return 0


def _known_ids(folder: Path) -> pl.DataFrame | None:
    """The id map of the merge that the folder holds, or null when the folder is empty or not there.

    Raises:
        ConfigurationError: it holds something else.
    """
    file = folder / _IDS
    with file_errors(folder):
        whole = folder.resolve()
        is_published = whole.name == "graph" and (whole.parent / MANIFEST_KEY).exists()
        if is_published or (folder.exists() and not file.exists() and (not folder.is_dir() or any(folder.iterdir()))):
            raise ConfigurationError(
                "the folder holds something other than a merged graph", where=str(folder), fix="Name an empty folder."
            )
        data = file.read_bytes() if file.exists() else None
    try:
        return None if data is None else frames.fit(pl.read_parquet(io.BytesIO(data)), IDS)
    except pl.exceptions.PolarsError:
        raise ConfigurationError(
            "the id map of the merged graph is damaged",
            where=str(file),
            fix="Put a copy back, or name an empty folder.",
        ) from None


def _graph(bundle: PublishedBundle) -> NamedGraph:
    """The whole graph: the entities of `output/` may be tables only."""
    try:
        listed = pl.read_csv(io.BytesIO(bundle.read("graph/neo4j/entities.csv")), infer_schema=False)
        edges = bundle.frame("graph/edges")
        keys = bundle.frame("graph/ids").filter(pl.col("kind") == "text_unit").select("id", "key")
        output = {name: bundle.frame(f"graph/output/{name}") for name in ("entities", "text_units", "documents")}
    except KeyError:
        raise ConfigurationError(
            "the bundle holds no graph to merge", where=bundle.location, fix="Run the database again, then merge."
        ) from None
    naming = {"title:ID": "title", ":LABEL": "type", "is_stub:boolean": "is_stub"}
    entities = listed.rename(naming).with_columns(pl.col("is_stub") == "true")
    cited = (
        output["entities"].filter(~pl.col("type").is_in(SQL_TYPES)).select("title", id="text_unit_ids").explode("id")
    )
    units_of = cited.join(keys, on="id").group_by("title").agg(pl.col("key").sort().alias("text_units"))
    tables = entities.filter(pl.col("type").is_in(SQL_TYPES)).select(key="title")
    documents = output["documents"].select(document_id="id", document="title")
    texts = output["text_units"].join(keys, on="id", maintain_order="left").join(tables, on="key", how="anti")
    units = texts.join(documents, on="document_id", maintain_order="left")
    return NamedGraph(
        bundle.manifest.database,
        frames.fit(entities.join(units_of, on="title", how="left", maintain_order="left"), frames.GRAPH_ENTITIES),
        frames.fit(edges, frames.GRAPH_EDGES),
        frames.fit(units, frames.GRAPH_UNITS),
    )


def _documents(bundles: Sequence[PublishedBundle]) -> dict[str, str]:
    return {
        f"{bundle.manifest.database}.{path.removeprefix(_INPUT)}": bundle.read(path).decode()
        for bundle in bundles
        for path in bundle.paths
        if path.startswith(_INPUT)
    }
