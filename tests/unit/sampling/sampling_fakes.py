"""A small engine over sqlite3 that records what it is sent and fails on demand, and small catalogs."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, HumanKnowledge, SamplingLimits
from dictionary_pipeline.engines.base import Capability, Engine, SampleRequest, Session, column_list
from dictionary_pipeline.errors import ConnectionFailed


class FakeSession(Session):
    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self._connection = sqlite3.connect(engine.path, check_same_thread=False)
        self.closed = False

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        with self._engine.lock:
            self._engine.sent.append(sql)
            self._engine.timeouts.append(timeout_s)
        self._engine.before(sql)
        return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        self.closed = True
        self._connection.close()


class FakeEngine(Engine):
    """`before` runs with every statement and may raise or wait; page samples add `WHERE page`."""

    name: ClassVar[str] = "fake"
    sqlglot_dialect: ClassVar[str] = "sqlite"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.PAGE_SAMPLE})

    def __init__(
        self, path: Path, *, before: Callable[[str], None] = lambda _sql: None, page: str | None = None
    ) -> None:
        self.path = path
        self.before = before
        self.page = page
        self.lock = threading.Lock()
        self.sent: list[str] = []
        self.timeouts: list[float | None] = []
        self.sessions: list[FakeSession] = []
        self.refuse_connections_after: int | None = None

    @property
    def identity(self) -> Identity:
        return Identity("fake")

    @property
    def server(self) -> str:
        return "fake"

    def connect(self) -> Session:
        with self.lock:
            if self.refuse_connections_after is not None and len(self.sessions) >= self.refuse_connections_after:
                raise ConnectionFailed("The server has no free connection", code="53300")
            session = FakeSession(self)
            self.sessions.append(session)
        return session

    def read_catalog(self, session: Session) -> Catalog:
        raise AssertionError("sampling does not read the catalog")

    def quote(self, identifier: str) -> str:
        return '"' + identifier.replace('"', '""') + '"'

    def sample_sql(self, request: SampleRequest) -> str:
        columns = column_list([self.quote(column.name) for column in request.columns])
        where = f" WHERE {self.page}" if request.page_sample and self.page else ""
        return f"SELECT {columns} FROM {self.quote(request.table)}{where} LIMIT {request.row_limit}"


def catalog_of(
    tables: dict[str, dict[str, str]],
    *,
    unreadable: Sequence[str] = (),
    kinds: dict[str, str] | None = None,
    row_estimate: int | None = None,
    allowed: dict[tuple[str, str], tuple[list[str], str]] | None = None,
) -> Catalog:
    """A catalog of schema `main` from {table: {column: type class}}."""
    table_rows, column_rows = [], []
    for table, columns in sorted(tables.items()):
        kind = (kinds or {}).get(table, "table")
        table_rows.append(("main", table, kind, None, row_estimate, None, None, table not in unreadable, None))
        for ordinal, (column, type_class) in enumerate(columns.items(), 1):
            values, origin = (allowed or {}).get((table, column), (None, None))
            fixed = (type_class, type_class, True, None, False, False, None, None, None)
            column_rows.append(("main", table, column, ordinal, *fixed, values, origin))
    return Catalog(
        Identity("fake"),
        tables=frames.from_rows(table_rows, frames.TABLES),
        columns=frames.from_rows(column_rows, frames.COLUMNS),
        keys=frames.empty(frames.KEYS),
        indexes=frames.empty(frames.INDEXES),
        foreign_keys=frames.empty(frames.FOREIGN_KEYS),
        checks=frames.empty(frames.CHECKS),
        lineage=frames.empty(frames.LINEAGE),
    )


def config_of(
    limits: SamplingLimits = SamplingLimits(),  # noqa: B008 - frozen
    *,
    human: HumanKnowledge = HumanKnowledge(),  # noqa: B008 - frozen
    withhold: tuple[str, ...] = (),
    allow: tuple[str, ...] = (),
) -> DatabaseConfig:
    return DatabaseConfig("db", ConnectionSpec("fake"), sampling=limits, human=human, withhold=withhold, allow=allow)


def pause(seconds_by_word: dict[str, float]) -> Callable[[str], None]:
    """Wait longer for some statements, so that workers finish in another order."""

    def wait(sql: str) -> None:
        for word, seconds in seconds_by_word.items():
            if word in sql:
                time.sleep(seconds)

    return wait
