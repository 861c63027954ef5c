"""Third stage: how tables relate."""

from __future__ import annotations

from dictionary_pipeline import handover
from dictionary_pipeline.handover import RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.relationships.inference.remembered import load_answers, save_answers
from dictionary_pipeline.relationships.relate import Evidence, relate
from dictionary_pipeline.relationships.report import relationship_report
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.sampling_age import load_age
from dictionary_pipeline.stages.shared import outputs
from dictionary_pipeline.state import require_stages, save_stage


def relationship_graph(run: PipelineRun) -> StageReport:
    """Work out how tables relate: keys, relationships, lineage, roles, join paths."""
    upstream = require_stages(run.store, SNAPSHOT, SAMPLES)
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    samples = handover.samples_from(upstream[SAMPLES])
    config = run.config
    engine = run.engine if config.sampling.enabled else None
    age = load_age(run.store, upstream[SAMPLES].output)
    stamps = {table: sampled.at for table, sampled in age.tables.items()}
    evidence = Evidence(
        samples.values,
        samples.sensitivity,
        config.inference,
        engine,
        config.sampling.table_seconds,
        load_answers(run.store, stamps),
    )
    graph = relate(catalog, samples.profiles, config.human, config.paths, evidence)
    save_answers(run.store, graph.answers, stamps)
    state = save_stage(run.store, RELATIONS, *handover.relation_parts(graph), outputs(upstream))
    return relationship_report(RELATIONS, catalog, graph, state.output)
