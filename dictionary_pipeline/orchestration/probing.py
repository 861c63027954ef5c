"""Asks many databases for their change signals within a time budget, though some of them hang."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.engines.base import Capability
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError, NotADatabase, Scope
from dictionary_pipeline.publishing.previous import read_previous
from dictionary_pipeline.sampling_age import samples_expire_at
from dictionary_pipeline.store import Store
from dictionary_pipeline.unexpected import unexpected
from dictionary_pipeline.verified import Verification, configuration_digest


class Probed(NamedTuple):
    """A database answered."""

    probe: str
    published: str | None
    """The value at which the published dictionary was last known to be true."""
    manifest: str = ""
    """Hash of the published manifest."""


class Unwatched(NamedTuple):
    """There is nothing to compare: asking costs, the engine has no signal, or nothing is published yet."""


class Unchanged(NamedTuple):
    """A run would find nothing to do."""

    verified: Verification


class Down(NamedTuple):
    """A database did not answer."""

    error: str
    lasting: bool = False
    """Asking again does not help before somebody repairs something."""
    identifier: str = ConnectionFailed.identifier
    scope: Scope = ConnectionFailed.scope


Outcome = Probed | Unwatched | Unchanged | Down
Probe = Callable[[str], Outcome]


def probe_database(config: DatabaseConfig, store: Store, last: Verification | None = None) -> Outcome:
    """Ask one database whether its schema may have changed, if that is wanted.

    Args:
        last: When the database was verified last: a run that finds nothing new leaves the manifest as it is.

    Raises:
        DictionaryError: the database or its store cannot be read.
    """
    if config.probe.enabled is False:
        return Unwatched()
    engine = create_engine(config.connection)
    if config.probe.enabled is None and Capability.FREE_PROBE not in engine.capabilities:
        return Unwatched()
    published = read_previous(store)
    if published is None:
        return Unwatched()
    with engine.open() as session:
        probe = engine.probe(session)
    if probe is None:
        return Unwatched()
    is_verified = last is not None and last.manifest == published.sha256
    return Probed(probe, last.probe if last and is_verified else published.manifest.probe, published.sha256)


def look_for_work(config: DatabaseConfig, store: Store, last: Verification | None, now: datetime) -> Outcome:
    """Ask one database, and its store, whether a run would find anything to do.

    Args:
        last: When the database was verified last.
        now: The time, with a time zone.

    Raises:
        DictionaryError: the database or its store cannot be read.
    """
    outcome = probe_database(config, store, last)
    if not isinstance(outcome, Probed) or last is None or not last.settled:
        return outcome
    seen = (outcome.probe, outcome.manifest, configuration_digest(config))
    if seen != (last.probe, last.manifest, last.configuration):
        return outcome
    expiry = samples_expire_at(store) if config.sampling.enabled else None
    if config.sampling.enabled and (expiry is None or expiry <= now):
        return outcome
    return Unchanged(last._replace(at=now))


@dataclass(frozen=True)
class Budget:
    """What one round may take."""

    workers: int = 16
    seconds_each: float = 10.0
    seconds: float = 20.0


class ProbePool:
    """Probes in a bounded number of threads; one that hangs is left behind and not asked again until it ends.

    The threads are daemons: one that hangs for ever must not keep the process from ending.
    """

    def __init__(self, budget: Budget = Budget()) -> None:
        self._budget = budget
        self._threads: dict[str, threading.Thread] = {}

    def round(self, names: Sequence[str], probe: Probe) -> dict[str, Outcome]:
        """Probe databases in the given order, as many as the budget allows.

        Returns:
            Outcome of each database that was reached.
        """
        budget = self._budget
        begin = time.monotonic()
        answers: queue.SimpleQueue[tuple[str, Outcome]] = queue.SimpleQueue()
        waiting, outcomes = deque(names), dict[str, Outcome]()
        started: dict[str, float] = {}
        while True:
            now = time.monotonic()
            for name in [name for name, since in started.items() if now - since >= budget.seconds_each]:
                del started[name]
                outcomes[name] = _hangs(budget)
            # Whatever is started now can still take its full time.
            while waiting and len(started) < budget.workers and now - begin <= budget.seconds - budget.seconds_each:
                name = waiting.popleft()
                if name in self._threads and self._threads[name].is_alive():
                    outcomes[name] = _hangs(budget)
                    continue
                started[name] = now
                self._start(name, probe, answers)
            if not started:
                return outcomes
            rest = min(started.values()) + budget.seconds_each - now
            try:
                name, outcome = answers.get(timeout=max(rest, 0.0))
            except queue.Empty:
                continue
            if started.pop(name, None) is not None:
                outcomes[name] = outcome

    def _start(self, name: str, probe: Probe, answers: queue.SimpleQueue[tuple[str, Outcome]]) -> None:
        def work() -> None:
            answers.put((name, _asked(name, probe)))

        thread = threading.Thread(target=work, name=f"probe-{name}", daemon=True)
        self._threads[name] = thread
        thread.start()


def _asked(name: str, probe: Probe) -> Outcome:
    try:
        return probe(name)
    except Exception as error:  # noqa: BLE001 - a foreign text could quote values of the database
        failure = error if isinstance(error, DictionaryError) else unexpected(error)
        # A file that is missing may lie on a share that is away for a while.
        lasting = not failure.retryable and not isinstance(failure, NotADatabase)
        return Down(str(failure), lasting, failure.identifier, failure.scope)


def _hangs(budget: Budget) -> Down:
    return Down(f"no answer within {budget.seconds_each:g} s. Check that the server is up and not overloaded.")
