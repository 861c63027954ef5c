"""SQL Server and Azure SQL: sessions and the engine itself.

The server has no read-only sessions; only SELECTs and session settings are sent, and the account
needs no more than the permissions to read.
"""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any, ClassVar

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines import sqlserver_catalog
from dictionary_pipeline.engines.base import (
    Capability,
    DistinctRequest,
    Engine,
    SampleRequest,
    Session,
    column_list,
)
from dictionary_pipeline.engines.sqlserver_drivers import LOGIN_SECONDS, LONGEST_SECONDS, Driver, create_driver
from dictionary_pipeline.engines.sqlserver_errors import driver_error, timed_out
from dictionary_pipeline.engines.sqlserver_types import cell
from dictionary_pipeline.engines.statements import statement
from dictionary_pipeline.errors import ConnectionFailed, QueryTimeout

_SETTINGS = (
    # Another session's locks must neither stop us nor be stopped by us; samples need no consistency.
    "SET LOCK_TIMEOUT 5000; SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SET DEADLOCK_PRIORITY LOW;"
    # Error messages are told apart by their words.
    " SET LANGUAGE us_english"
)


class SQLServerSession(Session):
    """A connection that is opened again after a time-out, which leaves it unusable with some clients."""

    def __init__(self, driver: Driver, where: str) -> None:
        self._driver = driver
        self._where = where
        self._connection: Any = None
        self._open()

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        """Run one statement and fetch all its rows; without `timeout_s`, within 120 seconds."""
        # The clients count in whole seconds.
        seconds = LONGEST_SECONDS if timeout_s is None else max(1, math.ceil(timeout_s))
        if self._connection is None:
            self._open()
        start = time.monotonic()
        try:
            with self._driver.limited(self._connection, seconds):
                return self._fetch(sql)
        except self._driver.errors as error:
            # Without its cause: the driver's text must not travel along.
            failure = driver_error(error, self._where)
        if isinstance(failure, ConnectionFailed) and time.monotonic() - start >= seconds:
            failure = timed_out(failure.code)  # with pymssql a time limit ends the connection
        if isinstance(failure, QueryTimeout | ConnectionFailed):
            self.close()
        raise failure from None

    def close(self) -> None:
        """Close the connection; never raises."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(*self._driver.errors):
                connection.close()

    def _open(self) -> None:
        try:
            self._connection = self._driver.open()
            with self._driver.limited(self._connection, LOGIN_SECONDS):
                cursor = self._connection.cursor()
                cursor.execute(_SETTINGS)
                cursor.close()
        except self._driver.errors as error:
            failure = driver_error(error, self._where, connecting=True)
        else:
            return
        self.close()
        raise failure from None

    def _fetch(self, sql: str) -> list[tuple[Any, ...]]:
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql)
            return [tuple(row) for row in cursor.fetchall()]
        finally:
            with contextlib.suppress(*self._driver.errors):
                cursor.close()


class SQLServerEngine(Engine):
    """One SQL Server database."""

    name: ClassVar[str] = "sqlserver"
    sqlglot_dialect: ClassVar[str] = "tsql"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.PAGE_SAMPLE,
            Capability.COMMENTS,
            Capability.DECLARED_KEYS,
            Capability.CHECK_CONSTRAINTS,
            Capability.VIEW_DEPENDENCIES,
            Capability.ROW_ESTIMATES,
            Capability.FREE_PROBE,
        }
    )

    def __init__(self, spec: ConnectionSpec) -> None:
        self._spec = spec
        self._driver = create_driver(spec)
        self._database = self._driver.database
        self.warnings: tuple[str, ...] = ()

    @property
    def identity(self) -> Identity:
        """Engine and database, spelled as on the server; the configuration's `fqn_database` wins."""
        return Identity(self.name, database=self._spec.options.get("fqn_database") or self._database)

    @property
    def server(self) -> str:
        """Server name and, unless it is the usual one, port."""
        return self._driver.server if self._driver.port == 1433 else f"{self._driver.server}:{self._driver.port}"

    def connect(self) -> SQLServerSession:
        """Open one session with its settings and time-outs."""
        session = SQLServerSession(self._driver, self._where)
        try:
            self._database = str(session.rows("SELECT DB_NAME()")[0][0])
        except BaseException:
            session.close()
            raise
        return session

    def read_catalog(self, session: Session) -> Catalog:
        """Read all catalog facts in ten statements at most."""
        reading = sqlserver_catalog.read(session, self.identity)
        self.warnings = reading.warnings
        return reading.catalog

    def quote(self, identifier: str) -> str:
        """Quote one identifier."""
        return "[" + identifier.replace("]", "]]") + "]"

    def sample_sql(self, request: SampleRequest) -> str:
        """One statement that reads a bounded part of a table, page-sampled where that helps."""
        cells = column_list([cell(column, self.quote(column.name), request.char_limit) for column in request.columns])
        table = self.sql_name(request.schema, request.table)
        return f"SELECT TOP ({request.row_limit}) {cells} FROM {table}{_table_sample(request)}"

    def distinct_sql(self, request: DistinctRequest) -> str:
        """One statement of a branch per column; texts are compared byte by byte, whatever their collation says."""
        table = self.sql_name(request.schema, request.table)
        branches = []
        for place, column in enumerate(request.columns):
            name = self.quote(column.name)
            text = f"CONVERT(NVARCHAR({request.char_limit}), {name}) COLLATE Latin1_General_BIN2"
            distinct = f"SELECT DISTINCT TOP ({request.limit}) {text} AS v FROM {table} WHERE {name} IS NOT NULL"
            branches.append(f"SELECT {place} AS place, v FROM ({distinct}) AS q{place}")
        return " UNION ALL ".join(branches)

    def probe(self, session: Session) -> str | None:
        """A value that moves with changes of the structure and of comments, and at times without one."""
        return "-".join(str(part) for part in session.rows(statement("sqlserver_probe"))[0])

    @property
    def _where(self) -> str:
        user = self._driver.user
        place = f"SQL Server {f'{user}@' if user else ''}{self.server}/{self._database or ''}"
        return f"{place} ({self._spec.origin})" if self._spec.origin else place


def _table_sample(request: SampleRequest) -> str:
    """The clause that takes whole pages from all over the table; only tables have it, views do not.

    The share goes by half powers of two, so that a count that varies a little gives the same sample;
    it aims at no more rows than the limit, because TOP would cut off the end of the table.
    """
    rows, limit = request.row_estimate or 0, request.row_limit
    if not request.page_sample or request.kind != "table" or rows <= limit:
        return ""
    percent = 100 / 2 ** (math.ceil(2 * math.log2(rows / limit)) / 2)
    return f" TABLESAMPLE SYSTEM ({percent:.6f} PERCENT) REPEATABLE (42)"
