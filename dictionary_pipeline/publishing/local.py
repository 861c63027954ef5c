"""A store in a local folder: whole files or none, whatever dies."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from dictionary_pipeline.errors import StoreConflict, StoreError, StoreUnusable
from dictionary_pipeline.store import Content, StoredObject, Versioned

_TEMP_PREFIX = ".writing-"
_TEMP_MAX_AGE_S = 600.0
_STATE = ".state/"
_LOCK_KEY = f"{_STATE}store.lock"
_LOCK_TIMEOUT_S = 60.0
_READ_ONLY = "Choose a folder that this account may read and write, or change its permissions."
_ADVICE = {
    errno.EACCES: ("this account may not use this folder", _READ_ONLY),
    errno.EPERM: ("this account may not use this folder", _READ_ONLY),
    errno.EROFS: ("the file system is read-only", _READ_ONLY),
    errno.ENOSPC: ("the disk is full", "Free some space and run again; what was published stays valid."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space and run again; what was published stays valid."),
    errno.ENOTDIR: ("a file stands where a folder is needed", "Choose another folder, or move that file away."),
    errno.EEXIST: ("a file stands where a folder is needed", "Choose another folder, or move that file away."),
    errno.EISDIR: ("a folder stands where a file is needed", "Choose another folder, or move that one away."),
    errno.ENOENT: ("the folder is gone or cannot be made there", "Choose a folder that can be made, and run again."),
    errno.ENAMETOOLONG: ("the path is too long for this file system", "Choose a folder with a shorter path."),
}
_LASTING = frozenset(_ADVICE) - {errno.ENOSPC, errno.EDQUOT, errno.ENOENT}


class LocalStore:
    """Objects as files under `root`, which is created by the first write.

    A write goes to a temporary file in the target's folder and is then renamed (or linked, for
    create-only writes), so a reader sees the old file, the new file or none. What a killed writer
    leaves is recognised by its name, never listed, and removed when it is ten minutes old.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._swept: set[Path] = set()
        self._unflushed: deque[Path] = deque()
        self._made_root = False

    @property
    def location(self) -> str:
        """The folder."""
        return str(self._root)

    def read(self, key: str) -> bytes | None:
        """Content, or null when there is none."""
        path = self._path(key)
        with file_errors(path):
            try:
                return path.read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read_versioned(self, key: str) -> Versioned | None:
        """Content and etag (its sha256), or null when there is none."""
        data = self.read(key)
        return None if data is None else Versioned(data, _etag(data))

    def exists(self, key: str) -> bool:
        """Whether there is an object."""
        path = self._path(key)
        with file_errors(path):
            return path.is_file()

    def create(self, key: str, content: Content) -> bool:
        """Write only if absent, atomically; false when it existed."""
        path = self._path(key)
        if self.exists(key):
            return False
        with file_errors(path), self._written(path, content) as temporary:
            return self._link(temporary, path)

    def write(self, key: str, content: Content) -> None:
        """Write unconditionally and atomically."""
        path = self._path(key)
        with file_errors(path), self._written(path, content) as temporary:
            temporary.replace(path)

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        """Write if the object still has `etag` (null: still absent); return the new etag.

        Raises:
            StoreConflict: another writer was faster.
        """
        path = self._path(key)
        with self._locked(), file_errors(path):
            current = self.read_versioned(key)
            if (current.etag if current else None) != etag:
                raise StoreConflict("another writer changed it meanwhile", where=str(path), fix="Run again.")
            self._flush()
            with self._written(path, data) as temporary:
                _flush_file(temporary)
                temporary.replace(path)
            _sync_folder(path.parent)
        return _etag(data)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Objects whose key starts with `prefix`, in key order."""
        base = self._root / prefix.rpartition("/")[0]
        with file_errors(base):
            found = [item for item in self._walk(base) if item.key.startswith(prefix)]
        yield from sorted(found)

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; absent ones are fine."""
        for key in keys:
            path = self._path(key)
            with file_errors(path), suppress(FileNotFoundError, NotADirectoryError):
                path.unlink()

    def prune(self) -> None:
        """Remove folders that hold nothing any more, the root included; nobody may be working in the store."""
        with file_errors(self._root):
            if next(iter(self.list(_STATE)), None) is None:
                self.delete([_LOCK_KEY])
            for folder, _, _ in os.walk(self._root, topdown=False):
                with suppress(OSError):  # it holds something
                    Path(folder).rmdir()

    def remove_bare_state(self, key: str, etag: str) -> None:
        """Remove `.state/` when it holds this object alone, unchanged; and the root if it was made for it.

        The lock goes too. Two others that take it at this very moment may then work side by side;
        conditional writes would not tell, but a lease that both believe to hold is found out by `ensure_held`.
        """
        state = self._root / _STATE
        if not state.is_dir():
            return
        with self._locked(), file_errors(state):
            current = self.read_versioned(key)
            if current is None or current.etag != etag or [item.key for item in self.list(_STATE)] != [key]:
                return
            self.delete([key, _LOCK_KEY])
            with suppress(OSError):  # a folder that is not empty
                state.rmdir()
                if self._made_root:
                    self._root.rmdir()

    def sweep(self) -> None:
        """Remove what killed writers left of unfinished objects; the caller is the only writer.

        The lease, which a thread of the caller renews meanwhile, stands directly in its folder.
        """
        lease_folder = self._path(_LOCK_KEY).parent
        with file_errors(self._root):
            for leftover in self._root.rglob(f"{_TEMP_PREFIX}*"):
                if leftover.parent != lease_folder:
                    leftover.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        parts = key.split("/")
        if any(part in ("", ".", "..") for part in parts):
            raise StoreUnusable(f"{key!r} is not a key of a store", where=self.location)
        return self._root.joinpath(*parts)

    def _walk(self, base: Path) -> Iterator[StoredObject]:
        for folder, _, names in os.walk(base, onerror=_raise_unless_absent):
            for name in names:
                path = Path(folder, name)
                key = path.relative_to(self._root).as_posix()
                if name.startswith(_TEMP_PREFIX) or key == _LOCK_KEY:
                    continue
                try:
                    status = path.stat()
                except FileNotFoundError:  # deleted while the folder was being read
                    continue
                yield StoredObject(key, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    @contextmanager
    def _written(self, path: Path, content: Content) -> Iterator[Path]:
        """A complete temporary file with `content` beside `path`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._sweep(path.parent)
        temporary = path.parent / f"{_TEMP_PREFIX}{uuid.uuid4().hex}"
        try:
            with temporary.open("xb") as file:
                if isinstance(content, Path):
                    with content.open("rb") as source:
                        shutil.copyfileobj(source, file)
                else:
                    file.write(content)
                file.flush()
                _start_writeback(file.fileno())
            yield temporary
            self._unflushed.append(path)
        finally:
            temporary.unlink(missing_ok=True)

    def _flush(self) -> None:
        """Make what was written last through a power cut, before a swap that may name it.

        Flushing each file when it is written would wait for the disk each time; by now the system
        has written most of them on its own (measured on 3,000 files: 0.8 s instead of up to 9 s).
        """
        while self._unflushed:
            with suppress(FileNotFoundError):  # deleted since
                _flush_file(self._unflushed.popleft())

    def _link(self, temporary: Path, path: Path) -> bool:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
                raise
            # exFAT and some network shares have no hard links.
            with self._locked():
                if path.exists():
                    return False
                temporary.replace(path)
        return True

    def _sweep(self, folder: Path) -> None:
        """Remove what killed writers left in `folder`, once per store object."""
        if folder in self._swept:
            return
        self._swept.add(folder)
        oldest = time.time() - _TEMP_MAX_AGE_S
        for leftover in folder.glob(f"{_TEMP_PREFIX}*"):
            try:
                if leftover.stat().st_mtime < oldest:
                    leftover.unlink()
            except FileNotFoundError:  # its writer has just finished
                continue

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = self._root / _LOCK_KEY
        with file_errors(path):
            self._made_root |= not self._root.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path)
            try:
                lock.acquire(timeout=_LOCK_TIMEOUT_S)
            except Timeout:
                raise StoreError(
                    f"another process has held the lock for {_LOCK_TIMEOUT_S:.0f} seconds",
                    where=str(path),
                    fix="Run again; if no other run is alive, delete that file.",
                ) from None
        try:
            yield
        finally:
            lock.release()


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system into the product's own.

    Args:
        path: What is worked on, for errors that name no file.
    """
    try:
        yield
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, type(error).__name__)
        what, fix = _ADVICE.get(error.errno or 0, (f"the file system reported {name}", "Run again."))
        kind = StoreUnusable if error.errno in _LASTING else StoreError
        place = Path(error.filename or path)
        where = place.parent if place.name.startswith(_TEMP_PREFIX) else place
        raise kind(what, where=str(where), fix=fix, code=name) from None


def _raise_unless_absent(error: OSError) -> None:
    """A folder that cannot be read is not an empty one: what it holds could be needed."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _start_writeback(descriptor: int) -> None:
    if hasattr(os, "posix_fadvise"):  # not on macOS and Windows
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _flush_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _etag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where folders can be opened at all (not on Windows)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
