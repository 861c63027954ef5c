"""Databricks, by its SQL connector: connections and the engine itself."""

from __future__ import annotations

from typing import Any, ClassVar

from databricks import sql
from databricks.sql.client import Connection

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.base import Capability, DistinctRequest, Engine, SampleRequest, Session
from dictionary_pipeline.engines.databricks_catalog import CatalogReader
from dictionary_pipeline.engines.databricks_errors import FAILURES, connect_error
from dictionary_pipeline.engines.databricks_login import connect_arguments
from dictionary_pipeline.engines.databricks_sampling import distinct_sql, sample_sql
from dictionary_pipeline.engines.databricks_session import DatabricksSession
from dictionary_pipeline.engines.metering import Meter
from dictionary_pipeline.errors import ConfigurationError, DictionaryError

START_SECONDS = 600
"""Time that a stopped warehouse may take to start."""


class DatabricksEngine(Engine):
    """One catalog of a Databricks workspace."""

    name: ClassVar[str] = "databricks"
    sqlglot_dialect: ClassVar[str] = "databricks"
    billed_by_scan = True
    meter: Meter
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.COMMENTS, Capability.DECLARED_KEYS})

    def __init__(self, spec: ConnectionSpec) -> None:
        self._spec = spec
        # Unity Catalog keeps names in lower case and compares them without case.
        self._catalog = str(spec.options.get("catalog") or "").lower()
        self._is_awake = False
        self.meter = Meter()

    @property
    def identity(self) -> Identity:
        """The catalog; `fqn_database` of the configuration wins."""
        return Identity(self.name, catalog=self._spec.options.get("fqn_database") or self._catalog)

    @property
    def server(self) -> str:
        """Host name of the workspace."""
        return str(self._spec.options.get("host") or "databricks")

    def connect(self) -> DatabricksSession:
        """Open a session with time-out and time zone set; the warehouse starts when it has to."""
        session = DatabricksSession(self._connection(connect_arguments(self._spec)), self._where, self.meter)
        self._wake(session)
        return session

    def read_catalog(self, session: Session) -> Catalog:
        """Read all catalog facts in five statements; one per table where information_schema has none."""
        return self._reader(session).read()

    def probe(self, session: Session) -> str | None:
        """A value that moves with every change of a definition; it needs a running warehouse."""
        return self._reader(session).probe()

    def quote(self, identifier: str) -> str:
        """Quote one identifier."""
        return "`" + identifier.replace("`", "``") + "`"

    def sql_name(self, schema: str, table: str) -> str:
        """Name with its catalog, so that it holds in every session."""
        return ".".join(self.quote(part) for part in (self._catalog, schema, table))

    def sample_sql(self, request: SampleRequest) -> str:
        """One statement that reads the first rows of a table."""
        return sample_sql(request, self.sql_name(request.schema, request.table), self.quote)

    def distinct_sql(self, request: DistinctRequest) -> str:
        """One statement with the distinct values of some columns."""
        return distinct_sql(request, self.sql_name(request.schema, request.table), self.quote)

    def _connection(self, arguments: dict[str, Any]) -> Connection:
        try:
            return sql.connect(**arguments)
        except FAILURES as error:
            failure = connect_error(error, self._where)
        except (TypeError, ValueError):
            failure = ConfigurationError(
                "the connector does not accept the settings of the connection",
                where=self._where,
                fix="Check host (a name without https://), the query part of the URL and `connect_args:`.",
            )
        # Not inside a handler: the driver's error, which holds the arguments, must not travel along.
        raise failure

    def _wake(self, session: DatabricksSession) -> None:
        """Let a stopped warehouse start, which takes minutes, before statements are timed."""
        if self._is_awake:
            return
        try:
            session.rows("SELECT 1", timeout_s=START_SECONDS)
        except DictionaryError:
            session.close()
            raise
        self._is_awake = True

    def _reader(self, session: Session) -> CatalogReader:
        return CatalogReader(session, self.identity, self._catalog, self.quote)

    @property
    def _where(self) -> str:
        place = f"Databricks {self.server}/{self._catalog}"
        return f"{place} ({self._spec.origin})" if self._spec.origin else place
