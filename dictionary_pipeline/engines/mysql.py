"""MySQL 8 and MariaDB 10.6 and later, by PyMySQL: connections, sessions and the engine itself."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Any, ClassVar

import pymysql
from pymysql.constants import FIELD_TYPE

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines import mysql_catalog
from dictionary_pipeline.engines.base import Capability, DistinctRequest, Engine, SampleRequest, Session
from dictionary_pipeline.engines.deadline import Deadline
from dictionary_pipeline.engines.mysql_errors import connect_error, query_error
from dictionary_pipeline.engines.mysql_sampling import IntegerKey, distinct_sql, sample_sql
from dictionary_pipeline.engines.statements import statement
from dictionary_pipeline.errors import ConfigurationError, QueryTimeout
from dictionary_pipeline.suggestions import did_you_mean

_STATEMENT_SECONDS = 120.0
_GRACE_SECONDS = 5.0
"""How much longer than the server's time-out a statement may take before the client hangs up."""
_SETTINGS = (
    "SET SESSION TRANSACTION READ ONLY",
    "SET SESSION time_zone = '+00:00', lock_wait_timeout = 5, innodb_lock_wait_timeout = 5, sql_mode = ''",
)
_STANDARD_CATALOG = "def"
"""What MySQL calls the catalog that holds all its databases (information_schema.TABLE_CATALOG)."""
_QUERY = (
    "charset",
    "connect_timeout",
    "ssl_ca",
    "ssl_cert",
    "ssl_disabled",
    "ssl_key",
    "ssl_verify_cert",
    "unix_socket",
)
"""Parameters of a URL that are understood; `charset` is always utf8mb4."""
_INTEGERS = ("TINY", "SHORT", "LONG", "LONGLONG", "INT24", "YEAR")
_NATIVE: dict[Any, Any] = {
    **{getattr(FIELD_TYPE, name): int for name in _INTEGERS},
    FIELD_TYPE.FLOAT: float,
    FIELD_TYPE.DOUBLE: float,
}
"""Types that are read as numbers; all else stays the server's text, dates such as 0000-00-00 included."""


class MySQLSession(Session):
    """A read-only connection whose answers are native numbers and text."""

    def __init__(self, connection: pymysql.Connection[Any], where: str, *, is_mariadb: bool) -> None:
        self._connection = connection
        self._where = where
        self._is_mariadb = is_mariadb
        self._seconds: float | None = None
        self._in_snapshot = False

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        """Run one statement and fetch all its rows; without `timeout_s`, within 120 seconds."""
        seconds = _STATEMENT_SECONDS if timeout_s is None else timeout_s
        if seconds != self._seconds:
            self._run(self._limit_sql(seconds), seconds)
            self._seconds = seconds
        return self._run(sql, seconds)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Rows inside are those of one moment; `information_schema` always shows the present."""
        if self._in_snapshot:
            yield
            return
        self._run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", _STATEMENT_SECONDS)
        self._in_snapshot = True
        try:
            yield
        finally:
            self._in_snapshot = False
            if self._connection.open:
                self._run("ROLLBACK", _STATEMENT_SECONDS)

    def close(self) -> None:
        """Close the connection; never raises."""
        with contextlib.suppress(pymysql.Error, OSError):
            self._connection.close()

    def _limit_sql(self, seconds: float) -> str:
        if self._is_mariadb:
            return f"SET SESSION max_statement_time = {seconds:g}"
        return f"SET SESSION max_execution_time = {max(1, round(seconds * 1000))}"

    def _run(self, sql: str, seconds: float) -> list[tuple[Any, ...]]:
        # Not every statement heeds the server's own limit, and an answer may get stuck on its way.
        with Deadline(seconds + _GRACE_SECONDS, self._hang_up) as deadline:
            try:
                with self._connection.cursor() as cursor:
                    cursor.execute(sql)
                    return list(cursor.fetchall())
            except (pymysql.Error, OSError) as error:
                failure = error
        if deadline.expired:
            raise QueryTimeout(
                f"the server did not answer within {seconds:g} s", fix="Exclude the object, or raise the time limit."
            ) from None
        known = failure if isinstance(failure, pymysql.Error) else pymysql.OperationalError()
        # Without its cause: the driver's text must not travel along.
        raise query_error(known, self._where, lost=not self._connection.open) from None

    def _hang_up(self) -> None:
        # The waiting thread owns the connection, so only its socket is shut down under it.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._connection._sock.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)


class MySQLEngine(Engine):
    """One MySQL or MariaDB database, or all of a server when the connection names none."""

    name: ClassVar[str] = "mysql"
    sqlglot_dialect: ClassVar[str] = "mysql"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.SNAPSHOT,
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
        self._spec = spec
        self._database = str(spec.options.get("database") or "") or None
        self._arguments = _arguments(spec)
        self._is_mariadb = False
        self._integer_keys: dict[tuple[str, str], IntegerKey] | None = None

    @property
    def identity(self) -> Identity:
        """Engine and database; the configuration's `fqn_database` wins."""
        shown = self._spec.options.get("fqn_database") or self._database or _STANDARD_CATALOG
        return Identity(self.name, database=shown)

    @property
    def server(self) -> str:
        """Host and, unless it is the usual one, port."""
        host, port = self._arguments["host"], self._arguments["port"]
        return str(host) if port == 3306 else f"{host}:{port}"

    def connect(self) -> MySQLSession:
        """Open one read-only session with its settings and time-outs."""
        secret = self._spec.secrets.get("password") or self._spec.secrets.get("pass")
        password = secret.reveal() if secret is not None else ""
        try:
            connection = pymysql.connect(**self._arguments, password=password, conv=_NATIVE, autocommit=True)
        except (pymysql.Error, OSError, RuntimeError, ValueError) as error:
            # Without its cause, which holds the password. RuntimeError: a login method needs another package.
            raise connect_error(error, self._where) from None
        self._is_mariadb = "mariadb" in connection.get_server_info().lower()
        session = MySQLSession(connection, self._where, is_mariadb=self._is_mariadb)
        try:
            for setting in _SETTINGS:
                session.rows(setting)
            if self._integer_keys is None:
                found = session.rows(mysql_catalog.in_scope(statement("mysql_integer_keys"), self._database))
                self._integer_keys = {
                    (schema, table): IntegerKey(column, bool(dense)) for schema, table, column, dense in found
                }
        except BaseException:
            session.close()
            raise
        return session

    def read_catalog(self, session: Session) -> Catalog:
        """Read all catalog facts in seven statements."""
        return mysql_catalog.read(session, self.identity, database=self._database, is_mariadb=self._is_mariadb)

    def quote(self, identifier: str) -> str:
        """Quote one identifier."""
        return "`" + identifier.replace("`", "``") + "`"

    def sample_sql(self, request: SampleRequest) -> str:
        """One statement that reads a bounded part of a table, spread over it where that helps."""
        key = (self._integer_keys or {}).get((request.schema, request.table))
        return sample_sql(request, self.sql_name(request.schema, request.table), self.quote, key)

    def distinct_sql(self, request: DistinctRequest) -> str:
        """One statement that finds distinct values; `a` and `A` are two."""
        collation = "utf8mb4_nopad_bin" if self._is_mariadb else "utf8mb4_0900_bin"
        return distinct_sql(request, self.sql_name(request.schema, request.table), self.quote, collation)

    def probe(self, session: Session) -> str | None:
        """A value that moves with every change of the structure, but not with rows."""
        return str(session.rows(mysql_catalog.in_scope(statement("mysql_probe"), self._database))[0][0])

    @property
    def _where(self) -> str:
        user = self._arguments.get("user")
        place = f"MySQL {user}@{self.server}" if user else f"MySQL {self.server}"
        place += f"/{self._database or ''}"
        return f"{place} ({self._spec.origin})" if self._spec.origin else place


def _arguments(spec: ConnectionSpec) -> dict[str, Any]:
    """PyMySQL's arguments without the password, which is looked up when connecting."""
    options = spec.options
    query: dict[str, Any] = dict(options.get("query") or {})
    for key in sorted(query.keys() - set(_QUERY)):
        raise ConfigurationError(
            f"MySQL connections have no parameter {key!r}",
            where=spec.origin or None,
            fix=did_you_mean(key, _QUERY, f"Remove it; known are {', '.join(_QUERY)}."),
        )
    query |= {key: options[key] for key in _QUERY if options.get(key) is not None}
    query.pop("charset", None)
    timeout = str(query.pop("connect_timeout", 10))
    arguments: dict[str, Any] = {
        "host": options.get("host") or "localhost",
        "port": int(options.get("port") or 3306),
        "user": options.get("user"),
        "database": options.get("database") or None,
        "charset": "utf8mb4",
        "connect_timeout": int(timeout) if timeout.isdecimal() else 10,
        "program_name": "dictionary_pipeline",
        **{key: query[key] for key in ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key") if key in query},
    }
    for key in ("ssl_disabled", "ssl_verify_cert"):
        if key in query:
            arguments[key] = str(query[key]).lower() in ("true", "1", "yes")
    return arguments
