"""The six stages of a run, in order of flow: load upstream state, call the pure core, save, report.

Dagster's assets and the command line both call these functions; nothing else decides what a stage
does. A stage that fails raises; what it could not read of single objects becomes problem rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dictionary_pipeline import drifting, extracting, writing
from dictionary_pipeline.handover import DEFINITIONS, GRAPH, PUBLISHED, RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.relationships.report import CHECKS as RELATION_CHECKS
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.stages.definitions import entity_definitions
from dictionary_pipeline.stages.graph import knowledge_graph
from dictionary_pipeline.stages.publish import published_dictionary
from dictionary_pipeline.stages.relations import relationship_graph
from dictionary_pipeline.stages.samples import column_samples
from dictionary_pipeline.stages.snapshot import schema_snapshot


class StageSpec(NamedTuple):
    """A stage: what it is called, what it does, and the gates it reports."""

    name: str
    run: Callable[[PipelineRun], StageReport]
    checks: tuple[str, ...]


STAGES: tuple[StageSpec, ...] = (
    StageSpec(SNAPSHOT, schema_snapshot, ("catalog_is_complete",)),
    StageSpec(SAMPLES, column_samples, ("tables_were_sampled",)),
    StageSpec(RELATIONS, relationship_graph, RELATION_CHECKS),
    StageSpec(DEFINITIONS, entity_definitions, ("human_entries_match_catalog", writing.BUDGET_CHECK)),
    StageSpec(GRAPH, knowledge_graph, ("graph_equals_catalog", extracting.REJECT_CHECK, writing.BUDGET_CHECK)),
    StageSpec(
        PUBLISHED,
        published_dictionary,
        ("bundle_is_valid", "no_sensitive_values_published", "dictionary_is_complete", drifting.BREAKING_CHECK),
    ),
)
