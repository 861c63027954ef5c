"""Sampling: one bounded statement per table gives the profiles and values of all its columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.patterns import ColumnFilter
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.engines.base import Capability, Engine, SampleColumn, SampleRequest, Session, TypeClass
from dictionary_pipeline.errors import DictionaryError, PermissionDenied, QueryTimeout
from dictionary_pipeline.problems import Problem, sorted_unique
from dictionary_pipeline.sampling.allowed import allowed_values
from dictionary_pipeline.sampling.candidates import Candidate
from dictionary_pipeline.sampling.closed_sets import LastTime, SetFinder
from dictionary_pipeline.sampling.collect import HIDDEN_VALUES, Collector, TableSample
from dictionary_pipeline.sampling.marks import Marks, TableKey, take_marks
from dictionary_pipeline.sampling.plan import COLUMN_KEY, Action, SamplingPlan, TablePlan, plan_sampling
from dictionary_pipeline.sampling.privacy import Policy, denied_columns, hidden_of
from dictionary_pipeline.sampling.profile import ColumnSpec, profile_rows
from dictionary_pipeline.sampling.value_order import keep_places
from dictionary_pipeline.sampling.values import MAX_CHARACTERS, Cell
from dictionary_pipeline.sampling.verdicts import Judge, readable_profiles, wider
from dictionary_pipeline.sampling.warehouse import WarehouseBudget
from dictionary_pipeline.sampling.workers import Outcome, read_all

STAGE = "column_samples"

_MAX_CELLS = 300_000
"""Cells read of a table at most: very wide tables are read with fewer rows, so that memory per
connection stays bounded."""
_MIN_ROWS = 1_000
_NESTED_CELLS = 5
"""A nested value may be so many times longer than others."""
_LEAST_SECONDS = 0.1
_VIEWS = ("view", "materialized_view")


@dataclass(frozen=True)
class SampleResult:
    """What sampling found out."""

    profiles: pl.DataFrame
    """`frames.PROFILES`, one row per column of the catalog and in its order."""
    values: pl.DataFrame
    """`frames.VALUES` of string columns, per column those of last time in their order, then the most frequent."""
    problems: tuple[Problem, ...]
    statements: int
    """Sampling statements sent."""
    sensitivity: pl.DataFrame
    """`frames.SENSITIVITY`: sensitive columns and what is done about them, in catalog order."""
    hidden_values: pl.DataFrame = field(default_factory=lambda: frames.empty(HIDDEN_VALUES), repr=False)
    """Raw values of withheld and masked columns (`collect.HIDDEN_VALUES`); never written anywhere."""
    verifications: pl.DataFrame = field(default_factory=lambda: frames.empty(frames.VERIFICATIONS))
    """`frames.VERIFICATIONS`: which value sets were looked for in all rows, for the next run."""
    read: frozenset[TableKey] = frozenset()
    """Tables whose rows this sampling read; not kept."""


def sample_tables(
    engine: Engine,
    catalog: Catalog,
    config: DatabaseConfig,
    *,
    previous: SampleResult | None = None,
    marks: Marks | None = None,
    only: Callable[[str, str], bool] | None = None,
    on_table: Callable[[str], None] | None = None,
    policy: Policy | None = None,
) -> SampleResult:
    """Sample every readable table of the catalog once.

    Withheld columns are never selected. A failed statement leaves its table with status `failed`
    and a problem. The result does not depend on the order in which tables are finished.

    Args:
        engine: Where to read; at most `config.sampling.max_connections` sessions are opened.
        catalog: The selected catalog, allowed values filled in.
        config: Limits, withheld columns and human knowledge.
        previous: Last result, whose samples are kept while they still occur.
        marks: Change marks of now; asked for when they are not given.
        only: False for tables (schema, table) whose rows are taken from `previous`.
        on_table: Called on this thread with `schema.table` as each table is done with.
        policy: What is withheld, where it is more than the configuration says.

    Raises:
        ConnectionFailed: the database is gone, for all workers.
    """
    policy = policy or Policy(config)
    denied = denied_columns(catalog, policy)
    known = frames.empty(frames.SENSITIVITY) if previous is None else previous.sensitivity
    before = None if previous is None else readable_profiles(previous.profiles, known)
    only = wider(only, catalog, policy, known)
    plan = plan_sampling(catalog, denied, before, enabled=config.sampling.enabled, only=only)
    allowed = allowed_values(catalog, config.human)
    last = LastTime() if previous is None else LastTime(previous.profiles, previous.verifications)
    marks = marks or take_marks(engine, [table.key for table in plan.tables if table.action is Action.READ])
    finder = SetFinder(catalog, plan, allowed, last, marks)
    reader = _Reader(engine, plan, config, finder)
    judge = Judge(catalog, policy, denied, known)
    collector = Collector(plan, judge)
    done = on_table or (lambda _name: None)
    for table in plan.tables:
        if table.action is not Action.READ:
            done(table.name)
    budget = WarehouseBudget(engine, config.sampling)
    outcomes = _read_tables(engine, plan, budget.guarded(reader.read), config)
    read, failed = _gather(outcomes, collector, finder, done)
    problems = [_problem(engine, table, error, config) for table, error in failed]
    problems += budget.problems(config.name, STAGE)
    if previous is not None:
        kept = {table.name for table in plan.tables if table.action is Action.KEEP}
        collector.keep(previous.profiles, previous.values)
        problems += [problem for problem in previous.problems if problem.object in kept]
    unmeasured = "failed" if config.sampling.enabled else "unread"
    sensitivity = judge.sensitivity()
    hidden = hidden_of(sensitivity).select(COLUMN_KEY)
    profiles = budget.with_unread(collector.profiles(allowed, sensitivity, unmeasured=unmeasured))
    filled = finder.fill(engine, config.sampling, profiles, collector.values(), hidden)
    return SampleResult(
        filled.profiles,
        filled.values if previous is None else keep_places(filled.values, previous.values),
        sorted_unique([*problems, *filled.verification.problems]),
        reader.statements + filled.verification.statements,
        sensitivity,
        collector.hidden_values(),
        filled.verification.remembered,
        read,
    )


class _Column(NamedTuple):
    """A row of `SamplingPlan.columns`."""

    name: str
    type_class: TypeClass
    data_type: str
    withheld: bool
    previous: list[str] | None
    position: int


class _Read(NamedTuple):
    """What became of one table."""

    sample: TableSample
    candidates: list[Candidate]
    is_whole: bool
    seconds_left: float


class _Reader:
    """Reads single tables; shared by the workers."""

    def __init__(self, engine: Engine, plan: SamplingPlan, config: DatabaseConfig, finder: SetFinder) -> None:
        self._engine = engine
        self._finder = finder
        self._columns = plan.columns.select("column", *_Column._fields[1:])
        self._limits = config.sampling
        self._stored = ColumnFilter(config.value_store)
        self._lock = Lock()
        self.statements = 0

    def read(self, session: Session, table: TablePlan) -> _Read:
        """Sample one table and profile its columns; the rows do not outlive the call."""
        budget = self._limits.table_seconds
        end = time.monotonic() + budget
        every = [_Column(*row) for row in self._columns.slice(table.first, table.count).iter_rows()]
        columns = [column for column in every if not column.withheld]
        request = self._request(table, columns)
        plain = self._engine.sample_sql(replace(request, page_sample=False))
        # An engine samples pages only where that pays; elsewhere both requests give one statement.
        sql = self._engine.sample_sql(request) if request.page_sample else plain
        # A share of pages can only be taken of a size that is known; whatever else an engine does
        # instead of a plain read, it returns fewer rows than asked for only if there are no more.
        is_share = sql != plain and (table.row_estimate is not None or table.size_bytes is not None)
        rows = self._rows(session, sql, budget)
        if not rows and is_share:
            rows, is_share = self._rows(session, plain, max(_LEAST_SECONDS, end - time.monotonic())), False
        specs = [self._spec(table, column) for column in columns]
        complete = not is_share and len(rows) < request.row_limit
        profiles = profile_rows(rows, specs, complete=complete, row_estimate=table.row_estimate)
        sample = TableSample([column.position for column in columns], profiles)
        kinds = [(column.position, column.type_class) for column in columns]
        candidates = self._finder.candidates(kinds, rows, profiles)
        return _Read(sample, candidates, complete, max(0.0, end - time.monotonic()))

    def _spec(self, table: TablePlan, column: _Column) -> ColumnSpec:
        is_included = self._stored.includes(table.schema, table.table, column.name)
        stores = is_included or table.kind not in _VIEWS or self._limits.value_store_views
        return ColumnSpec(
            column.type_class,
            tuple(column.previous or ()),
            self._limits.max_values if stores and column.type_class == "string" else 0,
            keeps_long=is_included,
        )

    def _request(self, table: TablePlan, columns: Sequence[_Column]) -> SampleRequest:
        cells = sum(_NESTED_CELLS if column.type_class in ("json", "array") else 1 for column in columns)
        return SampleRequest(
            schema=table.schema,
            table=table.table,
            kind=table.kind,
            columns=tuple(SampleColumn(column.name, column.type_class, column.data_type) for column in columns),
            row_estimate=table.row_estimate,
            size_bytes=table.size_bytes,
            row_limit=min(self._limits.row_limit, max(_MIN_ROWS, _MAX_CELLS // cells)),
            # One more character tells a text that was cut from one that just fits.
            char_limit=MAX_CHARACTERS + 1,
            page_sample=Capability.PAGE_SAMPLE in self._engine.capabilities,
        )

    def _rows(self, session: Session, sql: str, seconds: float) -> list[tuple[Cell, ...]]:
        with self._lock:
            self.statements += 1
        return session.rows(sql, timeout_s=seconds)


def _read_tables(
    engine: Engine, plan: SamplingPlan, read: Callable[[Session, TablePlan], _Read | None], config: DatabaseConfig
) -> Iterator[Outcome[TablePlan, _Read | None]]:
    """Read what the plan says; the connections are closed even when the caller stops early."""
    tasks = [table for table in plan.tables if table.action is Action.READ]
    with closing(read_all(engine, tasks, read, connections=config.sampling.max_connections)) as outcomes:
        yield from outcomes


def _gather(
    outcomes: Iterator[Outcome[TablePlan, _Read | None]],
    collector: Collector,
    finder: SetFinder,
    done: Callable[[str], None],
) -> tuple[frozenset[TableKey], list[tuple[TablePlan, DictionaryError]]]:
    """Take tables as they are finished; those that were read, and those that failed."""
    read: set[TableKey] = set()
    failed: list[tuple[TablePlan, DictionaryError]] = []
    for outcome in outcomes:
        found = outcome.result
        if found is not None:
            collector.add(found.sample)
            read.add(outcome.task.key)
            finder.add(outcome.task, found.candidates, is_whole=found.is_whole, seconds_left=found.seconds_left)
        if outcome.error is not None:
            failed.append((outcome.task, outcome.error))
        done(outcome.task.name)
    return frozenset(read), failed


def _problem(engine: Engine, table: TablePlan, error: DictionaryError, config: DatabaseConfig) -> Problem:
    hint = error.fix or "Check that the account can query it, or exclude it."
    if isinstance(error, QueryTimeout):
        hint = f"{error.fix or ''} The budget is limits.table_seconds, now {config.sampling.table_seconds:g}.".strip()
    elif isinstance(error, PermissionDenied) and error.fix is None:
        hint = f"GRANT SELECT ON {engine.sql_name(table.schema, table.table)} to the account, or exclude it."
    return Problem(table.name, STAGE, error.code, error.what, hint)
