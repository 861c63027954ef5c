"""Fifth stage: the knowledge graph."""

from __future__ import annotations

from dictionary_pipeline import handover
from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.extraction.checks import check_graph
from dictionary_pipeline.extraction.exact import build_graph
from dictionary_pipeline.extraction.graphrag import graph_keys
from dictionary_pipeline.extraction.ids import extend_ids
from dictionary_pipeline.extraction.model import KnowledgeGraph
from dictionary_pipeline.handover import DEFINITIONS, GRAPH, RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.publishing.previous import read_previous
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.stages.shared import check, outputs
from dictionary_pipeline.state import require_stages, save_stage


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
    state = save_stage(run.store, GRAPH, *handover.graph_parts(graph), outputs(upstream))
    return StageReport(
        GRAPH,
        metrics={"entities": entities.height, "edges": edges.height, "stubs": int(entities["is_stub"].sum())},
        tables={"edges_by_type": edges["type"].value_counts().sort("type")},
        checks=(check("graph_equals_catalog", "Every edge has both ends and the graph equals the catalog", findings),),
        output=state.output,
    )
