"""One open session of Databricks."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from databricks.sql.client import Connection, Cursor

from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.engines.databricks_errors import FAILURES, query_error, timed_out
from dictionary_pipeline.engines.databricks_login import STATEMENT_SECONDS
from dictionary_pipeline.engines.deadline import Deadline
from dictionary_pipeline.engines.generic_values import as_cell
from dictionary_pipeline.engines.metering import Meter
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError

# The connector logs what servers answer, which can quote values; errors are raised all the same.
logging.getLogger("databricks.sql").setLevel(logging.CRITICAL)
logging.getLogger("databricks.sql.unsafe").disabled = True


class DatabricksSession(Session):
    """A session whose principal decides what it may do: Databricks has no read-only sessions."""

    def __init__(self, connection: Connection, where: str, meter: Meter) -> None:
        self._connection = connection
        self._where = where
        self._meter = meter

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        """Run one statement and fetch all its rows; without `timeout_s`, within 120 seconds."""
        seconds = STATEMENT_SECONDS if timeout_s is None else timeout_s
        failure: DictionaryError | None = None
        with self._meter.measured(), self._cursor() as cursor, Deadline(seconds, lambda: _cancel(cursor)) as deadline:
            try:
                cursor.execute(sql)
                found = _fetched(cursor)
            except FAILURES as error:
                failure = query_error(error, self._where)
            if isinstance(failure, ConnectionFailed):
                # Otherwise the connector would try for minutes to close what is gone.
                self._connection.session.is_open = False
            elif deadline.expired:
                # Also without a failure: a cancelled statement may come back as an empty result.
                failure = timed_out(seconds)
        if failure is not None:
            # Not inside the handler: the driver's text, which can quote values, must not travel along.
            raise failure
        return found

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[Cursor]:
        if not self._connection.open:
            raise ConnectionFailed("the session is closed", where=self._where, fix="Run again.")
        cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            # A result that cannot be closed ends with its session.
            with contextlib.suppress(*FAILURES):
                cursor.close()

    def close(self) -> None:
        """Close the session; never raises."""
        # A server that is gone has closed it already.
        if self._connection.open:
            with contextlib.suppress(*FAILURES):
                self._connection.close()


def _fetched(cursor: Cursor) -> list[tuple[Any, ...]]:
    """All rows, decoded by column: the connector's own rows take more than twice as long."""
    columns = [column.to_pylist() for column in cursor.fetchall_arrow().columns]
    return [tuple(map(as_cell, row)) for row in zip(*columns, strict=True)]


def _cancel(cursor: Cursor) -> None:
    # When the server is out of reach, the waiting statement fails by itself and says so.
    with contextlib.suppress(*FAILURES):
        cursor.cancel()
