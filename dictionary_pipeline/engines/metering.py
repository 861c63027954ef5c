"""What statements cost on an engine that is billed by the time its warehouse works."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple


class Meter:
    """Statements and their seconds, summed over all sessions of one engine; shared between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._statements = 0
        self._seconds = 0.0

    @property
    def statements(self) -> int:
        """Statements sent so far."""
        return self._statements

    @property
    def seconds(self) -> float:
        """Seconds that they took, as seen by the client; statements side by side count each."""
        return self._seconds

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Count the statement that the block runs, also when it fails."""
        start = time.monotonic()
        try:
            yield
        finally:
            elapsed = time.monotonic() - start
            with self._lock:
                self._statements += 1
                self._seconds += elapsed


class Usage(NamedTuple):
    """Work of an engine up to a moment."""

    statements: int
    seconds: float


def usage_metrics(meter: Meter | None, before: Usage) -> dict[str, int | float | str | bool]:
    """Metrics of the work since `before`; empty for engines whose work is not billed.

    Neither vendor's client tells the bytes that a statement scanned, so they are not among them.
    """
    if meter is None:
        return {}
    now = usage(meter)
    return {
        "warehouse_statements": now.statements - before.statements,
        "warehouse_seconds": round(now.seconds - before.seconds, 3),
    }


def usage(meter: Meter | None) -> Usage:
    """The work so far."""
    return Usage(0, 0.0) if meter is None else Usage(meter.statements, meter.seconds)
