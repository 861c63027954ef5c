"""The model's part of the graph stage: what it is given of a run, and what is reported of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline import frames, writing
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.enrichment.definitions import Definitions, define
from dictionary_pipeline.enrichment.model.budget import Usage
from dictionary_pipeline.enrichment.model.outcome import Status
from dictionary_pipeline.enrichment.model.texts import Guard
from dictionary_pipeline.extraction.business.build import BusinessGraph, build_business
from dictionary_pipeline.extraction.business.documents import Documents, read_documents
from dictionary_pipeline.extraction.business.units import (
    TextUnit,
    document_units,
    glossary_units,
    privacy_of,
    table_units,
)
from dictionary_pipeline.extraction.nodes import Nodes, build_nodes
from dictionary_pipeline.handover import DEFINITIONS, GRAPH
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.report import MAX_TABLE_ROWS, Check
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.store import Store
from dictionary_pipeline.verified import WAITING
from dictionary_pipeline.writing import PlannedRequests

REJECT_CHECK = "graph_reject_rate"
_LEFT = (Status.SKIPPED_BUDGET, Status.PARTIAL)
"""How a text ended that the next run asks about again; only asking for what was missed ends in part."""
_USUAL_TEXT = "x" * 500
_USUAL_SHARE = 2
"""The greatest length of an answer is about this often its usual length."""


@dataclass(frozen=True)
class Extraction:
    """What came of the model's part; without it, everything is empty."""

    graph: BusinessGraph
    statuses: tuple[tuple[str, Status], ...] = ()
    """Key of each text unit, and how reading it ended."""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    limit: str | None = None
    """The limit that was reached."""
    most_rejected: float = 1.0
    """Share of unusable records from which the check warns."""
    is_on: bool = False

    def count(self, *statuses: Status) -> int:
        """How many units ended so."""
        return sum(status in statuses for _, status in self.statuses)


def extract_business(
    run: PipelineRun,
    catalog: Catalog,
    sensitivity: pl.DataFrame,
    relations: RelationshipGraph,
    definitions: Definitions,
    exact: pl.DataFrame,
) -> Extraction:
    """Business entities and edges from definitions, comments, glossary and documents.

    Args:
        sensitivity: `frames.SENSITIVITY`.
        exact: `frames.GRAPH_ENTITIES` of the exact part.

    Raises:
        ConfigurationError: key, model or address are wrong.
        ModelUnavailable: the server is away and the run may be repeated.
    """
    settings, model = run.config.graph, run.config.model
    if not settings.entities or model is None:
        return _nothing(settings.entities)
    # The client's package is only needed, and imported, when there is something to ask.
    from dictionary_pipeline.enrichment.model.paying import add_run_usage, run_usage
    from dictionary_pipeline.extraction.business.reading import Terms, read_units

    guard = writing.guard_of(run.store)
    documents = read_documents(settings, GRAPH)
    nodes = build_nodes(catalog, relations)
    units = text_units(run.config, model, catalog, nodes, definitions, sensitivity, guard, documents)
    readings = read_units(
        units,
        Terms(
            database=run.config.name,
            stage=GRAPH,
            settings=settings,
            model=model,
            store=run.store,
            ledger=run.shared or run.store,
            today=writing.today,
            before=run_usage(run.store, run.run_id),
            covers=_covers(run),
            force=run.options.forces("graph"),
            may_ask=not run.options.dry_run,
            may_retry=run.may_retry,
            keep_others=bool(documents.problems),
            on_batch=lambda done, total: run.progress(GRAPH, done, total),
            on_used=lambda used: add_run_usage(run.store, run.run_id, used),
        ),
    )
    return Extraction(
        graph=build_business(readings.found, units, exact, settings, guard, readings.prompt_hash, model.glossary),
        statuses=readings.statuses,
        problems=(*documents.problems, *readings.problems),
        warnings=tuple(f"graph.documents: no document fits {pattern!r}" for pattern in documents.unmatched),
        usage=readings.usage,
        cost=readings.cost,
        limit=readings.limit,
        most_rejected=settings.max_reject_rate,
        is_on=True,
    )


def planned_extraction(config: DatabaseConfig, store: Store, catalog: Catalog) -> PlannedRequests | None:
    """What reading the texts of a database would take, from a fresh catalog and what the last run left.

    A table that the model has yet to describe counts as a text of usual length.

    Args:
        catalog: Not scrubbed yet.
    """
    settings, model = config.graph, config.model
    if not settings.entities or model is None:
        return None
    from dictionary_pipeline.enrichment.model.asking import prompt_tokens
    from dictionary_pipeline.extraction.business.asking import batches, messages
    from dictionary_pipeline.extraction.business.prompts import prompts_of
    from dictionary_pipeline.extraction.business.reading import Terms, stale_units

    known = writing.known_sources(config, store, catalog)
    last = writing.last_texts(store, DEFINITIONS)
    definitions = define(known.catalog, known.profiles, known.graph, config.human, last)
    nodes = build_nodes(known.catalog, known.graph)
    documents, guard = read_documents(settings, GRAPH), writing.guard_of(store)
    units = text_units(config, model, known.catalog, nodes, definitions, known.sensitivity, guard, documents)
    terms = Terms(config.name, GRAPH, settings, model, store, store, writing.today)
    told = {unit.key for unit in units}
    own = nodes.tables.filter(~pl.col("is_stub") & ~pl.col("title").is_in(told)).select("title", "qualified")
    awaited = [TextUnit(title, "table", title, {"name": name, "text": _USUAL_TEXT}) for title, name in own.iter_rows()]
    asked = batches([*stale_units(units, terms), *(awaited if last.is_empty() else ())], settings)
    prompts = prompts_of(settings, model)
    turns = 1 + settings.max_gleanings
    return writing.planned(
        [
            Usage(turns, turns * prompt_tokens(messages(batch, prompts)), 0, turns * batch.max_tokens // _USUAL_SHARE)
            for batch in asked
        ],
        model,
    )


def text_units(
    config: DatabaseConfig,
    model: ModelSettings,
    catalog: Catalog,
    nodes: Nodes,
    definitions: Definitions,
    sensitivity: pl.DataFrame,
    guard: Guard,
    documents: Documents,
) -> list[TextUnit]:
    """Everything that business entities are drawn from: tables and views, glossary, documents."""
    privacy = privacy_of(sensitivity, guard)
    return [
        *table_units(catalog, nodes, definitions, privacy),
        *glossary_units(model.glossary, privacy),
        *document_units(documents.texts, nodes, privacy),
    ]


def metrics(extraction: Extraction) -> dict[str, int | float | str | bool]:
    """Numbers of a run that extracts business entities."""
    if not extraction.is_on:
        return {}
    used = extraction.usage
    return {
        "business_edges": extraction.graph.edges.height,
        "records_accepted": extraction.graph.accepted,
        "records_rejected": sum(count for _, count in extraction.graph.rejected),
        "reject_rate": round(extraction.graph.reject_rate, 3),
        "type_conflicts": len(extraction.graph.conflicts),
        "model_requests": used.requests,
        "model_prompt_tokens": used.prompt_tokens,
        "model_cached_tokens": used.cached_tokens,
        "model_completion_tokens": used.completion_tokens,
        "model_cost": extraction.cost,
        "texts_asked": extraction.count(Status.ASKED, Status.PARTIAL, Status.FAILED),
        "texts_kept": extraction.count(Status.KEPT),
        "texts_skipped_budget": extraction.count(Status.SKIPPED_BUDGET),
        "texts_not_asked": extraction.count(Status.NOT_ASKED, Status.STOPPED),
        "problems": len(extraction.problems),
    }


def tables(extraction: Extraction) -> Mapping[str, pl.DataFrame]:
    """Refused records by reason, entities of several types, and texts that were, or should have been, asked about."""
    if not extraction.is_on:
        return {}
    asked = [(key, str(status)) for key, status in extraction.statuses if status is not Status.KEPT]
    shown: Mapping[str, tuple[Sequence[tuple[object, ...]], frames.Schema]] = {
        "rejected_records": (extraction.graph.rejected, {"reason": pl.String(), "records": pl.Int64()}),
        "type_conflicts": (
            extraction.graph.conflicts,
            {"entity": pl.String(), "chosen": pl.String(), "types": pl.String()},
        ),
        "model_texts": (asked, {"text": pl.String(), "status": pl.String()}),
    }
    return {name: frames.from_rows(rows[:MAX_TABLE_ROWS], schema) for name, (rows, schema) in shown.items()}


def waiting_facts(extraction: Extraction) -> dict[str, int]:
    """How many texts a limit left for the next run, wholly or in part; nothing when none."""
    waiting = extraction.count(*_LEFT)
    return {WAITING: waiting} if waiting else {}


def checks(extraction: Extraction) -> tuple[Check, Check]:
    """Whether the model's records were usable, and whether the budget sufficed."""
    if not extraction.is_on:
        nothing = "No business entities are extracted."
        return Check(REJECT_CHECK, True, nothing), Check(writing.BUDGET_CHECK, True, nothing)
    rate, most = extraction.graph.reject_rate, extraction.most_rejected
    refused = sum(count for _, count in extraction.graph.rejected)
    if rate <= most:
        told = f"{refused} of {refused + extraction.graph.accepted} records of the model were refused."
        records = Check(REJECT_CHECK, True, told, refused)
    else:
        reason, count = extraction.graph.rejected[0]
        told = (
            f"{rate:.0%} of the model's records were refused, more than max_reject_rate; most often ({count} times) "
            f"because {reason}."
        )
        records = Check(REJECT_CHECK, False, told, refused)
    skipped = extraction.count(*_LEFT)
    if extraction.limit is None:
        return records, Check(writing.BUDGET_CHECK, True, "The budget sufficed for everything that was to be asked.")
    what = f"The limit {extraction.limit} was reached: {skipped} texts are read by a later run."
    return records, Check(writing.BUDGET_CHECK, False, what, skipped)


def _nothing(is_wanted: bool) -> Extraction:
    empty = BusinessGraph(
        frames.empty(frames.GRAPH_ENTITIES), frames.empty(frames.GRAPH_EDGES), frames.empty(frames.GRAPH_UNITS)
    )
    missing = "graph.entities is true, but no language model is configured for this database: none is asked"
    return Extraction(empty, warnings=(missing,) if is_wanted else ())


def _covers(run: PipelineRun) -> Callable[[TextUnit], bool]:
    """Tables as the run's options say; other texts only when the run is about the whole database."""
    return lambda unit: run.options.covers(*unit.table) if unit.table else not run.options.entities
