"""Snowflake, by its own connector: connections and the engine itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import snowflake.connector
from snowflake.connector import errors
from snowflake.connector.connection import Connection

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.base import Capability, Engine, SampleRequest, Session
from dictionary_pipeline.engines.metering import Meter
from dictionary_pipeline.engines.snowflake_catalog import CatalogReader
from dictionary_pipeline.engines.snowflake_errors import connect_error
from dictionary_pipeline.engines.snowflake_login import connect_arguments
from dictionary_pipeline.engines.snowflake_sampling import sample_sql
from dictionary_pipeline.engines.snowflake_session import SnowflakeSession
from dictionary_pipeline.engines.statements import statement
from dictionary_pipeline.errors import ConfigurationError


class SnowflakeEngine(Engine):
    """One database of a Snowflake account."""

    name: ClassVar[str] = "snowflake"
    sqlglot_dialect: ClassVar[str] = "snowflake"
    billed_by_scan = True
    meter: Meter
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.PAGE_SAMPLE,
            Capability.COMMENTS,
            Capability.DECLARED_KEYS,
            Capability.ROW_ESTIMATES,
            Capability.FREE_PROBE,
        }
    )

    def __init__(self, spec: ConnectionSpec) -> None:
        self._spec = spec
        self._database = _option(spec, "database")
        self._warehouse = _option(spec, "warehouse")
        self.meter = Meter()

    @property
    def identity(self) -> Identity:
        """Warehouse and database as the account spells them; `fqn_database` of the configuration wins."""
        shown = _option(self._spec, "fqn_database") or self._database
        return Identity(self.name, warehouse=self._warehouse, database=shown)

    @property
    def server(self) -> str:
        """The account."""
        return _option(self._spec, "account") or _option(self._spec, "host") or "snowflake"

    def connect(self) -> SnowflakeSession:
        """Log in with query tag and statement time-out set; no warehouse is started by it."""
        arguments = connect_arguments(self._spec)
        connection = self._connection(arguments)
        self._database = connection.database or self._database
        self._warehouse = connection.warehouse or self._warehouse
        return SnowflakeSession(connection, self._where, self.meter)

    def read_catalog(self, session: Session) -> Catalog:
        """Read all catalog facts in six statements, more only beyond Snowflake's own limits."""
        return self._reader(session).read(self._database or "")

    def change_marks(self, session: Session, tables: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """When each base table last changed in any way, of all tables in one statement."""
        return {(schema, table): mark for schema, table, mark in session.rows(statement("snowflake_changes"))}

    def probe(self, session: Session) -> str | None:
        """A value that moves with every change of the structure; it needs no running warehouse."""
        return self._reader(session).probe(self._database or "")

    def quote(self, identifier: str) -> str:
        """Quote one identifier, which keeps its case."""
        return '"' + identifier.replace('"', '""') + '"'

    def sample_sql(self, request: SampleRequest) -> str:
        """One statement that reads a bounded part of a table, in samples where that spreads the rows."""
        return sample_sql(request, self.sql_name(request.schema, request.table), self.quote)

    def _connection(self, arguments: dict[str, Any]) -> Connection:
        try:
            return snowflake.connector.connect(**arguments)
        except errors.Error as error:
            failure = connect_error(error, self._where)
        except (TypeError, ValueError):
            failure = ConfigurationError(
                "the connector does not accept the settings of the connection",
                where=self._where,
                fix="Check the query part of the URL and `connect_args:` against the connector's documentation.",
            )
        # Not inside a handler: the driver's error, which holds the arguments, must not travel along.
        raise failure

    def _reader(self, session: Session) -> CatalogReader:
        return CatalogReader(session, self.identity, self.quote)

    @property
    def _where(self) -> str:
        place = f"Snowflake {self.server}/{self._database or ''}"
        return f"{place} ({self._spec.origin})" if self._spec.origin else place


def _option(spec: ConnectionSpec, key: str) -> str | None:
    value = spec.options.get(key)
    return None if value in (None, "") else str(value)
