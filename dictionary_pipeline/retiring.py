"""Retiring a database: its dictionary stays readable but is no longer kept up to date, or it is deleted.

What the pipeline kept for itself goes, so that a database that gets the same name later starts clean;
the published map of ids stays with the bundle.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from dictionary_pipeline import jsontext
from dictionary_pipeline.drift.acks import ACKS_KEY
from dictionary_pipeline.drift.record import moment
from dictionary_pipeline.errors import StoreConflict
from dictionary_pipeline.publishing.archive import ARCHIVE, archive, archived_manifests
from dictionary_pipeline.publishing.index import unlist_database
from dictionary_pipeline.publishing.lease import LEASE_KEY, Lease, hold_lease
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.manifest import MANIFEST_KEY, OBJECTS, StoredManifest, read_manifest
from dictionary_pipeline.publishing.mirror import MIRRORED_KEY, mirror
from dictionary_pipeline.publishing.publish import check_target, swap_manifest
from dictionary_pipeline.publishing.purge import MARKER_KEY, STATE
from dictionary_pipeline.publishing.staging import StagedContent
from dictionary_pipeline.run import new_run_id
from dictionary_pipeline.store import BatchStore, Store

RETIRED_KEY = ".state/retired.json"
_FORMAT = 1
_ATTEMPTS = 20
_LOCK = ".state/store.lock"
_NEEDED_STATE = (LEASE_KEY, MIRRORED_KEY, MARKER_KEY, ACKS_KEY, _LOCK)
"""The log of drift stays with the bundle, so its acknowledgements do."""


def retire(
    store: Store, shared: Store, name: str, now: datetime, *, plain: Collection[str] | None = None
) -> str | None:
    """Mark a published dictionary as retired and drop its state; done again, it changes nothing.

    Args:
        store: The database's own store.
        shared: What the databases of the project share; it remembers who is retired.
        name: The database.
        now: The moment to note.
        plain: Folders also written under their plain paths; null: all.

    Returns:
        Since when it is retired; null when nothing is published there.

    Raises:
        ConfigurationError: the store holds another database's bundle.
        LeaseHeld: a run works on the database.
        StoreError: the store cannot be used.
    """
    if check_target(store, name) is None:
        return None
    with hold_lease(store, owner=new_run_id(), host=socket.gethostname()) as lease:
        current = read_manifest(store)
        if current is None:
            return None
        since = current.manifest.retired or moment(now)
        if current.manifest.retired is None:
            marked = replace(current.manifest, retired=since, pending=None)
            stored = swap_manifest(store, marked.to_bytes(), current)
            trusted = isinstance(store, BatchStore)
            mirror(store, StagedContent(Path(), {}), stored, plain=plain, trusted=trusted, replaced=current)
        _remember(shared, {name: since}, ())
        _drop_state(store, lease)
    return since


def delete_bundle(store: Store, shared: Store, name: str) -> int | None:
    """Delete a published dictionary, everything that older manifests name, and its state.

    Files that no manifest names are not the pipeline's and stay.

    Returns:
        How many objects were deleted; null when nothing is published there.

    Raises:
        ConfigurationError: the store holds another database's bundle.
        LeaseHeld: a run works on the database.
        StoreError: the store cannot be used; done again, it goes on where it stopped.
    """
    if check_target(store, name) is None and next(iter(store.list(ARCHIVE)), None) is None:
        return None
    with hold_lease(store, owner=new_run_id(), host=socket.gethostname()) as lease:
        current = read_manifest(store)
        older = list(archived_manifests(store))
        lease.ensure_held()
        # First of all nobody may find it any more; the archived manifests, which name its files, go last.
        unlist_database(shared, name)
        if current is not None:
            archive(store, current)
        store.delete([MANIFEST_KEY])
        paths = _paths([current, *older] if current else older)
        objects = [item.key for item in store.list(OBJECTS)]
        archived = [item.key for item in store.list(ARCHIVE)]
        for keys in (paths, objects, archived):
            store.delete(keys)
        _drop_state(store, lease, needed=(LEASE_KEY, _LOCK))
        _remember(shared, {}, (name,))
    store.delete([item.key for item in store.list(STATE)])
    if isinstance(store, LocalStore):
        store.prune()
    return len(paths) + len(objects) + len(archived) + int(current is not None)


def retired_names(shared: Store) -> Mapping[str, str]:
    """Databases that were retired, and since when; nothing when the record was lost.

    Raises:
        StoreError: the store cannot be read.
    """
    return _parsed(shared.read(RETIRED_KEY))


def _paths(manifests: Iterable[StoredManifest]) -> list[str]:
    return sorted({path for stored in manifests for path in stored.manifest.files})


def _drop_state(store: Store, lease: Lease, needed: tuple[str, ...] = _NEEDED_STATE) -> None:
    lease.ensure_held()
    store.delete([item.key for item in store.list(STATE) if item.key not in needed])


def _remember(shared: Store, new: Mapping[str, str], gone: Collection[str]) -> None:
    for _ in range(_ATTEMPTS):
        current = shared.read_versioned(RETIRED_KEY)
        known = _parsed(current.data if current else None)
        wanted = {name: since for name, since in (known | dict(new)).items() if name not in gone}
        if wanted == known:
            return
        document = {"format": _FORMAT, "databases": dict(sorted(wanted.items()))}
        try:
            shared.swap(RETIRED_KEY, jsontext.pretty(document).encode(), current.etag if current else None)
            return
        except StoreConflict:
            continue
    raise StoreConflict("others keep changing the record of retired databases", where=RETIRED_KEY, fix="Run again.")


def _parsed(data: bytes | None) -> dict[str, str]:
    try:
        document = json.loads(data) if data is not None else None
        if document is None or document["format"] != _FORMAT:
            return {}
        return {str(name): str(since) for name, since in document["databases"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
