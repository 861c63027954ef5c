"""Third stage: how tables relate."""

from __future__ import annotations

from dictionary_pipeline import handover
from dictionary_pipeline.handover import RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.relationships.relate import Evidence, relate
from dictionary_pipeline.relationships.report import relationship_report
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.stages.shared import outputs
from dictionary_pipeline.state import require_stages, save_stage


def relationship_graph(run: PipelineRun) -> StageReport:
    """Work out how tables relate: keys, relationships, lineage, roles, join paths."""
    upstream = require_stages(run.store, SNAPSHOT, SAMPLES)
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    samples = handover.samples_from(upstream[SAMPLES])
    config = run.config
    engine = run.engine if config.sampling.enabled else None
    evidence = Evidence(samples.values, samples.sensitivity, config.inference, engine, config.sampling.table_seconds)
    graph = relate(catalog, samples.profiles, config.human, config.paths, evidence)
    state = save_stage(run.store, RELATIONS, *handover.relation_parts(graph), outputs(upstream))
    return relationship_report(RELATIONS, catalog, graph, state.output)
