"""One open session of Snowflake."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

from snowflake.connector import errors
from snowflake.connector.connection import Connection

from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.engines.metering import Meter
from dictionary_pipeline.engines.snowflake_errors import query_error
from dictionary_pipeline.engines.snowflake_login import STATEMENT_SECONDS
from dictionary_pipeline.errors import QueryFailed

# The connector logs what servers answer, which can quote values; errors are raised all the same.
logging.getLogger("snowflake.connector").setLevel(logging.CRITICAL)

Rows = list[tuple[Any, ...]]

_KEY = ("schema_name", "table_name", "constraint_name", "key_sequence", "column_name")
SHOWN: Mapping[str, tuple[str, ...]] = {
    "SCHEMAS": ("name",),
    "TABLES": ("schema_name", "name", "kind", "comment"),
    "VIEWS": ("schema_name", "name", "comment", "text"),
    "COLUMNS": ("schema_name", "table_name", "column_name", "data_type", "null?", "default", "comment"),
    "PRIMARY KEYS": _KEY,
    "UNIQUE KEYS": _KEY,
    "IMPORTED KEYS": (
        *("fk_schema_name", "fk_table_name", "fk_name", "key_sequence", "fk_column_name"),
        *("pk_database_name", "pk_schema_name", "pk_table_name", "pk_column_name", "update_rule", "delete_rule"),
    ),
}
"""What is read of the answers to SHOW commands, by what they show.

Columns are looked up by name in any case, because Snowflake adds some over time. Source: Snowflake
documentation, output of the commands.
"""


class SnowflakeSession(Session):
    """A session whose role decides what it may do: Snowflake has no read-only sessions."""

    def __init__(self, connection: Connection, where: str, meter: Meter) -> None:
        self._connection = connection
        self._where = where
        self._meter = meter
        self._timeout_s = STATEMENT_SECONDS

    def rows(self, sql: str, *, timeout_s: float | None = None) -> Rows:
        """Run one statement and fetch all its rows; without `timeout_s`, within 120 seconds.

        Rows of a SHOW command have the columns of `SHOWN`.
        """
        self._limit(STATEMENT_SECONDS if timeout_s is None else max(1, math.ceil(timeout_s)))
        names, rows = self._run(sql)
        return _as_documented(sql, names, rows) if sql.startswith("SHOW ") else rows

    def close(self) -> None:
        """Log out; never raises."""
        try:
            self._connection.close(retry=False)
        except errors.Error:
            # The session ends by itself; there is nobody left to tell.
            return

    def _limit(self, seconds: int) -> None:
        if seconds != self._timeout_s:
            self._run(f"ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {seconds}")
            self._timeout_s = seconds

    def _run(self, sql: str) -> tuple[list[str], Rows]:
        with self._meter.measured():
            try:
                with self._connection.cursor() as cursor:
                    cursor.execute(sql)
                    names = [column.name for column in cursor.description or ()]
                    return names, [tuple(row) for row in cursor.fetchall()]
            except errors.Error as error:
                failure = query_error(error, self._where)
            # Not inside the handler: the driver's text, which can quote values, must not travel along.
            raise failure


def _as_documented(command: str, names: list[str], rows: Rows) -> Rows:
    what = command.removeprefix("SHOW ").partition(" IN ")[0]
    places = {name.casefold(): place for place, name in enumerate(names)}
    missing = [name for name in SHOWN[what] if name not in places]
    if missing:
        raise QueryFailed(
            f"the answer to SHOW {what} has no column {missing[0]}",
            fix="This release of Snowflake answers differently; please report it.",
        )
    wanted = [places[name] for name in SHOWN[what]]
    return [tuple(row[place] for place in wanted) for row in rows]
