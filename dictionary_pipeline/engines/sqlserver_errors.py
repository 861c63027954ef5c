"""SQL Server failures as the product's own errors; the drivers' texts go no further than this module."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
    "the server refused the login",
    "Check the user and the variable that holds its password or token; this is not tried again, so that no account"
    " is locked.",
)
_REFUSED_SOMEHOW: _Kind = (
    AuthenticationFailed,
    "the server refused the login, or has no such database",
    "Check user, password or token, and database; this is not tried again, so that no account is locked.",
)
_NO_DATABASE: _Kind = (
    NotADatabase,
    "the server has no such database, or the login may not enter it",
    "Check the database's name, and CREATE USER for the login in it.",
)
_LOST: _Kind = (ConnectionFailed, "the connection was lost", "Try again.")
_BUSY: _Kind = (ConnectionFailed, "the server has no room for the connection at the moment", "Try again later.")
_UNREACHED: _Kind = (
    ConnectionFailed,
    "the server could not be reached",
    "Check host, port, encryption settings and firewall, and that the server runs.",
)
_SLOW: _Kind = (
    QueryTimeout,
    "the statement was stopped at its time limit",
    "Raise the time limit, or exclude the object.",
)
_LOCKED: _Kind = (
    QueryTimeout,
    "another session held a lock for too long",
    "Run again when no schema change is in progress.",
)
_DENIED: _Kind = (
    PermissionDenied,
    "the account may not read it",
    "GRANT SELECT on it, or on its schema, to the account that describes the database.",
)
_GONE: _Kind = (
    QueryFailed,
    "it, or something that it reads, no longer exists",
    "Run again if the database changed meanwhile; else repair or drop the view.",
)
_OTHERWISE: _Kind = (QueryFailed, "the server refused the statement", "Select from the object by hand to see why.")

# Numbers: SQL Server documentation, "Database engine events and errors", and "Troubleshoot connection
# issues" of Azure SQL. 20002 to 20047 are FreeTDS's own. SQLSTATEs are what Microsoft's driver reports.
_BY_CODE: dict[str, _Kind] = {
    **dict.fromkeys(("18456", "18470", "18486", "18487", "18488", "18452", "28000"), _REFUSED),
    "40615": (AuthenticationFailed, "the server's firewall refuses this machine", "Add its address to the firewall."),
    **dict.fromkeys(("4060", "911", "916"), _NO_DATABASE),
    **dict.fromkeys(("40613", "40197", "40501", "10928", "10929", "49918", "49919", "49920", "17809"), _BUSY),
    **dict.fromkeys(("20002", "20009", "08001", "08004"), _UNREACHED),
    **dict.fromkeys(("20004", "20006", "20017", "20047", "10053", "10054", "233", "08S01", "08003", "08007"), _LOST),
    **dict.fromkeys(("20003", "-2", "HYT00", "HYT01", "HY008"), _SLOW),
    "1222": _LOCKED,
    "1205": (QueryFailed, "the server ended the statement because of another one", "Run again."),
    **dict.fromkeys(("229", "230", "262", "297", "300", "371"), _DENIED),
    **dict.fromkeys(("207", "208", "4413", "4502", "42S02", "42S22"), _GONE),
}
_PHRASES: tuple[tuple[str, str, _Kind], ...] = (
    ("cannot open database", "4060", _NO_DATABASE),  # goes on: "The login failed."
    ("login failed", "18456", _REFUSED),
    ("permission was denied", "229", _DENIED),
    ("permission denied", "262", _DENIED),
    ("does not have permission", "300", _DENIED),
    ("lock request time out", "1222", _LOCKED),
    ("deadlock", "1205", _BY_CODE["1205"]),
    ("timeout expired", "HYT00", _SLOW),
    ("timed out", "HYT00", _SLOW),
    ("communication link failure", "08S01", _LOST),
    ("connection is closed", "08003", _LOST),
    ("connection is broken", "08S01", _LOST),
    ("not connected", "20047", _LOST),
)
"""Microsoft's driver hands on no numbers. Sessions speak English, so that its words can be told apart."""
_STALE = re.compile(r"(?!20\d{3} )\d+ DB-Lib error")
"""pymssql keeps the number of an earlier failed login when the next one fails with a milder message."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]")


def code_of(error: BaseException) -> str | None:
    """Vendor number (pymssql) or SQLSTATE (Microsoft's driver, which tells it in words only)."""
    first = error.args[0] if error.args else None
    if isinstance(first, tuple) and first:
        first = first[0]
    if isinstance(first, int):
        return str(first) if first else None
    return _STATES.get(str(getattr(error, "driver_error", "")))


def driver_error(error: BaseException, where: str, *, connecting: bool = False) -> DictionaryError:
    """The error to raise for a failure of the driver.

    Args:
        error: What the driver raised.
        where: Server and database, for people.
        connecting: It failed to connect; what is not recognised then counts as refused credentials
            when the server answered, because trying again could lock the account.
    """
    words = _words(error.args)
    code = None if connecting and _STALE.match(words) else code_of(error)
    # Names between quotes could pass for something else.
    text = _QUOTED.sub("", words).lower()
    spoken = next(((number, kind) for phrase, number, kind in _PHRASES if phrase in text), None)
    if code in _BY_CODE and not (connecting and spoken and spoken[1] in (_REFUSED, _NO_DATABASE)):
        kind = _BY_CODE[code]
    elif spoken is not None:
        is_number = code is not None and code not in _STATES.values() and not re.fullmatch(r"20\d{3}", code)
        code, kind = code if is_number else spoken[0], spoken[1]
    elif connecting:
        answered = code is not None or "check messages from the sql server" in text
        kind = _REFUSED_SOMEHOW if answered else _UNREACHED
    else:
        kind = _OTHERWISE
    if connecting and kind[0] is QueryTimeout:
        kind = _UNREACHED
    return kind[0](kind[1], where=where, fix=kind[2], code=code)


def _words(parts: Iterable[object]) -> str:
    """All texts of an error; pymssql nests them and gives bytes."""
    words = [
        _words(part)
        if isinstance(part, tuple)
        else part.decode("utf-8", "replace")
        if isinstance(part, bytes)
        else str(part)
        for part in parts
    ]
    return " ".join(words)


def timed_out(code: str | None) -> DictionaryError:
    """The error to raise for a statement that took longer than its limit."""
    return _SLOW[0](_SLOW[1], fix=_SLOW[2], code=code)


_STATES: dict[str, str] = {
    "Base table or view not found": "42S02",
    "Column not found": "42S22",
    "Invalid authorization specification": "28000",
    "Client unable to establish connection": "08001",
    "Server rejected the connection": "08004",
    "Connection not open": "08003",
    "Connection failure during transaction": "08007",
    "Communication link failure": "08S01",
    "Timeout expired": "HYT00",
    "Connection timeout expired": "HYT01",
    "Operation canceled": "HY008",
    "Syntax error or access violation": "42000",
}
"""What mssql-python calls the SQLSTATEs of ODBC."""
