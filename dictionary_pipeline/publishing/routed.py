"""A store of which some folders lie elsewhere, e.g. `schema_store/` in the container of a search indexer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby

from dictionary_pipeline.store import BatchStore, Content, StoredObject, Versioned


class RoutedStore:
    """Keys below a folder of `routes` go to its store, without the folder's name; all others to `base`."""

    def __init__(self, base: BatchStore, routes: Mapping[str, BatchStore]) -> None:
        self._base = base
        self._routes = {f"{folder}/": store for folder, store in routes.items()}

    @property
    def location(self) -> str:
        """Where the manifest is."""
        return self._base.location

    def read(self, key: str) -> bytes | None:
        """Content, or null when there is none."""
        store, own = self._route(key)
        return store.read(own)

    def read_versioned(self, key: str) -> Versioned | None:
        """Content and etag, or null when there is none."""
        store, own = self._route(key)
        return store.read_versioned(own)

    def exists(self, key: str) -> bool:
        """Whether there is an object."""
        store, own = self._route(key)
        return store.exists(own)

    def create(self, key: str, content: Content) -> bool:
        """Write only if absent, atomically; false when it existed."""
        store, own = self._route(key)
        return store.create(own, content)

    def write(self, key: str, content: Content) -> None:
        """Write unconditionally and atomically."""
        store, own = self._route(key)
        store.write(own, content)

    def write_many(self, items: Iterable[tuple[str, Content]]) -> None:
        """Write several objects, neighbours of one place at once."""
        for folder, group in groupby(items, key=lambda item: self._folder(item[0])):
            store = self._base if folder is None else self._routes[folder]
            store.write_many((key.removeprefix(folder or ""), content) for key, content in group)

    def write_untouched(self, items: Iterable[tuple[str, Content]], since: datetime) -> tuple[str, ...]:
        """Write several objects but those that were changed after a moment, and return the keys of these."""
        touched: list[str] = []
        for folder, group in groupby(items, key=lambda item: self._folder(item[0])):
            store, start = (self._base, "") if folder is None else (self._routes[folder], folder)
            own = store.write_untouched(((key.removeprefix(start), content) for key, content in group), since)
            touched += [start + key for key in own]
        return tuple(touched)

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        """Write if the object still has `etag`; raises StoreConflict otherwise."""
        store, own = self._route(key)
        return store.swap(own, data, etag)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Objects whose key starts with `prefix`, in key order within each place."""
        folder = self._folder(prefix)
        if folder is not None:
            for item in self._routes[folder].list(prefix.removeprefix(folder)):
                yield item._replace(key=folder + item.key)
            return
        yield from self._base.list(prefix)
        for route, store in self._routes.items():
            if route.startswith(prefix):
                for item in store.list(""):
                    yield item._replace(key=route + item.key)

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; absent ones are fine."""
        grouped: dict[str | None, list[str]] = {}
        for key in keys:
            folder = self._folder(key)
            grouped.setdefault(folder, []).append(key.removeprefix(folder or ""))
        for folder, own in grouped.items():
            (self._base if folder is None else self._routes[folder]).delete(own)

    def kept_after_deletion(self) -> str | None:
        """What the service keeps of deleted objects."""
        return self._base.kept_after_deletion()

    def sweep(self) -> None:
        """Remove what killed writers left of unfinished objects."""
        for store in (self._base, *self._routes.values()):
            store.sweep()

    def _folder(self, key: str) -> str | None:
        return next((folder for folder in self._routes if key.startswith(folder)), None)

    def _route(self, key: str) -> tuple[BatchStore, str]:
        folder = self._folder(key)
        return (self._base, key) if folder is None else (self._routes[folder], key.removeprefix(folder))
