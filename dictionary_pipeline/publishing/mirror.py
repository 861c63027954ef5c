"""Plain paths: the files of the current manifest under their own names, for people and indexers.

`.state/mirrored` names the manifest that the plain paths show, and those that a killed mirroring was
on its way to. Only files that a manifest names are ever written or deleted; what a person edited in
them is kept aside before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.publishing.archive import archived_manifests, find_archived
from dictionary_pipeline.publishing.hand_edits import is_watched, set_aside
from dictionary_pipeline.publishing.manifest import FileInfo, StoredManifest, read_manifest
from dictionary_pipeline.publishing.previous import read_object
from dictionary_pipeline.publishing.staging import StagedContent
from dictionary_pipeline.store import BatchStore, Store, StoredObject, write_many

MIRRORED_KEY = ".state/mirrored"
_UNKNOWN = -1
"""Size of a file that was not listed."""

Files = Mapping[str, FileInfo]


class MirrorResult(NamedTuple):
    """What was done to the plain paths."""

    written: int
    deleted: int
    hand_edited: tuple[str, ...] = ()
    """Plain files that a person had edited; what they said is kept by `hand_edits`."""


@dataclass(frozen=True)
class _Mirrored:
    """Content of `.state/mirrored`: hashes of manifests."""

    shown: str | None = None
    """Null: nothing was mirrored yet, or the state was lost."""
    pending: tuple[str, ...] = ()
    """Manifests of which some files may have been written already."""
    plain: tuple[str, ...] | None = None
    """Folders that were mirrored; null: all."""
    at: datetime | None = field(default=None, compare=False)
    """When plain files were last known to be ours, where the store tells it: before `pending` were begun."""

    def to_bytes(self) -> bytes:
        document: dict[str, object] = {"manifest": self.shown, "pending": list(self.pending)}
        if self.plain is not None:
            document["plain"] = list(self.plain)
        if self.pending and self.at is not None:
            document["since"] = self.at.isoformat()
        return jsontext.pretty(document).encode()


class _Work(NamedTuple):
    """Paths to change."""

    stale: list[str]
    dropped: list[str]
    present: Mapping[str, StoredObject] = {}
    """What there is under the plain paths, as far as it was listed."""
    guarded: Sequence[str] = ()
    """Of `stale`: files that were not listed, and that somebody may have edited."""


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
    result = MirrorResult(0, 0)
    while current is not None:
        done = _mirror_once(store, staged, current, folders, trusted, replaced)
        edited = (*result.hand_edited, *done.hand_edited)
        result = MirrorResult(result.written + done.written, result.deleted + done.deleted, edited)
        if done == MirrorResult(0, 0):
            break
        newest = read_manifest(store)
        if newest is None or newest.sha256 == current.sha256:
            break
        current = newest
    return result


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
        state = _Mirrored(plain=plain, at=state.at)  # other folders were mirrored: compare everything
    earlier = _earlier(store, state, current, replaced)
    if trusted and earlier is not None:
        work = _trusting(store, files, earlier)
    else:
        work = _comparing(store, files, earlier, current)
    edited = _set_aside(store, files, earlier, work, work.present, state.at)
    work = work._replace(stale=sorted({*work.stale, *(path for path in edited if path in files)}))
    if not work.stale and not work.dropped and state == _Mirrored(current.sha256, plain=plain):
        return MirrorResult(0, 0)
    pending = tuple(sha for sha in state.pending if sha != current.sha256)
    store.write(MIRRORED_KEY, _Mirrored(state.shown, (*pending, current.sha256), plain, state.at).to_bytes())
    # Deletions first: where case is ignored, the dropped `T.json` may be the new `t.json`.
    store.delete(work.dropped)
    left = work.stale
    if isinstance(store, BatchStore) and work.guarded and state.at is not None:
        # A condition on the writes costs no request, unlike looking at every file first.
        touched = store.write_untouched(_contents(store, staged, files, work.guarded), state.at)
        seen = {path: StoredObject(path, _UNKNOWN, datetime.max.replace(tzinfo=UTC)) for path in touched}
        edited = (*edited, *_set_aside(store, files, earlier, work, seen, state.at))
        left = sorted({*touched, *work.stale} - (set(work.guarded) - set(touched)))
    write_many(store, _contents(store, staged, files, left))
    store.write(MIRRORED_KEY, _Mirrored(current.sha256, plain=plain).to_bytes())
    return MirrorResult(len(work.stale), len(work.dropped), edited)


def _set_aside(
    store: Store,
    files: Files,
    earlier: list[Files] | None,
    work: _Work,
    present: Mapping[str, StoredObject],
    mirrored_at: datetime | None,
) -> tuple[str, ...]:
    """Keep what people edited in plain files that are present."""
    if not any(map(is_watched, present)):
        return ()
    if mirrored_at is None:
        mirrored_at = next((item.modified for item in store.list(MIRRORED_KEY) if item.key == MIRRORED_KEY), None)
    return set_aside(store, present, [*(earlier or ()), files], {*work.stale, *work.dropped}, mirrored_at)


def _plain_files(files: Files, plain: tuple[str, ...] | None) -> Files:
    return {path: info for path, info in files.items() if plain is None or path.partition("/")[0] in plain}


def _read_state(store: Store) -> _Mirrored:
    found = store.read_versioned(MIRRORED_KEY)
    try:
        document = json.loads(found.data if found else b"{}")
        plain = document.get("plain")
        folders = None if plain is None else tuple(plain)
        since = document.get("since")
        at = datetime.fromisoformat(since) if since else found.modified if found else None
        state = _Mirrored(document.get("manifest"), tuple(document.get("pending", ())), folders, at)
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
    for sha256 in dict.fromkeys((state.shown, *sorted(state.pending))):
        if sha256 == current.sha256:
            continue
        found = replaced if replaced and replaced.sha256 == sha256 else find_archived(store, sha256)
        if found is None:
            return None
        known.append(_plain_files(found.manifest.files, state.plain))
    return known


def _trusting(store: Store, files: Files, earlier: list[Files]) -> _Work:
    """What differs between manifests; of the paths that go, what is there now is looked up."""
    stale = [path for path, info in sorted(files.items()) if any(old.get(path) != info for old in earlier)]
    known = set[str]().union(*earlier)
    dropped = sorted(known - set(files))
    going = set(filter(is_watched, dropped))
    present = {path: item for path, item in _list(store, going).items() if path in going}
    return _Work(stale, dropped, present, [path for path in stale if path in known and is_watched(path)])


def _list(store: Store, paths: Iterable[str]) -> dict[str, StoredObject]:
    """Everything in the folders of some paths."""
    folders = sorted({path.partition("/")[0] for path in paths})
    return {item.key: item for folder in folders for item in store.list(f"{folder}/")}


def _comparing(store: Store, files: Files, earlier: list[Files] | None, current: StoredManifest) -> _Work:
    """What differs between manifests, what is missing or cut short, and what is left over.

    Without knowledge of what the plain paths show, files of the right size are read and compared.
    """
    if earlier is None:
        possible = [current.manifest.files, *(archived.manifest.files for archived in archived_manifests(store))]
    else:
        possible = earlier
    candidates = set().union(*possible) - set(files)
    present = _list(store, (*files, *candidates))

    def is_stale(path: str, info: FileInfo) -> bool:
        if path not in present or present[path].size != info.bytes:
            return True
        if earlier is None:
            return hashlib.sha256(store.read(path) or b"").hexdigest() != info.sha256
        return any(old.get(path) != info for old in earlier)

    stale = [path for path, info in sorted(files.items()) if is_stale(path, info)]
    return _Work(stale, sorted(path for path in candidates if path in present), present)


def _contents(store: Store, staged: StagedContent, files: Files, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    return ((path, _content(store, staged, files[path])) for path in paths)


def _content(store: Store, staged: StagedContent, info: FileInfo) -> bytes:
    content = staged.read(info.sha256)
    return read_object(store, info) if content is None else content
