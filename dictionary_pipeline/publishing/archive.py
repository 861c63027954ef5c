"""Replaced manifests, kept under `.manifests/` so that older bundles stay readable."""

from __future__ import annotations

from collections.abc import Iterator

from dictionary_pipeline.publishing.manifest import StoredManifest, read_manifest
from dictionary_pipeline.store import Store

ARCHIVE = ".manifests/"
_DIGITS = 12


def archive(store: Store, replaced: StoredManifest) -> None:
    """Keep a manifest that is about to be replaced."""
    moment = replaced.manifest.published_at.translate(str.maketrans("", "", "-:"))
    store.create(f"{ARCHIVE}{moment}-{replaced.sha256[:_DIGITS]}.json", replaced.data)


def archived_manifests(store: Store) -> Iterator[StoredManifest]:
    """Archived manifests, newest first.

    Raises:
        StoreError: one is broken; nobody may conclude that its objects are not needed.
    """
    for item in reversed(list(store.list(ARCHIVE))):
        found = read_manifest(store, item.key)
        if found is not None:
            yield found


def find_archived(store: Store, sha256: str) -> StoredManifest | None:
    """The archived manifest of that hash, or null when it is not kept."""
    for item in store.list(ARCHIVE):
        if item.key.endswith(f"-{sha256[:_DIGITS]}.json"):
            return read_manifest(store, item.key)
    return None
