"""Plain paths: the files of the current manifest under their own names, for people and indexers.

`.state/mirrored` names the manifest that the plain paths show, and those that a killed mirroring was
on its way to. Only files that a manifest names are ever written or deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.publishing.archive import archived_manifests, find_archived
from dictionary_pipeline.publishing.manifest import FileInfo, StoredManifest, read_manifest
from dictionary_pipeline.publishing.previous import read_object
from dictionary_pipeline.publishing.staging import StagedContent
from dictionary_pipeline.publishing.store import Store, write_many

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
    plain: tuple[str, ...] | None = None
    """Folders that were mirrored; null: all."""

    def to_bytes(self) -> bytes:
        document: dict[str, object] = {"manifest": self.shown, "pending": list(self.pending)}
        if self.plain is not None:
            document["plain"] = list(self.plain)
        return jsontext.pretty(document).encode()


class _Work(NamedTuple):
    """Paths to change."""

    stale: list[str]
    dropped: list[str]


def mirror(
    store: Store,
    staged: StagedContent,
    current: StoredManifest | None,
    *,
    plain: Collection[str] | None = None,
    trusted: bool = False,
    replaced: StoredManifest | None = None,
) -> MirrorResult:
    """Make the plain paths show the current manifest, whatever earlier publishes left behind.

    Args:
        store: The database's store, whose lease is held.
        staged: New content; other content is read from the store.
        current: The store's manifest as last read or written.
        plain: Folders that are shown; null: all.
        trusted: Believe `.state/mirrored` instead of listing what there is.
        replaced: The manifest that `current` replaced, if it is known.

    Raises:
        StoreError: the store cannot be used, or a published object is damaged.
    """
    folders = None if plain is None else tuple(sorted(plain))
    written = deleted = 0
    while current is not None:
        done = _mirror_once(store, staged, current, folders, trusted, replaced)
        written, deleted = written + done.written, deleted + done.deleted
        if done == MirrorResult(0, 0):
            break
        newest = read_manifest(store)
        if newest is None or newest.sha256 == current.sha256:
            break
        current = newest
    return MirrorResult(written, deleted)


def _mirror_once(
    store: Store,
    staged: StagedContent,
    current: StoredManifest,
    plain: tuple[str, ...] | None,
    trusted: bool,
    replaced: StoredManifest | None,
) -> MirrorResult:
    files = _plain_files(current.manifest.files, plain)
    state = _read_state(store)
    if state.plain != plain:
        state = _Mirrored(plain=plain)  # other folders were mirrored: compare everything
    earlier = _earlier(store, state, current, replaced)
    work = _trusting(files, earlier) if trusted and earlier is not None else _comparing(store, files, earlier, current)
    if not work.stale and not work.dropped and state == _Mirrored(current.sha256, plain=plain):
        return MirrorResult(0, 0)
    pending = tuple(sha for sha in state.pending if sha != current.sha256)
    store.write(MIRRORED_KEY, _Mirrored(state.shown, (*pending, current.sha256), plain).to_bytes())
    # Deletions first: where case is ignored, the dropped `T.json` may be the new `t.json`.
    store.delete(work.dropped)
    write_many(store, ((path, _content(store, staged, files[path])) for path in work.stale))
    store.write(MIRRORED_KEY, _Mirrored(current.sha256, plain=plain).to_bytes())
    return MirrorResult(len(work.stale), len(work.dropped))


def _plain_files(files: Files, plain: tuple[str, ...] | None) -> Files:
    return {path: info for path, info in files.items() if plain is None or path.partition("/")[0] in plain}


def _read_state(store: Store) -> _Mirrored:
    data = store.read(MIRRORED_KEY)
    try:
        document = json.loads(data or b"{}")
        plain = document.get("plain")
        folders = None if plain is None else tuple(plain)
        state = _Mirrored(document.get("manifest"), tuple(document.get("pending", ())), folders)
    except (ValueError, AttributeError, TypeError):  # unreadable state is lost state
        return _Mirrored()
    is_whole = all(isinstance(sha256, str) for sha256 in (state.shown or "", *state.pending))
    return state if is_whole else _Mirrored()


def _earlier(
    store: Store, state: _Mirrored, current: StoredManifest, replaced: StoredManifest | None
) -> list[Files] | None:
    """Plain files of the manifests, other than the current, that plain paths may show; null: not known."""
    if state.shown is None:
        return None
    known = []
    for sha256 in sorted({state.shown, *state.pending} - {current.sha256}):
        found = replaced if replaced and replaced.sha256 == sha256 else find_archived(store, sha256)
        if found is None:
            return None
        known.append(_plain_files(found.manifest.files, state.plain))
    return known


def _trusting(files: Files, earlier: list[Files]) -> _Work:
    """What differs between manifests."""
    stale = [path for path, info in sorted(files.items()) if any(old.get(path) != info for old in earlier)]
    return _Work(stale, sorted(set().union(*earlier) - set(files)))


def _comparing(store: Store, files: Files, earlier: list[Files] | None, current: StoredManifest) -> _Work:
    """What differs between manifests, what is missing or cut short, and what is left over.

    Without knowledge of what the plain paths show, files of the right size are read and compared.
    """
    if earlier is None:
        possible = [current.manifest.files, *(archived.manifest.files for archived in archived_manifests(store))]
    else:
        possible = earlier
    candidates = set().union(*possible) - set(files)
    folders = sorted({path.partition("/")[0] for path in (*files, *candidates)})
    sizes = {item.key: item.size for folder in folders for item in store.list(f"{folder}/")}

    def is_stale(path: str, info: FileInfo) -> bool:
        if sizes.get(path) != info.bytes:
            return True
        if earlier is None:
            return hashlib.sha256(store.read(path) or b"").hexdigest() != info.sha256
        return any(old.get(path) != info for old in earlier)

    stale = [path for path, info in sorted(files.items()) if is_stale(path, info)]
    return _Work(stale, sorted(path for path in candidates if path in sizes))


def _content(store: Store, staged: StagedContent, info: FileInfo) -> bytes:
    content = staged.read(info.sha256)
    return read_object(store, info) if content is None else content
