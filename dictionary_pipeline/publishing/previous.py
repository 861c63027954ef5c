"""What the last publish left: its manifest and, when asked for, its frames."""

from __future__ import annotations

import hashlib
import io
from functools import cached_property

import polars as pl

from dictionary_pipeline.errors import StoreUnusable
from dictionary_pipeline.publishing.manifest import FileInfo, Manifest, read_manifest
from dictionary_pipeline.store import Store


class PreviousBundle:
    """The published bundle, read through its manifest so that it is one whole set."""

    def __init__(self, store: Store, manifest: Manifest, sha256: str) -> None:
        self._store = store
        self.manifest = manifest
        self.sha256 = sha256
        """Of the manifest's bytes."""

    @cached_property
    def tables(self) -> pl.DataFrame | None:
        """`catalog/tables.parquet`."""
        return self.frame("catalog/tables.parquet")

    @cached_property
    def columns(self) -> pl.DataFrame | None:
        """`catalog/columns.parquet`."""
        return self.frame("catalog/columns.parquet")

    @cached_property
    def value_profiles(self) -> pl.DataFrame | None:
        """`catalog/value_profiles.parquet`."""
        return self.frame("catalog/value_profiles.parquet")

    @cached_property
    def ids(self) -> pl.DataFrame | None:
        """`graph/ids.parquet`, the append-only id map."""
        return self.frame("graph/ids.parquet")

    def frame(self, path: str) -> pl.DataFrame | None:
        """A published Parquet file, or null when the bundle has none of that name.

        Raises:
            StoreError: its object is missing, changed or not Parquet.
        """
        info = self.manifest.files.get(path)
        if info is None:
            return None
        try:
            return pl.read_parquet(io.BytesIO(read_object(self._store, info)))
        except pl.exceptions.PolarsError:
            raise _damaged(self._store, info) from None


def read_previous(store: Store) -> PreviousBundle | None:
    """The published bundle of a database's store, or null before the first publish.

    Raises:
        StoreError: its manifest is broken or was written by a newer major version.
    """
    stored = read_manifest(store)
    return PreviousBundle(store, stored.manifest, stored.sha256) if stored else None


def read_object(store: Store, info: FileInfo) -> bytes:
    """Content of a published file, checked against its hash.

    Raises:
        StoreError: the object is missing or changed.
    """
    data = store.read(info.object_key)
    if data is None or hashlib.sha256(data).hexdigest() != info.sha256:
        raise _damaged(store, info)
    return data


def _damaged(store: Store, info: FileInfo) -> StoreUnusable:
    return StoreUnusable(
        "a published object is missing or damaged",
        where=f"{store.location}/{info.object_key}",
        fix="Put .objects/ back from a copy, or move manifest.json away and run again.",
    )
