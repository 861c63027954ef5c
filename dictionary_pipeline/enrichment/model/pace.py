"""Slowing down before a provider's rate limit is hit, by the headers of its last answer."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, None: 1.0}
MAX_WAIT = 60.0


class Pace:
    """Holds requests back while the announced remainder does not cover them; threads may share it."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._left: dict[str, tuple[int, float]] = {}
        """`requests` and `tokens` -> what remains, and when it is full again."""

    def wait(self, tokens: int) -> None:
        """Wait, a minute at most, until a request of so many tokens fits, and count it."""
        with self._lock:
            now, until = self._clock(), 0.0
            for kind, needed in (("requests", 1), ("tokens", tokens)):
                remaining, reset = self._left.get(kind, (needed, 0.0))
                if remaining < needed:
                    until = max(until, reset)
                elif kind in self._left:
                    self._left[kind] = (remaining - needed, reset)
            delay = min(max(until - now, 0.0), MAX_WAIT)
        if delay:
            self._sleep(delay)

    def note(self, headers: Mapping[str, str]) -> None:
        """Remember what an answer's headers say about the limits."""
        with self._lock:
            for kind in ("requests", "tokens"):
                remaining = headers.get(f"x-ratelimit-remaining-{kind}", "")
                reset = seconds(headers.get(f"x-ratelimit-reset-{kind}", ""))
                if remaining.isdecimal():
                    self._left[kind] = (int(remaining), self._clock() + reset)


def seconds(text: str) -> float:
    """A duration as providers write it: `1s`, `6m0s`, `20ms`, or plain seconds; 0 for anything else."""
    if not re.fullmatch(rf"(?:{_PART.pattern})+", text):
        return 0.0
    return sum(float(number) * _SECONDS[unit or None] for number, unit in _PART.findall(text))
