"""Restoring: an archived manifest becomes the current one again."""

from __future__ import annotations

from pathlib import Path

from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.archive import ARCHIVE
from dictionary_pipeline.publishing.lease import Lease
from dictionary_pipeline.publishing.manifest import StoredManifest, read_manifest
from dictionary_pipeline.publishing.mirror import MirrorResult, mirror
from dictionary_pipeline.publishing.publish import swap_manifest
from dictionary_pipeline.publishing.reading import require_objects
from dictionary_pipeline.publishing.staging import StagedContent
from dictionary_pipeline.store import BatchStore, Store

_SHOWN = 5


def restore(
    store: Store, name: str, lease: Lease, *, plain: frozenset[str] | None = None
) -> tuple[StoredManifest, MirrorResult]:
    """Publish an archived manifest again and show it under the plain paths.

    What was purged since then cannot come back: a purge removes the older manifests, too.

    Args:
        store: The database's own store.
        name: The archived manifest: its file name in `.manifests/`, or the beginning of it.
        plain: Folders also written under their plain paths; null: all.

    Raises:
        ConfigurationError: no archived manifest, or more than one, has that name.
        LeaseHeld: another run took the lease over.
        StoreError: an object of it is gone, or the store cannot be used.
    """
    lease.ensure_held()
    current = read_manifest(store)
    archived = _find(store, name)
    require_objects(store, archived.manifest.files)
    if current is None or current.sha256 != archived.sha256:
        lease.ensure_held()
        restored = swap_manifest(store, archived.data, current)
    else:
        restored = current
    nothing_staged = StagedContent(Path(), {})
    trusted = isinstance(store, BatchStore)
    return restored, mirror(store, nothing_staged, restored, plain=plain, trusted=trusted, replaced=current)


def _find(store: Store, name: str) -> StoredManifest:
    kept = [item.key.removeprefix(ARCHIVE) for item in store.list(ARCHIVE)]
    found = [key for key in kept if key.startswith(name.removeprefix(ARCHIVE))] if name else []
    stored = read_manifest(store, ARCHIVE + found[0]) if len(found) == 1 else None
    if stored is None:
        newest = ", ".join(reversed(kept[-_SHOWN:])) or "there is none yet"
        raise ConfigurationError(
            f"{len(found)} archived manifests are called {name!r}",
            where=f"{store.location}/{ARCHIVE}",
            fix=f"Name one; the newest: {newest}.",
        )
    return stored
