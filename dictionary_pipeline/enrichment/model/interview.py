"""Asking about tables: small ones together, large ones in chunks, within the budget, with one repair each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.facts import TableName
from dictionary_pipeline.enrichment.model.answers import Answer, lacking, read_answer
from dictionary_pipeline.enrichment.model.asking import MAX_COLUMNS, Question
from dictionary_pipeline.enrichment.model.budget import Budget, BudgetReached
from dictionary_pipeline.enrichment.model.client import ModelUnavailable, QuotaUsedUp, Reply, RequestRefused
from dictionary_pipeline.enrichment.model.facts import TableFacts
from dictionary_pipeline.enrichment.model.outcome import Status
from dictionary_pipeline.enrichment.model.paying import PaidClient
from dictionary_pipeline.enrichment.model.sharing import Shared, prompt_of
from dictionary_pipeline.enrichment.model.texts import Guard
from dictionary_pipeline.errors import DictionaryError

_SMALLEST_SPLIT = 8
"""Columns below which an answer that was cut is not asked for in halves."""


@dataclass(frozen=True)
class Open:
    """A table with something to ask, or with all its answers kept."""

    facts: TableFacts
    key: str
    kept: Answer
    question: Question | None


@dataclass(frozen=True)
class Outcome:
    """How asking about a table ended."""

    table: Open
    answer: Answer
    status: Status
    error: DictionaryError | None = None
    limit: str | None = None


class Interviewer:
    """Asks about tables; threads may share it."""

    def __init__(self, settings: ModelSettings, budget: Budget, guard: Guard, meanings: dict[TableName, str]) -> None:
        self._settings = settings
        self._guard = guard
        self._client = PaidClient(settings, budget)
        self.meanings = meanings
        """Definitions that prompts of other tables may use; grows while answers arrive."""
        self.stop: DictionaryError | None = None
        """Why no further table is asked about."""

    @property
    def budget(self) -> Budget:
        """What was spent."""
        return self._client.budget

    @property
    def limit(self) -> str | None:
        """The limit that was reached."""
        return self._client.limit

    def ask(self, table: Open) -> Outcome:
        """Ask about one table, in a thread of its own."""
        answer, status = table.kept, Status.ASKED
        if self.stop is not None:
            return Outcome(table, answer, Status.STOPPED)
        faults: list[str] = []
        try:
            for question in table.question.chunks(MAX_COLUMNS) if table.question else ():
                answer |= self._answer(question)
                faults += answer.faults
        except BudgetReached as reached:
            status = Status.SKIPPED_BUDGET if answer == table.kept else Status.PARTIAL
            return Outcome(table, answer, status, limit=reached.limit)
        except (ModelUnavailable, QuotaUsedUp, RequestRefused) as error:
            return Outcome(table, answer, Status.FAILED if answer == table.kept else Status.PARTIAL, error)
        return Outcome(table, replace(answer, faults=tuple(faults)), Status.PARTIAL if faults else status)

    def ask_together(self, tables: Sequence[Open]) -> list[Outcome]:
        """Ask about tables in one request, in a thread of its own; what one of them lacks is asked for alone.

        Where the request as a whole brings nothing, each table is asked about by itself.
        """
        questions = tuple(table.question for table in tables if table.question)
        if len(questions) < 2 or self.stop is not None:
            return [self.ask(table) for table in tables]
        shared = Shared(questions)
        try:
            reply = self._send(shared, divisible=True)
        except (BudgetReached, RequestRefused):
            return [self.ask(table) for table in tables]
        except (ModelUnavailable, QuotaUsedUp) as error:
            return [Outcome(table, table.kept, Status.FAILED, error) for table in tables]
        if reply.ending in ("length", "refusal", "content_filter"):
            return [self.ask(table) for table in tables]
        answers = zip(tables, questions, shared.read(reply.text, self._guard), strict=True)
        return [self._completed(table, question, answer) for table, question, answer in answers]

    def _completed(self, table: Open, question: Question, answer: Answer) -> Outcome:
        """One table's part of a shared answer, repaired where that is needed."""
        answer = self._repaired(question, answer)
        status = Status.PARTIAL if answer.faults else Status.ASKED
        return Outcome(table, table.kept | answer, status)

    def _answer(self, question: Question) -> Answer:
        """Ask once, and once more for what is missing or not acceptable."""
        reply = self._send(question)
        if reply.ending == "length" and len(question.columns) >= _SMALLEST_SPLIT:
            first, second = question.chunks(-(-len(question.columns) // 2))
            answer = self._more(second, self._read(first, self._send(first)))
            return answer if lacking(question, answer) else replace(answer, faults=())
        answer = self._read(question, reply)
        if reply.ending in ("refusal", "content_filter"):
            return answer
        return self._repaired(question, answer)

    def _repaired(self, question: Question, answer: Answer) -> Answer:
        """The answer with what it lacks, as far as asking for it once more brings that."""
        repair = lacking(question, answer)
        if repair is None:
            return replace(answer, faults=())
        answer = self._more(repair, replace(answer, faults=()))
        return answer if lacking(question, answer) else replace(answer, faults=())

    def _more(self, question: Question, answer: Answer) -> Answer:
        """Ask for what an answer lacks; whatever comes of it, the answer is kept, with all faults."""
        try:
            more = self._read(question, self._send(question))
        except BudgetReached:
            more = Answer(faults=("the budget did not suffice to ask for the rest",))
        except (ModelUnavailable, QuotaUsedUp, RequestRefused) as error:
            more = Answer(faults=(f"asking for the rest failed: {error.what}",))
        return replace(answer | more, faults=(*answer.faults, *more.faults))

    def _read(self, question: Question, reply: Reply) -> Answer:
        if reply.ending == "refusal":
            return Answer(faults=("the model declined to answer",))
        if reply.ending == "content_filter":
            return Answer(faults=("the provider's content filter stopped the answer",))
        answer = read_answer(reply.text, question, self._guard)
        if reply.ending == "length" and answer.faults:
            return replace(answer, faults=("the answer was cut at its greatest length", *answer.faults))
        return answer

    def _send(self, question: Question | Shared, *, divisible: bool = False) -> Reply:
        """One request within the budget."""
        prompt = prompt_of(question, self._settings, self.meanings)
        return self._client.ask(question, prompt, divisible=divisible)
