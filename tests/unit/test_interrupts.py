"""Ctrl-C where the interpreter forgets it."""

from __future__ import annotations

import signal
import weakref
from collections.abc import Iterator

import pytest

from dictionary_pipeline.interrupts import stop_if_interrupted, watch_interrupts


class Thing:
    """Something that weak references can refer to."""


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    watch_interrupts()
    yield
    watch_interrupts()
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_is_raised_at_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_python_forgets_stops_the_run_at_its_next_step() -> None:
    stop_if_interrupted()  # nobody did yet
    thing = Thing()
    reference = weakref.ref(thing, lambda dead: signal.raise_signal(signal.SIGINT))
    del thing
    assert reference() is None
    with pytest.raises(KeyboardInterrupt):
        stop_if_interrupted()
