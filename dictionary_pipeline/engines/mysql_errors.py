"""MySQL and MariaDB failures as the product's own errors; the driver's text goes no further than this module.

Numbers: MySQL error message reference, MariaDB error codes.
"""

from __future__ import annotations

import pymysql

from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    DictionaryError,
    NotADatabase,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

_Kind = tuple[type[DictionaryError], str, str]

_REFUSED: _Kind = (
    AuthenticationFailed,
    "the server refused the user name or password",
    "Check the user and the variable that holds its password; this is not tried again, so that no account is locked.",
)
_LOST: _Kind = (ConnectionFailed, "the connection was lost", "Try again.")
_DENIED: _Kind = (
    PermissionDenied,
    "the account may not read it",
    "GRANT SELECT on it to the account that describes the database.",
)
_BROKEN: _Kind = (
    QueryFailed,
    "it refers to a table, column or function that does not exist, or whose owner may not use it",
    "Repair or drop the view, or exclude it.",
)
_BY_NUMBER: dict[int, _Kind] = {
    1045: _REFUSED,
    1698: _REFUSED,
    1862: (AuthenticationFailed, "the account's password has expired", "Set a new password."),
    3118: (AuthenticationFailed, "the account is locked", "Ask for it to be unlocked."),
    4151: (AuthenticationFailed, "the account is locked", "Ask for it to be unlocked."),
    1044: (AuthenticationFailed, "the account may not use the database", "GRANT SELECT on the database to it."),
    1049: (NotADatabase, "the server has no such database", "Check the database's name and its spelling."),
    1130: (AuthenticationFailed, "the server accepts no login from this machine", "Create the account for this host."),
    1040: (ConnectionFailed, "the server has no connection left", "Try again later, or lower max_connections."),
    1203: (ConnectionFailed, "the account has no connection left", "Try again later, or lower max_connections."),
    1053: (ConnectionFailed, "the server is shutting down", "Try again later."),
    2003: (ConnectionFailed, "nothing answers at this host and port", "Check host and port, and that the server runs."),
    2006: _LOST,
    2013: _LOST,
    2014: _LOST,
    1142: _DENIED,
    1143: _DENIED,
    1227: _DENIED,
    1370: _DENIED,
    1345: _DENIED,
    1356: _BROKEN,
    1449: _BROKEN,
    1146: (QueryFailed, "it no longer exists", "Run again: the database changed meanwhile."),
    1054: (QueryFailed, "a column no longer exists", "Run again: the database changed meanwhile."),
    3024: (QueryTimeout, "the statement was stopped at its time limit", "Raise the time limit, or exclude the object."),
    1969: (QueryTimeout, "the statement was stopped at its time limit", "Raise the time limit, or exclude the object."),
    1317: (QueryTimeout, "the statement was stopped", "Run again, or exclude the object."),
    1205: (QueryTimeout, "another session held a lock for too long", "Run again when no schema change is in progress."),
}
_OTHERWISE: _Kind = (QueryFailed, "the server refused the statement", "Select from the object by hand to see why.")


def number_of(error: BaseException) -> int | None:
    """The vendor's number of a driver's exception."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, int) and first else None


def connect_error(error: BaseException, where: str) -> DictionaryError:
    """The error to raise for a connection that could not be opened."""
    number = number_of(error)
    code = None if number is None else str(number)
    kind, what, fix = _BY_NUMBER.get(number or 0) or (
        ConnectionFailed,
        "the server could not be reached",
        "Check host, port and TLS settings, and that the server runs.",
    )
    return kind(what, where=where, fix=fix, code=code)


def query_error(error: pymysql.Error, where: str, *, lost: bool) -> DictionaryError:
    """The error to raise for a statement that failed; `lost` says that the connection is gone."""
    number = number_of(error)
    code = None if number is None else str(number)
    kind, what, fix = _LOST if lost else _BY_NUMBER.get(number or 0) or _OTHERWISE
    return kind(what, where=where, fix=fix, code=code)
