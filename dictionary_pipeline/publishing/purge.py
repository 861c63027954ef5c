"""Purging: a column that is newly withheld disappears from everything that was published before.

The one exception to immutability. What older bundles said about the column cannot be told apart from
the rest of them, so they go as a whole: archived manifests, objects that only they name, and state
that can be recomputed. A marker, written before the manifest is swapped, makes the next publish finish
what a killed one left.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator

import polars as pl

from dictionary_pipeline import jsontext
from dictionary_pipeline.publishing.archive import ARCHIVE, archived_manifests
from dictionary_pipeline.publishing.bundle import Bundle
from dictionary_pipeline.publishing.catalog_frames import FOLDER, MASKED_NOTE
from dictionary_pipeline.publishing.lease import Lease
from dictionary_pipeline.publishing.manifest import OBJECTS, StoredManifest, read_manifest
from dictionary_pipeline.store import Store

MARKER_KEY = ".state/purge.json"
STATE = ".state/"
COLUMNS_FILE = f"{FOLDER}/columns.parquet"
_NAME = ["schema", "table", "column"]
_KEPT_STATE = (
    ".state/stages/",  # rewritten by the stages of this run
    ".state/lease",
    ".state/mirrored",
    ".state/purge.json",
    ".state/store.lock",
    ".state/withheld_values.json",
    ".state/drift_acks.json",  # names and reasons only
    ".state/sampled.json",  # names, times and hashes only
    ".state/key_probes.json",  # names and counts only
)


def mark_purge(store: Store, bundle: Bundle, current: StoredManifest | None) -> bool:
    """Note down what publishing a bundle has to purge, before anything of it is published.

    Args:
        current: The manifest that the bundle will replace.

    Returns:
        Whether there is anything to purge, now or left over from a killed publish.
    """
    columns = newly_hidden(store, bundle, current)
    if columns:
        names = [".".join(name) for name in columns]
        store.write(MARKER_KEY, jsontext.pretty({"columns": names}).encode())
    return bool(columns) or store.exists(MARKER_KEY)


def must_purge(store: Store, bundle: Bundle, current: StoredManifest | None) -> bool:
    """Whether publishing a bundle would purge anything, now or left over from a killed publish."""
    return bool(newly_hidden(store, bundle, current)) or store.exists(MARKER_KEY)


def newly_hidden(store: Store, bundle: Bundle, current: StoredManifest | None) -> list[tuple[str, str, str]]:
    """Columns withheld or masked by a bundle that the published bundle, or an archived one, shows."""
    if current is None:
        return []
    if current.manifest.files.get(COLUMNS_FILE) == bundle.files[COLUMNS_FILE]:
        return []  # what it hides was purged, or marked, when the current bundle was published
    hidden = _hidden(bundle.frame(COLUMNS_FILE))
    known = _columns(store, current)
    if known is None:  # nobody can tell what it shows
        return sorted(hidden.iter_rows())
    found = hidden.join(_shown(known), on=_NAME, how="semi")
    unknown = hidden.join(known, on=_NAME, how="anti")
    if found.is_empty() and not unknown.is_empty():
        # A column that the current bundle does not have may have been shown by an older one.
        older = {stored.manifest.files.get(COLUMNS_FILE): stored for stored in archived_manifests(store)}
        frames = [_columns(store, stored) for stored in older.values()]
        shown = [unknown.join(_shown(columns), on=_NAME, how="semi") for columns in frames if columns is not None]
        found = pl.concat([found, *shown]).unique()
    return sorted(found.iter_rows())


def purge(store: Store, lease: Lease) -> int:
    """Delete everything but the current bundle; returns the number of objects deleted.

    Raises:
        LeaseHeld: another run took the lease over.
        StoreError: the current manifest is broken, so what it needs is not known; nothing is deleted.
    """
    lease.ensure_held()
    current = read_manifest(store)
    needed = {info.object_key for info in current.manifest.files.values()} if current else set()
    garbage = list(_garbage(store, needed))
    store.delete(garbage)
    store.sweep()
    store.delete([MARKER_KEY])
    return len(garbage)


def _garbage(store: Store, needed: set[str]) -> Iterator[str]:
    # Manifests first: none may name objects that are gone.
    yield from (item.key for item in store.list(ARCHIVE))
    yield from (item.key for item in store.list(OBJECTS) if item.key not in needed)
    yield from (item.key for item in store.list(STATE) if not item.key.startswith(_KEPT_STATE))


def _columns(store: Store, stored: StoredManifest) -> pl.DataFrame | None:
    """`catalog/columns.parquet` of a manifest, or null when its object was collected or damaged meanwhile."""
    info = stored.manifest.files.get(COLUMNS_FILE)
    data = store.read(info.object_key) if info else None
    if info is None or data is None or hashlib.sha256(data).hexdigest() != info.sha256:
        return None
    return pl.read_parquet(io.BytesIO(data))


def _hidden(columns: pl.DataFrame) -> pl.DataFrame:
    return columns.filter(_is_hidden()).select(_NAME)


def _shown(columns: pl.DataFrame) -> pl.DataFrame:
    return columns.filter(~_is_hidden()).select(_NAME)


def _is_hidden() -> pl.Expr:
    """Withheld, or shown masked: no raw value of the column is in that bundle."""
    return pl.col("withheld") | pl.col("sensitivity_reason").str.ends_with(MASKED_NOTE).fill_null(False)
