"""The small interface through which everything is kept: bundles, state and leases.

Keys are `/`-separated relative paths whose parts were already encoded for every file system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

Content = bytes | Path
"""What to store: bytes, or a local file whose bytes to store."""


class StoredObject(NamedTuple):
    """An object of a listing."""

    key: str
    size: int
    modified: datetime


class Versioned(NamedTuple):
    """Content with the tag that a conditional write must name."""

    data: bytes
    etag: str
    modified: datetime | None = None
    """When it was written, where the store tells that with the content."""


class Store(Protocol):
    """A folder of objects. Implementations: local folder, overlay (dry run), Azure Blob.

    All methods raise StoreError with one clear line when the target cannot be used.
    """

    @property
    def location(self) -> str:
        """Where it is, for people; no credential."""

    def read(self, key: str) -> bytes | None:
        """Content, or null when there is none."""

    def read_versioned(self, key: str) -> Versioned | None:
        """Content and etag, or null when there is none."""

    def exists(self, key: str) -> bool:
        """Whether there is an object."""

    def create(self, key: str, content: Content) -> bool:
        """Write only if absent, atomically; false when it existed."""

    def write(self, key: str, content: Content) -> None:
        """Write unconditionally and atomically."""

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        """Write if the object still has `etag` (null: still absent); return the new etag.

        Raises:
            StoreConflict: another writer was faster.
        """

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Objects whose key starts with `prefix`, in key order."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; absent ones are fine."""

    def sweep(self) -> None:
        """Remove what killed writers left of unfinished objects; the caller is the only writer."""


@runtime_checkable
class BatchStore(Store, Protocol):
    """A store to which every call is a request over a network: several are better on their way at once.

    Publishing trusts its own records instead of listing the objects.
    """

    def write_many(self, items: Iterable[tuple[str, Content]]) -> None:
        """Write several objects; each is written atomically."""

    def write_untouched(self, items: Iterable[tuple[str, Content]], since: datetime) -> tuple[str, ...]:
        """Write several objects but those that were changed after a moment, and return the keys of these."""

    def kept_after_deletion(self) -> str | None:
        """A sentence about what the service keeps of deleted objects; null when nothing that is known."""


def write_many(store: Store, items: Iterable[tuple[str, Content]]) -> None:
    """Write several objects, at once where the store gains from it."""
    if isinstance(store, BatchStore):
        store.write_many(items)
    else:
        for key, content in items:
            store.write(key, content)
