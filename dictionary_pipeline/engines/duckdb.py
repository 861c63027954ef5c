"""DuckDB database files, opened read-only and closed to the rest of the machine.

A view could read local files or fetch extensions and so carry them into the dictionary; external
access and extension loading are therefore off, and the settings are locked. One thread per
statement makes results independent of scheduling (row order of views, sums of floats), which
equal bytes on equal data need; several sessions still run side by side. Statements that need more
than the memory limit fail instead of writing spill files beside the database.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import duckdb

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines import duckdb_catalog
from dictionary_pipeline.engines.base import Capability, Engine, SampleColumn, SampleRequest, Session, column_list
from dictionary_pipeline.engines.deadline import Deadline
from dictionary_pipeline.engines.files import change_mark, database_file, header
from dictionary_pipeline.errors import (
    ConnectionFailed,
    DictionaryError,
    NotADatabase,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

_MEMORY_LIMIT = "1GB"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
    "memory_limit": _MEMORY_LIMIT,
    "threads": "1",
}
_MAGIC = slice(8, 12)
_LOCK_OWNER = re.compile(r"\(PID (\d+)\)")
_RUN = 32
"""Neighbouring rows per place of a sample: few enough places to read, many enough to be fair."""

_opening = threading.Lock()
"""Two first sessions must not set and lock the settings of one instance at the same time."""


class DuckDBEngine(Engine):
    """One DuckDB file. All sessions of a process share the file's one database instance."""

    name: ClassVar[str] = "duckdb"
    sqlglot_dialect: ClassVar[str] = "duckdb"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.SNAPSHOT,  # an open file is locked against writers of other processes
            Capability.PAGE_SAMPLE,
            Capability.COMMENTS,
            Capability.DECLARED_KEYS,
            Capability.CHECK_CONSTRAINTS,
            Capability.ENUMS,
            Capability.ROW_ESTIMATES,
            Capability.FREE_PROBE,
        }
    )

    def __init__(self, spec: ConnectionSpec) -> None:
        self._path = database_file(spec, "DuckDB")
        self._shown_database: str | None = spec.options.get("fqn_database")
        self._database: str | None = None

    @property
    def identity(self) -> Identity:
        return Identity("duckdb", database=self._shown_database or self._database or self._path.name.split(".")[0])

    @property
    def server(self) -> str:
        return self._path.name

    def connect(self) -> Session:
        head = header(self._path)
        try:
            with _opening:
                connection = duckdb.connect(str(self._path), read_only=True, config=_CONFIG)
                _lock_settings(connection)
        except duckdb.Error as error:
            raise _open_error(self._path, head, str(error)) from None
        session = _DuckDBSession(connection, self.server)
        self._database = str(session.rows("SELECT current_database()")[0][0])
        return session

    def read_catalog(self, session: Session) -> Catalog:
        return duckdb_catalog.read(session, self.identity, self.sql_name)

    def quote(self, identifier: str) -> str:
        return '"' + identifier.replace('"', '""') + '"'

    def sample_sql(self, request: SampleRequest) -> str:
        cells = column_list([self._cell(column, request.char_limit) for column in request.columns])
        table = self.sql_name(request.schema, request.table)
        estimate = request.row_estimate or 0
        spread = ""
        if request.page_sample and request.kind == "table" and estimate > request.row_limit:
            spread = _spread(request, estimate)
        return f"SELECT {cells} FROM {table}{spread} LIMIT {request.row_limit}"

    def change_marks(self, session: Session, tables: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        return dict.fromkeys(tables, change_mark(self._path, ".wal"))

    def probe(self, session: Session) -> str | None:
        return duckdb_catalog.probe(session)

    def _cell(self, column: SampleColumn, limit: int) -> str:
        name = self.quote(column.name)
        if column.type_class == "boolean" or (column.type_class == "integer" and column.data_type != "BIGNUM"):
            return name
        if column.type_class == "binary":
            return f"octet_length({name})"
        if column.type_class == "array":
            return f"left(to_json({name})::VARCHAR, {limit})"
        return f"left({name}::VARCHAR, {limit})"


def _spread(request: SampleRequest, estimate: int) -> str:
    """Take runs of neighbouring rows at even distances over the whole table.

    `USING SAMPLE reservoir` and `bernoulli` read every column of every row, and `system` takes few
    whole vectors of 2,048 rows. A stride over row ids touches about `row_limit / 32` places and
    otherwise only counts row numbers (5 million rows of 12 columns: 0.12 s against 0.05 s for the
    first rows and 0.4 s for a reservoir), is deterministic, and unbiased in physical order.
    """
    if any(column.name.lower() == "rowid" for column in request.columns):
        percent = min(100.0, 150.0 * request.row_limit / estimate)  # a column that hides the row id
        return f" TABLESAMPLE SYSTEM ({percent:.6f} PERCENT) REPEATABLE (42)"
    wanted, runs = -(-request.row_limit // _RUN), -(-estimate // _RUN)
    return f" WHERE ((rowid // {_RUN}) * {wanted}) % {runs} < {wanted}"


class _DuckDBSession(Session):
    def __init__(self, connection: duckdb.DuckDBPyConnection, server: str) -> None:
        self._connection = connection
        self._server = server

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        with Deadline(timeout_s, self._connection.interrupt) as deadline:
            try:
                return self._connection.execute(sql).fetchall()
            except duckdb.Error as error:
                failure = error
        if deadline.expired:
            raise QueryTimeout(
                f"the statement took longer than {timeout_s:g} s",
                fix="Raise the time budget per table, or exclude the object.",
            ) from None
        raise self._query_error(failure) from None

    def close(self) -> None:
        self._connection.close()

    def _query_error(self, error: duckdb.Error) -> DictionaryError:
        if isinstance(error, duckdb.PermissionException):
            return PermissionDenied(
                "needs files or extensions outside the database, which are not read",
                fix="Store the data in the database, or exclude the object.",
            )
        if isinstance(error, duckdb.OutOfMemoryException):
            return QueryFailed(
                f"needs more than {_MEMORY_LIMIT} of memory", fix="Store the result as a table, or exclude the object."
            )
        if isinstance(error, duckdb.CatalogException | duckdb.BinderException):
            return QueryFailed(
                "refers to something that does not exist or has changed", fix="Repair or drop the object's definition."
            )
        if isinstance(error, duckdb.FatalException | duckdb.ConnectionException):
            return ConnectionFailed("the connection to the database broke", where=self._server, fix="Run again.")
        return QueryFailed(
            "DuckDB could not run the statement", fix="Try to SELECT from the object in DuckDB's own shell."
        )


def _lock_settings(connection: duckdb.DuckDBPyConnection) -> None:
    row = connection.execute("SELECT current_setting('lock_configuration')").fetchone()
    if row and row[0]:
        return  # another session of this process opened the file first
    known = connection.execute("SELECT count(*) FROM duckdb_settings() WHERE name = 'TimeZone'").fetchone()
    if known and known[0]:  # without the icu extension times are UTC anyway
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")


def _open_error(path: Path, head: bytes, text: str) -> ConnectionFailed:
    """Class of a failure to open; the driver's text is only looked at, never passed on."""
    where = str(path)
    if "Could not set lock" in text:
        owner = _LOCK_OWNER.search(text)
        by = f"process {owner.group(1)}" if owner else "another process"
        return ConnectionFailed(
            f"the database file is locked by {by}",
            where=where,
            fix="Close it there, or run again once it is free; a copy of the file works too.",
        )
    if "different configuration" in text:
        return ConnectionFailed(
            "the database file is already open in this process with other settings", where=where, fix="Close it first."
        )
    if head[_MAGIC] != b"DUCK":
        kind = "an SQLite database" if head.startswith(b"SQLite format 3") else "not a DuckDB database"
        fix = "Use type `sqlite` for it." if kind.startswith("an") else "Check the path and the type of the connection."
        return NotADatabase(f"the file is {kind}", where=where, fix=fix)
    if "storage version" in text or "version number" in text:
        return NotADatabase(
            f"the file was written by another version of DuckDB than {duckdb.__version__} can read",
            where=where,
            fix="Upgrade the `duckdb` package (`pip install -U duckdb`), or export the database with the version"
            " that wrote it.",
        )
    return NotADatabase(
        "the database file is damaged or encrypted", where=where, fix="Restore it from a backup or export it anew."
    )
