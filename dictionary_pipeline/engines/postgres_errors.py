"""PostgreSQL failures as the product's own errors; the driver's text goes no further than this module."""

from __future__ import annotations

import re
from typing import NamedTuple

import psycopg

from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    DictionaryError,
    NotADatabase,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)


class _Refusal(NamedTuple):
    """How to recognise and explain one way in which connecting fails."""

    phrases: tuple[str, ...]
    """Any of them, in lower case and with names between quotes left out, tells this refusal."""
    error: type[DictionaryError]
    code: str | None
    what: str
    fix: str


# A failed login has no SQLSTATE on the client's side, only text. The server writes it in its own
# language (lc_messages cannot be chosen before the login); these are the phrases of the server's
# and libpq's sources, in English.
_REFUSALS = (
    _Refusal(
        ("too many clients", "too many connections", "remaining connection slots"),
        ConnectionFailed,
        "53300",
        "the server has no connection left",
        "Try again later, lower max_connections of the configuration, or raise the server's limit.",
    ),
    _Refusal(
        ("authentication failed", "no password supplied"),
        AuthenticationFailed,
        "28P01",
        "the server refused the user name or password",
        "Check the user and the variable that holds its password.",
    ),
    _Refusal(
        ("no pg_hba.conf entry", "pg_hba.conf rejects"),
        AuthenticationFailed,
        "28000",
        "the server accepts no login by this user from this machine to this database",
        "Ask for an entry in pg_hba.conf; if the server insists on encryption, set sslmode: require.",
    ),
    _Refusal(
        ("permission denied for database",),
        AuthenticationFailed,
        "42501",
        "the account may not connect to the database",
        "Grant it: GRANT CONNECT ON DATABASE ... TO ....",
    ),
    _Refusal(
        ('role "" does not exist', "is not permitted to log in", "permission denied to set role"),
        AuthenticationFailed,
        "28000",
        "the server knows no such user, or it may not log in or take on the configured role",
        "Check user and role of the connection.",
    ),
    _Refusal(
        ('database "" does not exist',),
        NotADatabase,
        "3D000",
        "the server has no such database",
        "Check dbname of the connection; its spelling is case-sensitive.",
    ),
    _Refusal(
        ("is starting up", "is shutting down", "recovery mode", "not yet accepting", "not accepting connections"),
        ConnectionFailed,
        "57P03",
        "the server is not accepting connections at the moment",
        "Try again later.",
    ),
    _Refusal(
        ("unsupported startup parameter",),
        ConfigurationError,
        None,
        "a connection pooler refuses the read-only session settings",
        "Connect to the server itself instead of to the pooler.",
    ),
    _Refusal(
        ("unrecognized configuration parameter",),
        ConfigurationError,
        "42704",
        "the server lacks a setting of PostgreSQL 12 and later, so it is older or another product",
        "Use the connection type that fits it, or type generic with its SQLAlchemy URL.",
    ),
    _Refusal(
        ("invalid response to ssl negotiation", "expected authentication request from server"),
        ConnectionFailed,
        None,
        "what answers at this host and port is not a PostgreSQL server",
        "Check host and port of the connection, and whether a proxy stands between.",
    ),
    _Refusal(
        ("ssl", "certificate"),
        ConnectionFailed,
        None,
        "no encrypted connection could be agreed upon",
        "Check sslmode, sslrootcert, sslcert and sslkey of the connection.",
    ),
    _Refusal(
        ("could not translate host name", "failed to resolve host"),
        ConnectionFailed,
        None,
        "the host name is unknown",
        "Check host of the connection.",
    ),
    _Refusal(
        ("connection refused", "no such file or directory"),
        ConnectionFailed,
        None,
        "nothing answers at this host and port",
        "Check host and port, and that the server runs and listens there.",
    ),
    _Refusal(
        ("timeout expired", "timed out", "no route to host", "network is unreachable", "connection timeout"),
        ConnectionFailed,
        None,
        "the host could not be reached in time",
        "Check host and port, and that no firewall stands between.",
    ),
    _Refusal(
        ("invalid connection option", "invalid sslmode", "invalid port", "invalid integer value", "invalid uri"),
        ConfigurationError,
        None,
        "a setting of the connection is not understood by the PostgreSQL client",
        "Check the keys and values of the connection.",
    ),
)


_QUOTED = re.compile(r'"[^"]*"')
"""Hosts, users and databases in a message, whose names could pass for something else."""


def connect_error(error: psycopg.Error, where: str) -> DictionaryError:
    """The error to raise for a connection that could not be opened.

    Args:
        error: What the driver raised.
        where: User, host and database, for people.
    """
    text = _QUOTED.sub('""', str(error)).lower()
    for refusal in _REFUSALS:
        if any(phrase in text for phrase in refusal.phrases):
            return refusal.error(refusal.what, where=where, fix=refusal.fix, code=refusal.code)
    if "fatal" in text or not text.isascii():
        # The server answered, in words that are not known here. A refused password may be among
        # them, and trying that again could lock the account.
        return AuthenticationFailed(
            "the server refused the connection",
            where=where,
            fix="Look for the reason in the server's log; the user and password are the usual one.",
        )
    return ConnectionFailed(
        "the server could not be reached", where=where, fix="Check host, port and that the server runs."
    )


_EXACT: dict[str, tuple[type[DictionaryError], str, str]] = {
    "57014": (
        QueryTimeout,
        "the statement was stopped at its time limit",
        "Raise the time limit, or leave the object out.",
    ),
    "55P03": (
        QueryTimeout,
        "another session held a lock for too long",
        "Run again when no schema change is in progress.",
    ),
    "42501": (
        PermissionDenied,
        "the account may not read it, or row-level security would hide rows from it",
        "Grant SELECT and schema USAGE to the account; where row-level security applies, BYPASSRLS too.",
    ),
    "22012": (QueryFailed, "a view or expression divides by zero", "Correct the view or generated column."),
    "25006": (
        QueryFailed,
        "a view or function tries to write, which the read-only session refuses",
        "Leave the object out, or make it read-only.",
    ),
    "42P01": (
        QueryFailed,
        "it, or something that it reads, no longer exists or is named without its schema",
        "Run again if the database changed meanwhile; a function that a view calls must name the schema of its tables, "
        "or set its own search_path.",
    ),
    "42703": (QueryFailed, "a column no longer exists", "Run again: the database changed meanwhile."),
    "55000": (
        QueryFailed,
        "it is not in a state to be read, such as a materialized view that was never filled",
        "Refresh the materialized view, or leave it out.",
    ),
    "22021": (
        QueryFailed,
        "it holds text that is not valid in the database's encoding",
        "Correct the text, or leave the column out.",
    ),
}

_BY_CLASS: dict[str, tuple[type[DictionaryError], str, str]] = {
    "08": (ConnectionFailed, "the connection was lost", "Try again."),
    "22": (QueryFailed, "a view or expression fails on a value of its data", "Correct the view, or leave it out."),
    "40": (QueryFailed, "the server ended the transaction because of another one", "Run again."),
    "42": (
        QueryFailed,
        "the server did not accept the statement",
        "The object may be broken or have changed meanwhile: select from it by hand.",
    ),
    "53": (QueryFailed, "the server ran out of memory, disk or connections", "Try again when it is less busy."),
    "54": (QueryFailed, "the statement exceeds a limit of the server", "Leave the object out."),
    "57": (ConnectionFailed, "the server closed the connection", "Try again."),
    "58": (QueryFailed, "the server met an error of its file system", "Look into the server's log."),
    "HV": (
        QueryFailed,
        "the foreign server behind the table could not be read",
        "Check the foreign server and user mapping, or leave the table out.",
    ),
    "XX": (QueryFailed, "the server met an internal error", "Look into the server's log."),
}

_OTHERWISE = (QueryFailed, "the server refused the statement", "Select from the object by hand to see why.")


def query_error(error: psycopg.Error, where: str, *, lost: bool) -> DictionaryError:
    """The error to raise for a statement that failed.

    Args:
        error: What the driver raised.
        where: The database, for people.
        lost: The connection can no longer be used.
    """
    code = error.sqlstate
    if lost:
        return ConnectionFailed("the connection was lost", where=where, fix="Try again.", code=code)
    if code is None:
        return QueryFailed("the client could not read the answer", where=where, fix=_OTHERWISE[2])
    kind, what, fix = _EXACT.get(code) or _BY_CLASS.get(code[:2]) or _OTHERWISE
    return kind(what, where=where, fix=fix, code=code)


def undecodable(where: str) -> DictionaryError:
    """The error for an answer whose bytes are not text in any encoding the client knows."""
    kind, what, fix = _EXACT["22021"]
    return kind(what, where=where, fix=fix, code="22021")
