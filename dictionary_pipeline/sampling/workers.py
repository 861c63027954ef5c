"""A bounded pool of connections that read one table after another.

What goes wrong with a table stays with that table; only a database that is gone for everybody
ends the work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Lock
from typing import Generic, TypeVar

from dictionary_pipeline.engines.base import Engine, Session
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError

Task = TypeVar("Task")
Result = TypeVar("Result")

LOST_IN_A_ROW = 3
"""So many tables in a row lost to the connection, and the database counts as gone."""
_RECONNECT_WAIT_S = 0.5


@dataclass(frozen=True)
class Outcome(Generic[Task, Result]):
    """What became of one task: its result or the error that stays with it."""

    task: Task
    result: Result | None
    error: DictionaryError | None


def read_all(
    engine: Engine, tasks: Sequence[Task], read: Callable[[Session, Task], Result], *, connections: int
) -> Generator[Outcome[Task, Result]]:
    """Read every task on at most `connections` sessions; outcomes come in order of completion.

    Each worker opens its own session and keeps it for its share. A worker that finds no free
    connection leaves its share to the others. A session that dies is replaced once per table.

    Raises:
        ConnectionFailed: no session could be opened, credentials are refused, or the connection
            was lost for three tables in a row or for all of them.
    """
    return _Pool(engine, tasks, read).run(min(connections, len(tasks)))


class _Pool(Generic[Task, Result]):
    def __init__(self, engine: Engine, tasks: Sequence[Task], read: Callable[[Session, Task], Result]) -> None:
        self._engine = engine
        self._read = read
        self._total = len(tasks)
        self._waiting = deque(tasks)
        self._done: SimpleQueue[Outcome[Task, Result] | None] = SimpleQueue()
        self._stop = Event()
        self._lock = Lock()
        self._lost_in_a_row = 0
        self._last_loss: ConnectionFailed | None = None

    def run(self, workers: int) -> Generator[Outcome[Task, Result]]:
        if not workers:
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="sampling") as threads:
            try:
                futures = [threads.submit(self._work) for _ in range(workers)]
                running = workers
                while running:
                    outcome = self._done.get()
                    if outcome is None:
                        running -= 1
                    else:
                        yield outcome
            finally:
                self._stop.set()
        for future in futures:
            future.result()
        if self._last_loss is not None and (self._waiting or self._lost_in_a_row == self._total):
            raise self._last_loss

    def _work(self) -> None:
        line = _Line(self._engine)
        try:
            if self._opens(line):
                while (task := self._next()) is not None:
                    self._done.put(self._attempt(line, task))
        except BaseException:
            self._stop.set()
            raise
        finally:
            line.drop()
            self._done.put(None)

    def _opens(self, line: _Line) -> bool:
        """Whether the server has a connection to spare for this worker."""
        try:
            line.session()
        except ConnectionFailed as error:
            if not error.retryable:
                raise
            self._last_loss = error
            return False
        return True

    def _next(self) -> Task | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting and not self._stop.is_set() else None

    def _attempt(self, line: _Line, task: Task) -> Outcome[Task, Result]:
        for last_attempt in (False, True):
            try:
                result = self._read(line.session(), task)
            except ConnectionFailed as error:
                line.drop()
                if not error.retryable:
                    raise
                if last_attempt:
                    self._lose(error)
                    return Outcome(task, None, error)
                self._stop.wait(_RECONNECT_WAIT_S)
            except DictionaryError as error:
                self._reached()
                return Outcome(task, None, error)
            else:
                self._reached()
                return Outcome(task, result, None)
        raise AssertionError("the last attempt returns or raises")

    def _reached(self) -> None:
        with self._lock:
            self._lost_in_a_row = 0

    def _lose(self, error: ConnectionFailed) -> None:
        with self._lock:
            self._lost_in_a_row += 1
            self._last_loss = error
            if self._lost_in_a_row >= LOST_IN_A_ROW:
                raise error


class _Line:
    """A worker's session, opened when it is needed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session: Session | None = None

    def session(self) -> Session:
        if self._session is None:
            self._session = self._engine.connect()
        return self._session

    def drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
