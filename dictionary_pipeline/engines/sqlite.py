"""SQLite database files through the standard library, opened with `mode=ro`."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from dictionary_pipeline import jsontext
from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines import sqlite_catalog
from dictionary_pipeline.engines.base import Capability, Engine, SampleColumn, SampleRequest, Session, column_list
from dictionary_pipeline.engines.deadline import Deadline
from dictionary_pipeline.engines.files import change_mark, database_file, header
from dictionary_pipeline.errors import (
    ConfigurationError,
    ConnectionFailed,
    DictionaryError,
    NotADatabase,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

_LOCK_SECONDS = 5.0
_MAGIC = b"SQLite format 3\0"
_OLDEST = (3, 37, 0)
_PROBE = (
    "SELECT type, name, tbl_name, sql FROM main.sqlite_schema"
    " WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name"
)
"""First version with `pragma_table_list` (https://sqlite.org/pragma.html#pragma_table_list)."""
_ROWID_NAMES = ("rowid", "_rowid_", "oid")
_RUN = 32
"""Neighbouring rows per place of a sample."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NO_SHARED_MEMORY = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


class SQLiteEngine(Engine):
    """One SQLite file; its only schema is `main`."""

    name: ClassVar[str] = "sqlite"
    sqlglot_dialect: ClassVar[str] = "sqlite"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.SNAPSHOT,
            Capability.PAGE_SAMPLE,
            Capability.DECLARED_KEYS,
            Capability.CHECK_CONSTRAINTS,
            Capability.FREE_PROBE,
        }
    )

    def __init__(self, spec: ConnectionSpec) -> None:
        self._path = database_file(spec, "SQLite")
        self._rowid_tables: frozenset[str] | None = None
        self.warnings: tuple[str, ...] = ()
        """Said once per run: what was read in a way that may miss changes."""

    @property
    def identity(self) -> Identity:
        return Identity("sqlite")

    @property
    def server(self) -> str:
        return self._path.name

    def connect(self) -> Session:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise ConfigurationError(
                f"SQLite {sqlite3.sqlite_version} of this Python is too old",
                fix="Use a Python with SQLite 3.37 or newer.",
            )
        head = _sqlite_header(self._path)
        try:
            connection = _open(self._path)
        except sqlite3.Error as error:
            if not self._needs_immutable(head, error):
                raise _open_error(self._path, error) from None
            connection = self._open_immutable()
        session = _SQLiteSession(connection, self.server)
        if self._rowid_tables is None:
            self._rowid_tables = sqlite_catalog.rowid_tables(session)
        return session

    def read_catalog(self, session: Session) -> Catalog:
        return sqlite_catalog.read(session, self.identity)

    def quote(self, identifier: str) -> str:
        return '"' + identifier.replace('"', '""') + '"'

    def sample_sql(self, request: SampleRequest) -> str:
        cells = column_list([self._cell(column, request.char_limit) for column in request.columns])
        table = self.sql_name(request.schema, request.table)
        hidden = {column.name.lower() for column in request.columns}
        rowid = next((name for name in _ROWID_NAMES if name not in hidden), None)
        known_small = request.row_estimate is not None and request.row_estimate <= request.row_limit
        if known_small or not request.page_sample or rowid is None or request.table not in (self._rowid_tables or ()):
            return f"SELECT {cells} FROM {table} LIMIT {request.row_limit}"
        return _spread_sql(cells, table, rowid, request.row_limit)

    def change_marks(self, session: Session, tables: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        return dict.fromkeys(tables, change_mark(self._path, "-wal"))

    def probe(self, session: Session) -> str | None:
        """Hash of all definitions: `schema_version` moves with VACUUM too, and can be the same in a rebuilt file."""
        return jsontext.digest(session.rows(_PROBE))[:32]

    def _cell(self, column: SampleColumn, limit: int) -> str:
        name = self.quote(column.name)
        if column.type_class == "binary":
            return f"length(CAST({name} AS BLOB))"
        # Any column may hold any kind of value, so the kind of each cell decides.
        return (
            f"CASE typeof({name}) WHEN 'text' THEN substr({name}, 1, {limit})"
            f" WHEN 'blob' THEN '<' || length({name}) || ' bytes>' ELSE {name} END"
        )

    def _needs_immutable(self, head: bytes, error: sqlite3.Error) -> bool:
        """Reading a WAL database needs `-wal` and `-shm` beside it; a read-only folder may lack them.

        Never with a rollback journal: ignoring that could show a half-written change.
        """
        is_wal = head[18:20] == b"\2\2"  # https://sqlite.org/fileformat.html#file_format_version_numbers
        can_write = os.access(self._path.resolve().parent, os.W_OK)
        return is_wal and not can_write and _primary_code(error) in _NO_SHARED_MEMORY

    def _open_immutable(self) -> sqlite3.Connection:
        try:
            connection = _open(self._path, "&immutable=1")
        except sqlite3.Error as error:
            raise _open_error(self._path, error) from None
        log = Path(f"{self._path}-wal")
        missed = " Changes that still lie in its `-wal` file are not seen." if log.exists() else ""
        self.warnings = (
            f"{self._path}: the folder is read-only, so the file was read as if nobody changes it.{missed}"
            " Make the folder writable, or checkpoint and close the database first.",
        )
        return connection


def _spread_sql(cells: str, table: str, rowid: str, limit: int) -> str:
    """Runs of neighbouring rows at even distances over the range of row ids, topped up from the start.

    SQLite keeps no row counts, so this must serve small and large tables alike: it returns exactly
    `limit` rows of a larger table and all rows of a smaller one. Each run is one seek; `rowid % k`
    would read the whole file. On 1,000,000 rows (120 MB): 0.07 s, against 0.05 s for the first rows
    and 0.12 s (all pages cached) for the whole scan. Where row ids are sparse the runs find few
    rows; the rows that follow the start fill the sample up.
    """
    runs = -(-limit // _RUN)
    return f"""
WITH RECURSIVE
place(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM place WHERE i + 1 < {runs}),
span(lo, step) AS MATERIALIZED (
  SELECT low, (high - low) / {runs} + 1
  FROM (SELECT (SELECT min({rowid}) FROM {table}) AS low, (SELECT max({rowid}) FROM {table}) AS high)),
spread(r) AS MATERIALIZED (
  SELECT s.{rowid} FROM place CROSS JOIN span CROSS JOIN {table} AS s
  WHERE s.{rowid} IN (
    SELECT {rowid} FROM {table} WHERE {rowid} >= lo + i * step AND {rowid} < lo + (i + 1) * step
    ORDER BY {rowid} LIMIT {_RUN})
  LIMIT {limit}),
rest(r) AS (
  SELECT {rowid} FROM {table} WHERE {rowid} NOT IN (SELECT r FROM spread)
  ORDER BY {rowid} LIMIT {limit} - (SELECT count(*) FROM spread))
SELECT {cells} FROM {table}
WHERE {rowid} IN (SELECT r FROM spread UNION ALL SELECT r FROM rest)"""


class _SQLiteSession(Session):
    def __init__(self, connection: sqlite3.Connection, server: str) -> None:
        self._connection = connection
        self._server = server

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        with Deadline(timeout_s, self._connection.interrupt) as deadline:
            try:
                return self._connection.execute(sql).fetchall()
            except sqlite3.Error as error:
                failure = error
        if deadline.expired:
            raise QueryTimeout(
                f"the statement took longer than {timeout_s:g} s",
                fix="Raise the time budget per table, or exclude the object.",
            ) from None
        raise _query_error(failure) from None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.rows("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:
                self.rows("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


def _open(path: Path, more: str = "") -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro{more}",
        uri=True,
        timeout=_LOCK_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.text_factory = _text
        connection.execute("PRAGMA query_only = ON")
        # The schema comes from strangers: its views must not call functions with side effects.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _primary_code(error: sqlite3.Error) -> int:
    """Primary result code of an extended one (https://sqlite.org/rescode.html)."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _code(error: sqlite3.Error) -> str | None:
    number = getattr(error, "sqlite_errorcode", None)
    return None if number is None else str(number)


def _sqlite_header(path: Path) -> bytes:
    """The file's header; what is not SQLite is refused, as SQLite takes tiny files for empty databases."""
    head = header(path)
    if not head or head.startswith(_MAGIC):  # an empty file is a database without tables
        return head
    if head[8:12] == b"DUCK":
        raise NotADatabase("the file is a DuckDB database", where=str(path), fix="Use type `duckdb` for it.")
    raise NotADatabase(
        "the file is not an SQLite database, or it is encrypted",
        where=str(path),
        fix="Check the path and the type of the connection; decrypt it into a copy if it is encrypted.",
    )


def _open_error(path: Path, error: sqlite3.Error) -> ConnectionFailed:
    where, primary, code = str(path), _primary_code(error), _code(error)
    if primary in _BUSY:
        return ConnectionFailed(
            "the database is locked by another process", where=where, fix="Run again once it is free.", code=code
        )
    if primary in _DAMAGED:
        return NotADatabase("the database file is damaged", where=where, fix="Restore it from a backup.", code=code)
    return ConnectionFailed(
        "the database file cannot be opened for reading",
        where=where,
        fix="Open and close it once with write access, so that an unfinished change is completed.",
        code=code,
    )


def _query_error(error: sqlite3.Error) -> DictionaryError:
    primary, code = _primary_code(error), _code(error)
    if primary in _BUSY:
        return QueryTimeout(
            f"another process kept the database locked for {_LOCK_SECONDS:g} s", fix="Run again later.", code=code
        )
    if primary in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_PERM):
        return PermissionDenied("SQLite refuses to read it", fix="Exclude the object.", code=code)
    if primary in _DAMAGED:
        return QueryFailed("its pages are damaged", fix="Restore the database from a backup.", code=code)
    return QueryFailed(
        "SQLite could not run the statement; a definition may refer to a missing table, function or module",
        fix="Repair or drop the object, or exclude it.",
        code=code,
    )
