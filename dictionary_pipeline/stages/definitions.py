"""Fourth stage: definitions, each with its source."""

from __future__ import annotations

from dataclasses import replace

from dictionary_pipeline import handover, writing
from dictionary_pipeline.enrichment.approved import stale_approvals, stale_sentence
from dictionary_pipeline.enrichment.definitions import define
from dictionary_pipeline.handover import DEFINITIONS, RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.stages.shared import check, counts, head, outputs
from dictionary_pipeline.state import require_stages, save_stage


def entity_definitions(run: PipelineRun) -> StageReport:
    """Write definitions: human over database over inherited over model over derived, each with its source."""
    upstream = require_stages(run.store, SNAPSHOT, SAMPLES, RELATIONS)
    samples = handover.samples_from(upstream[SAMPLES])
    catalog = handover.catalog_from(upstream[SNAPSHOT])
    relations = handover.relations_from(upstream[RELATIONS])
    model = writing.model_texts(run, catalog, samples, relations, DEFINITIONS)
    definitions = define(catalog, samples.profiles, relations, run.config.human, model.texts if model else None)
    frames, facts = handover.definition_parts(replace(definitions, problems=model.problems if model else ()))
    frames |= writing.state_frames(model)
    facts |= writing.waiting_facts(model)
    stale = [stale_sentence(item, run.config.name) for item in stale_approvals(catalog, run.config.human)]
    entries = (*definitions.unmatched, *stale)
    budget = writing.budget_check(model)
    state = save_stage(run.store, DEFINITIONS, frames, facts, outputs(upstream))
    sources = counts(definitions.tables["definition_source"])
    shown = definitions.tables.select("schema", "table", "entity_name", "definition_source", "definition")
    return StageReport(
        DEFINITIONS,
        metrics={
            "tables_defined": int(definitions.tables["definition"].is_not_null().sum()),
            "columns_defined": int(definitions.columns["definition"].is_not_null().sum()),
            **{f"tables_from_{source}": sources.get(source, 0) for source in ("human", "database", "model", "derived")},
            "columns_inherited": int((definitions.columns["definition_source"] == "inherited").sum()),
            "unmatched_entries": len(definitions.unmatched),
            "stale_approvals": len(stale),
            "problems": len(model.problems) if model else 0,
            **writing.model_metrics(model),
        },
        tables={"table_definitions": head(shown), **writing.model_tables(model)},
        problems=model.problems if model else (),
        warnings=(*entries, *writing.batch_notes(model, run.config.name), *writing.budget_notes(budget)),
        checks=(
            check("human_entries_match_catalog", "Every human entry fits the database as it is", entries),
            budget,
        ),
        output=state.output,
    )
