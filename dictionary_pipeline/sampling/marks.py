"""Change marks: what an engine tells, without looking at rows, about which tables changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dictionary_pipeline.engines.base import Engine
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError
from dictionary_pipeline.problems import Problem

TableKey = tuple[str, str]
"""Schema and table."""


class Marks(NamedTuple):
    """What the engine told before any row was read."""

    told: Mapping[TableKey, str]
    """A text that moves with the rows of a table; a table that is missing tells nothing."""
    error: DictionaryError | None = None
    """Why nothing was told, where the engine would tell."""

    def problems(self, where: str, stage: str) -> tuple[Problem, ...]:
        """The error as a problem, for whoever needed the marks."""
        return (self.error.as_problem(where, stage),) if self.error else ()


def take_marks(engine: Engine, tables: Sequence[TableKey]) -> Marks:
    """Ask the engine for its change marks, in at most one statement.

    Raises:
        ConnectionFailed: the database is gone.
    """
    if not tables or type(engine).change_marks is Engine.change_marks:
        return Marks({})
    try:
        with engine.open() as session:
            return Marks(engine.change_marks(session, tables))
    except ConnectionFailed:
        raise
    except DictionaryError as error:
        return Marks({}, error)
