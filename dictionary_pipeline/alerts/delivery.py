"""Delivers messages within a time budget; a channel that hangs or fails holds up no other one."""

from __future__ import annotations

import importlib
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dictionary_pipeline.alerts.message import Message
from dictionary_pipeline.alerts.plan import Outcome, Outgoing
from dictionary_pipeline.alerts.posting import DeliveryFailed
from dictionary_pipeline.config.alert_settings import ChannelSettings
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.unexpected import unexpected

_PAUSES = (0.5, 1.5)
"""Seconds between the attempts of one evaluation."""
_LONGEST_WAIT = 5.0
"""A receiver that asks for more is left to the next evaluation."""
_ABOUT_THE_MESSAGE = frozenset({"400", "413", "422", "552", "554"})
"""HTTP and SMTP codes that refuse what one message says: the next one may be taken."""


@dataclass(frozen=True)
class DeliveryBudget:
    """What the deliveries of one evaluation may take."""

    seconds: float = 20.0


Send = Callable[[ChannelSettings, Message], str]
Sleep = Callable[[float], None]


def deliver(
    outgoing: Sequence[Outgoing],
    channels: Mapping[str, ChannelSettings],
    budget: DeliveryBudget = DeliveryBudget(),
    sleep: Sleep = time.sleep,
) -> tuple[Outcome, ...]:
    """Send messages, the channels side by side; what came of each, in the given order."""
    deadline = time.monotonic() + budget.seconds
    answers: queue.SimpleQueue[tuple[int, Outcome]] = queue.SimpleQueue()
    by_channel: dict[str, list[int]] = {}
    for at, item in enumerate(outgoing):
        by_channel.setdefault(item.channel, []).append(at)

    def work(positions: Sequence[int]) -> None:
        failed: Outcome | None = None
        for at in positions:
            if failed is not None:  # the others would only wait for the same
                answers.put((at, failed))
                continue
            if time.monotonic() >= deadline:  # counts as not delivered, so it comes with the next evaluation
                return
            item = outgoing[at]
            outcome = send_one(channels[item.channel], item.message, deadline, sleep)
            answers.put((at, outcome))
            failed = outcome if outcome.error and outcome.code not in _ABOUT_THE_MESSAGE else None

    for name, positions in by_channel.items():
        # Daemons: one that hangs must not keep the process from ending.
        threading.Thread(target=work, args=(positions,), name=f"alert-{name}", daemon=True).start()
    outcomes: dict[int, Outcome] = {}
    while len(outcomes) < len(outgoing):
        try:
            at, outcome = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        outcomes[at] = outcome
    late = Outcome(f"no answer within the {budget.seconds:g} seconds that all deliveries may take together")
    return tuple(outcomes.get(at, late) for at in range(len(outgoing)))


def send_one(channel: ChannelSettings, message: Message, deadline: float, sleep: Sleep = time.sleep) -> Outcome:
    """Send a message, again after a moment where that may help; what came of the last attempt."""
    pauses = iter(_PAUSES)
    while True:
        outcome, may_pass = _attempt(channel, message)
        pause = max(next(pauses, _LONGEST_WAIT + 1), outcome.retry_after)
        if not may_pass or pause > _LONGEST_WAIT or time.monotonic() + pause >= deadline:
            return outcome
        sleep(pause)


def _attempt(channel: ChannelSettings, message: Message) -> tuple[Outcome, bool]:
    """What came of one attempt, and whether a moment later it may go better."""
    try:
        return Outcome(code=_sender(channel.type)(channel, message)), False
    except DeliveryFailed as error:
        return Outcome(str(error), error.code or "", error.retry_after), error.is_temporary
    except DictionaryError as error:
        return Outcome(str(error)), False
    except Exception as error:  # noqa: BLE001 - its text could hold the channel's address or password
        return Outcome(str(unexpected(error))), False


def _sender(kind: str) -> Send:
    module = importlib.import_module(f"dictionary_pipeline.alerts.channels.{kind}")
    send: Send = module.send
    return send
