"""A part of a store as a store of its own, e.g. one database of a shared container."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dictionary_pipeline.store import Content, Store, StoredObject, Versioned


class ScopedStore:
    """Everything below `<prefix>/` of another store."""

    def __init__(self, base: Store, prefix: str) -> None:
        self._base = base
        self._prefix = prefix.strip("/") + "/"

    @property
    def location(self) -> str:
        """Where it is, for people."""
        return f"{self._base.location.rstrip('/')}/{self._prefix.rstrip('/')}"

    def read(self, key: str) -> bytes | None:
        """Content, or null when there is none."""
        return self._base.read(self._prefix + key)

    def read_versioned(self, key: str) -> Versioned | None:
        """Content and etag, or null when there is none."""
        return self._base.read_versioned(self._prefix + key)

    def exists(self, key: str) -> bool:
        """Whether there is an object."""
        return self._base.exists(self._prefix + key)

    def create(self, key: str, content: Content) -> bool:
        """Write only if absent, atomically; false when it existed."""
        return self._base.create(self._prefix + key, content)

    def write(self, key: str, content: Content) -> None:
        """Write unconditionally and atomically."""
        self._base.write(self._prefix + key, content)

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        """Write if the object still has `etag`; raises StoreConflict otherwise."""
        return self._base.swap(self._prefix + key, data, etag)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Objects whose key starts with `prefix`, in key order."""
        for item in self._base.list(self._prefix + prefix):
            yield item._replace(key=item.key.removeprefix(self._prefix))

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; absent ones are fine."""
        self._base.delete(self._prefix + key for key in keys)

    def sweep(self) -> None:
        """Nothing: others may be writing to the rest of the store."""
