"""Stores on an emulator whose requests are counted, lost or cut off."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

from azure.core.exceptions import ServiceResponseError
from azure.core.pipeline.transport import RequestsTransport
from servers.azurite import AzuriteServer
from test_publish_protocol import PowerCut

from dictionary_pipeline.config.resolved import AzureTarget
from dictionary_pipeline.publishing.azure import AzureStore
from dictionary_pipeline.publishing.azure_client import connect
from dictionary_pipeline.publishing.reading import bundle_in

KEY_VARIABLE = "DD_TEST_AZURE"


class Wire(RequestsTransport):
    """Counts requests; the n-th that changes something is cut off, before or after it arrives."""

    def __init__(self, dies_at: int = 0, *, after: bool = False) -> None:
        super().__init__()
        self.dies_at, self.after = dies_at, after
        self.lose_answer_of = ""
        self.seen: Counter[str] = Counter()
        self.changes = 0
        self._lock = threading.Lock()

    def send(self, request: Any, **options: Any) -> Any:
        name = request.url.partition("?")[0].rpartition("/")[2]
        changing = request.method in ("PUT", "POST", "DELETE")
        with self._lock:
            self.seen["lease" if name == "lease.json" else request.method] += 1
            self.changes += changing
            dying = changing and self.dies_at and self.changes >= self.dies_at
        if dying and not (self.after and self.changes == self.dies_at):
            raise PowerCut
        answer = super().send(request, **options)
        if dying:
            raise PowerCut
        if changing and name == self.lose_answer_of:
            self.lose_answer_of = ""
            raise ServiceResponseError("the connection was cut")
        return answer

    @property
    def requests(self) -> int:
        """All requests but those of the lease."""
        return sum(count for kind, count in self.seen.items() if kind != "lease")


def open_on(server: AzuriteServer, container: str, prefix: str = "", **options: Any) -> AzureStore:
    """A store with the emulator's key; the variable must hold its connection string."""
    service, login = connect(AzureTarget(container, connection_string_env=KEY_VARIABLE), **options)
    return AzureStore(service, container, prefix, login)


def read_back(store: AzureStore) -> dict[str, bytes]:
    """Every file as a reader of the manifest gets it; fails on a broken set."""
    bundle = bundle_in(store)
    return {path: bundle.read(path) for path in bundle.paths}


def plain_paths(store: AzureStore) -> dict[str, int]:
    """Sizes of the plain files."""
    return {item.key: item.size for item in store.list("") if item.key[0] != "." and item.key != "manifest.json"}


def tree_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
