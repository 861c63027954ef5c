"""Turns candidates of tables that were only sampled into closed sets, or finds that they are open.

One statement per table looks at all rows for all of its candidates. What it found is remembered
until rows of the table change; a value outside the set in a later sample has it looked at again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.config.resolved import SamplingLimits
from dictionary_pipeline.engines.base import DistinctRequest, Engine, SampleColumn, Session
from dictionary_pipeline.errors import DictionaryError, QueryTimeout
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.sampling.budget import TimeBudget
from dictionary_pipeline.sampling.candidates import MAX_SET
from dictionary_pipeline.sampling.marks import Marks
from dictionary_pipeline.sampling.plan import COLUMN_KEY, TablePlan
from dictionary_pipeline.sampling.values import MAX_CHARACTERS, Cell, encode
from dictionary_pipeline.sampling.workers import read_all

STAGE = "column_samples"

_LEAST_SECONDS = 0.05
"""With less time than this a statement is not worth sending."""

Name = tuple[str, str]


class OpenQuestion(NamedTuple):
    """A column whose sampled values may or may not be all of them."""

    column: SampleColumn
    values: tuple[str, ...]
    """The values that were read, as JSON texts."""


class SampledTable(NamedTuple):
    """A table that was not read whole, and its candidates."""

    table: TablePlan
    questions: tuple[OpenQuestion, ...]
    seconds: float
    """What is left of the table's time budget."""

    @property
    def name(self) -> Name:
        """Schema and table."""
        return self.table.schema, self.table.table


class KnownSet(NamedTuple):
    """All values of a column."""

    schema: str
    table: str
    column: str
    values: tuple[str, ...]
    """JSON texts, in no particular order."""


@dataclass(frozen=True)
class Verification:
    """What became of the candidates."""

    sets: tuple[KnownSet, ...] = ()
    remembered: pl.DataFrame = field(default_factory=lambda: frames.empty(frames.VERIFICATIONS))
    """`frames.VERIFICATIONS`: for the next run."""
    problems: tuple[Problem, ...] = ()
    statements: int = 0


class _Memory(NamedTuple):
    """What was found out about a column before."""

    outcome: str
    mark: str | None
    seconds: float
    values: frozenset[str]


class _Answer(NamedTuple):
    """What a statement found: per asked column its values, or null when time ran out or none was left."""

    values: list[set[str]] | None
    seconds: float | None
    """Time it was given, or took when it ended sooner without an answer; null when it was not sent."""


def verify_sets(
    engine: Engine,
    tables: Sequence[SampledTable],
    limits: SamplingLimits,
    *,
    marks: Marks,
    remembered: pl.DataFrame,
    profiles: pl.DataFrame,
) -> Verification:
    """Find all values of the candidates, as far as the time of the run lasts.

    A set that was known is looked at first, then small tables, then those that took too long before.
    Running out of time is no problem: the column is then without a set.

    Args:
        engine: Where to look; nothing is asked where reading is billed, unless the limits say so.
        tables: Tables with candidates.
        limits: `verify` and `verify_seconds`; the time of a single table is in `tables`.
        marks: What tells whether rows changed, taken before any statement looked at them.
        remembered: `frames.VERIFICATIONS` of last time.
        profiles: `frames.PROFILES` of last time, which hold the sets that are remembered.

    Raises:
        ConnectionFailed: the database is gone, for all workers.
    """
    is_wanted = not engine.billed_by_scan if limits.verify is None else limits.verify
    if not tables or not is_wanted or limits.verify_seconds <= 0:
        return Verification()
    verifier = _Verifier(engine, limits, _memories(remembered, profiles))
    return verifier.verify(tables, marks)


class _Verifier:
    """The work of one run; `_ask` is shared by the workers."""

    def __init__(self, engine: Engine, limits: SamplingLimits, memories: Mapping[tuple[str, ...], _Memory]) -> None:
        self._engine = engine
        self._limits = limits
        self._memories = memories
        self._budget = TimeBudget(limits.verify_seconds)
        self._sets: list[KnownSet] = []
        self._rows: list[tuple[object, ...]] = []
        self._problems: list[Problem] = []

    def verify(self, tables: Sequence[SampledTable], told: Marks) -> Verification:
        self._problems += told.problems(self._engine.identity.fqn() or self._engine.server, STAGE)
        marks = {table.name: _mark(table.table, told.told.get(table.name)) for table in tables}
        asked = sorted(filter(None, (self._recall(table, marks[table.name]) for table in tables)), key=self._turn)
        statements = 0
        with closing(read_all(self._engine, asked, self._ask, connections=self._limits.max_connections)) as outcomes:
            for outcome in outcomes:
                if outcome.error is not None:
                    self._problems.append(_problem(outcome.task, outcome.error))
                if outcome.result is not None and outcome.result.seconds is not None:
                    statements += 1
                    self._take(outcome.task, outcome.result.values, outcome.result.seconds, marks[outcome.task.name])
        found = frames.fit(frames.from_rows(self._rows, frames.VERIFICATIONS), frames.VERIFICATIONS, sort_by=COLUMN_KEY)
        return Verification(tuple(self._sets), found, tuple(self._problems), statements)

    def _recall(self, table: SampledTable, mark: str | None) -> SampledTable | None:
        """The table with the columns that must be asked for; null when all is known."""
        left = []
        for question in table.questions:
            memory = self._memory(table, question)
            if memory is None or mark is None or memory.mark != mark:
                left.append(question)
            elif memory.outcome == "set":
                if memory.values.issuperset(question.values):
                    self._remember(table, question, "set", mark, memory.seconds, memory.values)
                else:
                    left.append(question)
            elif memory.outcome == "unfinished" and table.seconds > memory.seconds + 1:
                left.append(question)
            else:
                self._remember(table, question, memory.outcome, mark, memory.seconds)
        return table._replace(questions=tuple(left)) if left else None

    def _turn(self, table: SampledTable) -> tuple[bool, bool, int, int, Name]:
        outcomes = {memory.outcome for question in table.questions if (memory := self._memory(table, question))}
        plan = table.table
        return "set" not in outcomes, "unfinished" in outcomes, plan.size_bytes or 0, plan.row_estimate or 0, table.name

    def _ask(self, session: Session, table: SampledTable) -> _Answer:
        columns = tuple(question.column for question in table.questions)
        request = DistinctRequest(*table.name, columns, limit=MAX_SET + 1, char_limit=MAX_CHARACTERS + 1)
        with self._budget.spend(table.seconds) as granted:
            # Whole seconds, so that a connection need not set its time-out anew for each table.
            seconds = math.floor(granted) if granted >= 1 else granted
            if seconds < _LEAST_SECONDS:
                return _Answer(None, None)
            start = time.monotonic()
            try:
                rows = session.rows(self._engine.distinct_sql(request), timeout_s=seconds)
            except QueryTimeout:
                # A lock ends it sooner than its time: it can succeed next time.
                return _Answer(None, min(seconds, time.monotonic() - start))
        return _Answer(_values(rows, columns), seconds)

    def _take(self, table: SampledTable, answer: list[set[str]] | None, seconds: float, mark: str | None) -> None:
        for place, question in enumerate(table.questions):
            if answer is None:
                self._remember(table, question, "unfinished", mark, seconds)
                continue
            # What was sampled may have been deleted since, yet the samples show it.
            values = answer[place].union(question.values)
            is_set = len(values) <= MAX_SET and all(len(value) <= MAX_CHARACTERS for value in values)
            self._remember(table, question, "set" if is_set else "open", mark, seconds, values)

    def _memory(self, table: SampledTable, question: OpenQuestion) -> _Memory | None:
        return self._memories.get((*table.name, question.column.name))

    def _remember(
        self,
        table: SampledTable,
        question: OpenQuestion,
        outcome: str,
        mark: str | None,
        seconds: float,
        values: Collection[str] = (),
    ) -> None:
        key = (*table.name, question.column.name)
        # Whole seconds, so that the state of two equal runs is equal.
        self._rows.append((*key, outcome, mark, float(round(seconds))))
        if outcome == "set":
            self._sets.append(KnownSet(*key, tuple(values)))


def _memories(remembered: pl.DataFrame, profiles: pl.DataFrame) -> dict[tuple[str, ...], _Memory]:
    """What is remembered, by schema, table and column."""
    sets = profiles.filter(pl.col("allowed_values_origin") == "scan").select(*COLUMN_KEY, "allowed_values")
    known = remembered.join(sets, on=COLUMN_KEY, how="left").select(
        *COLUMN_KEY, "outcome", "mark", "seconds", "allowed_values"
    )
    return {
        (schema, table, column): _Memory(outcome, mark, seconds, frozenset(values or ()))
        for schema, table, column, outcome, mark, seconds, values in known.iter_rows()
    }


def _mark(table: TablePlan, told: str | None) -> str | None:
    """What moves with rows and structure: the engine's count of changes, else the size of which it knows."""
    if told is None and table.row_estimate is None and table.size_bytes is None:
        return None
    rows = told or f"about {table.row_estimate} rows, {table.size_bytes} bytes"
    return f"{rows}; {(table.fingerprint or '')[:12]}"


def _values(rows: Sequence[Sequence[Cell]], columns: Sequence[SampleColumn]) -> list[set[str]]:
    found: list[set[str]] = [set() for _ in columns]
    for place, value in rows:
        column = int(place or 0)
        found[column].add(encode(value, columns[column].type_class))
    return found


def _problem(table: SampledTable, error: DictionaryError) -> Problem:
    columns = ", ".join(question.column.name for question in table.questions)
    return Problem(
        table.table.name,
        STAGE,
        error.code,
        f"whether the sampled values of {columns} are all could not be found out: {error.what}",
        error.fix or "Set `verify: false` in its limits to leave such questions open.",
    )
