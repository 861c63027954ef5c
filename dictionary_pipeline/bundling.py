"""What the bundle is built from: everything that the stages left, put together."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from dictionary_pipeline import handover
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.extraction.documents import input_documents
from dictionary_pipeline.extraction.exports import graph_texts
from dictionary_pipeline.extraction.graphrag import graphrag_frames
from dictionary_pipeline.extraction.settings import graphrag_settings
from dictionary_pipeline.handover import DEFINITIONS, GRAPH, RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.problems import sorted_unique
from dictionary_pipeline.publishing.inputs import BundleInputs
from dictionary_pipeline.publishing.previous import PreviousBundle
from dictionary_pipeline.relationships.diagram.diagrams import er_diagrams
from dictionary_pipeline.state import StageState


def bundle_inputs(
    config: DatabaseConfig,
    upstream: Mapping[str, StageState],
    previous: PreviousBundle | None,
    drift_files: Mapping[str, bytes],
) -> BundleInputs:
    """Everything that the bundle is built from, as the stages left it."""
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    samples = handover.samples_from(upstream[SAMPLES])
    relations = handover.relations_from(upstream[RELATIONS])
    definitions = handover.definitions_from(upstream[DEFINITIONS])
    graph = handover.graph_from(upstream[GRAPH])
    rag = graphrag_frames(
        graph.entities, graph.edges, graph.ids, granularity=config.graph.granularity, units=graph.units
    )
    graph_files: dict[str, pl.DataFrame | str] = {
        "edges.parquet": graph.edges,
        "ids.parquet": graph.ids,
        "settings.yaml": graphrag_settings(),
        **{f"output/{name}.parquet": getattr(rag, name) for name in rag.__dataclass_fields__},
        **graph_texts(graph, rag, input_documents(catalog, samples.profiles, relations, definitions)),
    }
    problems = [*samples.problems, *definitions.problems, *graph.problems]
    return BundleInputs(
        catalog=catalog,
        profiles=samples.profiles,
        values=samples.values,
        relationships=relations.relationships,
        keys=relations.keys,
        lineage=relations.lineage,
        roles=relations.roles,
        join_graph=relations.join_graph,
        table_definitions=definitions.tables,
        column_definitions=definitions.columns,
        sensitivity=samples.sensitivity,
        graph_files=graph_files,
        problems=sorted_unique(problems),
        config=config,
        previous=previous,
        drift_files=drift_files,
        diagrams={
            diagram.name: diagram.svg()
            for diagram in er_diagrams(catalog, relations.relationships, relations.keys, relations.roles)
        },
    )
