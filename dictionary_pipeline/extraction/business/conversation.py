"""Asking about the texts of one batch: once, again for what is missing, in halves where an answer is cut."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dictionary_pipeline.enrichment.model.asking import Message
from dictionary_pipeline.enrichment.model.budget import BudgetReached
from dictionary_pipeline.enrichment.model.client import ModelUnavailable, QuotaUsedUp, Reply, RequestRefused
from dictionary_pipeline.enrichment.model.paying import PaidClient
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.extraction.business.asking import Batch, LoopQuestion, messages
from dictionary_pipeline.extraction.business.prompts import Prompts
from dictionary_pipeline.extraction.business.records import Found
from dictionary_pipeline.extraction.business.replies import Replies, read_reply, says_yes

_ENDINGS = {
    "refusal": "the model declined to answer",
    "content_filter": "the provider's content filter stopped the answer",
    "length": "the answer was cut at its greatest length",
}
_OUTAGE = 3
"""Batches in a row that get no answer before the server counts as away."""
_NO_FORMAT = "the answer is not in the format that was asked for"


@dataclass
class Outcome:
    """How asking about a batch ended; what was answered before an error stays."""

    batch: Batch
    found: dict[str, Found] = field(default_factory=dict)
    """By the key of the unit."""
    open: set[str] = field(default_factory=set)
    """Units of which the model was not asked for all that it missed."""
    faults: dict[str, str] = field(default_factory=dict)
    """Units whose answer cannot be used, and why."""
    error: DictionaryError | None = None
    limit: str | None = None
    """The limit that was reached."""
    is_stopped: bool = False
    """Not asked, because earlier batches got no answer."""


class Interview:
    """Asks about batches; threads may share it."""

    def __init__(self, client: PaidClient, prompts: Prompts) -> None:
        self._client = client
        self._prompts = prompts
        self._lock = threading.Lock()
        self._in_a_row = 0
        self.stop: DictionaryError | None = None
        """Why nothing further is asked."""

    def ask(self, batch: Batch) -> Outcome:
        """Ask about one batch, in a thread of its own."""
        outcome = Outcome(batch)
        if self.stop is not None:
            outcome.is_stopped = True
            return outcome
        try:
            self._ask(batch, outcome)
        except BudgetReached as reached:
            outcome.limit = reached.limit
        except (ModelUnavailable, QuotaUsedUp, RequestRefused) as error:
            outcome.error = error
        self._watch(outcome.error)
        return outcome

    def _watch(self, error: DictionaryError | None) -> None:
        """Stop asking when the server is away or refuses everything."""
        with self._lock:
            self._in_a_row = self._in_a_row + 1 if error else 0
            if self._in_a_row >= _OUTAGE or isinstance(error, QuotaUsedUp):
                self.stop = error

    def _ask(self, batch: Batch, outcome: Outcome) -> None:
        prompt = messages(batch, self._prompts)
        reply = self._client.ask(batch, prompt)
        found = _read(reply, batch)
        if found is None and reply.ending == "stop":
            reply = self._client.ask(batch, prompt)  # a model that forgets the format once may keep it next time
            found = _read(reply, batch)
        if found is None and reply.ending != "stop" and len(batch.units) > 1:
            for half in batch.halves():
                self._ask(half, outcome)
        elif found is None:
            fault = _ENDINGS.get(reply.ending, _NO_FORMAT)
            outcome.faults |= {unit.key: fault for unit in batch.units}
        else:
            _add(outcome, found)
            self._glean(batch, [*prompt, _said(reply)], outcome)

    def _glean(self, batch: Batch, talk: Sequence[Message], outcome: Outcome) -> None:
        """Ask for what was missed, as often as configured and while the model says that there is more."""
        most = batch.settings.max_gleanings
        keys = {unit.key for unit in batch.units}
        talk = list(talk)
        outcome.open |= keys if most else set()
        for turn in range(most):
            talk.append({"role": "user", "content": self._prompts.more})
            reply = self._client.ask(batch, talk)
            found = _read(reply, batch)
            if found is None:
                break
            _add(outcome, found)
            talk.append(_said(reply))
            if turn == most - 1:
                break
            question = {"role": "user", "content": self._prompts.loop}
            if not says_yes(self._client.ask(LoopQuestion(), [*talk, question]).text):
                break
        outcome.open -= keys


def _read(reply: Reply, batch: Batch) -> Replies | None:
    """The records of a reply; a cut one holds whole records in the delimiter format only, and the loss is counted."""
    if reply.ending not in _ENDINGS:
        return read_reply(reply.text, batch)
    found = read_reply(reply.text, batch) if reply.ending == "length" and batch.settings.format == "delimited" else None
    return found and {key: one | Found(malformed=(_ENDINGS["length"],)) for key, one in found.items()}


def _add(outcome: Outcome, found: Mapping[str, Found]) -> None:
    for key, one in found.items():
        outcome.found[key] = outcome.found.get(key, Found()) | one


def _said(reply: Reply) -> Message:
    return {"role": "assistant", "content": reply.text}
