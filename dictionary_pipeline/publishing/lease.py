"""One run at a time per database: a renewable lease kept in the store.

The lease is a small JSON object that is only ever replaced by conditional writes, so it works on
every store. A run that dies leaves it behind; it is taken over when it expires, or at once when the
process that held it is known to be dead.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dictionary_pipeline import jsontext
from dictionary_pipeline.errors import LeaseHeld, StoreConflict, StoreError
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.store import Store

LEASE_KEY = ".state/lease.json"
TTL_S = 120.0
_ATTEMPTS = 5
_PROC = Path("/proc")

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class _Record:
    """Content of the lease object. `owner` null: it was released."""

    owner: str | None
    host: str
    pid: int
    process: str
    """Start time and space of the process, which tell it from a later one of the same number."""
    acquired_at: str
    expires_at: str

    def expired(self, now: datetime) -> bool:
        return datetime.fromisoformat(self.expires_at) <= now

    def renewed(self, now: datetime) -> _Record:
        return replace(self, expires_at=_stamp(now + timedelta(seconds=TTL_S)))


class Lease:
    """A held lease; `hold_lease` makes it and a daemon thread renews it."""

    def __init__(self, store: Store, record: _Record, clock: Clock) -> None:
        self._store = store
        self._record = record
        self._clock = clock
        self._stop = threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._keep_renewing, name="lease", daemon=True)

    @property
    def owner(self) -> str:
        """The run id that holds it."""
        return self._record.owner or ""

    def ensure_held(self) -> None:
        """Check in the store that the lease is still this run's, and renew it.

        Raises:
            LeaseHeld: another run took it over, e.g. because this one was suspended too long.
        """
        with self._writing:
            for _ in range(_ATTEMPTS):
                current = self._store.read_versioned(LEASE_KEY)
                record = _parse(current.data) if current else None
                if current is None or record is None or record.owner != self.owner:
                    raise _lost(self._store, self.owner, record)
                try:
                    self._store.swap(LEASE_KEY, _bytes(self._record.renewed(self._clock())), current.etag)
                    return
                except StoreConflict:
                    continue
        raise _lost(self._store, self.owner, None)

    def start(self) -> None:
        """Begin renewing in the background."""
        self._thread.start()

    def stop(self, *, release: bool) -> None:
        """Stop renewing and, if asked, give the lease back when it is still this run's."""
        self._stop.set()
        self._thread.join()
        if not release:
            return
        # A store that cannot be reached now must not hide how the run ended: the lease expires anyway.
        with suppress(StoreError):
            current = self._store.read_versioned(LEASE_KEY)
            record = _parse(current.data) if current else None
            if current is not None and record is not None and record.owner == self.owner:
                self._store.swap(LEASE_KEY, _bytes(replace(record, owner=None)), current.etag)

    def _keep_renewing(self) -> None:
        while not self._stop.wait(TTL_S / 4):
            try:
                self.ensure_held()
            except LeaseHeld:  # `ensure_held` says so to the run before it publishes
                return
            except StoreError:  # the store may come back before the lease expires
                continue


@contextmanager
def hold_lease(
    store: Store, *, owner: str, host: str | None = None, keep: bool = False, clock: Clock | None = None
) -> Iterator[Lease]:
    """Hold the database's lease; the same owner may enter again.

    Args:
        store: The database's own store.
        owner: Run id.
        host: Name of this machine; asked from the system by default.
        keep: After success leave the lease to `owner` for a later stage; it expires by itself.
        clock: Source of UTC time.

    Raises:
        LeaseHeld: another live run holds it.
    """
    lease = Lease(store, *_acquire(store, owner, host or socket.gethostname(), clock or _utc_now))
    lease.start()
    try:
        yield lease
    except BaseException:
        lease.stop(release=True)
        raise
    lease.stop(release=not keep)


def forget_released(store: LocalStore) -> None:
    """Take back a released lease that stands alone, so that a first run that could not start leaves no trace."""
    with suppress(StoreError):  # tidying up must not hide why the run could not start
        current = store.read_versioned(LEASE_KEY)
        record = _parse(current.data) if current else None
        if current is not None and record is not None and record.owner is None:
            store.remove_bare_state(LEASE_KEY, current.etag)


def _acquire(store: Store, owner: str, host: str, clock: Clock) -> tuple[_Record, Clock]:
    now = clock()
    mine = _Record(owner, host, os.getpid(), _process(os.getpid()) or "", _stamp(now), "").renewed(now)
    for _ in range(_ATTEMPTS):
        current = store.read_versioned(LEASE_KEY)
        record = _parse(current.data) if current else None
        if record is not None and not _is_free(record, owner, host, now):
            raise _held(store, record)
        try:
            store.swap(LEASE_KEY, _bytes(mine), current.etag if current else None)
            return mine, clock
        except StoreConflict:
            continue
    raise LeaseHeld("other runs keep taking the lease", where=store.location, fix="Run again in a minute.")


def _is_free(record: _Record, owner: str, host: str, now: datetime) -> bool:
    return record.owner in (None, owner) or record.expired(now) or _is_dead(record, host)


def _is_dead(record: _Record, host: str) -> bool:
    """Whether the holder certainly no longer runs; only answered for processes this one can see."""
    own = _process(os.getpid())
    if record.host != host or own is None or not record.process:
        return False
    # Containers may share a host name: process numbers compare only within one space.
    if record.process.partition("/")[0] != own.partition("/")[0]:
        return False
    other = _process(record.pid)
    return not _exists(record.pid) if other is None else other != record.process


def _exists(pid: int) -> bool:
    """Whether there is such a process, also where /proc hides those of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # not ours to signal, so it exists
        return True
    return True


def _process(pid: int) -> str | None:
    """`<boot and pid namespace>/<start time>` of a process; null when it is not seen or not on Linux.

    Start time is field 22 of /proc/<pid>/stat, in clock ticks since boot (proc_pid_stat(5)); a zombie
    (state Z) has ended and equals no process that holds a lease.
    """
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = (_PROC / "self/ns/pid").readlink().name
        fields = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return f"{boot}:{space}/{'ended' if fields[0] == 'Z' else fields[19]}"


def _held(store: Store, record: _Record) -> LeaseHeld:
    return LeaseHeld(
        f"run {record.owner} on host {record.host} (process {record.pid}) has worked on this database "
        f"since {record.acquired_at}",
        where=store.location,
        fix=f"Wait for it or stop it; if it is dead, its lease is free at {record.expires_at}.",
    )


def _lost(store: Store, owner: str, record: _Record | None) -> LeaseHeld:
    taker = f"run {record.owner} on host {record.host}" if record and record.owner else "someone"
    return LeaseHeld(
        f"{taker} took the lease over from run {owner}, which stopped renewing it",
        where=store.location,
        fix="Nothing was published by this run; run again when the other one has finished.",
    )


def _parse(data: bytes) -> _Record | None:
    """The record, or null for content that no run can have written: it holds nothing."""
    try:
        record = _Record(**json.loads(data))
        moment = datetime.fromisoformat(record.expires_at)
    except (ValueError, TypeError):
        return None
    texts = (record.host, record.process, record.acquired_at, record.owner or "")
    is_process = type(record.pid) is int and 0 < record.pid < 2**31
    is_whole = is_process and moment.tzinfo is not None and all(isinstance(text, str) for text in texts)
    return record if is_whole else None


def _bytes(record: _Record) -> bytes:
    return jsontext.pretty(asdict(record)).encode()


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _utc_now() -> datetime:
    return datetime.now(UTC)
