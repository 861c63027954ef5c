"""Plain paths: the files of the current manifest under their own names, for people and indexers.

`.state/mirrored` names the manifest that the plain paths show, and those that a killed mirroring was
on its way to. Only files that a manifest names are ever written or deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.publishing.archive import archived_manifests, find_archived
from dictionary_pipeline.publishing.manifest import FileInfo, StoredManifest, read_manifest
from dictionary_pipeline.publishing.previous import read_object
from dictionary_pipeline.publishing.staging import StagedContent
from dictionary_pipeline.publishing.store import Store

MIRRORED_KEY = ".state/mirrored"

Files = Mapping[str, FileInfo]


class MirrorResult(NamedTuple):
    """What was done to the plain paths."""

    written: int
    deleted: int


@dataclass(frozen=True)
class _Mirrored:
    """Content of `.state/mirrored`: hashes of manifests."""

    shown: str | None = None
    """Null: nothing was mirrored yet, or the state was lost."""
    pending: tuple[str, ...] = ()
    """Manifests of which some files may have been written already."""

    def to_bytes(self) -> bytes:
        return jsontext.pretty({"manifest": self.shown, "pending": list(self.pending)}).encode()


def mirror(store: Store, staged: StagedContent) -> MirrorResult:
    """Make the plain paths show the current manifest, whatever earlier publishes left behind.

    Args:
        store: The database's store, whose lease is held.
        staged: New content; other content is read from the store.

    Raises:
        StoreError: the store cannot be used, or a published object is damaged.
    """
    written = deleted = 0
    current = read_manifest(store)
    while current is not None:
        done = _mirror_once(store, staged, current)
        written, deleted = written + done.written, deleted + done.deleted
        newest = read_manifest(store)
        if newest is None or newest.sha256 == current.sha256:
            break
        current = newest
    return MirrorResult(written, deleted)


def _mirror_once(store: Store, staged: StagedContent, current: StoredManifest) -> MirrorResult:
    files = current.manifest.files
    state = _read_state(store)
    earlier = _earlier(store, state, current)
    stale = _stale(store, files, earlier)
    if earlier is None:
        earlier = [archived.manifest.files for archived in archived_manifests(store)]
    dropped = sorted(path for path in set().union(*earlier) - set(files) if store.exists(path))
    if not stale and not dropped and state == _Mirrored(current.sha256):
        return MirrorResult(0, 0)
    pending = tuple(sha for sha in state.pending if sha != current.sha256)
    store.write(MIRRORED_KEY, _Mirrored(state.shown, (*pending, current.sha256)).to_bytes())
    # Deletions first: where case is ignored, the dropped `T.json` may be the new `t.json`.
    store.delete(dropped)
    for path in stale:
        store.write(path, _content(store, staged, files[path]))
    store.write(MIRRORED_KEY, _Mirrored(current.sha256).to_bytes())
    return MirrorResult(len(stale), len(dropped))


def _read_state(store: Store) -> _Mirrored:
    data = store.read(MIRRORED_KEY)
    try:
        document = json.loads(data or b"{}")
        state = _Mirrored(document.get("manifest"), tuple(document.get("pending", ())))
    except (ValueError, AttributeError, TypeError):  # unreadable state is lost state
        return _Mirrored()
    is_whole = all(isinstance(sha256, str) for sha256 in (state.shown or "", *state.pending))
    return state if is_whole else _Mirrored()


def _earlier(store: Store, state: _Mirrored, current: StoredManifest) -> list[Files] | None:
    """Files of the manifests, other than the current, that plain paths may show; null: not known."""
    if state.shown is None:
        return None
    known = []
    for sha256 in sorted({state.shown, *state.pending} - {current.sha256}):
        found = find_archived(store, sha256)
        if found is None:
            return None
        known.append(found.manifest.files)
    return known


def _stale(store: Store, files: Files, earlier: list[Files] | None) -> list[str]:
    """Paths to write: those that differ between manifests, and those missing or cut short.

    Without knowledge of what the plain paths show, files of the right size are read and compared.
    """
    folders = sorted({path.partition("/")[0] for path in files})
    sizes = {item.key: item.size for folder in folders for item in store.list(f"{folder}/")}

    def is_stale(path: str, info: FileInfo) -> bool:
        if sizes.get(path) != info.bytes:
            return True
        if earlier is None:
            return hashlib.sha256(store.read(path) or b"").hexdigest() != info.sha256
        return any(old.get(path) != info for old in earlier)

    return [path for path, info in sorted(files.items()) if is_stale(path, info)]


def _content(store: Store, staged: StagedContent, info: FileInfo) -> bytes:
    content = staged.read(info.sha256)
    return read_object(store, info) if content is None else content
