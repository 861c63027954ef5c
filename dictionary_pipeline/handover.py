"""What stages hand to each other: typed values to and from the frames and facts of their state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.enrichment.definitions import Definitions
from dictionary_pipeline.extraction.ids import IDS
from dictionary_pipeline.extraction.model import KnowledgeGraph
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.sampling.sample import SampleResult
from dictionary_pipeline.state import StageState

SNAPSHOT, SAMPLES, RELATIONS = "schema_snapshot", "column_samples", "relationship_graph"
DEFINITIONS, GRAPH, PUBLISHED = "entity_definitions", "knowledge_graph", "published_dictionary"
"""Names of the stages, which are the names of their states and of Dagster's assets."""

_RELATION_FRAMES: Mapping[str, frames.Schema] = {
    "relationships": frames.RELATIONSHIPS,
    "keys": frames.KEYS,
    "lineage": frames.VIEW_LINEAGE,
    "roles": frames.ROLES,
    "join_graph": frames.JOIN_GRAPH,
}
_SAMPLE_FRAMES: Mapping[str, frames.Schema] = {
    "profiles": frames.PROFILES,
    "values": frames.VALUES,
    "sensitivity": frames.SENSITIVITY,
    "verifications": frames.VERIFICATIONS,
}
_DEFINITION_FRAMES: Mapping[str, frames.Schema] = {
    "tables": frames.TABLE_DEFINITIONS,
    "columns": frames.COLUMN_DEFINITIONS,
}
_GRAPH_FRAMES: Mapping[str, frames.Schema] = {
    "entities": frames.GRAPH_ENTITIES,
    "edges": frames.GRAPH_EDGES,
    "ids": IDS,
    "units": frames.GRAPH_UNITS,
}

Parts = tuple[dict[str, Any], dict[str, Any]]
"""Frames and facts, as `state.save_stage` takes them."""


def catalog_parts(catalog: Catalog) -> Parts:
    """Frames and facts of a catalog."""
    facts = {
        "identity": vars(catalog.identity),
        "fingerprint": catalog.fingerprint,
        "probe": catalog.probe,
        "complete": catalog.complete,
        "problems": _rows(catalog.problems),
    }
    return {name: getattr(catalog, name) for name in FRAME_SCHEMAS}, facts


def catalog_from(state: StageState) -> Catalog:
    """The catalog that `schema_snapshot` left."""
    facts = state.facts
    return Catalog(
        identity=Identity(**facts["identity"]),
        **_frames(state, {name: schema for name, (schema, _) in FRAME_SCHEMAS.items()}),
        problems=problems_from(state),
        fingerprint=facts["fingerprint"],
        probe=facts["probe"],
        complete=facts["complete"],
    )


def sample_parts(result: SampleResult) -> Parts:
    """Frames and facts of samples."""
    facts = {"problems": _rows(result.problems), "statements": result.statements}
    return {name: getattr(result, name) for name in _SAMPLE_FRAMES}, facts


def samples_from(state: StageState) -> SampleResult:
    """The samples that `column_samples` left."""
    return SampleResult(
        **_frames(state, _SAMPLE_FRAMES), problems=problems_from(state), statements=state.facts["statements"]
    )


def verdicts_from(state: StageState | None) -> pl.DataFrame:
    """`frames.SENSITIVITY` that `column_samples` left; empty when it never ran."""
    found = state.frames.get("sensitivity") if state else None
    return frames.empty(frames.SENSITIVITY) if found is None else frames.fit(found, frames.SENSITIVITY)


def relation_parts(graph: RelationshipGraph) -> Parts:
    """Frames and facts of the relationship graph."""
    facts = {"unmatched": list(graph.unmatched), "unresolved": list(graph.unresolved)}
    return {name: getattr(graph, name) for name in _RELATION_FRAMES}, facts


def relations_from(state: StageState) -> RelationshipGraph:
    """The graph that `relationship_graph` left."""
    return RelationshipGraph(
        **_frames(state, _RELATION_FRAMES),
        unmatched=tuple(state.facts["unmatched"]),
        unresolved=tuple(state.facts["unresolved"]),
    )


def definition_parts(definitions: Definitions) -> Parts:
    """Frames and facts of definitions."""
    facts = {"problems": _rows(definitions.problems), "unmatched": list(definitions.unmatched)}
    return {name: getattr(definitions, name) for name in _DEFINITION_FRAMES}, facts


def definitions_from(state: StageState) -> Definitions:
    """The definitions that `entity_definitions` left."""
    return Definitions(
        **_frames(state, _DEFINITION_FRAMES), problems=problems_from(state), unmatched=tuple(state.facts["unmatched"])
    )


def graph_parts(graph: KnowledgeGraph) -> Parts:
    """Frames and facts of the knowledge graph."""
    return {name: getattr(graph, name) for name in _GRAPH_FRAMES}, {"problems": _rows(graph.problems)}


def graph_from(state: StageState) -> KnowledgeGraph:
    """The graph that `knowledge_graph` left."""
    return KnowledgeGraph(**_frames(state, _GRAPH_FRAMES), problems=problems_from(state))


def problems_from(state: StageState) -> tuple[Problem, ...]:
    """Problem rows that a stage left."""
    return tuple(Problem(*row) for row in state.facts.get("problems", ()))


def _rows(problems: Iterable[Problem]) -> list[list[str | None]]:
    return [list(problem) for problem in problems]


def _frames(state: StageState, schemas: Mapping[str, frames.Schema]) -> dict[str, Any]:
    """The named frames, with every column that this version expects; a frame of older state may be missing."""
    return {name: frames.fit(state.frames.get(name, frames.empty(schema)), schema) for name, schema in schemas.items()}
