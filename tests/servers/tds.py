"""A test double of SQL Server: TDS 7.4 on a socket, for unmodified clients, with faults to order.

It proves the way from the product through a real driver and back: connection strings, TLS, password
and token logins, decoding, time-outs, errors, lost connections, the number and the syntax of the
statements. It never proves what a real SQL Server's catalog holds, its collations, locks, plans or
permissions: those are tested when DD_TEST_SQLSERVER_URL names a real one.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from conformance.model import Declaration

from servers import tds_wire as wire
from servers.tds_backend import Backend, SqlError

USER, PASSWORD, TOKEN = "reader", "Correct;Horse}1", "token-of-entra"


@dataclass
class Faults:
    """What goes wrong; texts match a part of a statement."""

    slow: dict[str, float] = field(default_factory=dict)
    """Part of a statement -> seconds that it takes."""
    torn: dict[str, int] = field(default_factory=dict)
    """Part of a statement -> how often its answer ends in the middle with the connection gone."""
    errors: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Part of a statement -> error number and text it ends with."""
    token_expired: bool = False


class TdsServer:
    """One server with the databases that tests declare."""

    def __init__(self, *, context: ssl.SSLContext | None = None) -> None:
        self.faults = Faults()
        self.databases: dict[str, Backend] = {}
        self.statements: list[str] = []
        self.logins: list[wire.Login] = []
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._lines: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._stopping = False
        self._spawn(self._accept)

    def declare(self, name: str, declaration: Declaration) -> Backend:
        """Make a database."""
        self.databases[name] = Backend(name, declaration)
        return self.databases[name]

    def close(self) -> None:
        """Hang up and stop."""
        self._stopping = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for line in self._lines:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for backend in self.databases.values():
            backend.close()

    def _spawn(self, run: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._lines.append(connection)
            self._spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(wire.Closed, OSError, ssl.SSLError):
            line = wire.Line(connection)
            backend = self._log_in(line)
            while backend is not None:
                kind, message = line.receive()
                if kind == wire.BATCH:
                    self._answer(line, backend, wire.batch_text(message))
                elif kind == wire.TRANSACTION:
                    line.send(wire.transaction_reply(message))
                elif kind == wire.ATTENTION:
                    line.send(wire.attention_reply())
                else:
                    line.send(wire.error(102, f"The double does not know message type {kind}.", 16))

    def _log_in(self, line: wire.Line) -> Backend | None:
        _, request = line.receive()
        line.send(wire.prelogin_reply(request, encrypt=self._context is not None))
        if self._context is not None:
            line.encrypt(self._context)
        _, message = line.receive()
        login = wire.parse_login(message)
        self.logins.append(login)
        if login.token is not None:
            welcome = login.token == TOKEN and not self.faults.token_expired
        else:
            welcome = (login.user, login.password) == (USER, PASSWORD)
        if not welcome:
            line.send(wire.error(18456, f"Login failed for user '{login.user}'.", 14))
            return None
        backend = self.databases.get(login.database)
        if backend is None:
            text = f'Cannot open database "{login.database}" requested by the login. The login failed.'
            line.send(wire.error(4060, text, 11))
            return None
        line.send(wire.login_reply(login, backend.database))
        return backend

    def _answer(self, line: wire.Line, backend: Backend, sql: str) -> None:
        self.statements.append(sql)
        faults = self.faults
        for part, seconds in faults.slow.items():
            if part in sql and self._cancelled(line, seconds):
                return
        for part, (number, text) in faults.errors.items():
            if part in sql:
                line.send(wire.error(number, text, 16))
                return
        try:
            found = backend.run(sql.replace("DB_NAME()", f"'{backend.database}'"))
        except SqlError as error:
            line.send(wire.error(error.number, error.text, error.severity))
            return
        answer = wire.done() if found is None else wire.result(*found)
        for part, times in faults.torn.items():
            if part in sql and times > 0:
                faults.torn[part] -= 1
                line.send_torn(answer)
                raise wire.Closed
        line.send(answer)

    def _cancelled(self, line: wire.Line, seconds: float) -> bool:
        """Take time; a client that loses patience sends an attention, or hangs up."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._stopping:
            ready, _, _ = select.select([line.raw], [], [], 0.05)
            if ready:
                kind, _ = line.receive()
                if kind == wire.ATTENTION:
                    line.send(wire.attention_reply())
                    return True
        return False


@contextlib.contextmanager
def running_tds(*, context: ssl.SSLContext | None = None) -> Iterator[TdsServer]:
    """A server for the duration of the block.

    Args:
        context: With it the server insists on TLS; at most 1.2, as in SQL Server's own handshake.
    """
    server = TdsServer(context=context)
    try:
        yield server
    finally:
        server.close()
