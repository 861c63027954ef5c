"""Has the model read every text unit that changed: kept as it arrives, within the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import date

from dictionary_pipeline.config.graph_settings import GraphSettings
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.model.budget import Budget, Ledger, LedgerStore, Usage
from dictionary_pipeline.enrichment.model.client import ModelUnavailable
from dictionary_pipeline.enrichment.model.outcome import Status
from dictionary_pipeline.enrichment.model.paying import PaidClient
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.extraction.business.asking import Batch, batches, unit_hash
from dictionary_pipeline.extraction.business.conversation import Interview, Outcome
from dictionary_pipeline.extraction.business.keeping import Kept, RecordStore, drop_others, load_kept, save_kept
from dictionary_pipeline.extraction.business.prompts import prompts_of
from dictionary_pipeline.extraction.business.records import Found
from dictionary_pipeline.extraction.business.units import TextUnit
from dictionary_pipeline.problems import Problem

_HINT = "What was found in it before is kept, and it is asked about again by the next run."


@dataclass(frozen=True)
class Terms:
    """How a run wants its texts read."""

    database: str
    """Its name, for messages."""
    stage: str
    settings: GraphSettings
    model: ModelSettings
    store: RecordStore
    ledger: LedgerStore
    today: Callable[[], date]
    before: Usage = field(default_factory=Usage)
    """What earlier stages of the run used."""
    covers: Callable[[TextUnit], bool] = lambda unit: True
    force: bool = False
    """Read again whatever is kept."""
    may_ask: bool = True
    """Without it only kept records are used (dry run)."""
    may_retry: bool = False
    """The caller repeats a run that fails in an outage; else an outage costs its texts only."""
    keep_others: bool = False
    """Keep records of units that are not given: some could not be read."""
    on_batch: Callable[[int, int], None] = lambda done, total: None
    """Called with (done, total) for each request's texts."""
    on_used: Callable[[Usage], None] = lambda used: None
    """Called once with what was used, also when reading ends by an error."""


@dataclass(frozen=True)
class Readings:
    """What the units hold, and what it took."""

    found: Mapping[str, Found]
    """By the key of the unit."""
    problems: tuple[Problem, ...] = ()
    statuses: tuple[tuple[str, Status], ...] = ()
    """Key of each unit, and how reading it ended."""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    limit: str | None = None
    """The limit that was reached, by its name in the configuration."""
    prompt_hash: str = ""

    def count(self, *statuses: Status) -> int:
        """How many units ended so."""
        return sum(status in statuses for _, status in self.statuses)


def read_units(units: Sequence[TextUnit], terms: Terms) -> Readings:
    """Records of every unit, from what is kept and from the model.

    Raises:
        ConfigurationError: key, model or address are wrong.
        ModelUnavailable: the server is away and the caller may retry; what was answered is kept.
    """
    return _Reader(units, terms).run()


def stale_units(units: Sequence[TextUnit], terms: Terms) -> list[TextUnit]:
    """The units that a run would ask about."""
    return _Reader(units, terms).stale


class _Reader:
    """One run's reading."""

    def __init__(self, units: Sequence[TextUnit], terms: Terms) -> None:
        self._units, self._terms = units, terms
        self._prompts = prompts_of(terms.settings, terms.model)
        self._hashes = {unit.key: unit_hash(unit, terms.settings, terms.model, self._prompts) for unit in units}
        loaded = {unit.key: load_kept(terms.store, unit.key) for unit in units}
        self._kept = {key: kept for key, kept in loaded.items() if kept is not None}
        self._statuses = {unit.key: self._first_status(unit) for unit in units}
        self._problems: list[Problem] = []
        self._answered = 0
        self._failure: DictionaryError | None = None

    @property
    def stale(self) -> list[TextUnit]:
        """Units to ask about."""
        return [unit for unit in self._units if self._statuses[unit.key] is Status.ASKED]

    def _first_status(self, unit: TextUnit) -> Status:
        kept, covered = self._kept.get(unit.key), self._terms.covers(unit)
        is_fresh = kept is not None and kept.hash == self._hashes[unit.key] and kept.is_whole
        if is_fresh and not (self._terms.force and covered):
            return Status.KEPT
        return Status.ASKED if covered and self._terms.may_ask else Status.NOT_ASKED

    def run(self) -> Readings:
        terms = self._terms
        budget = Budget(terms.model.budget, terms.model.price, Ledger(terms.ledger, terms.today), before=terms.before)
        client = PaidClient(terms.model, budget)
        interview = Interview(client, self._prompts)
        asked = list(batches(self.stale, terms.settings))
        try:
            for done, outcome in enumerate(self._ask_all(interview, asked), start=1):
                self._take(outcome)
                terms.on_batch(done, len(asked))
        finally:
            terms.on_used(budget.used)
        is_outage = interview.stop is not None or self._answered == 0
        if terms.may_retry and is_outage and isinstance(self._failure, ModelUnavailable):
            raise self._failure
        if not terms.keep_others and terms.may_ask:
            drop_others(terms.store, self._hashes)
        self._name_stopped(interview)
        return Readings(
            found={unit.key: self._kept[unit.key].found for unit in self._units if unit.key in self._kept},
            problems=tuple(self._problems),
            statuses=tuple(self._statuses.items()),
            usage=budget.used,
            cost=budget.cost,
            limit=client.limit,
            prompt_hash=self._prompts.hash,
        )

    def _ask_all(self, interview: Interview, asked: Sequence[Batch]) -> Iterator[Outcome]:
        """Outcomes as they arrive."""
        if not asked:
            return
        with ThreadPoolExecutor(self._terms.model.concurrency, thread_name_prefix="model") as pool:
            futures: list[Future[Outcome]] = [pool.submit(interview.ask, batch) for batch in asked]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()

    def _take(self, outcome: Outcome) -> None:
        """Keep what was answered, and note what was not."""
        stage = self._terms.stage
        for key in (unit.key for unit in outcome.batch.units):
            is_whole = key in outcome.found and key not in outcome.open
            if key in outcome.found:
                self._kept[key] = Kept(self._hashes[key], outcome.found[key], is_whole)
                save_kept(self._terms.store, key, self._kept[key])
            if key in outcome.faults:
                self._problems.append(Problem(key, stage, None, outcome.faults[key], _HINT))
            elif outcome.error is not None and not is_whole:
                self._problems.append(outcome.error.as_problem(key, stage))
            self._statuses[key] = _status(key, outcome)
        self._answered += bool(outcome.found)
        self._failure = outcome.error or self._failure

    def _name_stopped(self, interview: Interview) -> None:
        stopped = sum(status is Status.STOPPED for status in self._statuses.values())
        reason = interview.stop
        if reason is not None and stopped:
            what = f"{reason.what}; {stopped} more texts were not asked about"
            self._problems.append(Problem(self._terms.database, self._terms.stage, reason.code, what, reason.fix or ""))


def _status(key: str, outcome: Outcome) -> Status:
    """How reading a unit ended."""
    if key in outcome.found:
        return Status.PARTIAL if key in outcome.open else Status.ASKED
    if outcome.is_stopped:
        return Status.STOPPED
    return Status.FAILED if key in outcome.faults or outcome.limit is None else Status.SKIPPED_BUDGET
