"""The publish protocol: objects, then the manifest, then the plain paths, then purging.

A reader that follows `manifest.json` to `.objects/` sees one whole bundle at any moment, whatever
dies at whatever point; the next publish finishes what a killed one left.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from dictionary_pipeline.errors import ConfigurationError, StoreConflict
from dictionary_pipeline.publishing.archive import archive
from dictionary_pipeline.publishing.bundle import Bundle
from dictionary_pipeline.publishing.lease import Lease
from dictionary_pipeline.publishing.manifest import (
    MANIFEST_KEY,
    OBJECTS,
    FileInfo,
    Manifest,
    StoredManifest,
    parse_manifest,
    read_manifest,
)
from dictionary_pipeline.publishing.mirror import mirror
from dictionary_pipeline.publishing.purge import mark_purge, purge
from dictionary_pipeline.store import BatchStore, Store, write_many


@dataclass(frozen=True)
class Changes:
    """Paths of a bundle compared with the published one, each sorted."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class PublishReport:
    """What a publish did."""

    status: Literal["published", "unchanged"]
    """unchanged: the manifest already said the same and was left alone."""
    objects_written: int
    objects_reused: int
    plain_written: int
    plain_deleted: int
    manifest_sha: str
    changes: Changes
    objects_purged: int = 0
    """Old objects deleted because a column is newly withheld."""
    hand_edited: tuple[str, ...] = ()
    """Plain files that a person had edited; what they said is kept, unless a purge came."""


class _ObjectCounts(NamedTuple):
    written: int
    reused: int


def publish(
    store: Store,
    bundle: Bundle,
    *,
    run_id: str,
    lease: Lease,
    now: datetime,
    plain: Collection[str] | None = None,
    thorough: bool = False,
) -> PublishReport:
    """Publish a verified bundle to the database's store.

    Args:
        store: The database's own store.
        bundle: Built by `build_bundle` and passed by `verify`.
        run_id: Named in the manifest.
        lease: The database's lease, held.
        now: Publication time, the only clock reading of a bundle.
        plain: Folders also written under their plain paths; null: all.
        thorough: Look for missing and damaged objects also where that costs requests.

    Raises:
        ConfigurationError: the store holds another database's bundle.
        LeaseHeld: another run took the lease over.
        StoreError: the store cannot be used; what was published stays valid.
    """
    lease.ensure_held()
    current = check_target(store, bundle.facts.database)
    must_purge = mark_purge(store, bundle, current)
    trusted = isinstance(store, BatchStore) and not thorough
    objects = _put_objects(store, bundle, current, trusted=trusted)
    manifest = _manifest(bundle, current, run_id, now)
    changes = _compare(current.manifest.files if current else {}, bundle.files)
    if current is not None and manifest.says_the_same_as(current.manifest):
        status: Literal["published", "unchanged"] = "unchanged"
        published, replaced = current, None
    else:
        lease.ensure_held()
        status, published, replaced = "published", swap_manifest(store, manifest.to_bytes(), current), current
    done = mirror(store, bundle.content, published, plain=plain, trusted=trusted, replaced=replaced)
    purged = purge(store, lease) if must_purge else 0
    return PublishReport(
        status, *objects, done.written, done.deleted, published.sha256, changes, purged, done.hand_edited
    )


def plan_publish(store: Store, bundle: Bundle) -> Changes:
    """Tell which files a publish would add, change and remove; nothing is written.

    Raises:
        ConfigurationError: the store holds another database's bundle.
    """
    current = check_target(store, bundle.facts.database)
    return _compare(current.manifest.files if current else {}, bundle.files)


def check_target(store: Store, database: str) -> StoredManifest | None:
    """Make sure that a store is free or holds this database's bundle; return its manifest.

    Raises:
        ConfigurationError: it holds another database's bundle.
        StoreError: its manifest is broken or newer than this version.
    """
    current = read_manifest(store)
    if current is not None and current.manifest.database != database:
        raise ConfigurationError(
            f"this folder holds the dictionary of database {current.manifest.database}, not of {database}",
            where=store.location,
            fix=f"Choose another output folder, or give this database the name {current.manifest.database}.",
        )
    return current


def _put_objects(store: Store, bundle: Bundle, current: StoredManifest | None, *, trusted: bool) -> _ObjectCounts:
    """Store what is not stored yet.

    An object that the current manifest does not name may be about to be collected, so it is put
    again and its age restarts; one of the wrong size was damaged from outside and is put again too.
    """
    named = set(current.manifest.files.values()) if current else set()
    if trusted:
        missing = sorted(set(bundle.files.values()) - named)
        write_many(store, ((info.object_key, bundle.content.require(info.sha256)) for info in missing))
        return _ObjectCounts(len(missing), len(set(bundle.files.values()) & named))
    sizes = {item.key: item.size for item in store.list(OBJECTS)}
    written = reused = 0
    for info in sorted(set(bundle.files.values())):
        if info in named and sizes.get(info.object_key) == info.bytes:
            reused += 1
            continue
        content = bundle.content.require(info.sha256)
        if info.object_key in sizes or not store.create(info.object_key, content):
            store.write(info.object_key, content)
        written += 1
    return _ObjectCounts(written, reused)


def _manifest(bundle: Bundle, current: StoredManifest | None, run_id: str, now: datetime) -> Manifest:
    facts = bundle.facts
    return Manifest(
        database=facts.database,
        engine=facts.engine,
        run_id=run_id,
        published_at=now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        schema_fingerprint=facts.schema_fingerprint,
        previous_fingerprint=_previous_fingerprint(facts.schema_fingerprint, current),
        probe=facts.probe,
        complete=facts.complete,
        problems=facts.problems,
        counts=facts.counts,
        limits=facts.limits,
        files=dict(bundle.files),
    )


def _previous_fingerprint(fingerprint: str | None, current: StoredManifest | None) -> str | None:
    """The last published fingerprint that differs, so that an unchanged schema keeps its answer."""
    if current is None:
        return None
    known = current.manifest
    return known.previous_fingerprint if known.schema_fingerprint == fingerprint else known.schema_fingerprint


def swap_manifest(store: Store, data: bytes, current: StoredManifest | None) -> StoredManifest:
    """Archive the current manifest and put another in its place.

    Raises:
        StoreConflict: another run published meanwhile.
    """
    where = f"{store.location}/{MANIFEST_KEY}"
    if current is not None:
        archive(store, current)
    try:
        etag = store.swap(MANIFEST_KEY, data, current.etag if current else None)
    except StoreConflict:
        # The conflict may be with our own write, whose answer was lost and which was tried again.
        found = store.read_versioned(MANIFEST_KEY)
        if found is None or found.data != data:
            winner = parse_manifest(found.data, where=where).run_id if found else "unknown"
            raise StoreConflict(
                f"run {winner} published meanwhile", where=where, fix="Run again; its bundle is complete."
            ) from None
        etag = found.etag
    return StoredManifest(parse_manifest(data, where=where), hashlib.sha256(data).hexdigest(), data, etag)


def _compare(old: Mapping[str, FileInfo], new: Mapping[str, FileInfo]) -> Changes:
    return Changes(
        added=tuple(sorted(set(new) - set(old))),
        changed=tuple(sorted(path for path in set(new) & set(old) if new[path] != old[path])),
        removed=tuple(sorted(set(old) - set(new))),
    )
