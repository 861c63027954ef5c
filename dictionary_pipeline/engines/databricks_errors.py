"""From what the Databricks connector raises to the product's errors, by code and never by passing text on.

A failed statement tells its SQLSTATE and error class in the message, and nowhere else:
`[TABLE_OR_VIEW_NOT_FOUND] ... SQLSTATE: 42P01`. Source: Databricks documentation, "Error handling".
"""

from __future__ import annotations

import re

import urllib3
from databricks.sql import exc

from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    DictionaryError,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

FAILURES = (exc.Error, urllib3.exceptions.HTTPError, OSError)
"""What the connector raises when a request fails."""
MISSING = frozenset({"42P01", "42704", "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"})
"""Codes of an object that is not there."""

_STATE = re.compile(r"SQLSTATE:? ?([0-9A-Z]{5})\b")
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]{2,60})(?:\.[A-Z0-9_]+)?\]")
_TIMEOUTS = frozenset({"57KD0", "57014", "57KD4", "HY008", "STATEMENT_TIMEOUT", "QUERY_EXECUTION_TIMEOUT_EXCEEDED"})
_DENIED = frozenset({"42501", "42KD0", "INSUFFICIENT_PERMISSIONS", "PERMISSION_DENIED", "UNAUTHORIZED_ACCESS"})
_SESSION_OVER = frozenset({"08003", "SESSION_CLOSED", "INVALID_HANDLE"})


def connect_error(error: BaseException, where: str) -> DictionaryError:
    """The product's error for a session that could not be opened."""
    status = _http_status(error)
    if status in (401, 403):
        return AuthenticationFailed(
            "Databricks refused the credentials",
            where=where,
            fix="Correct the token or the service principal (tokens expire), and check IP access lists; this is not"
            " tried again.",
            code=str(status),
        )
    if status == 404:
        return ConnectionFailed(
            "there is no warehouse or cluster behind the HTTP path",
            where=where,
            fix="Copy `http_path` from the warehouse's connection details.",
            code="404",
        )
    return ConnectionFailed(
        "Databricks could not be reached, or its warehouse did not start",
        where=where,
        fix="Check host, HTTP path and network, and that the warehouse may start; then run again.",
        code=None if status is None else str(status),
    )


def query_error(error: BaseException, where: str) -> DictionaryError:
    """The product's error for a statement that failed."""
    status = _http_status(error)
    if status in (401, 403):
        return AuthenticationFailed(
            "Databricks no longer accepts the credentials",
            where=where,
            fix="Renew the token; this is not tried again.",
            code=str(status),
        )
    code, kind = error_codes(error)
    shown = code or kind
    if {code, kind} & _TIMEOUTS:
        return timed_out(None, shown)
    if {code, kind} & _DENIED:
        return PermissionDenied(
            "the principal may not read it",
            fix="GRANT SELECT on it, and USE CATALOG and USE SCHEMA above it, to the principal.",
            code=shown,
        )
    if {code, kind} & MISSING:
        return QueryFailed(
            "the object is gone, or the principal has lost its privilege on it",
            fix="Run again to read the catalog anew; if the object exists, GRANT SELECT on it.",
            code=shown,
        )
    if status is not None or {code, kind} & _SESSION_OVER or not isinstance(error, exc.DatabaseError) or not shown:
        return ConnectionFailed(
            "the connection to Databricks was lost, or its service is overloaded",
            where=where,
            fix="Run again later.",
            code=shown or (None if status is None else str(status)),
        )
    return QueryFailed(
        "Databricks could not run the statement", fix="Try to SELECT from the object, or exclude it.", code=shown
    )


def timed_out(seconds: float | None, code: str | None = None) -> QueryTimeout:
    """The error for a statement that was stopped."""
    took = "its time budget" if seconds is None else f"{seconds:g} s"
    return QueryTimeout(
        f"the statement took longer than {took}",
        fix="Raise the budget, use a larger warehouse, or exclude the object.",
        code=code,
    )


def error_codes(error: BaseException) -> tuple[str | None, str | None]:
    """SQLSTATE and error class of a failed statement, null where it tells none."""
    text = str(error)
    state, kind = _STATE.search(text), _CLASS.search(text)
    return state[1] if state else None, kind[1] if kind else None


def _http_status(error: BaseException) -> int | None:
    context = getattr(error, "context", None)
    status = context.get("http-code") if isinstance(context, dict) else None
    return status if isinstance(status, int) and status >= 400 else None
