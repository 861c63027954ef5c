"""A local receiver of webhooks that keeps what it was sent; a script can make it refuse."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def document(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as text, whatever the channel."""
        return self.body.decode()


@dataclass(frozen=True)
class Answer:
    """What the receiver says."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


Script = Callable[[int], Answer]
"""From the number of a request, counted from 1, to its answer."""


class WebhookReceiver:
    """The running server."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        """Requests that were taken."""
        self.attempts = 0
        self.script: Script = lambda number: Answer()
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver._serve(self)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def at(self, path: str) -> list[Received]:
        """What was taken at a path."""
        return [item for item in self.received if item.path == path]

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            self.attempts += 1
            answer = self.script(self.attempts)
            if answer.status < 300:
                self.received.append(Received(handler.path, headers, body))
        time.sleep(answer.delay)
        try:
            handler.send_response(answer.status)
            for name, value in answer.headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        except OSError:  # the sender has given up waiting
            handler.close_connection = True


@contextmanager
def running_receiver() -> Iterator[WebhookReceiver]:
    """Start a receiver on a free port of this machine."""
    receiver = WebhookReceiver()
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()
        thread.join()
