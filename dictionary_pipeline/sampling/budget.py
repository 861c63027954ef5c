"""Time that several threads spend together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class TimeBudget:
    """Seconds that all statements of one kind may take together in a run."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._lock = Lock()

    @contextmanager
    def spend(self, most: float) -> Iterator[float]:
        """Set time aside for the block and give back what it did not use.

        Args:
            most: Seconds wanted.

        Yields:
            Seconds granted; 0 when nothing is left.
        """
        with self._lock:
            granted = max(0.0, min(most, self._left))
            self._left -= granted
        started = time.monotonic()
        try:
            yield granted
        finally:
            unused = max(0.0, granted - (time.monotonic() - started))
            with self._lock:
                self._left += unused
