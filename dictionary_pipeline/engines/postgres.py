"""PostgreSQL 12 and later, by psycopg: connections, sessions and the engine itself."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import TextLoader

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.base import Capability, DistinctRequest, Engine, SampleRequest, Session
from dictionary_pipeline.engines.deadline import Deadline
from dictionary_pipeline.engines.postgres_catalog import CatalogReader, read_change_marks, read_probe
from dictionary_pipeline.engines.postgres_errors import connect_error, query_error, undecodable
from dictionary_pipeline.engines.postgres_sampling import distinct_sql, sample_sql
from dictionary_pipeline.errors import ConfigurationError, QueryTimeout
from dictionary_pipeline.suggestions import did_you_mean

_STATEMENT_TIMEOUT_MS = 120_000
_LOCK_TIMEOUT_MS = 5_000
_GRACE_S = 1.0
"""How much longer than the server's time-out a statement may take before the client ends it."""
_CANCEL_S = 2.0
"""How long the server may take to take note of that."""
_CLOSE_S = 0.5
_OLDEST_VERSION = 120_000

_SETTINGS = {
    "default_transaction_read_only": "on",
    "statement_timeout": str(_STATEMENT_TIMEOUT_MS),
    "lock_timeout": str(_LOCK_TIMEOUT_MS),
    "idle_in_transaction_session_timeout": "600000",
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    # Rows hidden by a policy would be taken for rows that do not exist: better an error.
    "row_security": "off",
    # A limited read must return the same rows every time.
    "synchronize_seqscans": "off",
    "max_parallel_workers_per_gather": "0",
}

_LIBPQ_KEYS = frozenset(item.keyword.decode() for item in pq.Conninfo.get_defaults()) - {"password", "dbname"}
"""dbt profile keys that libpq knows by the same name."""

_NATIVE = frozenset({"bool", "int2", "int4", "int8", "oid", "float4", "float8", "bytea"})
"""Types that Python holds exactly. psycopg's objects for others cannot: dates end at 9999, for one."""


class PostgresSession(Session):
    """A read-only connection whose answers are native numbers, booleans and text."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]], where: str) -> None:
        self._connection = connection
        self._where = where
        self._timeout_ms: int | None = _STATEMENT_TIMEOUT_MS
        for info in connection.adapters.types:
            if info.name not in _NATIVE:
                connection.adapters.register_loader(info.oid, TextLoader)

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        """Run one statement and fetch all its rows; without `timeout_s`, within 120 seconds."""
        timeout_ms = _STATEMENT_TIMEOUT_MS if timeout_s is None else max(1, round(timeout_s * 1000))
        with self._translated_errors(), self._client_limit(timeout_ms / 1000):
            if timeout_ms != self._timeout_ms:
                self._connection.execute(f"SET statement_timeout = {timeout_ms}".encode())
                self._timeout_ms = timeout_ms
            with self._savepoint() if self._in_snapshot else contextlib.nullcontext():
                return self._connection.execute(sql.encode()).fetchall()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All statements inside see one state of the database; inside another snapshot, that one's."""
        if self._in_snapshot:
            yield
            return
        with self._translated_errors():
            self._connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
            self._connection.set_read_only(True)
            try:
                with self._connection.transaction():
                    yield
            except BaseException:
                self._timeout_ms = None  # a SET inside was undone
                raise

    def close(self) -> None:
        """Close the connection and wait until the server has let go of it too; never raises.

        Otherwise the next session would count as one more beside it for a moment.
        """
        with contextlib.ExitStack() as stack:
            # What fails here is a connection that was lost before.
            stack.enter_context(contextlib.suppress(psycopg.Error, OSError))
            stack.callback(self._connection.close)
            line = stack.enter_context(self._line())
            self._connection.close()
            line.settimeout(_CLOSE_S)
            while line.recv(4_096):
                pass

    @contextlib.contextmanager
    def _client_limit(self, seconds: float) -> Iterator[None]:
        """End what the server's own time-out does not end: first by asking the server, then by hanging up.

        A statement may ignore the time-out, an answer may get stuck on its way.
        """
        last = seconds + _GRACE_S + _CANCEL_S
        with Deadline(last, self._hang_up) as end, Deadline(seconds + _GRACE_S, self._cancel):
            try:
                yield
            except psycopg.Error:
                if end.expired:
                    raise QueryTimeout(
                        "the server neither answered in time nor let the statement be stopped",
                        fix="Leave the object out, or ask for the state of the server and the network.",
                    ) from None
                raise

    def _cancel(self) -> None:
        # Where this fails the connection is hung up next.
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=_CANCEL_S)

    def _hang_up(self) -> None:
        # Another thread waits on the connection, so it must not be closed under it; its socket may be shut down.
        with contextlib.suppress(psycopg.Error, OSError), self._line() as line:
            line.shutdown(socket.SHUT_RDWR)

    def _line(self) -> socket.socket:
        """The connection's socket under a number of its own."""
        return socket.socket(fileno=os.dup(self._connection.fileno()))

    @property
    def _in_snapshot(self) -> bool:
        return self._connection.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS

    @contextlib.contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Keep the snapshot alive when the statement fails.

        The savepoint is not released: a few dozen of one name cost nothing and the statement would be one more.
        """
        self._connection.execute("SAVEPOINT statement")
        try:
            yield
        except psycopg.Error:
            if not self._connection.closed:
                self._connection.execute("ROLLBACK TO SAVEPOINT statement")
            raise

    @contextlib.contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            # Without its cause: the driver's text and connection must not travel along.
            raise query_error(error, self._where, lost=self._connection.closed) from None
        except UnicodeDecodeError:
            raise undecodable(self._where) from None


class PostgresEngine(Engine):
    """One PostgreSQL database."""

    name: ClassVar[str] = "postgres"
    sqlglot_dialect: ClassVar[str] = "postgres"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)

    def __init__(self, spec: ConnectionSpec) -> None:
        self._spec = spec
        self._parameters = _connection_parameters(spec)
        self._database = str(self._parameters.get("dbname") or self._parameters.get("user") or "") or None

    @property
    def identity(self) -> Identity:
        """Engine and database; the configuration's `fqn_database` wins over the server's name."""
        return Identity(self.name, database=self._spec.options.get("fqn_database") or self._database)

    @property
    def server(self) -> str:
        """Host name, `localhost` for a local socket."""
        host = str(self._parameters.get("host") or "localhost")
        return "localhost" if host.startswith(("/", "@")) else host

    def connect(self) -> PostgresSession:
        """Open one read-only session with its settings and time-outs."""
        secret = self._spec.secrets.get("password") or self._spec.secrets.get("pass")
        parameters = dict(self._parameters)
        if secret is not None:
            parameters["password"] = secret.reveal()
        try:
            connection = psycopg.connect(**parameters, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            # Without its cause, which holds the password.
            raise connect_error(error, self._where) from None
        if connection.info.server_version < _OLDEST_VERSION:
            connection.close()
            raise ConfigurationError(
                "the server is older than PostgreSQL 12", where=self._where, fix="Describe a newer server."
            )
        self._database = connection.info.dbname
        return PostgresSession(connection, self._where)

    def read_catalog(self, session: Session) -> Catalog:
        """Read all catalog facts in seven statements that see one state of the database."""
        with session.snapshot():
            return CatalogReader(session, self.identity).read()

    def quote(self, identifier: str) -> str:
        """Quote one identifier."""
        return '"' + identifier.replace('"', '""') + '"'

    def sample_sql(self, request: SampleRequest) -> str:
        """One statement that reads a bounded part of a table, page-sampled where that helps."""
        return sample_sql(request, self.sql_name(request.schema, request.table), self.quote)

    def distinct_sql(self, request: DistinctRequest) -> str:
        """One statement that finds the distinct values of all the columns in one scan."""
        return distinct_sql(request, self.sql_name(request.schema, request.table), self.quote)

    def change_marks(self, session: Session, tables: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Numbers of rows inserted, updated and deleted so far, where the server counts them."""
        return read_change_marks(session)

    def probe(self, session: Session) -> str:
        """A value that moves with every change of the structure, but not with ANALYZE or VACUUM."""
        return read_probe(session)

    @property
    def _where(self) -> str:
        user = self._parameters.get("user")
        login = f"{user}@{self.server}" if user else self.server
        place = f"PostgreSQL {login}:{self._parameters.get('port', 5432)}/{self._database or ''}"
        return f"{place} ({self._spec.origin})" if self._spec.origin else place


def _connection_parameters(spec: ConnectionSpec) -> dict[str, Any]:
    """libpq parameters without the password, which is looked up when connecting."""
    options = spec.options
    if options.get("url"):
        # SQLAlchemy's URL names the driver behind a plus; libpq's URI is the same without it.
        uri = re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", str(options["url"]))
        try:
            parameters: dict[str, Any] = {**conninfo_to_dict(uri)}
        except psycopg.Error:
            raise ConfigurationError(
                "the URL is not one of a PostgreSQL database",
                where=spec.origin or None,
                fix="Write it as postgresql://user@host:5432/database.",
            ) from None
    else:
        query = options.get("query") or {}
        for key in sorted(query.keys() - _LIBPQ_KEYS - {"password", "dbname"}):
            raise ConfigurationError(
                f"PostgreSQL connections have no parameter {key!r}",
                where=spec.origin or None,
                fix=did_you_mean(key, _LIBPQ_KEYS, "Remove it from the URL."),
            )
        given = {**query, **options}
        parameters = {key: given[key] for key in sorted(_LIBPQ_KEYS) if given.get(key) is not None}
        database = options.get("dbname") or options.get("database")
        if database is not None:
            parameters["dbname"] = database
    settings = dict(_SETTINGS)
    if options.get("role"):
        settings["role"] = str(options["role"])
    own = " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())
    parameters["options"] = f"{parameters.get('options') or ''} {own}".strip()
    defaults = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
    return {
        **defaults,
        **parameters,
        "client_encoding": "UTF8",
        "application_name": "dictionary_pipeline",
    }


def _escaped(value: str) -> str:
    return re.sub(r"([\\\s])", r"\\\1", value)
