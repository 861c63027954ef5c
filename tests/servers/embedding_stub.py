"""A double of an OpenAI-compatible server's embeddings; it keeps every text that it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKENS = 7
"""Counted for every request."""


class EmbeddingStub(ThreadingHTTPServer):
    """Vectors of three numbers; the first is the text's length."""

    def __init__(self, *, knows_dimensions: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.texts: list[str] = []
        self.knows_dimensions = knows_dimensions
        """Older models refuse the parameter."""
        self.failing_status = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingStub
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.failing_status:
            self._answer(self.server.failing_status, {"error": {"message": str(asked["input"])}})
        elif "dimensions" in asked and not self.server.knows_dimensions:
            self._answer(400, {"error": {"message": "this model does not know the parameter dimensions"}})
        else:
            self.server.texts += asked["input"]
            rows = [
                {"object": "embedding", "index": at, "embedding": [float(len(text)), 1.0, 0.5]}
                for at, text in enumerate(asked["input"])
            ]
            usage = {"prompt_tokens": TOKENS, "total_tokens": TOKENS}
            self._answer(200, {"object": "list", "model": "m", "data": rows[::-1], "usage": usage})

    def _answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def running_embeddings(*, knows_dimensions: bool = True) -> Iterator[EmbeddingStub]:
    """A running double."""
    with EmbeddingStub(knows_dimensions=knows_dimensions) as stub:
        threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield stub
        stub.shutdown()
