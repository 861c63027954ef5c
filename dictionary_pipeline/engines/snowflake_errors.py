"""From the Snowflake connector's exceptions to the product's errors, by number and never by text.

Numbers: Snowflake documentation ("Error and status codes", troubleshooting pages of the
authentication methods). Logging in fails with 390xxx and 394xxx; SQLSTATE class 57 means that a
warehouse or a time-out stopped the statement.
"""

from __future__ import annotations

import re

from snowflake.connector import errors

from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    DictionaryError,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

TOO_MUCH_DATA = "090030"
"""An INFORMATION_SCHEMA query whose answer is too large for one statement."""
TOO_MANY_ROWS = "090153"
"""A SHOW command with more than 10,000 rows."""

_STATUS = re.compile(r"responded with error status: (\d{3})\b")
_TIMEOUTS = frozenset({604, 630})
_WAREHOUSE = frozenset({606, 607, 608, 609, 90064, 90073, 90109})
_PERMISSION = frozenset({3001, 3003, 3011, 1003001})
_MISSING = frozenset({2003, 2043})
_SESSION_OVER = frozenset({390104, 390111, 390112, 390113, 390114, 390115, 390195})
_NETWORK_POLICY = frozenset({390420, 390421, 390422, 390432, 390433})
_ROLE = frozenset({390186, 390189})
_NO_DATABASE = 90105
_TOKEN_OVER = frozenset({390303, 390318})
_CLIENT_SETTINGS = frozenset({251001, 251005, 251007, 251017})


def connect_error(error: errors.Error, where: str) -> DictionaryError:
    """The product's error for a login that failed."""
    number, code = error.errno or 0, error_code(error)
    if number in _ROLE:
        return ConfigurationError(
            "the role does not exist or is not granted to the user",
            where=where,
            fix="Correct `role:`, or GRANT ROLE it to the user.",
        )
    if number in _NETWORK_POLICY:
        return AuthenticationFailed(
            "a network policy of the account refuses this machine",
            where=where,
            fix="Add the machine's address to the network policy, or run elsewhere.",
            code=code,
        )
    if number in _CLIENT_SETTINGS:
        return ConfigurationError(
            "the connection's settings are incomplete or contradict each other",
            where=where,
            fix="Check account, user, authenticator and `connect_args:` against docs/engines-warehouses.md.",
        )
    if _is_refusal(error):
        return refused(where, code)
    return ConnectionFailed(
        "Snowflake could not be reached",
        where=where,
        fix="Check the account identifier and the network, then run again.",
        code=code,
    )


def query_error(error: errors.Error, where: str) -> DictionaryError:
    """The product's error for a statement that failed."""
    number, code, state = error.errno or 0, error_code(error), error.sqlstate or ""
    if number in _TIMEOUTS or (state == "57014"):
        return QueryTimeout(
            "the statement took longer than its time budget",
            fix="Raise the budget, use a larger warehouse, or exclude the object.",
            code=code,
        )
    if number in _WAREHOUSE or state == "57P03":
        return QueryFailed(
            "the statement found no warehouse that may run it",
            fix="Set `warehouse:` to one on which the role has USAGE (OPERATE to resume it) and whose resource monitor"
            " is not used up.",
            code=code,
        )
    if number == _NO_DATABASE:
        return ConfigurationError(
            "the account has no such database, or the role has no USAGE on it",
            where=where,
            fix="Correct `database:`, or GRANT USAGE ON DATABASE to the role.",
        )
    if number in _TOKEN_OVER or _http_status(error) in (401, 403):
        return refused(where, code)
    if number in _PERMISSION or state == "42501":
        return PermissionDenied(
            "the role may not read it", fix="GRANT SELECT on it to the role that describes the database.", code=code
        )
    if number in _MISSING or state in ("42S02", "02000"):
        return QueryFailed(
            "the object is gone, or the role has lost its privilege on it",
            fix="Run again to read the catalog anew; if the object exists, GRANT SELECT on it.",
            code=code,
        )
    if number in _SESSION_OVER or isinstance(error, errors.ReauthenticationRequest):
        return ConnectionFailed("the session has expired", where=where, fix="Run again to log in anew.", code=code)
    if _is_connection(error):
        return ConnectionFailed(
            "the connection to Snowflake was lost", where=where, fix="Check the network, then run again.", code=code
        )
    return QueryFailed(
        "Snowflake could not run the statement", fix="Try to SELECT from the object, or exclude it.", code=code
    )


def refused(where: str, code: str | None) -> AuthenticationFailed:
    """The error for credentials that are wrong or have expired."""
    return AuthenticationFailed(
        "Snowflake refused the credentials",
        where=where,
        fix="Correct user, password, key or token (tokens expire); this is not tried again, so that the user is not"
        " locked.",
        code=code,
    )


def error_code(error: errors.Error) -> str | None:
    """The vendor's six-digit number, else the HTTP status; null for other failures of the client."""
    if (status := _http_status(error)) is not None:
        return str(status)
    return f"{error.errno:06d}" if isinstance(error.errno, int) and error.errno > 99 else None


def _is_refusal(error: errors.Error) -> bool:
    number = error.errno or 0
    return 390_000 <= number < 395_000 or number == 251_006 or _http_status(error) in (401, 403)


def _http_status(error: errors.Error) -> int | None:
    """The status of an answer that was none of Snowflake's own; the connector tells it in its text only."""
    found = _STATUS.search(error.raw_msg or "")
    return int(found[1]) if found else None


def _is_connection(error: errors.Error) -> bool:
    number = error.errno or 0
    return 250_000 <= number < 252_000 or (
        number < 100 and isinstance(error, errors.OperationalError | errors.InterfaceError | errors.InternalError)
    )
