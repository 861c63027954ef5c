"""The model's part of the definitions stage: what it is given of a run, and what is reported of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.model_settings import ModelBudget, ModelSettings
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.enrichment.definitions import given_texts
from dictionary_pipeline.enrichment.model.asking import expected_tokens, prompt_tokens
from dictionary_pipeline.enrichment.model.budget import Usage, micro_cost
from dictionary_pipeline.enrichment.model.outcome import MODEL_TEXTS, ModelTexts, Status, no_texts
from dictionary_pipeline.enrichment.model.texts import Guard, NoGuard
from dictionary_pipeline.handover import verdicts_from
from dictionary_pipeline.publishing.sealed import Recogniser, load_sealed
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.relationships.relate import relate
from dictionary_pipeline.report import MAX_TABLE_ROWS, Check
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.sampling.privacy import known_sensitivity
from dictionary_pipeline.sampling.sample import SampleResult
from dictionary_pipeline.state import load_stage
from dictionary_pipeline.store import Store
from dictionary_pipeline.verified import WAITING
from dictionary_pipeline.withholding import policy_of, scrub_known

if TYPE_CHECKING:
    from dictionary_pipeline.enrichment.model.facts import Sources

BUDGET_CHECK = "model_budget_sufficed"
SAMPLES_STATE = "column_samples"
MODEL_STATE = "model_texts"


def model_texts(
    run: PipelineRun, catalog: Catalog, samples: SampleResult, graph: RelationshipGraph, stage: str
) -> ModelTexts | None:
    """What the configured model says of the database; null when none is configured.

    Args:
        stage: Name of the stage, under which last texts are kept and progress is shown.

    Raises:
        ConfigurationError: key, model or address are wrong.
        ModelUnavailable: the server is away and the run may be repeated.
    """
    settings = run.config.model
    if settings is None:
        return None
    # The client's package is only needed, and imported, when there is something to ask.
    from dictionary_pipeline.enrichment.model.facts import Sources
    from dictionary_pipeline.enrichment.model.paying import add_run_usage, run_usage
    from dictionary_pipeline.enrichment.model.write import Terms, write_texts

    human = run.config.human
    given = given_texts(catalog, graph, human)
    return write_texts(
        Sources(catalog, samples.profiles, graph, human, given, samples.sensitivity),
        Terms(
            database=run.config.name,
            settings=settings,
            store=run.store,
            ledger=run.shared or run.store,
            today=today,
            previous=last_texts(run.store, stage),
            guard=guard_of(run.store),
            covers=run.options.covers,
            force=run.options.forces("definitions"),
            may_ask=not run.options.dry_run,
            may_retry=run.may_retry,
            on_table=lambda done, total: run.progress(stage, done, total),
            before=run_usage(run.store, run.run_id),
            on_used=lambda used: add_run_usage(run.store, run.run_id, used),
        ),
    )


@dataclass(frozen=True)
class PlannedRequests:
    """What asking the model would take."""

    requests: int
    tokens: int
    """Estimated: prompts and answers."""
    cost: float | None
    """Null when no price is configured."""

    def line(self, limits: ModelBudget) -> str:
        """For people."""
        cost = "" if self.cost is None else f", about {self.cost:.2f} at the configured price"
        reached = ", ".join(self._beyond(limits))
        rest = f"; more than one run may use ({reached}): later runs ask about the rest" if reached else ""
        return f"model: {self.requests} requests, about {self.tokens} tokens{cost}{rest}"

    def _beyond(self, limits: ModelBudget) -> Iterator[str]:
        """Limits that this exceeds."""
        measures: dict[str, float] = {"max_requests": self.requests, "max_tokens": self.tokens}
        measures |= dict.fromkeys(("max_cost", "max_cost_per_day", "max_cost_per_month"), self.cost or 0)
        for name, measure in measures.items():
            limit = getattr(limits, name)
            if limit is not None and measure > limit:
                yield f"{name}: {limit:g}"

    def __add__(self, other: PlannedRequests | None) -> PlannedRequests:
        """Both together."""
        if other is None:
            return self
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return PlannedRequests(self.requests + other.requests, self.tokens + other.tokens, cost)


def planned_requests(config: DatabaseConfig, store: Store, catalog: Catalog, stage: str) -> PlannedRequests | None:
    """What a run would ask the configured model, from a fresh catalog and what the last run left.

    Args:
        catalog: Not scrubbed yet.
    """
    settings = config.model
    if settings is None:
        return None
    from dictionary_pipeline.enrichment.model.write import Terms, questions

    terms = Terms(config.name, settings, store, store, today, last_texts(store, stage), guard_of(store))
    asked = questions(known_sources(config, store, catalog), terms)
    return planned(
        [Usage(1, prompt_tokens(prompt), 0, expected_tokens(question)) for question, prompt in asked], settings
    )


def planned(usages: Iterable[Usage], settings: ModelSettings) -> PlannedRequests:
    """What requests take together."""
    total = sum(usages, Usage())
    cost = micro_cost(total, settings.price) / 1_000_000 if settings.price else None
    return PlannedRequests(total.requests, total.tokens, cost)


def known_sources(config: DatabaseConfig, store: Store, catalog: Catalog) -> Sources:
    """What is known of a database from a fresh catalog and what the last run left.

    Args:
        catalog: Not scrubbed yet.
    """
    from dictionary_pipeline.enrichment.model.facts import Sources

    state = load_stage(store, SAMPLES_STATE, only=("profiles", "sensitivity"))
    profiles = frames.empty(frames.PROFILES) if state is None else frames.fit(state.frames["profiles"], frames.PROFILES)
    scrubbed = scrub_known(catalog, config, store, state)
    graph = relate(scrubbed, profiles, config.human, config.paths)
    given = given_texts(scrubbed, graph, config.human)
    sensitivity = known_sensitivity(catalog, policy_of(config, catalog, store), verdicts_from(state))
    return Sources(scrubbed, profiles, graph, config.human, given, sensitivity)


def today() -> date:
    """The calendar day, UTC, by which spending is counted."""
    return datetime.now(UTC).date()


def guard_of(store: Store) -> Guard:
    """Recognises the withheld values of the last sampling."""
    sealed = load_sealed(store)
    return Recogniser(sealed) if sealed else NoGuard()


def last_texts(store: Store, stage: str) -> pl.DataFrame:
    """`MODEL_TEXTS` of the last run."""
    state = load_stage(store, stage, only=(MODEL_STATE,))
    found = state.frames.get(MODEL_STATE) if state else None
    return no_texts() if found is None else frames.fit(found, MODEL_TEXTS)


def state_frames(model: ModelTexts | None) -> dict[str, pl.DataFrame]:
    """What the stage keeps of the model's texts beside the winning definitions, for review and the next run."""
    return {MODEL_STATE: model.texts} if model else {}


def waiting_facts(model: ModelTexts | None) -> dict[str, int]:
    """How many tables a limit left for the next run; nothing when none."""
    waiting = model.count(Status.SKIPPED_BUDGET) if model else 0
    return {WAITING: waiting} if waiting else {}


def model_metrics(model: ModelTexts | None) -> dict[str, int | float | str | bool]:
    """Numbers of a run that asked a model."""
    if model is None:
        return {}
    used = model.usage
    return {
        "model_requests": used.requests,
        "model_prompt_tokens": used.prompt_tokens,
        "model_cached_tokens": used.cached_tokens,
        "model_completion_tokens": used.completion_tokens,
        "model_cost": model.cost,
        "model_tables_asked": model.count(Status.ASKED, Status.PARTIAL, Status.FAILED),
        "model_tables_kept": model.count(Status.KEPT),
        "model_tables_skipped_budget": model.count(Status.SKIPPED_BUDGET),
        "model_tables_waiting": model.count(Status.WAITING),
        "model_tables_not_asked": model.count(Status.NOT_ASKED, Status.STOPPED),
    }


def batch_notes(model: ModelTexts | None, database: str) -> tuple[str, ...]:
    """What a run says while answers are outstanding."""
    waiting = model.count(Status.WAITING) if model else 0
    if not waiting:
        return ()
    what = f"{waiting} tables wait for a batch of the model's provider and keep their texts until then"
    return (f"{what}; the sensor `model_batch`, or `data_dictionary run {database}`, takes the answers in.",)


def budget_notes(check: Check) -> tuple[str, ...]:
    """What a run says when its budget did not suffice."""
    return () if check.passed else (f"model: {check.description}",)


def model_tables(model: ModelTexts | None) -> Mapping[str, pl.DataFrame]:
    """Tables about which the model was, or should have been, asked."""
    rows = [(table, str(status)) for table, status in (model.statuses if model else ()) if status is not Status.KEPT]
    frame = pl.DataFrame(rows[:MAX_TABLE_ROWS], schema={"table": pl.String(), "status": pl.String()}, orient="row")
    return {"model_tables": frame} if model else {}


def budget_check(model: ModelTexts | None) -> Check:
    """Whether the budget sufficed for everything that was to be asked."""
    if model is None:
        return Check(BUDGET_CHECK, True, "No language model is configured.")
    skipped = model.count(Status.SKIPPED_BUDGET)
    if model.limit is None:
        return Check(BUDGET_CHECK, True, "The budget sufficed for everything that was to be asked.")
    what = (
        f"The limit {model.limit} was reached: {skipped} tables keep their old definitions and are asked about later."
    )
    return Check(BUDGET_CHECK, False, what, skipped)
