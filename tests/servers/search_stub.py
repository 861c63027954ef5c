"""A double of Azure AI Search over TLS that records its REST calls. Written from the service's documentation.

It keeps indexes and documents in memory and enforces those rules that a push could break: fields are known
and of their type, a field that exists keeps its attributes, keys and batch sizes are bounded, only filterable
fields are filtered by. It proves how the real client library is used, never how the service answers.
"""

from __future__ import annotations

import copy
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from servers.certificates import server_context

KEY_VARIABLE = "DD_TEST_SEARCH_KEY"
KEY = "canary-search-admin-key"
TOKEN = "canary-entra-token"
MOST_ACTIONS = 1_000
MOST_OBJECTS = 3_000
_INDEX = re.compile(r"/indexes\('([^']+)'\)(.*)")
_DOCUMENT_KEY = re.compile(r"[A-Za-z0-9=-][A-Za-z0-9_=-]{0,1023}")
_COMPARISON = re.compile(r"(\w+) (gt|lt|eq) '([^']*)'")
_CHANGEABLE = {"retrievable"}
_SCALARS: dict[str, type | tuple[type, ...]] = {
    "Edm.String": str,
    "Edm.DateTimeOffset": str,
    "Edm.Double": (int, float),
    "Edm.Single": (int, float),
}


@dataclass(frozen=True)
class Call:
    """One request as it arrived."""

    method: str
    path: str
    """Without host and query."""
    body: Any
    headers: dict[str, str]
    api_version: str

    @property
    def index(self) -> str:
        """The index it is about."""
        found = _INDEX.match(self.path)
        return found.group(1) if found else ""

    @property
    def documents(self) -> list[dict[str, Any]]:
        """Actions of a batch; none of any other request."""
        return self.body["value"] if self.path.endswith("/docs/search.index") else []


@dataclass(frozen=True)
class Answer:
    """What the service answers."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Refused(Exception):
    """A request that the service refuses."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.answer = Answer(status, {"error": {"code": code, "message": text}})


Script = Callable[[Call], Answer | None]


class SearchStub:
    """The running double."""

    def __init__(self, folder: Path) -> None:
        self.calls: list[Call] = []
        self.indexes: dict[str, dict[str, Any]] = {}
        self.documents: dict[str, dict[str, dict[str, Any]]] = {}
        self.script: Script = lambda call: None
        """Another answer than the usual one; the request then has no effect."""
        self.document_faults: dict[str, list[int]] = {}
        """Key -> statuses of its next attempts."""
        self.certificate = folder / "cert.pem"
        self._lock = threading.Lock()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                stub._serve(self)

            def do_PUT(self) -> None:
                stub._serve(self)

            def do_POST(self) -> None:
                stub._serve(self)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = server_context(folder).wrap_socket(self._server.socket, server_side=True)
        self.endpoint = f"https://127.0.0.1:{self._server.server_address[1]}"

    @property
    def sent(self) -> list[dict[str, Any]]:
        """All actions of all batches so far."""
        return [action for call in self.calls for action in call.documents]

    def forget_calls(self) -> None:
        """Start recording anew."""
        self.calls.clear()

    def start(self) -> None:
        """Serve in a thread."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        raw = handler.rfile.read(length)
        parts = urlsplit(handler.path)
        version = parse_qs(parts.query).get("api-version", [""])[0]
        headers = {name.lower(): value for name, value in handler.headers.items()}
        call = Call(handler.command, unquote(parts.path), json.loads(raw) if raw else None, headers, version)
        with self._lock:
            self.calls.append(call)
            try:
                answer = self.script(call) or self._answer(call)
            except Refused as refusal:
                answer = refusal.answer
        body = b"" if answer.body is None else json.dumps(answer.body).encode()
        handler.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _answer(self, call: Call) -> Answer:
        if call.headers.get("api-key") != KEY and call.headers.get("authorization") != f"Bearer {TOKEN}":
            raise Refused(403, "Forbidden", "the key or token is wrong")
        found = _INDEX.fullmatch(call.path)
        assert found is not None, call.path
        name, rest = found.groups()
        if call.method == "PUT" and not rest:
            return self._put_index(name, call.body)
        if name not in self.indexes:
            raise Refused(404, "ResourceNotFound", f"no index {name}")
        if call.method == "GET" and not rest:
            return Answer(200, self.indexes[name])
        if rest == "/docs/search.index":
            return self._change(name, call.body["value"])
        if rest == "/docs/search.post.search":
            return self._search(name, call.body)
        raise AssertionError(call.path)

    def _put_index(self, name: str, wanted: dict[str, Any]) -> Answer:
        assert wanted["name"] == name
        existing = self.indexes.get(name)
        if existing is not None:
            _require_compatible(existing["fields"], wanted["fields"])
        self.indexes[name] = {**copy.deepcopy(wanted), "@odata.etag": f'"{len(self.calls)}"'}
        self.documents.setdefault(name, {})
        return Answer(200 if existing else 201, self.indexes[name])

    def _change(self, index: str, actions: list[dict[str, Any]]) -> Answer:
        if len(actions) > MOST_ACTIONS:
            raise Refused(400, "InvalidRequestParameter", "too many actions")
        results = [self._apply(index, dict(action)) for action in actions]
        return Answer(200 if all(result["status"] for result in results) else 207, {"value": results})

    def _apply(self, index: str, action: dict[str, Any]) -> dict[str, Any]:
        kind, key = action.pop("@search.action"), action["Id"]
        faults = self.document_faults.get(key, [])
        status = faults.pop(0) if faults else 200
        if not _DOCUMENT_KEY.fullmatch(key):
            raise Refused(400, "InvalidDocumentKey", f"invalid key {key}")
        if status == 200 and kind == "mergeOrUpload":
            _require_fields(self.indexes[index]["fields"], action, "")
            if _objects(action) > MOST_OBJECTS:
                status = 400
        held = self.documents[index]
        if status == 200:
            if kind == "delete":
                held.pop(key, None)
            else:
                assert kind == "mergeOrUpload"
                held[key] = {**held.get(key, {}), **action}
        return {
            "key": key,
            "status": status == 200,
            "errorMessage": None if status == 200 else key,
            "statusCode": status,
        }

    def _search(self, index: str, body: dict[str, Any]) -> Answer:
        fields = {item["name"]: item for item in self.indexes[index]["fields"]}
        found = sorted(self.documents[index].values(), key=lambda document: document["Id"])
        for name, sign, text in _COMPARISON.findall(body.get("filter") or ""):
            _require(fields[name].get("filterable"), f"{name} is not filterable")
            found = [item for item in found if _holds(item.get(name), sign, text)]
        for name in filter(None, (body.get("orderby") or "").split(",")):
            _require(fields[name].get("sortable"), f"{name} is not sortable")
            found.sort(key=lambda document, name=name: document[name])  # type: ignore[misc]
        start, count = body.get("skip") or 0, body.get("top") or 50
        names = [name.strip() for name in (body.get("select") or "").split(",") if name.strip()]
        for name in names:
            _require(fields[name.partition("/")[0]].get("retrievable", True), f"{name} is not retrievable")
        page = [_selected(document, names) for document in found[start : start + count]]
        return Answer(200, {"value": [{"@search.score": 1.0, **document} for document in page]})


@contextmanager
def running_search(folder: Path) -> Iterator[SearchStub]:
    """A running double; its certificate is `folder`/cert.pem."""
    stub = SearchStub(folder)
    stub.start()
    try:
        yield stub
    finally:
        stub.stop()


def _require(condition: Any, text: str) -> None:
    if not condition:
        raise Refused(400, "InvalidRequestParameter", text)


def _require_compatible(held: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """Fields are added, never removed or changed."""
    new = {item["name"]: item for item in wanted}
    for item in held:
        _require(item["name"] in new, f"{item['name']} cannot be removed")
        other = new[item["name"]]
        for attribute in (set(item) | set(other)) - _CHANGEABLE - {"fields"}:
            _require(item.get(attribute) == other.get(attribute), f"{item['name']}: {attribute} cannot be changed")
        if "fields" in item:
            _require_compatible(item["fields"], other["fields"])


def _require_fields(fields: list[dict[str, Any]], document: dict[str, Any], parent: str) -> None:
    known = {item["name"]: item for item in fields}
    for name, value in document.items():
        _require(name in known, f"unknown field {parent}{name}")
        _require_type(known[name], value, f"{parent}{name}")


def _require_type(item: dict[str, Any], value: Any, name: str) -> None:
    inner = re.fullmatch(r"Collection\((.*)\)", item["type"])
    if value is None:
        return
    if inner is None:
        _require(
            isinstance(value, _SCALARS[item["type"]]) and not isinstance(value, bool), f"{name} is no {item['type']}"
        )
        return
    _require(isinstance(value, list) and None not in value, f"{name} is no list without nulls")
    if "dimensions" in item:
        _require(len(value) == item["dimensions"], f"{name} has {len(value)} dimensions")
    for element in value:
        if inner.group(1) == "Edm.ComplexType":
            _require_fields(item["fields"], element, f"{name}/")
        else:
            _require(isinstance(element, _SCALARS[inner.group(1)]), f"{name} holds no {inner.group(1)}")


def _objects(value: Any) -> int:
    """Elements of complex collections."""
    if isinstance(value, dict):
        return sum(_objects(item) for item in value.values())
    if isinstance(value, list):
        return sum(1 + _objects(item) for item in value if isinstance(item, dict))
    return 0


def _holds(value: Any, sign: str, text: str) -> bool:
    if value is None:
        return False
    return {"gt": value > text, "lt": value < text, "eq": value == text}[sign]


def _selected(document: dict[str, Any], names: list[str]) -> dict[str, Any]:
    if not names:
        return document
    inner: dict[str, list[str]] = {}
    for name in names:
        head, _, rest = name.partition("/")
        inner.setdefault(head, [])
        if rest:
            inner[head].append(rest)
    result: dict[str, Any] = {}
    for head, rest in inner.items():
        value = document.get(head)
        result[head] = [_selected(item, rest) for item in value] if rest and isinstance(value, list) else value
    return result
