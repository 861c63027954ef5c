"""A store for dry runs: it reads like the real one and keeps every write to itself."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

from dictionary_pipeline.errors import StoreConflict
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.store import Content, Store, StoredObject, Versioned


class OverlayStore:
    """Writes and deletions on top of `base`, kept in a local folder.

    Args:
        base: The real store; it is only read.
        folder: Where the changes are kept. Null: a temporary folder that `close` removes; a named
            one is left alone, so that stages that run in separate calls can share it.
    """

    def __init__(self, base: Store, folder: Path | None = None) -> None:
        self._base = base
        self._temporary = None if folder else tempfile.TemporaryDirectory(prefix="dictionary-dry-run-")
        root = folder or Path(self._temporary.name if self._temporary else "")
        self._written = LocalStore(root / "written")
        self._deleted = LocalStore(root / "deleted")

    def __enter__(self) -> OverlayStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forget the changes, unless they are kept in a named folder."""
        if self._temporary:
            self._temporary.cleanup()

    @property
    def location(self) -> str:
        """Where the base is: messages of a dry run name the real place."""
        return self._base.location

    def read(self, key: str) -> bytes | None:
        """Content, or null when there is none."""
        own = self._written.read(key)
        if own is not None or self._deleted.exists(key):
            return own
        return self._base.read(key)

    def read_versioned(self, key: str) -> Versioned | None:
        """Content and etag (its sha256), or null when there is none."""
        data = self.read(key)
        return None if data is None else Versioned(data, hashlib.sha256(data).hexdigest())

    def exists(self, key: str) -> bool:
        """Whether there is an object."""
        return self._written.exists(key) or (not self._deleted.exists(key) and self._base.exists(key))

    def create(self, key: str, content: Content) -> bool:
        """Write only if absent; false when it existed."""
        return not self.exists(key) and self._written.create(key, content)

    def write(self, key: str, content: Content) -> None:
        """Write unconditionally."""
        self._written.write(key, content)

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        """Write if the object still has `etag` (null: still absent); return the new etag.

        Raises:
            StoreConflict: the object changed since it was read.
        """
        current = self.read_versioned(key)
        if (current.etag if current else None) != etag:
            raise StoreConflict("another writer changed it meanwhile", where=f"{self.location}/{key}", fix="Run again.")
        self._written.write(key, data)
        return hashlib.sha256(data).hexdigest()

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Objects whose key starts with `prefix`, in key order."""
        own = {item.key: item for item in self._written.list(prefix)}
        hidden = {item.key for item in self._deleted.list(prefix)}
        below = {item.key: item for item in self._base.list(prefix) if item.key not in hidden}
        yield from sorted({**below, **own}.values())

    def delete(self, keys: Iterable[str]) -> None:
        """Hide objects; absent ones are fine."""
        for key in keys:
            self._written.delete([key])
            self._deleted.create(key, b"")

    def sweep(self) -> None:
        """Nothing: the base is only read."""
