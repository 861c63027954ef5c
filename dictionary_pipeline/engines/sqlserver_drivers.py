"""The two clients of SQL Server: Microsoft's mssql-python, and pymssql where a URL names it.

Both open a connection from the same settings and take a time limit per statement; the rest of the
engine does not know which one it has.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.engines.deadline import Deadline
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.suggestions import did_you_mean

LOGIN_SECONDS = 15
LONGEST_SECONDS = 120
"""The time limit of a statement for which no other is given."""
_ACCESS_TOKEN_ATTRIBUTE = 1256
"""SQL_COPT_SS_ACCESS_TOKEN (Microsoft ODBC driver, "Use Microsoft Entra ID")."""
_AUTHENTICATION: Mapping[str, str] = {
    # dbt-sqlserver's names -> those of the driver
    "sql": "",
    "auto": "ActiveDirectoryDefault",
    "cli": "ActiveDirectoryDefault",
    "environment": "ActiveDirectoryDefault",
    "msi": "ActiveDirectoryMsi",
    "serviceprincipal": "ActiveDirectoryServicePrincipal",
}
_KEYWORDS = (
    *("ApplicationIntent", "Authentication", "ConnectRetryCount", "ConnectRetryInterval", "Encrypt"),
    *("HostnameInCertificate", "IpAddressPreference", "KeepAlive", "KeepAliveInterval", "MultiSubnetFailover"),
    *("PacketSize", "ServerCertificate", "ServerSPN", "Trusted_Connection", "TrustServerCertificate"),
)
"""Keywords of a connection string that a URL may set."""


class Driver(ABC):
    """Opens connections; nothing is connected before `open` is called."""

    def __init__(self, spec: ConnectionSpec) -> None:
        options = spec.options
        self._secrets = spec.secrets
        self.server = str(options.get("server") or options.get("host") or "localhost")
        self.port = int(options.get("port") or 1433)
        self.database: str | None = options.get("database") or options.get("dbname")
        self.user: str | None = options.get("user")

    @property
    @abstractmethod
    def errors(self) -> tuple[type[BaseException], ...]:
        """What the driver raises."""

    @abstractmethod
    def open(self) -> Any:
        """A DB-API connection in autocommit mode."""

    @abstractmethod
    def limited(self, connection: Any, seconds: int) -> AbstractContextManager[None]:
        """Let the statement of the block take so long at most; then it ends with one of `errors`."""

    def _secret(self, *names: str) -> str | None:
        secret: Secret | None = next((self._secrets[name] for name in names if name in self._secrets), None)
        return None if secret is None else secret.reveal()


class MssqlPython(Driver):
    """Microsoft's driver: SQL logins, Windows logins, Entra ID by any of its ways, access tokens."""

    def __init__(self, spec: ConnectionSpec) -> None:
        super().__init__(spec)
        try:
            import mssql_python
        except ModuleNotFoundError:
            raise
        except (ImportError, OSError, RuntimeError):
            raise ConfigurationError(
                "Microsoft's driver for SQL Server lacks system libraries",
                where=spec.origin or None,
                fix="Install them: apt-get install libltdl7 libkrb5-3 libgssapi-krb5-2; or write mssql+pymssql://....",
            ) from None

        self._module = mssql_python
        mssql_python.pooling(enabled=False)  # sessions have settings of their own
        self._keywords = _keywords(spec)
        self._client_id: str | None = spec.options.get("client_id")

    @property
    def errors(self) -> tuple[type[BaseException], ...]:
        # Signing in to Entra ID fails with RuntimeError or ValueError.
        return (
            self._module.Error,
            self._module.ConnectionStringParseError,
            RuntimeError,
            ValueError,
            OSError,
        )

    def open(self) -> Any:
        parts = {"Server": f"{self.server},{self.port}", **self._keywords}
        if self.database:
            parts["Database"] = self.database
        attributes: dict[int, int | str | bytes] = {}
        token = self._secret("access_token", "token")
        if token is not None:
            encoded = token.encode("utf-16-le")
            attributes[_ACCESS_TOKEN_ATTRIBUTE] = struct.pack("<I", len(encoded)) + encoded
        elif "Trusted_Connection" not in parts:
            user = self._client_id or self.user
            password = self._secret("client_secret") if self._client_id else self._secret("password", "pass")
            parts |= {"UID": user} if user else {}
            parts |= {"PWD": password} if password else {}
        text = ";".join(f"{key}={_braced(value)}" for key, value in parts.items())
        return self._module.connect(text, autocommit=True, attrs_before=attributes, timeout=LOGIN_SECONDS)

    @contextmanager
    def limited(self, connection: Any, seconds: int) -> Iterator[None]:
        if connection.timeout != seconds:
            connection.timeout = seconds
        yield


class Pymssql(Driver):
    """FreeTDS in a wheel: SQL logins only, nothing else to install.

    FreeTDS has one time limit for all connections of a process (`dbsettime`), which a session cannot have
    for itself. So that one is never moved, and a statement's limit hangs up its connection.
    """

    def __init__(self, spec: ConnectionSpec) -> None:
        super().__init__(spec)
        import pymssql

        self._module = pymssql
        pymssql.set_wait_callback(_statement_waits)
        query = spec.options.get("query") or {}
        for key in sorted(query.keys() - {"encryption", "tds_version", "charset"}):
            raise _unknown_parameter(key, ("encryption", "tds_version"), spec)
        self._extra: dict[str, Any] = {key: query[key] for key in ("encryption", "tds_version") if key in query}
        if spec.options.get("encrypt") is True:
            self._extra.setdefault("encryption", "require")

    @property
    def errors(self) -> tuple[type[BaseException], ...]:
        # Its lower layer raises errors of its own while connecting.
        return (self._module.Error, self._module.Warning, self._module._mssql.MSSQLException, OSError)

    def open(self) -> Any:
        return self._module.connect(
            server=self.server,
            port=str(self.port),
            user=self.user,
            password=self._secret("password", "pass"),
            database=self.database or "",
            login_timeout=LOGIN_SECONDS,
            timeout=LONGEST_SECONDS,
            autocommit=True,
            appname="dictionary_pipeline",
            charset="UTF-8",
            **self._extra,
        )

    @contextmanager
    def limited(self, connection: Any, seconds: int) -> Iterator[None]:
        line = _this_thread.line = _Line()
        try:
            with Deadline(seconds, line.hang_up):
                yield
        finally:
            _this_thread.line = None
            line.release()


class _Line:
    """The socket over which FreeTDS waits for a statement's answer."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    def take(self, descriptor: int) -> None:
        """Keep a handle of our own, which stays this socket's when FreeTDS closes its."""
        if self._socket is None:
            self._socket = socket.socket(fileno=os.dup(descriptor))

    def hang_up(self) -> None:
        """End the connection; the wait for the answer ends with an error."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Close the handle, not the connection."""
        if self._socket is not None:
            self._socket.close()


class _Waiting(threading.local):
    """What the statement of this thread waits for."""

    line: _Line | None = None


_this_thread = _Waiting()


def _statement_waits(descriptor: int) -> None:
    """Called by pymssql, in the thread of the statement, when it is sent and its answer is not there yet."""
    if _this_thread.line is not None:
        _this_thread.line.take(descriptor)


def create_driver(spec: ConnectionSpec) -> Driver:
    """The driver that the URL names, Microsoft's by default.

    Raises:
        ImportError: It is not installed, or its system libraries are missing.
        ConfigurationError: The URL names another one, or a setting that it does not have.
    """
    scheme = str(spec.options.get("url") or "").partition("://")[0].partition("+")[2]
    kinds: dict[str, type[Driver]] = {"": MssqlPython, "mssqlpython": MssqlPython, "pymssql": Pymssql}
    if scheme not in kinds:
        raise ConfigurationError(
            f"SQL Server is not read through {scheme}",
            where=spec.origin or None,
            fix="Write mssql+mssqlpython://... or mssql+pymssql://....",
        )
    return kinds[scheme](spec)


def _keywords(spec: ConnectionSpec) -> dict[str, str]:
    """Keywords of the connection string from the URL's parameters and the profile's options."""
    known = {name.lower(): name for name in _KEYWORDS}
    found = {"ApplicationIntent": "ReadOnly"}
    for key, value in (spec.options.get("query") or {}).items():
        if key.lower() in ("driver", "odbc_connect"):
            continue  # another client's
        if key.lower() not in known:
            raise _unknown_parameter(key, _KEYWORDS, spec)
        found[known[key.lower()]] = str(value)
    for option, keyword in (("encrypt", "Encrypt"), ("trust_cert", "TrustServerCertificate")):
        if spec.options.get(option) is not None:
            found[keyword] = "yes" if spec.options[option] else "no"
    if spec.options.get("trusted_connection"):
        found["Trusted_Connection"] = "yes"
    given = spec.options.get("authentication")
    authentication = _AUTHENTICATION.get(str(given).lower(), str(given)) if given else ""
    if authentication:
        found["Authentication"] = authentication
    return found


def _braced(value: str) -> str:
    return "{" + value.replace("}", "}}") + "}"


def _unknown_parameter(key: str, known: tuple[str, ...], spec: ConnectionSpec) -> ConfigurationError:
    return ConfigurationError(
        f"SQL Server connections have no parameter {key!r}",
        where=spec.origin or None,
        fix=did_you_mean(key, known, f"Remove it; known are {', '.join(known)}."),
    )
