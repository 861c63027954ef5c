"""A local mail server that speaks the part of SMTP that clients use (RFC 5321, STARTTLS, AUTH PLAIN and LOGIN)."""

from __future__ import annotations

import base64
import email
import email.policy
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage


@dataclass(frozen=True)
class Mail:
    """One message as it was handed over."""

    sender: str
    recipients: tuple[str, ...]
    message: EmailMessage
    was_encrypted: bool

    @property
    def text(self) -> str:
        """The body."""
        return self.message.get_content()


class SmtpReceiver:
    """The running server; `login` and `refuse` say what it accepts."""

    def __init__(self, context: ssl.SSLContext | None, *, tls_at_once: bool = False) -> None:
        self.received: list[Mail] = []
        self.login: tuple[str, str] | None = None
        """User and password that a sender must give."""
        self.refuse: int | None = None
        """SMTP code with which every message is refused."""
        self.context = context
        self.tls_at_once = tls_at_once
        receiver = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                _Dialog(receiver, self).run()

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.port: int = self.server.server_address[1]


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class _Dialog:
    """One connection."""

    def __init__(self, receiver: SmtpReceiver, handler: socketserver.StreamRequestHandler) -> None:
        self._receiver = receiver
        self._socket = handler.request
        self._reader, self._writer = handler.rfile, handler.wfile
        self._is_encrypted = self._logged_in = False
        self._sender, self._recipients = "", list[str]()

    def run(self) -> None:
        try:
            if self._receiver.tls_at_once:
                self._encrypt()
            self._say("220 local ESMTP")
            while line := self._reader.readline():
                if self._command(line.decode().strip()):
                    break
        except OSError:  # the other side is gone, or does not trust the certificate
            return
        finally:
            if self._is_encrypted:
                self._reader.close()
                self._writer.close()
                self._socket.close()

    def _say(self, *lines: str) -> None:
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())
        self._writer.flush()

    def _encrypt(self) -> None:
        assert self._receiver.context is not None
        self._socket = self._receiver.context.wrap_socket(self._socket, server_side=True)
        self._reader, self._writer = self._socket.makefile("rb"), self._socket.makefile("wb")
        self._is_encrypted = True

    def _command(self, line: str) -> bool:
        word, _, rest = line.partition(" ")
        match word.upper():
            case "EHLO":
                can_encrypt = self._receiver.context is not None and not self._is_encrypted
                self._say("250-local", *(["250-STARTTLS"] if can_encrypt else []), "250 AUTH PLAIN LOGIN")
            case "STARTTLS":
                self._say("220 go ahead")
                self._encrypt()
            case "AUTH":
                self._login(rest)
            case "MAIL":
                if self._receiver.login and not self._logged_in:
                    self._say("530 login first")
                else:
                    self._sender, self._recipients = _address(rest), []
                    self._say("250 ok")
            case "RCPT":
                self._recipients.append(_address(rest))
                self._say("250 ok")
            case "DATA":
                self._data()
            case "QUIT":
                self._say("221 bye")
                return True
            case _:
                self._say("250 ok")
        return False

    def _login(self, rest: str) -> None:
        method, _, initial = rest.partition(" ")
        if method.upper() == "PLAIN":
            _, user, password = base64.b64decode(initial).decode().split("\0")
        else:
            user = base64.b64decode(initial).decode()
            self._say("334 " + base64.b64encode(b"Password:").decode())
            password = base64.b64decode(self._reader.readline()).decode()
        self._logged_in = (user, password) == self._receiver.login
        self._say("235 ok" if self._logged_in else f"535 wrong password {password}")

    def _data(self) -> None:
        self._say("354 go ahead")
        lines: list[bytes] = []
        while (line := self._reader.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        if self._receiver.refuse is not None:
            self._say(f"{self._receiver.refuse} not now")
            return
        message = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        self._receiver.received.append(Mail(self._sender, tuple(self._recipients), message, self._is_encrypted))
        self._say("250 taken")


def _address(rest: str) -> str:
    return rest[rest.index("<") + 1 : rest.index(">")]


@contextmanager
def running_smtp(context: ssl.SSLContext | None = None, *, tls_at_once: bool = False) -> Iterator[SmtpReceiver]:
    """Start a mail server on a free port of this machine."""
    receiver = SmtpReceiver(context, tls_at_once=tls_at_once)
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()
        thread.join()
