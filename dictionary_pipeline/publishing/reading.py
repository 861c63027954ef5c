"""Reading a published dictionary back, from a local folder or from Azure alike.

Everything is read through the manifest and checked against its hashes, so that it is one whole set.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dictionary_pipeline.errors import ConfigurationError, StoreUnusable
from dictionary_pipeline.publishing import schema_store
from dictionary_pipeline.publishing.manifest import MANIFEST_KEY, OBJECTS, FileInfo, Manifest, read_manifest
from dictionary_pipeline.publishing.open_store import open_location
from dictionary_pipeline.publishing.previous import read_object
from dictionary_pipeline.store import Store


class PublishedBundle:
    """One published bundle, as its manifest stood when it was opened."""

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self._store = store
        self.manifest = manifest

    @property
    def location(self) -> str:
        """Where it is."""
        return self._store.location

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of all files, sorted."""
        return tuple(sorted(self.manifest.files))

    def read(self, path: str) -> bytes:
        """Content of a file, checked against its hash.

        Raises:
            KeyError: the bundle has no file of that name.
            StoreError: its object is missing or damaged.
        """
        return read_object(self._store, self.manifest.files[path])

    def frame(self, path: str) -> pl.DataFrame:
        """A Parquet file, e.g. `catalog/columns.parquet`; `catalog/columns` will do.

        Raises:
            KeyError: the bundle has no file of that name.
            StoreError: its object is missing or damaged.
        """
        name = path if path in self.manifest.files else f"{path}.parquet"
        return pl.read_parquet(io.BytesIO(self.read(name)))

    def entries(self) -> Iterator[dict[str, Any]]:
        """All entries of the schema store, in order of their files."""
        for path in self.paths:
            if path.startswith(f"{schema_store.FOLDER}/"):
                content = json.loads(self.read(path))
                yield from content if isinstance(content, list) else [content]

    def entry(self, name: str) -> dict[str, Any]:
        """The entry of a table or view.

        Args:
            name: Its FQN, `schema.table` or `table`; the case may differ when that leaves one.

        Raises:
            ConfigurationError: no entry, or more than one, has that name.
        """
        found = self._matches(name)
        if len(found) == 1:
            return next(entry for entry in self._candidates(found[0]) if entry["FQN"] == found[0])
        what = f"{len(found)} entries are called {name!r}" if found else f"no entry is called {name!r}"
        fix = f"Write one of: {', '.join(found[:10])}." if found else "`data_dictionary show` without it lists all."
        raise ConfigurationError(what, where=self.location, fix=fix)

    def _candidates(self, fqn: str) -> Iterator[dict[str, Any]]:
        """Entries of the file that an FQN has by itself; all when its file has another name."""
        path = f"{schema_store.FOLDER}/{fqn}.json"
        yield from [json.loads(self.read(path))] if path in self.manifest.files else self.entries()

    def _matches(self, name: str) -> list[str]:
        tables = self.frame("catalog/tables").select("fqn", "schema", "table").rows()
        for fold in (str, str.casefold):
            wanted = fold(name)
            found = [fqn for fqn, schema, table in tables if wanted in map(fold, (fqn, f"{schema}.{table}", table))]
            if found:
                return found
        return []


def open_bundle(location: str | Path) -> PublishedBundle:
    """Open a published dictionary for reading.

    Args:
        location: Its folder, or `https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX/DATABASE`, with a SAS token
            as its query if one is needed; otherwise AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or Entra ID is used.

    Raises:
        ConfigurationError: there is no dictionary, or a credential cannot be used.
        StoreError: it cannot be read, or was written by a newer major version.
    """
    return bundle_in(open_location(location))


def bundle_in(store: Store) -> PublishedBundle:
    """The bundle of a database's store.

    Raises:
        ConfigurationError: there is none.
        StoreError: the store cannot be read, or the bundle was written by a newer major version.
    """
    stored = read_manifest(store)
    if stored is None:
        raise ConfigurationError(
            f"there is no published dictionary here ({MANIFEST_KEY} is missing)",
            where=store.location,
            fix="Name the folder of one database, e.g. published/demo.",
        )
    return PublishedBundle(store, stored.manifest)


def require_objects(store: Store, files: Mapping[str, FileInfo]) -> None:
    """Make sure that every object of some files is there, in its full size.

    Raises:
        StoreError: one is missing.
    """
    sizes = {item.key: item.size for item in store.list(OBJECTS)}
    missing = sorted(path for path, info in files.items() if sizes.get(info.object_key) != info.bytes)
    if missing:
        raise StoreUnusable(
            f"{len(missing)} files of that bundle were collected meanwhile, first {missing[0]}",
            where=store.location,
            fix="Choose a newer one; `gc` keeps the last 30.",
        )
