"""Garbage collection: objects that no recent manifest needs."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from dictionary_pipeline.publishing.archive import archived_manifests
from dictionary_pipeline.publishing.lease import Lease
from dictionary_pipeline.publishing.manifest import OBJECTS, read_manifest
from dictionary_pipeline.store import Store

KEPT_MANIFESTS = 30
MIN_AGE = timedelta(days=1)
"""Readers that follow an older manifest have this long to finish."""


class CollectionReport(NamedTuple):
    """What was removed and what stays."""

    objects_deleted: int
    bytes_freed: int
    objects_kept: int


def gc(store: Store, lease: Lease, now: datetime) -> CollectionReport:
    """Remove objects that none of the last 30 manifests names and that are older than a day.

    Raises:
        LeaseHeld: another run took the lease over.
        StoreError: a manifest is broken, so what it needs is not known; nothing is removed.
    """
    lease.ensure_held()
    current = read_manifest(store)
    needed: set[str] = set()
    if current is not None:
        # A publish that died before its swap leaves a copy of the current manifest in the archive.
        older = (stored for stored in archived_manifests(store) if stored.sha256 != current.sha256)
        for stored in (current, *islice(older, KEPT_MANIFESTS - 1)):
            needed.update(info.object_key for info in stored.manifest.files.values())
    objects = list(store.list(OBJECTS))
    garbage = [item for item in objects if item.key not in needed and now - item.modified > MIN_AGE]
    lease.ensure_held()
    store.delete(item.key for item in garbage)
    return CollectionReport(len(garbage), sum(item.size for item in garbage), len(objects) - len(garbage))
