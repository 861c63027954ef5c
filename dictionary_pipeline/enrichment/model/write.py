"""Has a language model write the definitions that nobody gave: cached, within the budget, parents first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from datetime import date

import polars as pl

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.facts import TableName
from dictionary_pipeline.enrichment.given import GivenTexts
from dictionary_pipeline.enrichment.model.answers import Answer, Told, is_safe, lacking
from dictionary_pipeline.enrichment.model.asking import MAX_COLUMNS, Message, Question, cache_key
from dictionary_pipeline.enrichment.model.batch import FEWEST, BatchDesk, BatchKeeper, Order, load_pending
from dictionary_pipeline.enrichment.model.budget import Budget, Ledger, LedgerStore, Usage
from dictionary_pipeline.enrichment.model.cache import load_answer, save_answer
from dictionary_pipeline.enrichment.model.client import ModelUnavailable, QuotaUsedUp, RequestRefused
from dictionary_pipeline.enrichment.model.facts import Sources, TableFacts, gather
from dictionary_pipeline.enrichment.model.interview import Interviewer, Open, Outcome
from dictionary_pipeline.enrichment.model.order import waves
from dictionary_pipeline.enrichment.model.outcome import MODEL_TEXTS, ModelTexts, Status, texts_frame
from dictionary_pipeline.enrichment.model.sharing import Shared, prompt_of, shares, together
from dictionary_pipeline.enrichment.model.texts import Guard, NoGuard
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.problems import Problem

_STAGE = "entity_definitions"
_OUTAGE = 3
"""Requests in a row that get no answer before the server counts as away."""
_REPAIR_HINT = "Its other texts are kept and it is asked again by the next run; write its definition in the YAML."


@dataclass(frozen=True)
class Terms:
    """How a run wants its definitions written."""

    database: str
    """Its name, for messages."""
    settings: ModelSettings
    store: BatchKeeper
    ledger: LedgerStore
    today: Callable[[], date]
    previous: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(MODEL_TEXTS)))
    """`MODEL_TEXTS` of the last run: kept where a new answer fails."""
    guard: Guard = field(default_factory=NoGuard)
    covers: Callable[[str, str], bool] = lambda schema, table: True
    force: bool = False
    """Ask again whatever is kept."""
    may_ask: bool = True
    """Without it only kept answers are used (dry run)."""
    may_retry: bool = False
    """The caller repeats a run that fails in an outage; else an outage costs its tables only."""
    on_table: Callable[[int, int], None] = lambda done, total: None
    """Called with (done, total) for each table that is asked about."""
    before: Usage = field(default_factory=Usage)
    """What the run used before; it counts against its limits."""
    on_used: Callable[[Usage], None] = lambda used: None
    """Called with what was used, also when asking ends in an error."""


def write_texts(sources: Sources, terms: Terms) -> ModelTexts:
    """Definitions of everything that neither people nor the database describe.

    Raises:
        ConfigurationError: key, model or address are wrong.
        ModelUnavailable: the server is away and the caller may retry; what was answered is kept.
    """
    facts = gather(sources, terms.settings.samples, terms.guard)
    tables = [_opened(table, sources.given, terms) for table in facts.values() if _needs(table)]
    budget = Budget(terms.settings.budget, terms.settings.price, Ledger(terms.ledger, terms.today), terms.before)
    writer = _Writer(terms, budget, _meanings(tables, facts))
    try:
        if writer.collect(tables):
            kept = replace(terms, force=False)
            tables = [_opened(table, sources.given, kept) for table in facts.values() if _needs(table)]
            writer.learn(_meanings(tables, facts))
        return writer.run(tables, facts)
    finally:
        terms.on_used(budget.used)


def questions(sources: Sources, terms: Terms) -> list[tuple[Question | Shared, Sequence[Message]]]:
    """What a run would ask, for `plan`: requests and their prompts, without the parents' new texts.

    Nothing while a batch is under way, whose answers come first.
    """
    if terms.settings.batch and load_pending(terms.store) is not None:
        return []
    facts = gather(sources, terms.settings.samples, terms.guard)
    opened = (_opened(table, sources.given, terms) for table in facts.values() if _needs(table))
    orders = _orders([table for table in opened if table.question], terms.settings, {})
    return [(order.request, order.prompt) for order in orders]


def _orders(tables: Sequence[Open], settings: ModelSettings, meanings: Mapping[TableName, str]) -> Iterator[Order]:
    """All requests that asking about tables takes, as far as that is known beforehand."""
    for batch in (batch for wave in _batches(tables, settings) for batch in wave):
        asked = [table.question for table in batch if table.question]
        parts = asked[0].chunks(MAX_COLUMNS) if len(asked) == 1 else (Shared(tuple(asked)),)
        for request in parts:
            yield Order(request, tuple(table.key for table in batch), prompt_of(request, settings, meanings))


def _batches(tables: Sequence[Open], settings: ModelSettings) -> Iterator[list[tuple[Open, ...]]]:
    """What is asked at the same time, each in the tables that share a request; parents come first."""
    share = shares(settings, len(tables))
    for wave in waves([table.facts for table in tables]):
        members = [table for table in tables if table.facts.name in wave]
        yield list(together(members, [table.facts for table in members], share=share))


def _needs(facts: TableFacts) -> bool:
    """Whether a text is lacking; a name alone is not worth a request."""
    return not (facts.human or facts.comment) or any(column.known is None for column in facts.columns)


def _opened(facts: TableFacts, given: GivenTexts, terms: Terms) -> Open:
    key = cache_key(facts, terms.settings)
    kept = Answer() if terms.force and terms.covers(*facts.name) else load_answer(terms.store, key)
    kept = _safe(kept, facts, terms.guard)
    whole = Question(
        facts,
        entity_name=facts.entity_name is None,
        definition=given.table(facts.name) is None,
        columns=tuple(column for column in facts.columns if column.known is None),
    )
    left = lacking(whole, kept)
    # What a kept answer lacks is asked for from scratch: its faults were another run's.
    return Open(facts, key, kept, replace(left, faults=()) if left else None)


def _safe(answer: Answer, facts: TableFacts, guard: Guard) -> Answer:
    """What of a kept answer keeps the rules of today: a column may be withheld since."""

    def keeps(told: Told | None, kind: str) -> bool:
        return told is not None and (told.text is None or is_safe(told.text, facts, kind, guard))

    return Answer(
        answer.entity_name if keeps(answer.entity_name, "entity_name") else None,
        answer.definition if keeps(answer.definition, "definition") else None,
        {name: told for name, told in answer.columns.items() if keeps(told, "column")},
    )


def _meanings(tables: Iterable[Open], facts: Mapping[TableName, TableFacts]) -> dict[TableName, str]:
    """Definitions that prompts of other tables may use."""
    kept = [(table.facts.name, table.kept.definition) for table in tables]
    written = {name: told.text for name, told in kept if told and told.text}
    given = {name: table.human or table.comment for name, table in facts.items()}
    return {**written, **{name: text for name, text in given.items() if text}}


class _Writer:
    """One run's questions to the model."""

    def __init__(self, terms: Terms, budget: Budget, meanings: dict[TableName, str]) -> None:
        settings = terms.settings
        self._terms = terms
        self._interviewer = Interviewer(settings, budget, terms.guard, meanings)
        uses_batches = settings.batch and terms.may_ask
        self._desk = BatchDesk(settings, terms.store, budget, terms.guard) if uses_batches else None
        self._asked = 0
        self._answered = 0
        self._in_a_row = 0
        self._failure: DictionaryError | None = None

    def collect(self, tables: Sequence[Open]) -> bool:
        """Take in the answers of a batch, if there is one that is done; no other is ordered in this run."""
        if self._desk is None:
            return False
        kept = {table.key: table for table in tables}

        def keep(key: str, answer: Answer) -> None:
            save_answer(self._terms.store, key, kept[key].kept | answer)

        if not self._desk.collect({key: table.facts for key, table in kept.items()}, keep):
            return False
        self._desk = None
        return True

    def learn(self, meanings: Mapping[TableName, str]) -> None:
        """Further definitions that prompts of other tables may use."""
        self._interviewer.meanings.update(meanings)

    def _ordered(self, tables: Sequence[Open]) -> set[TableName]:
        """Tables whose answers come with a batch, which is ordered when so many are asked about that it pays."""
        if self._desk is None or self._desk.pending is not None:
            return {table.facts.name for table in tables} if self._desk else set()
        orders = list(_orders(tables, self._terms.settings, self._interviewer.meanings))
        if len(orders) < FEWEST:
            return set()
        try:
            sent = {key for order in self._desk.order(orders) for key in order.keys}
        except (ModelUnavailable, QuotaUsedUp, RequestRefused) as error:
            self._interviewer.stop = self._failure = error
            return set()
        return {table.facts.name for table in tables if table.key in sent}

    def run(self, tables: Sequence[Open], facts: Mapping[TableName, TableFacts]) -> ModelTexts:
        """Ask what is to be asked and put all texts together."""
        askable = [t for t in tables if t.question and self._terms.may_ask and self._terms.covers(*t.facts.name)]
        outcomes = {table.facts.name: Outcome(table, table.kept, Status.KEPT) for table in tables if not table.question}
        waiting = {table.facts.name for table in tables if table.question} - {table.facts.name for table in askable}
        for table in tables:
            if table.facts.name in waiting:
                outcomes[table.facts.name] = Outcome(table, table.kept, Status.NOT_ASKED)
        ordered = self._ordered(askable)
        for table in askable:
            if table.facts.name in ordered:
                outcomes[table.facts.name] = Outcome(table, table.kept, Status.WAITING)
        askable = [table for table in askable if table.facts.name not in ordered]
        for arrived in self._ask_all(askable):
            for outcome in arrived:
                outcomes[outcome.table.facts.name] = outcome
                if replace(outcome.answer, faults=()) != outcome.table.kept:
                    save_answer(self._terms.store, outcome.table.key, outcome.answer)
                self._asked += 1
                self._terms.on_table(self._asked, len(askable))
            self._watch(arrived)
        self._require_answers()
        return self._texts([outcomes[name] for name in facts if name in outcomes])

    def _ask_all(self, tables: Sequence[Open]) -> Iterator[list[Outcome]]:
        """Outcomes as they arrive, by request; tables of one wave do not refer to each other."""
        if not tables:
            return
        with ThreadPoolExecutor(self._terms.settings.concurrency, thread_name_prefix="model") as pool:
            futures: list[Future[list[Outcome]]] = []
            try:
                for wave in _batches(tables, self._terms.settings):
                    futures = [pool.submit(self._interviewer.ask_together, batch) for batch in wave]
                    for future in as_completed(futures):
                        for outcome in future.result():
                            told = outcome.answer.definition
                            if told and told.text:
                                self._interviewer.meanings.setdefault(outcome.table.facts.name, told.text)
                        yield future.result()
            finally:
                for future in futures:
                    future.cancel()

    def _watch(self, arrived: Sequence[Outcome]) -> None:
        """Stop asking when the server is away or refuses everything."""
        self._answered += sum(outcome.status in (Status.ASKED, Status.PARTIAL) for outcome in arrived)
        error = next((outcome.error for outcome in reversed(arrived) if outcome.error), None)
        if error is None:
            self._in_a_row = 0
            return
        self._failure = error
        self._in_a_row += 1
        if self._in_a_row >= _OUTAGE or isinstance(error, QuotaUsedUp):
            self._interviewer.stop = error

    def _require_answers(self) -> None:
        """Leave an outage to a caller who repeats the run."""
        is_outage = self._interviewer.stop is not None or self._answered == 0
        if self._terms.may_retry and is_outage and isinstance(self._failure, ModelUnavailable):
            raise self._failure

    def _texts(self, outcomes: Sequence[Outcome]) -> ModelTexts:
        old = {(row[0], row[1], row[2], row[3]): (row[4], row[5]) for row in self._terms.previous.iter_rows()}
        rows: list[tuple[str, str, str | None, str, str | None, str]] = []
        problems: list[Problem] = []
        for outcome in outcomes:
            rows += _rows(outcome, old, self._terms.guard)
            problems += _problems(outcome)
        stopped = sum(outcome.status is Status.STOPPED for outcome in outcomes)
        reason = self._interviewer.stop
        if reason is not None and stopped:
            what = f"{reason.what}; {stopped} more tables were not asked about"
            problems.append(Problem(self._terms.database, _STAGE, reason.code, what, reason.fix or ""))
        budget = self._interviewer.budget
        return ModelTexts(
            texts=texts_frame(rows),
            problems=tuple(problems),
            statuses=tuple((outcome.table.facts.full_name, outcome.status) for outcome in outcomes),
            usage=budget.used,
            cost=budget.cost,
            limit=self._interviewer.limit,
        )


Row = tuple[str, str, str | None, str, str | None, str]


def _rows(
    outcome: Outcome, old: Mapping[tuple[str, str, str | None, str], tuple[str | None, str]], guard: Guard
) -> Iterator[Row]:
    """Texts of one table; where the model gave none this time, what it wrote last stays."""
    facts, answer = outcome.table.facts, outcome.answer
    told: list[tuple[str | None, str, Told | None]] = [
        (None, "entity_name", answer.entity_name),
        (None, "definition", answer.definition),
        *((column.name, "column", answer.columns.get(column.name)) for column in facts.columns),
    ]
    for column, kind, text in told:
        if text is not None:
            yield facts.schema, facts.table, column, kind, text.text, text.confidence
            continue
        last, confidence = old.get((facts.schema, facts.table, column, kind), (None, ""))
        if last is not None and is_safe(last, facts, kind, guard):
            yield facts.schema, facts.table, column, kind, last, confidence


def _problems(outcome: Outcome) -> Iterator[Problem]:
    if outcome.error is not None:
        yield outcome.error.as_problem(outcome.table.facts.full_name, _STAGE)
    elif outcome.answer.faults and outcome.status is Status.PARTIAL and outcome.limit is None:
        faults = list(dict.fromkeys(outcome.answer.faults))
        listed = "; ".join(faults[:5])
        more = len(faults) - 5
        what = f"the model's answer is not acceptable: {listed}{f' and {more} more' if more > 0 else ''}"
        yield Problem(outcome.table.facts.full_name, _STAGE, None, what, _REPAIR_HINT)
