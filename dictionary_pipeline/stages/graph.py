"""Fifth stage: the knowledge graph."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline import extracting, handover, writing
from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.extraction.checks import check_graph
from dictionary_pipeline.extraction.exact import build_graph
from dictionary_pipeline.extraction.graphrag import graph_keys
from dictionary_pipeline.extraction.ids import extend_ids, without_withheld
from dictionary_pipeline.extraction.model import KnowledgeGraph
from dictionary_pipeline.extraction.report import graph_facts
from dictionary_pipeline.handover import DEFINITIONS, GRAPH, RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.publishing.previous import read_previous
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.stages.shared import check, outputs
from dictionary_pipeline.state import require_stages, save_stage


def knowledge_graph(run: PipelineRun) -> StageReport:
    """Extract the knowledge graph: tables, views, columns and their relationships exactly, the business by a model."""
    upstream = require_stages(run.store, SNAPSHOT, SAMPLES, RELATIONS, DEFINITIONS)
    samples = handover.samples_from(upstream[SAMPLES])
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    relations = handover.relations_from(upstream[RELATIONS])
    definitions = handover.definitions_from(upstream[DEFINITIONS])
    exact, exact_edges = build_graph(catalog, samples.profiles, relations, definitions)
    extracted = extracting.extract_business(run, catalog, samples.sensitivity, relations, definitions, exact)
    business = extracted.graph
    entities, edges = pl.concat([exact, business.entities]), pl.concat([exact_edges, business.edges])
    previous, keys = read_previous(run.store), graph_keys(entities, edges, business.units)
    known = previous.ids if previous else None
    if known is not None:
        guard = writing.guard_of(run.store)
        known = without_withheld(known, keys, lambda text: bool(guard.matches(text)))
    ids = extend_ids(known, keys)
    graph = KnowledgeGraph(entities, edges, ids, business.units, extracted.problems)
    findings = check_graph(catalog, relations, graph)
    if findings:
        raise ContractViolation(
            f"the knowledge graph contradicts the catalog in {len(findings)} places, first: {findings[0]}",
            where=run.config.name,
            fix="Nothing was published; this is a defect of the product, please report it.",
        )
    parts, kept = handover.graph_parts(graph)
    state = save_stage(run.store, GRAPH, parts, kept | extracting.waiting_facts(extracted), outputs(upstream))
    records, budget = extracting.checks(extracted)
    facts = graph_facts(graph, relations.roles, run.config.graph.granularity)
    return StageReport(
        GRAPH,
        metrics={**facts.metrics, **extracting.metrics(extracted)},
        tables={**extracting.tables(extracted), **facts.tables},
        images=facts.images,
        problems=extracted.problems,
        warnings=(*extracted.warnings, *writing.budget_notes(budget)),
        checks=(
            check("graph_equals_catalog", "Every edge has both ends and the graph equals the catalog", findings),
            records,
            budget,
        ),
        output=state.output,
    )
