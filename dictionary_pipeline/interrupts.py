"""Ctrl-C that does not get lost.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a callback of the interpreter, such as
that of a weak reference, it is printed and forgotten, and the run would go on.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

_pressed = threading.Event()


def watch_interrupts() -> None:
    """Remember from now on that the user interrupted; only the main thread can be interrupted."""
    _pressed.clear()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupted)


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt when the user interrupted since `watch_interrupts`."""
    if _pressed.is_set():
        raise KeyboardInterrupt


def _interrupted(number: int, frame: FrameType | None) -> None:
    _pressed.set()
    raise KeyboardInterrupt
