"""Parsing of the SQL that catalogs hold: CHECK expressions and view definitions."""

from __future__ import annotations

import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

# sqlglot quotes the statement in its warnings, and a statement can hold values of the database.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

_DIALECTS = {
    "postgres": "postgres",
    "postgresql": "postgres",
    "duckdb": "duckdb",
    "sqlite": "sqlite",
    "snowflake": "snowflake",
    "databricks": "databricks",
    "sqlserver": "tsql",
    "mssql": "tsql",
    "tsql": "tsql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "oracle": "oracle",
    "redshift": "redshift",
    "bigquery": "bigquery",
    "trino": "trino",
    "clickhouse": "clickhouse",
}
_MAX_LENGTH = 500_000

# What sqlglot raises on SQL it does not know; besides its own errors, its parsers trip over odd input.
PARSE_ERRORS = (SqlglotError, RecursionError, AttributeError, IndexError, KeyError, TypeError, ValueError)


def dialect_of(engine: str) -> str:
    """sqlglot's dialect for an engine name; the neutral one (`""`) for unknown engines."""
    return _DIALECTS.get(engine, "")


def parse(sql: str, dialect: str) -> exp.Expr | None:
    """Parse one statement or expression; null when it is not understood."""
    if len(sql) > _MAX_LENGTH:
        return None
    try:
        return sqlglot.parse_one(sql, dialect=dialect)
    except PARSE_ERRORS:
        return None
