"""Any database that SQLAlchemy speaks, through the inspector: the fall-back for engines without a module.

Slower than a module of its own and blind to what the dialect does not reflect. Read-only and
time-outs are as good as the dialect and the driver offer: the account should only have SELECT.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.elements import quoted_name
from sqlglot.dialects.dialect import Dialects

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines import generic_catalog
from dictionary_pipeline.engines.base import Capability, DistinctRequest, Engine, SampleColumn, SampleRequest, Session
from dictionary_pipeline.engines.deadline import Deadline
from dictionary_pipeline.engines.generic_errors import driver_error, missing_driver, timed_out
from dictionary_pipeline.engines.generic_url import connection_url, with_secrets
from dictionary_pipeline.engines.generic_values import as_cell
from dictionary_pipeline.errors import ConfigurationError, DictionaryError

_MYSQL = ("SET SESSION TRANSACTION READ ONLY", "SET SESSION lock_wait_timeout = 5")
_SETTINGS: Mapping[str, Sequence[str]] = {
    "postgresql": ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SET lock_timeout = '5s'"),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "mssql": ("SET LOCK_TIMEOUT 5000",),
    "sqlite": ("PRAGMA query_only = ON",),
}
"""Read-only and lock time-out where the dialect has them."""
_SQLGLOT: Mapping[str, str] = {"postgresql": "postgres", "mssql": "tsql", "mariadb": "mysql", "cockroachdb": "postgres"}
_BILLED_BY_SCAN = ("athena", "awsathena", "bigquery", "databricks", "snowflake")
_FILE_DATABASES = ("sqlite", "duckdb", "access")


class GenericEngine(Engine):
    """One database behind a SQLAlchemy URL, or behind the options of a type without a module of its own."""

    name: ClassVar[str] = "generic"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.COMMENTS, Capability.DECLARED_KEYS, Capability.CHECK_CONSTRAINTS}
    )

    def __init__(self, spec: ConnectionSpec) -> None:
        self._spec = spec
        self._where = spec.origin or None
        self._url = connection_url(spec)
        self._dialect: Dialect = self._load_dialect()

    @property
    def sqlglot_dialect(self) -> str:  # type: ignore[override]  # known per URL, not per class
        name = _SQLGLOT.get(self._dialect.name, self._dialect.name)
        return name if name in {dialect.value for dialect in Dialects} else ""

    @property
    def identity(self) -> Identity:
        shown = self._spec.options.get("fqn_database")
        if shown is None and self._dialect.name not in _FILE_DATABASES:
            shown = self._url.database
        return Identity(self._dialect.name, database=shown)

    @property
    def billed_by_scan(self) -> bool:  # type: ignore[override]  # known per URL, not per class
        return self._dialect.name in _BILLED_BY_SCAN

    @property
    def server(self) -> str:
        if self._url.host:
            return self._url.host if self._url.port is None else f"{self._url.host}:{self._url.port}"
        return (self._url.database or self._dialect.name).replace("\\", "/").rsplit("/", 1)[-1]

    def connect(self) -> Session:
        engine = self._create_engine()
        try:
            connection = engine.connect()
        except (
            exc.SQLAlchemyError,
            OSError,
            RuntimeError,
        ) as error:  # drivers whose libraries do not load raise others
            raise driver_error(error, where=self.server, connecting=True) from None
        self._dialect = engine.dialect  # now it knows the server's version
        session = _GenericSession(_autocommit(connection), self.server)
        try:
            for setting in _SETTINGS.get(self._dialect.name, ()):
                session.execute(setting)
        except DictionaryError:
            session.close()
            raise
        return session

    def read_catalog(self, session: Session) -> Catalog:
        assert isinstance(session, _GenericSession)
        only = self._url.database if self._dialect.name in ("mysql", "mariadb") else None
        return generic_catalog.read(session.connection, self.identity, only_schema=only)

    def quote(self, identifier: str) -> str:
        preparer = self._dialect.identifier_preparer
        # Dialects that fold case (Oracle, Snowflake) give names folded and must quote by need.
        return preparer.quote(identifier) if self._folds_case else preparer.quote_identifier(identifier)

    def sample_sql(self, request: SampleRequest) -> str:
        table = sa.table(
            self._name(request.table),
            *[sa.column(self._name(column.name)) for column in request.columns],
            schema=self._name(request.schema),
        )
        cells = [self._cell(table.c[column.name], column, request.char_limit) for column in request.columns]
        statement = sa.select(*(cells or [sa.null()])).select_from(table).limit(request.row_limit)
        return str(statement.compile(dialect=self._dialect, compile_kwargs={"literal_binds": True}))

    def distinct_sql(self, request: DistinctRequest) -> str:
        branches = []
        for place, column in enumerate(request.columns):
            cell: sa.ColumnClause[Any] = sa.column(self._name(column.name))
            table = sa.table(self._name(request.table), cell, schema=self._name(request.schema))
            text = sa.cast(cell, sa.Unicode(request.char_limit)).label("v")
            found = sa.select(text).select_from(table).where(cell.is_not(None)).distinct().limit(request.limit)
            values = found.subquery(f"q{place}")
            branches.append(sa.select(sa.literal(place).label("place"), values.c.v))
        return str(sa.union_all(*branches).compile(dialect=self._dialect, compile_kwargs={"literal_binds": True}))

    @property
    def _folds_case(self) -> bool:
        return bool(getattr(self._dialect, "requires_name_normalize", False))

    def _name(self, name: str) -> quoted_name:
        return quoted_name(name, None if self._folds_case else True)

    def _cell(self, cell: sa.ColumnElement[Any], column: SampleColumn, limit: int) -> sa.ColumnElement[Any]:
        if column.type_class == "binary":
            return sa.func.datalength(cell) if self._dialect.name == "mssql" else sa.func.length(cell)
        if column.type_class in ("string", "json", "xml", "interval", "other"):
            return sa.cast(cell, sa.Unicode(limit))
        return cell

    def _load_dialect(self) -> Dialect:
        try:
            return self._url.get_dialect()()
        except exc.NoSuchModuleError:
            raise missing_driver(self._url.drivername, self._where) from None

    def _create_engine(self) -> sa.Engine:
        url = with_secrets(self._url, self._spec)
        try:
            return sa.create_engine(url, poolclass=NullPool, hide_parameters=True, echo=False)
        except (ImportError, exc.NoSuchModuleError):
            raise missing_driver(self._url.drivername, self._where) from None
        except (exc.ArgumentError, TypeError, ValueError):
            raise ConfigurationError(
                f"the options of the {self._url.drivername} URL are not understood",
                where=self._where,
                fix="Check the part after `?` against the driver's documentation.",
            ) from None


class _GenericSession(Session):
    def __init__(self, connection: sa.Connection, server: str) -> None:
        self.connection = connection
        self._server = server
        self._cancel = _canceller(connection)
        self._timeout_s: float | None = None

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        self._limit_mysql(timeout_s)
        with Deadline(timeout_s, self._cancel) as deadline:
            try:
                # Compiled SQL has its percent signs doubled where the driver wants that, so it is not compiled again.
                found = self.connection.exec_driver_sql(sql).fetchall()
            except exc.SQLAlchemyError as error:
                failure = error
            else:
                return [tuple(as_cell(cell) for cell in row) for row in found]
        self._end_failed_transaction()
        if deadline.expired:
            raise timed_out(timeout_s) from None
        raise driver_error(failure, where=self._server) from None

    def execute(self, sql: str) -> None:
        """Run a setting that returns nothing."""
        try:
            self.connection.exec_driver_sql(sql)
        except exc.SQLAlchemyError as error:
            raise driver_error(error, where=self._server) from None

    def close(self) -> None:
        try:
            self.connection.close()
        except exc.SQLAlchemyError:
            self.connection.invalidate()  # the server is gone, so there is nothing left to close

    def _limit_mysql(self, timeout_s: float | None) -> None:
        """MySQL and MariaDB drivers cannot cancel, but the servers limit statements; set when it changes."""
        dialect = self.connection.dialect
        if dialect.name not in ("mysql", "mariadb") or timeout_s == self._timeout_s:
            return
        seconds = timeout_s or 0
        if getattr(dialect, "is_mariadb", False):
            self.execute(f"SET SESSION max_statement_time = {seconds:g}")
        else:
            self.execute(f"SET SESSION max_execution_time = {round(seconds * 1000)}")
        self._timeout_s = timeout_s

    def _end_failed_transaction(self) -> None:
        """Without autocommit a failed statement leaves a transaction in which nothing else works."""
        try:
            self.connection.rollback()
        except exc.SQLAlchemyError:
            self.connection.invalidate()


def _autocommit(connection: sa.Connection) -> sa.Connection:
    try:
        return connection.execution_options(isolation_level="AUTOCOMMIT")
    except (exc.ArgumentError, NotImplementedError):
        return connection  # the dialect has no such level; failed statements are rolled back


def _canceller(connection: sa.Connection) -> Callable[[], None]:
    """What stops the running statement from another thread, where the driver can; else nothing does."""
    driver = connection.connection.driver_connection
    errors = connection.dialect.loaded_dbapi.Error
    stop = getattr(driver, "interrupt", None) or getattr(driver, "cancel", None)

    def cancel() -> None:
        # When the server is out of reach, the waiting statement fails by itself and says so.
        with contextlib.suppress(errors):
            if stop is not None:
                stop()

    return cancel
