"""Questions to the database itself: how many values of a column are found in a key, is a key unique.

A statement answers many questions and returns counts, never a value. What is read is bounded: the
first rows of the referring table and of a key whose uniqueness is in doubt, and once the key's
column of the table referred to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dictionary_pipeline.engines.base import Engine, Session
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError
from dictionary_pipeline.relationships.names import TableName

CHILD_ROWS = 5_000
"""Rows of the referring table whose values are looked for."""
KEY_ROWS = 50_000
"""Rows of a table that are checked for duplicate keys."""
TABLES_PER_STATEMENT = 20
_MAX_QUESTIONS = 250
"""Questions in a statement at most; SQLite joins no more than 500 SELECTs."""
_FEW_QUESTIONS = 25
_TEXT_TYPES = {
    "postgres": "text",
    "redshift": "varchar",
    "sqlite": "text",
    "mysql": "char(255)",
    "tsql": "nvarchar(255)",
    "databricks": "string",
    "spark": "string",
    "bigquery": "string",
    "clickhouse": "String",
}
_TRIMS_CHARACTERS = frozenset({"postgres", "redshift", "duckdb", "sqlite", "snowflake", "oracle", "trino"})
"""Dialects in which `ltrim(x, '0')` takes leading zeros away."""


@dataclass(frozen=True)
class Inclusion:
    """Are the values of these columns found in those of the key? Composite keys are looked up as a whole."""

    child: TableName
    child_columns: tuple[str, ...]
    parent: TableName
    parent_columns: tuple[str, ...]
    as_text: bool = False
    """The types differ: compare texts, without leading zeros where the engine can."""


@dataclass(frozen=True)
class Uniqueness:
    """Do these columns identify the rows of their table?"""

    table: TableName
    columns: tuple[str, ...]


Question = Inclusion | Uniqueness


class Included(NamedTuple):
    """Answer to `Inclusion`: distinct values and rows that were looked for, and that were found."""

    values: int
    rows: int
    values_found: int
    rows_found: int


class Counted(NamedTuple):
    """Answer to `Uniqueness`."""

    rows: int
    values: int
    nulls: int
    """Rows in which a column is null."""

    @property
    def is_unique(self) -> bool:
        """Every row read has its own value."""
        return self.rows == self.values and self.nulls == 0


class Answers(NamedTuple):
    """What the database said."""

    included: Mapping[Inclusion, Included]
    counted: Mapping[Uniqueness, Counted]
    statements: int
    warnings: tuple[str, ...]
    """One sentence per statement that failed; its questions stay unanswered."""


NO_ANSWERS = Answers({}, {}, 0, ())


def ask(
    engine: Engine, questions: Sequence[Question], tables: int, seconds: float, known: Answers = NO_ANSWERS
) -> Answers:
    """Ask the database, most important questions first, with at most one statement per 20 tables.

    Args:
        tables: Tables of the database.
        seconds: Time that a statement may take per table that it covers.
        known: Answers that still hold; their questions are not sent again.

    Raises:
        ConnectionFailed: the database is gone.
    """
    budget = math.ceil(tables / TABLES_PER_STATEMENT)
    wanted = list(dict.fromkeys(questions))[: budget * _MAX_QUESTIONS]
    kept = _of(known, wanted)
    asked = [question for question in wanted if question not in kept.included and question not in kept.counted]
    if not asked:
        return kept
    used = min(budget, math.ceil(len(asked) / _FEW_QUESTIONS))
    # Neighbouring questions are about the same tables, so that a failure stays with few of them.
    asked.sort(key=lambda question: question.child if isinstance(question, Inclusion) else question.table)
    size = math.ceil(len(asked) / used)
    batches = [asked[start : start + size] for start in range(0, len(asked), size)]
    with engine.open() as session:
        told = _ask(engine, session, batches, budget, seconds * TABLES_PER_STATEMENT)
    return told._replace(included={**kept.included, **told.included}, counted={**kept.counted, **told.counted})


def _of(answers: Answers, questions: Sequence[Question]) -> Answers:
    """The answers to these questions only."""
    included, counted = answers.included, answers.counted
    return Answers(
        {item: included[item] for item in questions if isinstance(item, Inclusion) and item in included},
        {item: counted[item] for item in questions if isinstance(item, Uniqueness) and item in counted},
        0,
        (),
    )


def _ask(engine: Engine, session: Session, batches: list[list[Question]], budget: int, timeout: float) -> Answers:
    included: dict[Inclusion, Included] = {}
    counted: dict[Uniqueness, Counted] = {}
    warnings: list[str] = []
    statements = 0
    pending = batches[::-1]
    while pending:
        batch = pending.pop()
        statements += 1
        try:
            rows = session.rows(probe_sql(engine, batch), timeout_s=timeout)
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            # One bad question spoils its statement: ask its halves as long as the budget lasts.
            if len(batch) > 1 and statements + len(pending) + 2 <= budget:
                pending += [batch[len(batch) // 2 :], batch[: len(batch) // 2]]
            else:
                keys = "1 candidate key" if len(batch) == 1 else f"{len(batch)} candidate keys"
                warnings.append(
                    f"{keys} could not be checked against the data: {error.what}."
                    " Confidence rests on names and samples there."
                )
            continue
        for number, *counts in rows:
            question = batch[int(number)]
            figures = [int(count or 0) for count in counts]
            if isinstance(question, Inclusion):
                included[question] = Included(*figures)
            else:
                counted[question] = Counted(*figures[:3])
    return Answers(included, counted, statements, tuple(warnings))


def probe_sql(engine: Engine, questions: Sequence[Question]) -> str:
    """One statement with a row per question: its number and four counts."""
    return "\nUNION ALL\n".join(_selects(engine, questions))


def _selects(engine: Engine, questions: Sequence[Question]) -> Iterator[str]:
    for number, question in enumerate(questions):
        if isinstance(question, Inclusion):
            yield _inclusion_sql(engine, number, question)
        else:
            yield _uniqueness_sql(engine, number, question)


def _inclusion_sql(engine: Engine, number: int, question: Inclusion) -> str:
    child = [engine.quote(column) for column in question.child_columns]
    parent = [engine.quote(column) for column in question.parent_columns]
    spell = (lambda name: _as_text(engine, name)) if question.as_text else str
    values = ", ".join(f"{spell(name)} AS v{at}" for at, name in enumerate(child))
    keys = ", ".join(f"{spell(name)} AS k{at}" for at, name in enumerate(parent))
    present = " AND ".join(f"{name} IS NOT NULL" for name in child)
    names = ", ".join(f"v{at}" for at in range(len(child)))
    equal = " AND ".join(f"d.v{at} = p.k{at}" for at in range(len(child)))
    sample = _limited(engine, values, f"{_from(engine, question.child)} WHERE {present}", CHILD_ROWS)
    return (
        f"SELECT {number} AS probe, COUNT(*) AS a, COALESCE(SUM(d.n), 0) AS b, COUNT(p.k0) AS c,"
        f" COALESCE(SUM(CASE WHEN p.k0 IS NULL THEN 0 ELSE d.n END), 0) AS d"
        f" FROM (SELECT {names}, COUNT(*) AS n FROM ({sample}) s GROUP BY {names}) d"
        f" LEFT JOIN (SELECT DISTINCT {keys} FROM {_from(engine, question.parent)}) p ON {equal}"
    )


def _uniqueness_sql(engine: Engine, number: int, question: Uniqueness) -> str:
    columns = [engine.quote(column) for column in question.columns]
    values = ", ".join(f"{name} AS k{at}" for at, name in enumerate(columns))
    names = ", ".join(f"k{at}" for at in range(len(columns)))
    missing = " OR ".join(f"k{at} IS NULL" for at in range(len(columns)))
    sample = _limited(engine, values, _from(engine, question.table), KEY_ROWS)
    return (
        f"SELECT {number} AS probe, COALESCE(SUM(n), 0) AS a, COUNT(*) AS b,"
        f" COALESCE(SUM(CASE WHEN {missing} THEN n ELSE 0 END), 0) AS c, 0 AS d"
        f" FROM (SELECT {names}, COUNT(*) AS n FROM ({sample}) s GROUP BY {names}) g"
    )


def _from(engine: Engine, table: TableName) -> str:
    return engine.sql_name(table.schema, table.table)


def _limited(engine: Engine, columns: str, source: str, rows: int) -> str:
    if engine.sqlglot_dialect == "tsql":
        return f"SELECT TOP ({rows}) {columns} FROM {source}"
    tail = f"FETCH FIRST {rows} ROWS ONLY" if engine.sqlglot_dialect == "oracle" else f"LIMIT {rows}"
    return f"SELECT {columns} FROM {source} {tail}"


def _as_text(engine: Engine, name: str) -> str:
    text = f"CAST({name} AS {_TEXT_TYPES.get(engine.sqlglot_dialect, 'varchar(255)')})"
    return f"LTRIM({text}, '0')" if engine.sqlglot_dialect in _TRIMS_CHARACTERS else text
