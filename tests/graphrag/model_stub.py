"""A protocol double of a model provider, as far as GraphRAG 3.3 talks to one: chat completions and embeddings.

It proves that GraphRAG accepts our files and works through them, nothing about what a real model would say.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

VECTOR_SIZE = 1536
"""As `settings.yaml` says."""
ANSWER = "Orders refer to customers [Data: Reports (0)]."

_EXTRACTION = re.compile(r"-Real data-\nEntity types: (?P<types>[^\n]*)\nText:\n(?P<text>.*)\n\nAnswer:\n\Z", re.DOTALL)


class ModelStub:
    """The running server; it counts what it was asked for, by kind."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.prompts: list[tuple[str, str]] = []
        """(kind, text) of every chat request."""
        self.extract: Callable[[str], str] = lambda text: "<|COMPLETE|>"
        """Answers GraphRAG's `extract_graph`, given the text of one chunk."""
        self._lock = threading.Lock()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                is_embedding = self.path.endswith("/embeddings")
                kind, data = stub._embeddings(body) if is_embedding else stub._completion(body)
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def forget(self) -> None:
        """Start counting anew."""
        self.asked.clear()
        self.prompts.clear()

    def _completion(self, body: Mapping[str, Any]) -> tuple[str, bytes]:
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        kind, content = self._answer(body, prompt)
        with self._lock:
            self.asked[kind] += 1
            self.prompts.append((kind, prompt))
        head = {"id": "c", "created": 0, "model": body["model"]}
        if not body.get("stream"):
            message = {"role": "assistant", "content": content}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            return "application/json", json.dumps(whole).encode()
        parts = [({"role": "assistant", "content": content}, None), ({}, "stop")]
        chunks = [
            {
                **head,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }
            for delta, finish in parts
        ]
        events = [*(json.dumps(chunk) for chunk in chunks), "[DONE]"]
        return "text/event-stream", "".join(f"data: {event}\n\n" for event in events).encode()

    def _answer(self, body: Mapping[str, Any], prompt: str) -> tuple[str, str]:
        wanted = body.get("response_format") or {}
        extraction = _EXTRACTION.search(prompt)
        if wanted.get("type") == "json_schema":
            assert wanted["json_schema"]["strict"]
            return "report", json.dumps(_report(wanted["json_schema"]["schema"]))
        if '"points": [' in prompt:  # the first step of a global search; it asks for JSON in words
            return "map", json.dumps({"points": [{"description": ANSWER, "score": 90}]})
        if extraction:
            return "extract", self.extract(extraction["text"])
        return ("summary" if "-Data-" in prompt and "Description List" in prompt else "answer"), ANSWER

    def _embeddings(self, body: Mapping[str, Any]) -> tuple[str, bytes]:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        with self._lock:
            self.asked["embedding"] += len(texts)
        vectors = [_vector(json.dumps(text)) for text in texts]
        if body.get("encoding_format") == "base64":
            packed = [base64.b64encode(struct.pack(f"<{VECTOR_SIZE}f", *vector)).decode() for vector in vectors]
            data = [{"object": "embedding", "index": place, "embedding": one} for place, one in enumerate(packed)]
        else:
            data = [{"object": "embedding", "index": place, "embedding": one} for place, one in enumerate(vectors)]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        reply = {"object": "list", "model": body["model"], "data": data, "usage": usage}
        return "application/json", json.dumps(reply).encode()


def _report(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A community report with exactly the keys of the schema; GraphRAG refuses any other."""
    report = {
        "title": "Orders and customers",
        "summary": "Orders refer to customers.",
        "findings": [{"summary": "A key", "explanation": "Orders refer to customers [Data: Entities (0)]."}],
        "rating": 5.0,
        "rating_explanation": "Central.",
    }
    assert set(report) == set(schema["properties"])
    return report


def _vector(text: str) -> list[float]:
    """The same text, the same vector."""
    seed = hashlib.sha256(text.encode()).digest()
    return [(seed[place % 32] - 127.5) / 128 for place in range(VECTOR_SIZE)]


@contextmanager
def running_model() -> Iterator[ModelStub]:
    """Start a server on a free port of this machine."""
    stub = ModelStub()
    thread = threading.Thread(target=stub.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.server.shutdown()
        stub.server.server_close()
        thread.join()
