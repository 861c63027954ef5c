"""A scriptable server with OpenAI's chat completions; it keeps every request body that it was sent.

Without a script it answers what the JSON Schema of the request asks for. A script is a function of
the request that returns another reply, or null for the usual one.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dictionary_pipeline.config.model_settings import ModelSettings
from servers.openai_batches import Batches

KEY_VARIABLE = "STUB_MODEL_KEY"
KEY = "canary-model-key"


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    number: int
    """From 1."""
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the answer, wherever it stands."""
        wanted = self.body.get("response_format", {}).get("json_schema")
        if wanted:
            return wanted["schema"]
        told = next(m["content"] for m in self.body["messages"] if "valid under this JSON Schema" in m["content"])
        return json.loads(told.split("\n", 1)[1])

    @property
    def wants_text(self) -> bool:
        """Whether no format of the answer is asked for."""
        told = any("valid under this JSON Schema" in message["content"] for message in self.body["messages"])
        return "response_format" not in self.body and not told

    @property
    def units(self) -> list[Mapping[str, Any]]:
        """Texts that a graph is to be drawn from, as the conversation began with them; empty for other questions."""
        first = next(message["content"] for message in self.body["messages"] if message["role"] == "user")
        return json.loads(first).get("units", [])

    @property
    def payload(self) -> Mapping[str, Any]:
        """What is told about the table."""
        return json.loads(self.body["messages"][-1]["content"])

    @property
    def parts(self) -> list[Asked]:
        """The request as one for each of its tables: itself, unless several share it."""
        if self.units or "tables" not in self.payload:
            return [self]
        wanted = self.schema["properties"]["tables"]["properties"]
        return [self._part(table, wanted[table["table"]]) for table in self.payload["tables"]]

    def _part(self, table: Mapping[str, Any], schema: Mapping[str, Any]) -> Asked:
        told = [*self.body["messages"][:-1], {"role": "user", "content": json.dumps(table)}]
        form = {"type": "json_schema", "json_schema": {"schema": schema}}
        return Asked(self.number, self.path, self.headers, {**self.body, "messages": told, "response_format": form})

    @property
    def table(self) -> str:
        """The table's name."""
        return self.payload["table"]

    @property
    def columns(self) -> list[str]:
        """Columns that are to be described."""
        return list(self.schema["properties"].get("columns", {}).get("properties", {}))

    @property
    def characters(self) -> int:
        """Characters of all messages."""
        return sum(len(message["content"]) for message in self.body["messages"])


@dataclass(frozen=True)
class Reply:
    """What the server answers."""

    status: int = 200
    content: str = ""
    finish: str = "stop"
    refusal: str | None = None
    error: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    raw: bytes | None = None
    """The whole body, instead of one made from the rest."""


Script = Callable[[Asked], Reply | None]


class OpenAIStub:
    """The running server."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.script: Script = lambda asked: None
        self._lock = threading.Lock()
        self.batches = Batches(self._batch_reply)
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                stub._serve(self)

            def do_GET(self) -> None:
                batches = stub.batches
                status = batches.content_status if self.path.endswith("/content") else batches.http_status
                _send(self, status, batches.answer("GET", self.path, b"") or b"{}", {})

            def do_DELETE(self) -> None:
                _send(self, stub.batches.http_status, stub.batches.answer("DELETE", self.path, b"") or b"{}", {})

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def settings(self, **changes: Any) -> ModelSettings:
        """Settings that lead here."""
        defaults: dict[str, Any] = {"base_url": self.url, "api_key_env": KEY_VARIABLE, "max_retries": 2}
        return ModelSettings("compatible", "stub-model", **{**defaults, **changes})

    @property
    def bodies(self) -> str:
        """Everything that was ever sent here."""
        return "\n".join(json.dumps(asked.body, ensure_ascii=False) for asked in self.asked)

    def forget(self) -> None:
        """Start counting anew."""
        self.asked.clear()

    @property
    def tables(self) -> list[str]:
        """Every table that was ever asked about, in order of arrival."""
        return [part.table for asked in self.asked for part in asked.parts]

    def _reply(self, asked: Asked) -> Reply:
        """What the script says of each table; of a shared request, the first that is no usual reply counts for all."""
        replies = [self.script(part) or Reply(content=answer(part)) for part in asked.parts]
        if len(replies) == 1:
            return replies[0]
        contents: dict[str, Any] = {}
        for part, reply in zip(asked.parts, replies, strict=True):
            if reply != Reply(content=reply.content, delay=reply.delay, headers=reply.headers):
                return reply
            try:
                contents[part.table] = json.loads(reply.content)
            except ValueError:
                contents[part.table] = reply.content
        content = json.dumps({"tables": contents})
        return Reply(content=content, delay=max(r.delay for r in replies), headers=replies[0].headers)

    def _batch_reply(self, number: int, body: Mapping[str, Any]) -> tuple[int, bytes]:
        asked = Asked(number, "batch", {}, body)
        reply = self._reply(asked)
        return reply.status, _body(asked, reply)

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        sent = handler.rfile.read(int(handler.headers["Content-Length"]))
        ordered = self.batches.answer("POST", handler.path, sent)
        if ordered is not None:
            _send(handler, self.batches.http_status, ordered, {})
            return
        body = json.loads(sent)
        with self._lock:
            asked = Asked(
                len(self.asked) + 1,
                handler.path,
                {name.lower(): value for name, value in handler.headers.items()},
                body,
            )
            self.asked.append(asked)
        reply = self._reply(asked)
        time.sleep(reply.delay)
        _send(handler, reply.status, _body(asked, reply), reply.headers)


def _send(handler: BaseHTTPRequestHandler, status: int, data: bytes, headers: Mapping[str, str]) -> None:
    try:
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", "x-request-id": "r-1", **headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
    except OSError:  # the client has given up waiting
        handler.close_connection = True


def answer(asked: Asked, **changes: Any) -> str:
    """The usual answer; `columns` in the changes replaces single columns. Texts are said to hold no entity."""
    if asked.wants_text:
        return "<|COMPLETE|>"
    if "entities" in asked.schema["properties"]:
        return json.dumps({"entities": [], "relationships": []})
    wanted = asked.schema["properties"]
    texts: dict[str, Any] = {}
    if "entity_name" in wanted:
        texts["entity_name"] = "Thing"
    if "definition" in wanted:
        texts["definition"] = f"Written about {asked.table.replace('_', ' ')}."
    if "columns" in wanted:
        texts["columns"] = {name: f"Written about {name.replace('_', ' ')}." for name in asked.columns}
        texts["columns"] |= changes.pop("columns", {})
    return json.dumps({**texts, "confidence": "high", "unsure": [], **changes})


def _body(asked: Asked, reply: Reply) -> bytes:
    if reply.raw is not None:
        return reply.raw
    if reply.status != 200:
        error = {"message": "no", "type": "stub", "param": None, "code": None, **(reply.error or {})}
        return json.dumps({"error": error}).encode()
    message = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    prompt, completion = asked.characters // 4, len(reply.content) // 4
    return json.dumps(
        {
            "id": f"c-{asked.number}",
            "object": "chat.completion",
            "created": 0,
            "model": asked.body["model"],
            "choices": [{"index": 0, "finish_reason": reply.finish, "message": message}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
                "prompt_tokens_details": {"cached_tokens": 10},
            },
        }
    ).encode()


@contextmanager
def running_stub() -> Iterator[OpenAIStub]:
    """Start a server on a free port of this machine."""
    stub = OpenAIStub()
    thread = threading.Thread(target=stub._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub._server.shutdown()
        stub._server.server_close()
        thread.join()
