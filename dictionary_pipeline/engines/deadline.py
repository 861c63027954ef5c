"""Time budgets for clients that have no statement timeout but can interrupt from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType


class Deadline:
    """Context manager that calls `interrupt` once when its block takes longer than `seconds`.

    Args:
        seconds: The budget; null for none.
        interrupt: Stops the running statement; called from a timer thread.
    """

    def __init__(self, seconds: float | None, interrupt: Callable[[], object]) -> None:
        self.expired = False
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._over = False
        self._timer: threading.Timer | None = None
        if seconds is not None:
            self._timer = threading.Timer(seconds, self._fire)
            self._timer.daemon = True

    def __enter__(self) -> Deadline:
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The lock makes sure that a late timer neither stops the next statement nor meets a closed connection.
        with self._lock:
            self._over = True
        if self._timer is not None:
            self._timer.cancel()

    def _fire(self) -> None:
        with self._lock:
            if not self._over:
                self.expired = True
                self._interrupt()
