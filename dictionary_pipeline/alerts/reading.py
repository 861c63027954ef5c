"""Reads what alerts need of the published dictionaries, again only where a manifest changed."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from dictionary_pipeline.alerts.topics import Published
from dictionary_pipeline.drift.acks import acknowledged
from dictionary_pipeline.drift.holding import pending
from dictionary_pipeline.drift.reading import manifest_document, published_entries
from dictionary_pipeline.drift.record import moment
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.publishing.manifest import MANIFEST_KEY
from dictionary_pipeline.store import BatchStore, Store
from dictionary_pipeline.unexpected import unexpected

_REMEMBERED = timedelta(days=90)
"""Drift that nobody acknowledged for so long is no longer told."""
_WORKERS = 8
_MODEL_STAGE = "entity_definitions"
_MODEL_TEXTS = ("the server", "no answer within", "the account's quota")
"""How problem rows of a language model that does not answer begin; see `enrichment.model.client`."""


@dataclass(frozen=True)
class Reading:
    """What was read of some databases."""

    published: Mapping[str, Published]
    unread: Mapping[str, str] = field(default_factory=dict)
    """Database -> why it could not be read."""


class _Known(NamedTuple):
    """What a look at a store gave."""

    looked_at: float
    mark: str | None
    published: Published


class PublishedReader:
    """Remembers per store what its current manifest says; threads may share it.

    Args:
        network_seconds: For how long a store is not asked again to which every look is a request that costs.
    """

    def __init__(self, network_seconds: float = 120.0) -> None:
        self._network_seconds = network_seconds
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}

    def read_all(self, stores: Mapping[str, Callable[[], Store]], seconds: float = 15.0) -> Reading:
        """Read several databases' dictionaries, as many as the time allows.

        Args:
            stores: Database -> opens its store.
            seconds: Time for all of them together.
        """
        published: dict[str, Published] = {}
        unread: dict[str, str] = {}
        pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="alert-read")
        futures = {pool.submit(self._read_opened, opener): name for name, opener in stores.items()}
        done, late = wait(futures, timeout=seconds)
        pool.shutdown(wait=False, cancel_futures=True)
        for future in done:
            try:
                published[futures[future]] = future.result()
            except Exception as error:  # noqa: BLE001 - one database must not silence the others
                unread[futures[future]] = str(error if isinstance(error, DictionaryError) else unexpected(error))
        unread |= {futures[future]: f"its store gave no answer within {seconds:g} seconds" for future in late}
        return Reading(published, unread)

    def read(self, store: Store) -> Published:
        """What alerts need to know of one database.

        Raises:
            StoreError: its store cannot be read, or what is published is damaged.
        """
        with self._lock:
            known = self._known.get(store.location)
        is_network = isinstance(store, BatchStore)
        if known is not None and is_network and time.monotonic() - known.looked_at < self._network_seconds:
            return known.published
        looked_at, mark = time.monotonic(), _mark(store)
        if mark is None:
            published = Published()
        else:
            published = known.published if known is not None and known.mark == mark else _published(store)
        if published.entries:
            published = replace(published, acknowledged=acknowledged(store))
        with self._lock:
            self._known[store.location] = _Known(looked_at, mark, published)
        return published

    def _read_opened(self, opener: Callable[[], Store]) -> Published:
        return self.read(opener())


def _mark(store: Store) -> str | None:
    """Changes whenever the manifest does; null when there is none."""
    if isinstance(store, BatchStore):  # a listing is much smaller than a manifest
        found = (item for item in store.list(MANIFEST_KEY) if item.key == MANIFEST_KEY)
        return next((f"{item.size}:{item.modified.isoformat()}" for item in found), None)
    data = store.read(MANIFEST_KEY)
    return None if data is None else hashlib.sha256(data).hexdigest()


def _published(store: Store) -> Published:
    document = manifest_document(store)
    if document is None:
        return Published()
    entries = {entry.key: entry for entry in published_entries(store, moment(datetime.now(UTC) - _REMEMBERED))}
    held = pending(store)
    if held is not None:
        entries |= {entry.key: entry for entry in held.entries}
    return Published(
        published_at=str(document.get("published_at", "")),
        entries=tuple(entries.values()),
        held_since=held.since if held else None,
        model_outage=_model_outage(document),
    )


def _model_outage(document: Mapping[str, Any]) -> str | None:
    """Why the model was not asked about everything, by the manifest's problems; null when it was."""
    for problem in document.get("problems", ()):
        if problem["stage"] == _MODEL_STAGE and problem["message"].startswith(_MODEL_TEXTS):
            return f"{problem['message']}. {problem['hint']}"
    return None
