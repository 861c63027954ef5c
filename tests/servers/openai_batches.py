"""OpenAI's files and batches, as far as ordering and collecting a batch of completions needs them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Complete = Callable[[int, Mapping[str, Any]], tuple[int, bytes]]
"""Number and body of a request -> HTTP status and body of its answer."""


class Batches:
    """Batches stay under way until `status` says something else."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete
        self.status = "in_progress"
        self.http_status = 200
        self.content_status = 200
        """Of requests for the answers."""
        self.files: dict[str, list[dict[str, Any]]] = {}
        self.ordered: list[dict[str, Any]] = []
        self.deleted: list[str] = []
        self._uploads = 0

    @property
    def bodies(self) -> list[Mapping[str, Any]]:
        """Bodies of all requests of all batches."""
        return [line["body"] for lines in self.files.values() for line in lines]

    def answer(self, method: str, path: str, body: bytes) -> bytes | None:
        """The answer to a request about files or batches; null to any other."""
        route = re.fullmatch(r"/v1/(files|batches)(?:/([\w-]+))?(/content)?", path.partition("?")[0])
        if route is None:
            return None
        kind, name, content = route.groups()
        if method == "DELETE":
            self.files.pop(name or "", None)
            self.deleted.append(name or "")
            return json.dumps({"id": name, "object": "file", "deleted": True}).encode()
        if kind == "files":
            return self._output() if content else self._upload(body)
        if method == "POST":
            return self._create(json.loads(body))
        if name is None:
            return json.dumps({"object": "list", "data": [self._shown(item) for item in self.ordered]}).encode()
        return json.dumps(self._shown(next(item for item in self.ordered if item["id"] == name))).encode()

    def _upload(self, body: bytes) -> bytes:
        lines = [json.loads(line) for line in body.decode().splitlines() if line.startswith('{"custom_id"')]
        self._uploads += 1
        name = f"file-{self._uploads}"
        self.files[name] = lines
        told = {"id": name, "object": "file", "bytes": len(body), "created_at": 0, "filename": "r.jsonl"}
        return json.dumps({**told, "purpose": "batch", "status": "processed"}).encode()

    def _create(self, given: dict[str, Any]) -> bytes:
        batch = {"id": f"batch-{len(self.ordered) + 1}", "object": "batch", "created_at": 0, **given}
        self.ordered.append(batch)
        return json.dumps(self._shown(batch)).encode()

    def _shown(self, batch: dict[str, Any]) -> dict[str, Any]:
        output = {"output_file_id": "output"} if self.status in ("completed", "expired") else {}
        return {**batch, "status": self.status, **output}

    def _output(self) -> bytes:
        lines = []
        for number, line in enumerate(self.files[self.ordered[-1]["input_file_id"]], start=1):
            status, body = self._complete(number, line["body"])
            response = {"status_code": status, "request_id": "r", "body": json.loads(body)}
            lines.append(json.dumps({"id": f"l{number}", "custom_id": line["custom_id"], "response": response}))
        return "\n".join(reversed(lines)).encode()
