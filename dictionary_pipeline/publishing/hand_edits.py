"""Plain files that a person edited: kept aside before the mirror rewrites them, for `data_dictionary import`.

A plain file is ours when its bytes are those that the current manifest, the manifests that the plain
paths may show, or an archived one names for its path; a half-mirrored set is therefore no edit. Only
files that may be something else are read: those of another size, those newer than `.state/mirrored`,
which is written after them, and, where reading is no request, all that are about to be rewritten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice

from dictionary_pipeline.publishing.archive import archived_manifests
from dictionary_pipeline.publishing.manifest import FileInfo, read_manifest
from dictionary_pipeline.store import BatchStore, Store, StoredObject

KEPT = ".state/hand_edits/"
BASES = ".state/hand_edits_base/"
"""What the edited files said before, as far as it is known: the difference is the edit."""
FOLDERS = frozenset({"schema_store", "column_value_store"})
"""Folders whose files say what people can say better."""
_MOST_KEPT = 1_000
_MOST_ARCHIVED = 30
"""Manifests of the archive that are looked through for a file of unknown content."""

Files = Mapping[str, FileInfo]


def is_watched(path: str) -> bool:
    """Whether edits of a plain file are kept."""
    return path.partition("/")[0] in FOLDERS


def edit_sentence(path: str, database: str, *, purged: bool) -> str:
    """What a run says of a file that a person had edited.

    Args:
        purged: A purge of a newly withheld column has deleted what was kept.
    """
    what = f"{path} was edited by hand and is written anew"
    if purged:
        return f"{what}; as a column is newly withheld, the edited file is not kept. Put the edit into the YAML file."
    return f"{what}; `data_dictionary import {KEPT}{path} {database}` makes the edits people's words."


def set_aside(
    store: Store,
    present: Mapping[str, StoredObject],
    known: Sequence[Files],
    changing: Collection[str],
    mirrored_at: datetime | None,
) -> tuple[str, ...]:
    """Keep what people edited under `.state/hand_edits/`, the newest edit of each file.

    Args:
        present: What there is under the plain paths.
        known: Files of the manifests that plain paths may show, the likeliest first.
        changing: Paths that are about to be rewritten or deleted.
        mirrored_at: When `.state/mirrored` was written; null: not known.

    Returns:
        Paths of the edited files, sorted.

    Raises:
        StoreError: the store cannot be used.
    """
    is_costly = isinstance(store, BatchStore)

    def may_be_edited(item: StoredObject) -> bool:
        sizes = {files[item.key].bytes for files in known if item.key in files}
        if not sizes and item.key not in changing:
            return False  # no file of ours
        is_newer = mirrored_at is None or item.modified >= mirrored_at
        return is_newer or item.size not in sizes or (item.key in changing and not is_costly)

    found = []
    archive = _Archive(store)
    for path, item in sorted(present.items()):
        if is_watched(path) and may_be_edited(item):
            data = store.read(path)
            base = next((files[path] for files in known if path in files), None)
            if data is not None and _is_edit(store, path, data, base, known, archive):
                found.append(path)
    if found:
        _drop_oldest(store, set(found))
    return tuple(found)


def _is_edit(
    store: Store, path: str, data: bytes, base: FileInfo | None, known: Sequence[Files], archive: _Archive
) -> bool:
    """Whether a file holds what no publish wrote; then it is kept."""
    sha256 = hashlib.sha256(data).hexdigest()
    if any(files[path].sha256 == sha256 for files in known if path in files):
        return False
    before = store.read(base.object_key) if base is not None else None
    is_cut = before is not None and before.startswith(data)  # damage, not an edit
    if is_cut or archive.has(path, sha256):
        return False
    store.write(KEPT + path, data)
    if before is None:
        store.delete([BASES + path])
    else:
        store.write(BASES + path, before)
    return True


class _Archive:
    """Newest archived manifests, read when they are needed first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: list[Files] | None = None

    def has(self, path: str, sha256: str) -> bool:
        """Whether one of them, or the manifest of a run that published meanwhile, names that content for that path."""
        if self._known is None:
            newest = read_manifest(self._store)
            manifests = [*filter(None, [newest]), *islice(archived_manifests(self._store), _MOST_ARCHIVED)]
            self._known = [stored.manifest.files for stored in manifests]
        return any(files[path].sha256 == sha256 for files in self._known if path in files)


def _drop_oldest(store: Store, new: Collection[str]) -> None:
    """Keep the number of kept files bounded; those of this run stay."""
    kept = sorted(store.list(KEPT), key=lambda item: item.modified)
    droppable = (item.key for item in kept if item.key.removeprefix(KEPT) not in new)
    excess = list(islice(droppable, max(0, len(kept) - _MOST_KEPT)))
    if excess:
        store.delete(_with_bases(excess))


def _with_bases(keys: Sequence[str]) -> Iterator[str]:
    for key in keys:
        yield from (key, BASES + key.removeprefix(KEPT))
