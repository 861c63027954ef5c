"""Failures of SQL Server's clients are told apart by number or words, and say nothing that the driver said."""

from __future__ import annotations

import pytest

from dictionary_pipeline.engines.sqlserver_errors import driver_error
from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    DictionaryError,
    NotADatabase,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

_TAIL = "DB-Lib error message 20018, severity 14:\nGeneral SQL Server error: Check messages from the SQL Server\n"
_UNREACHABLE = "DB-Lib error message 20009, severity 9:\nUnable to connect: Adaptive Server is unavailable"


class FreeTdsError(Exception):
    """Like pymssql's: a number and bytes, nested when connecting."""


class OdbcError(Exception):
    """Like mssql-python's: words for the SQLSTATE, and the server's text."""

    def __init__(self, driver_error: str, server: str) -> None:
        super().__init__(f"Driver Error: {driver_error}; DDBC Error: [Microsoft][SQL Server]{server}")
        self.driver_error = driver_error


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (FreeTdsError((18456, f"Login failed for user 'x'.{_TAIL}".encode())), AuthenticationFailed, "18456"),
        (
            FreeTdsError((4060, f'Cannot open database "secret". The login failed.{_TAIL}'.encode())),
            NotADatabase,
            "4060",
        ),
        # The number is left over from the login before.
        (FreeTdsError((18456, _TAIL.encode())), AuthenticationFailed, None),
        (FreeTdsError((18456, _UNREACHABLE.encode())), ConnectionFailed, None),
        (FreeTdsError((20009, _UNREACHABLE.encode())), ConnectionFailed, "20009"),
        (FreeTdsError((40613, b"Database 'secret' is not currently available.")), ConnectionFailed, "40613"),
        (FreeTdsError((12345, b"Something new")), AuthenticationFailed, "12345"),
        (
            OdbcError("Invalid authorization specification", "Login failed for user 'secret'."),
            AuthenticationFailed,
            "18456",
        ),
        (OdbcError("Client unable to establish connection", ""), ConnectionFailed, "08001"),
        (OdbcError("Connection timeout expired", ""), ConnectionFailed, "HYT01"),
    ],
)
def test_a_failure_to_connect(error: Exception, kind: type[DictionaryError], code: str | None) -> None:
    found = driver_error(error, "SQL Server host/shop", connecting=True)
    assert type(found) is kind
    assert found.code == code
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (FreeTdsError(208, b"Invalid object name 'secret'."), QueryFailed, "208"),
        (FreeTdsError(229, b"The SELECT permission was denied on the object 'secret'"), PermissionDenied, "229"),
        (FreeTdsError(1222, b"Lock request time out period exceeded."), QueryTimeout, "1222"),
        (
            FreeTdsError(20003, b"DB-Lib error message 20003: Adaptive Server connection timed out"),
            QueryTimeout,
            "20003",
        ),
        (FreeTdsError(20047, b"DB-Lib error message 20047: DBPROCESS is dead"), ConnectionFailed, "20047"),
        (OdbcError("Base table or view not found", "Invalid object name 'secret'."), QueryFailed, "42S02"),
        (
            OdbcError("Syntax error or access violation", "The SELECT permission was denied on 'x'"),
            PermissionDenied,
            "229",
        ),
        (OdbcError("Timeout expired", "Query timeout expired"), QueryTimeout, "HYT00"),
        (OdbcError("Communication link failure", ""), ConnectionFailed, "08S01"),
        (
            OdbcError("Syntax error or access violation", "Divide by zero on 'permission was denied'"),
            QueryFailed,
            "42000",
        ),
    ],
)
def test_a_failed_statement(error: Exception, kind: type[DictionaryError], code: str) -> None:
    found = driver_error(error, "SQL Server host/shop")
    assert type(found) is kind
    assert found.code == code
    assert "secret" not in str(found)
