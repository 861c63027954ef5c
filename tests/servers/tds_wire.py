"""The bytes of TDS 7.4 as far as the test server speaks it ([MS-TDS], sections 2.2 and 3.3)."""

from __future__ import annotations

import socket
import ssl
import struct
from dataclasses import dataclass
from typing import Any

BATCH, RPC, ATTENTION, TRANSACTION, LOGIN7, PRELOGIN, REPLY = 0x01, 0x03, 0x06, 0x0E, 0x10, 0x12, 0x04
_PACKET = 4096
_COLLATION = struct.pack("<IB", 0x00D00409, 52)
_VERSION = struct.pack(">I", 0x74000004)
_ENCRYPT, _FEDAUTH = 1, 6
ENCRYPT_NOT_SUPPORTED, ENCRYPT_ON = 2, 1
_FEATURE_FEDAUTH = 2
_DONE_FINAL, _DONE_ERROR, _DONE_COUNT, _DONE_ATTENTION = 0x00, 0x02, 0x10, 0x20


class Closed(Exception):
    """The client hung up."""


@dataclass(frozen=True)
class Login:
    """What a client says of itself."""

    user: str
    password: str
    database: str
    token: str | None
    """Entra ID access token, when the client logs in with one."""


class Line:
    """One client's connection: whole messages in and out, encrypted once TLS was agreed on."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket: socket.socket | _Tunnel = connection
        self.raw = connection

    def receive(self) -> tuple[int, bytes]:
        """(type, payload) of the next message."""
        payload = b""
        while True:
            kind, status, length = struct.unpack(">BBH", self._exactly(8)[:4])
            payload += self._exactly(length - 8)
            if status & 1:
                return kind, payload

    def send(self, payload: bytes, kind: int = REPLY) -> None:
        """Send one message in as many packets as it needs."""
        pieces = [payload[at : at + _PACKET - 8] for at in range(0, len(payload), _PACKET - 8)] or [b""]
        for number, piece in enumerate(pieces, 1):
            last = number == len(pieces)
            self._socket.sendall(struct.pack(">BBHHBB", kind, last, len(piece) + 8, 0, number % 256, 0) + piece)

    def send_torn(self, payload: bytes) -> None:
        """Send the first half of an answer and hang up."""
        piece = payload[: min(len(payload) // 2, _PACKET - 8)]
        self._socket.sendall(struct.pack(">BBHHBB", REPLY, 0, len(piece) + 8, 0, 1, 0) + piece)
        self.raw.close()

    def encrypt(self, context: ssl.SSLContext) -> None:
        """The TLS handshake, whose records travel in PRELOGIN packets; then TLS takes the whole line."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                if outgoing.pending:
                    self.send(outgoing.read(), PRELOGIN)
                incoming.write(self.receive()[1])
            else:
                break
        if outgoing.pending:
            self.send(outgoing.read(), PRELOGIN)
        self._socket = _Tunnel(self.raw, tls, incoming, outgoing)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                piece = self._socket.recv(count - len(data))
            except OSError:
                raise Closed from None
            if not piece:
                raise Closed
            data += piece
        return data


class _Tunnel:
    def __init__(
        self, connection: socket.socket, tls: ssl.SSLObject, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO
    ) -> None:
        self._connection, self._tls, self._in, self._out = connection, tls, incoming, outgoing

    def recv(self, count: int) -> bytes:
        while True:
            try:
                return self._tls.read(count)
            except ssl.SSLWantReadError:
                data = self._connection.recv(65536)
                if not data:
                    return b""
                self._in.write(data)

    def sendall(self, data: bytes) -> None:
        self._tls.write(data)
        self._connection.sendall(self._out.read())


def prelogin_reply(request: bytes, *, encrypt: bool) -> bytes:
    """Version, encryption, and whether a token may follow."""
    options = [(0, b"\x10\x00\x00\x00\x00\x00"), (_ENCRYPT, bytes([ENCRYPT_ON if encrypt else ENCRYPT_NOT_SUPPORTED]))]
    options += [(2, b"\x00"), (3, b""), (4, b"\x00")]
    if _option(request, _FEDAUTH) is not None:
        options.append((_FEDAUTH, b"\x01"))
    offset = 5 * len(options) + 1
    head, body = b"", b""
    for number, value in options:
        head += struct.pack(">BHH", number, offset + len(body), len(value))
        body += value
    return head + b"\xff" + body


def _option(message: bytes, wanted: int) -> bytes | None:
    at = 0
    while message[at] != 0xFF:
        number, offset, length = struct.unpack(">BHH", message[at : at + 5])
        if number == wanted:
            return message[offset : offset + length]
        at += 5
    return None


def parse_login(message: bytes) -> Login:
    """User, password, database and token of a LOGIN7 message."""

    def text(at: int) -> bytes:
        offset, length = struct.unpack("<HH", message[at : at + 4])
        return message[offset : offset + 2 * length]

    hidden = bytes(byte ^ 0xA5 for byte in text(44))
    password = bytes((byte >> 4) | ((byte & 0x0F) << 4) for byte in hidden)
    user, database = text(40).decode("utf-16-le"), text(68).decode("utf-16-le")
    token = _token(message) if message[27] & 0x10 else None
    return Login(user, password.decode("utf-16-le", "replace"), database, token)


def _token(message: bytes) -> str | None:
    [place] = struct.unpack("<H", message[56:58])
    [at] = struct.unpack("<I", message[place : place + 4])
    while message[at] != 0xFF:
        feature, length = struct.unpack("<BI", message[at : at + 5])
        data = message[at + 5 : at + 5 + length]
        if feature == _FEATURE_FEDAUTH:
            [size] = struct.unpack("<I", data[1:5])
            return data[5 : 5 + size].decode("utf-16-le")
        at += 5 + length
    return None


def login_reply(login: Login, database: str) -> bytes:
    """The tokens that end a successful login."""
    name = _short("Microsoft SQL Server (test double)") + b"\x10\x00\x00\x00"
    acknowledged = _sized(0xAD, b"\x01" + _VERSION + name)
    reply = _environment(1, _short(database) + _short("master"))
    reply += _environment(7, bytes([5]) + _COLLATION + b"\x00")
    reply += acknowledged + _environment(4, _short(str(_PACKET)) + _short(str(_PACKET)))
    if login.token is not None:
        reply += b"\xae" + struct.pack("<BI", _FEATURE_FEDAUTH, 0) + b"\xff"
    return reply + done()


def batch_text(message: bytes) -> str:
    """The SQL of a batch, behind its headers."""
    [headers] = struct.unpack("<I", message[:4])
    return message[headers:].decode("utf-16-le")


def error(number: int, text: str, severity: int) -> bytes:
    """An ERROR token and the end of the answer."""
    encoded = text.encode("utf-16-le")
    body = struct.pack("<iBBH", number, 1, severity, len(text)) + encoded + _short("double") + _short("")
    return _sized(0xAA, body + struct.pack("<i", 1)) + done(_DONE_ERROR)


def done(status: int = _DONE_FINAL, count: int = 0) -> bytes:
    """A DONE token."""
    return struct.pack("<BHHQ", 0xFD, status, 0xC1, count)


def attention_reply() -> bytes:
    """What ends a statement that the client cancelled."""
    return done(_DONE_ATTENTION)


def transaction_reply(message: bytes) -> bytes:
    """Begin, commit and roll back are all one to a server that only reads."""
    [headers] = struct.unpack("<I", message[:4])
    [request] = struct.unpack("<H", message[headers : headers + 2])
    descriptor = bytes([8]) + struct.pack("<Q", 1)
    change = {5: (8, descriptor + b"\x00"), 7: (9, b"\x00" + descriptor), 8: (10, b"\x00" + descriptor)}.get(request)
    return (_environment(*change) if change else b"") + done()


def result(columns: list[tuple[str, str]], rows: list[tuple[Any, ...]]) -> bytes:
    """COLMETADATA, rows and DONE; column types are `integer`, `boolean`, `float` and `text`."""
    out = [struct.pack("<BH", 0x81, len(columns))]
    for name, kind in columns:
        out.append(struct.pack("<IH", 0, 0x09) + _TYPE_INFO[kind] + _short(name))
    for row in rows:
        out.append(b"\xd1")
        out += [_value(kind, value) for (_, kind), value in zip(columns, row, strict=True)]
    out.append(done(_DONE_COUNT, len(rows)))
    return b"".join(out)


_TYPE_INFO = {
    "integer": b"\x26\x08",
    "boolean": b"\x68\x01",
    "float": b"\x6d\x08",
    "text": b"\xe7\xff\xff" + _COLLATION,  # NVARCHAR(MAX), sent in chunks
}


def _value(kind: str, value: Any) -> bytes:
    if kind == "text":
        if value is None:
            return b"\xff" * 8
        encoded = str(value).encode("utf-16-le")
        chunk = struct.pack("<I", len(encoded)) + encoded if encoded else b""
        return struct.pack("<Q", len(encoded)) + chunk + b"\x00\x00\x00\x00"
    if value is None:
        return b"\x00"
    if kind == "integer":
        return b"\x08" + struct.pack("<q", value)
    if kind == "boolean":
        return b"\x01" + bytes([bool(value)])
    return b"\x08" + struct.pack("<d", value)


def _short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode("utf-16-le")


def _sized(token: int, body: bytes) -> bytes:
    return struct.pack("<BH", token, len(body)) + body


def _environment(kind: int, values: bytes) -> bytes:
    return _sized(0xE3, bytes([kind]) + values)
