"""Facts of PostgreSQL's catalog that a lock or a broken object can withhold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError, QueryFailed, QueryTimeout

_Rows = list[tuple[Any, ...]]
_MOST_STATEMENTS = 24
"""Statements to spend on finding the objects at fault among the others."""


class DetailReader:
    """Reads sizes, view text, defaults and CHECK expressions, in one statement unless one fails.

    The server opens each relation for them: an exclusive lock held by another session would make
    the statement wait, and one broken view would fail it for all.
    """

    def __init__(self, session: Session, details_sql: str, locked_sql: str) -> None:
        self._session = session
        self._details_sql = details_sql
        self._locked_sql = locked_sql
        self._failed: dict[int, DictionaryError] = {}
        self._left = _MOST_STATEMENTS

    def read(
        self, relations: Sequence[int], dependencies: Iterable[tuple[int, int]]
    ) -> tuple[_Rows, dict[int, DictionaryError]]:
        """The facts, and why there are none for some relations.

        Args:
            relations: Relation numbers.
            dependencies: Pairs of a view and a relation that it reads.
        """
        try:
            return self._session.rows(self._details_sql), {}
        except ConnectionFailed:
            raise
        except DictionaryError:
            locked = self._locked(dependencies)
            waiting = QueryTimeout(
                "another session holds a lock on it",
                fix="Run again when no schema change is in progress.",
                code="55P03",
            )
            self._failed = {oid: waiting for oid in relations if oid in locked}
            rows = self._divided([oid for oid in relations if oid not in locked])
            return rows, self._failed

    def _locked(self, dependencies: Iterable[tuple[int, int]]) -> set[int]:
        try:
            held = {oid for (oid,) in self._session.rows(self._locked_sql)}
        except QueryFailed:
            return set()
        return held | {view for view, source in dependencies if source in held}

    def _divided(self, relations: list[int]) -> _Rows:
        """Read the facts of some relations, in halves where that fails."""
        if not relations:
            return []
        if self._left == 0:
            spent = QueryFailed("too many other objects failed", fix="Mend or leave out the objects named beside it.")
            self._failed |= dict.fromkeys(relations, spent)
            return []
        self._left -= 1
        only = f"WHERE oid = ANY ('{{{','.join(map(str, relations))}}}'::oid[])"
        try:
            return self._session.rows(self._details_sql.replace("/*only*/", only))
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            if len(relations) == 1 or isinstance(error, QueryTimeout):
                self._failed |= dict.fromkeys(relations, error)
                return []
            middle = len(relations) // 2
            return self._divided(relations[:middle]) + self._divided(relations[middle:])
