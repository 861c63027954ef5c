"""What a published bundle tells about drift: its log, and its manifest as far as drift is concerned.

Everything is read through `manifest.json` to `.objects/`, so that it is one whole set.
"""

from __future__ import annotations

import hashlib
from typing import Any

from dictionary_pipeline import jsontext
from dictionary_pipeline.drift.log import is_log, parse
from dictionary_pipeline.drift.record import Entry
from dictionary_pipeline.errors import StoreUnusable
from dictionary_pipeline.store import Store

_MANIFEST = "manifest.json"
_MAJOR = 1


def require_readable(version: str, *, where: str) -> None:
    """Make sure that this version of the product knows a manifest's format.

    Raises:
        StoreUnusable: a newer major version wrote it.
        ValueError: that is no version.
    """
    if int(version.partition(".")[0]) > _MAJOR:
        raise StoreUnusable(
            f"the manifest has format {version}, this version reads up to {_MAJOR}.x",
            where=where,
            fix="Upgrade dictionary-pipeline.",
        )


def manifest_document(store: Store) -> dict[str, Any] | None:
    """The JSON of a database's current manifest, or null before the first publish.

    Raises:
        StoreError: it cannot be read, is not JSON, or was written by a newer major version.
    """
    where = f"{store.location}/{_MANIFEST}"
    data = store.read(_MANIFEST)
    if data is None:
        return None
    try:
        document = jsontext.loads_strict(data)
        require_readable(str(document.get("format_version", _MAJOR)), where=where)
    except (ValueError, AttributeError):
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("files"), dict):
        raise StoreUnusable(
            "this is not a complete manifest of a published dictionary",
            where=where,
            fix="Put back the newest file of .manifests/ as manifest.json.",
        )
    return document


def published_entries(store: Store, since: str | None = None) -> tuple[Entry, ...]:
    """The drift log of a database's published bundle, oldest detection first; empty before the first publish.

    Args:
        store: The database's store.
        since: Only what was detected at this moment or later; any beginning of `2026-11-30T12:00:00Z` will do.

    Raises:
        StoreError: the store cannot be read, or a published object is missing or damaged.
    """
    document = manifest_document(store)
    files = document["files"] if document else {}
    paths = sorted(path for path in files if is_log(path))
    if since is not None:
        paths = [path for path in paths if _month(path) >= since[: len("2026-11")]]
    lines = [line for path in paths for line in _object(store, files[path]["sha256"]).splitlines(keepends=True)]
    entries = [entry for entry in map(parse, lines) if entry is not None]
    return tuple(
        sorted((entry for entry in entries if since is None or entry.detected_at >= since), key=lambda e: e.detected_at)
    )


def _month(path: str) -> str:
    return path.rpartition("log-")[2].removesuffix(".jsonl")


def _object(store: Store, sha256: str) -> bytes:
    key = f".objects/{sha256[:2]}/{sha256}"
    data = store.read(key)
    if data is None or hashlib.sha256(data).hexdigest() != sha256:
        raise StoreUnusable(
            "a published object is missing or damaged",
            where=f"{store.location}/{key}",
            fix="Put .objects/ back from a copy, or move manifest.json away and run again.",
        )
    return data
