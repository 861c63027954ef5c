"""What every engine module provides.

Conventions: catalog SQL is hand-written, set-wise and parameter-free, a constant number of
statements whatever the size of the database. Sessions are read-only. Identifiers are quoted.
Driver exceptions never leave an engine module: they become `DictionaryError`s whose text is the
product's own, with the SQLSTATE or vendor number as `code`.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.engines.metering import Meter

TypeClass = Literal[
    "string",  # char, varchar, text, enum, citext and the like: go to the value store
    "integer",
    "float",
    "decimal",
    "boolean",
    "date",
    "time",
    "timestamp",
    "interval",
    "uuid",
    "json",
    "array",  # arrays, structs, maps: nested JSON
    "xml",
    "binary",
    "other",  # geometry, ranges, network addresses: the engine's text
]
"""How values of a column are read, decoded and published."""


class Capability(enum.Enum):
    """What an engine can do; callers ask instead of trying."""

    SNAPSHOT = "one consistent read-only transaction over all catalog statements"
    PAGE_SAMPLE = "samples pages without reading the whole table"
    COMMENTS = "has comments on tables and columns"
    DECLARED_KEYS = "records primary, unique and foreign keys"
    CHECK_CONSTRAINTS = "exposes CHECK expressions"
    ENUMS = "has enumerated types or domains"
    VIEW_DEPENDENCIES = "records which objects a view reads"
    ROW_ESTIMATES = "knows about how many rows a table has without counting"
    FREE_PROBE = "has a change signal that costs nothing to read"


@dataclass(frozen=True)
class SampleColumn:
    """A column to read in a sample."""

    name: str
    type_class: TypeClass
    data_type: str


@dataclass(frozen=True)
class SampleRequest:
    """One bounded read of one table, all wanted columns at once."""

    schema: str
    table: str
    kind: str
    columns: tuple[SampleColumn, ...]
    row_estimate: int | None
    size_bytes: int | None
    row_limit: int
    """Rows to read at most; tables known to be smaller are read whole."""
    char_limit: int
    """Characters of a value to fetch at most."""
    page_sample: bool
    """False forces a plain limited read (the fall-back after an empty page sample)."""


@dataclass(frozen=True)
class DistinctRequest:
    """One read of one table that finds the distinct values of some of its columns."""

    schema: str
    table: str
    columns: tuple[SampleColumn, ...]
    """String and integer columns."""
    limit: int
    """Values per column to return at most."""
    char_limit: int
    """Characters of a value to fetch at most."""


class Session(ABC):
    """One open, read-only connection. Not shared between threads."""

    @abstractmethod
    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        """Run one statement and fetch all its rows.

        Raises:
            QueryTimeout, PermissionDenied, QueryFailed, ConnectionFailed: product text, vendor code.
                The session stays usable after all but ConnectionFailed.
        """

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All statements inside see one state of the database, where the engine can."""
        yield

    @abstractmethod
    def close(self) -> None:
        """Close the connection; never raises."""


class Engine(ABC):
    """A database of one kind that can be described."""

    name: ClassVar[str]
    """Name in profiles, manifests and docs: `postgres`, `duckdb`, `sqlite`, ..."""
    sqlglot_dialect: ClassVar[str]
    warnings: tuple[str, ...] = ()
    """What a person should know about the connection; filled by `connect`."""
    capabilities: ClassVar[frozenset[Capability]]
    meter: Meter | None = None
    """Counts the work of a billed warehouse; null on engines whose work is not billed."""
    billed_by_scan: bool = False
    """Reading whole columns costs money, so value sets are verified only when asked for."""

    @property
    @abstractmethod
    def identity(self) -> Identity:
        """Known after the first session was opened; engines may need to ask the server."""

    @property
    @abstractmethod
    def server(self) -> str:
        """Label for tags and limits (host, account or file name); never a credential."""

    @abstractmethod
    def connect(self) -> Session:
        """Open one read-only session with its time-outs set.

        Raises:
            ConnectionFailed, AuthenticationFailed, NotADatabase: one line with the fix.
        """

    @abstractmethod
    def read_catalog(self, session: Session) -> Catalog:
        """Read all catalog facts, system schemas left out; nothing is filtered by selection."""

    @abstractmethod
    def quote(self, identifier: str) -> str:
        """Quote one identifier for this engine."""

    def sql_name(self, schema: str, table: str) -> str:
        """Quoted name usable in FROM."""
        return f"{self.quote(schema)}.{self.quote(table)}"

    @abstractmethod
    def sample_sql(self, request: SampleRequest) -> str:
        """One statement that returns up to `row_limit` rows with one cell per column.

        A cell is null, a native int, float, bool, str or bytes, or the value's text; binary
        columns may return their length as an integer. Text is cut at `char_limit` characters.
        """

    def distinct_sql(self, request: DistinctRequest) -> str:
        """One statement with a row (place of the column, value) per distinct non-null value, as text.

        At most `limit` values of each column come back, in any order; texts are cut at
        `char_limit` characters. Here each column is one branch, of which an engine that streams
        reads no more than it needs.
        """
        table = self.sql_name(request.schema, request.table)
        branches = []
        for place, column in enumerate(request.columns):
            name = self.quote(column.name)
            value = f"SUBSTR(CAST({name} AS VARCHAR), 1, {request.char_limit})"
            distinct = f"SELECT DISTINCT {value} AS v FROM {table} WHERE {name} IS NOT NULL LIMIT {request.limit}"
            branches.append(f"SELECT {place} AS place, v FROM ({distinct}) AS q{place}")
        return " UNION ALL ".join(branches)

    def change_marks(self, session: Session, tables: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """(schema, table) -> a text that differs as soon as rows of the table may have changed.

        At most one statement, which may tell of other tables too. A table that is missing tells
        nothing about changes.
        """
        return {}

    def probe(self, session: Session) -> str | None:
        """A cheap value that moves when the structure may have changed, or null."""
        return None

    def open(self) -> AbstractContextManager[Session]:
        """`connect` as a context manager that closes the session."""
        return _closing(self)


@contextmanager
def _closing(engine: Engine) -> Iterator[Session]:
    session = engine.connect()
    try:
        yield session
    finally:
        session.close()


def column_list(quoted: Sequence[str]) -> str:
    """Select list from quoted expressions; `NULL` when a table has no readable column."""
    return ", ".join(quoted) if quoted else "NULL"
