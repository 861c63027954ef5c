"""A first full load as one batch of the provider: cheaper than single requests, answered within a day.

What is under way is noted in the store before and after the batch is created, so that a killed run
neither pays twice nor forgets what it ordered. Answers go into the same cache as all others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.model.answers import Answer, read_answer
from dictionary_pipeline.enrichment.model.asking import Message, Question, prompt_tokens
from dictionary_pipeline.enrichment.model.budget import Budget, BudgetReached, Reservation, Usage
from dictionary_pipeline.enrichment.model.cache import AnswerStore
from dictionary_pipeline.enrichment.model.client import (
    ModelClient,
    ModelUnavailable,
    QuotaUsedUp,
    Reply,
    RequestRefused,
    as_failure,
    connected,
    reply_of,
)
from dictionary_pipeline.enrichment.model.facts import TableFacts
from dictionary_pipeline.enrichment.model.sharing import Shared
from dictionary_pipeline.enrichment.model.texts import Guard
from dictionary_pipeline.errors import ConfigurationError, DictionaryError

if TYPE_CHECKING:
    import openai

PENDING_KEY = ".state/model_batch.json"
FEWEST = 20
"""Requests below which a batch is not worth waiting for."""
_MOST = 50_000
"""Requests of a batch: OpenAI's limit."""
_FORMAT = 1
_UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling")
_WINDOW: Literal["24h"] = "24h"
_PASSING = (ModelUnavailable, QuotaUsedUp, RequestRefused)
"""Failures of a provider that are no reason to give up a run."""

Result = TypeVar("Result")


class BatchKeeper(AnswerStore, Protocol):
    """What noting a batch needs of a store."""

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; absent ones are fine."""


@dataclass(frozen=True)
class Pending:
    """A batch that was ordered."""

    file: str
    """The provider's id of its requests."""
    batch: str | None
    """The provider's id; null: whether it was created is not known."""
    requests: Mapping[str, Sequence[str]]
    """Name of a request -> keys of the tables that it asks about."""
    reserved: Reservation
    """What it may use at most."""


@dataclass(frozen=True)
class Order:
    """One request of a batch."""

    request: Question | Shared
    keys: tuple[str, ...]
    """Keys of the tables that it asks about."""
    prompt: Sequence[Message]


def load_pending(store: AnswerStore) -> Pending | None:
    """The batch that is under way; null when there is none."""
    try:
        document = json.loads(store.read(PENDING_KEY) or b"{}")
        if document.get("format") != _FORMAT:
            return None
        usage, cost, day = document["reserved"]
        reserved = Reservation(Usage(*usage), cost, day)
        return Pending(document["file"], document["batch"], document["requests"], reserved)
    except (ValueError, KeyError, TypeError, AttributeError):  # unreadable state is lost state
        return None


def is_answered(store: AnswerStore, settings: ModelSettings) -> str | None:
    """The id of the database's batch when the provider is done with it; null while there is nothing to collect.

    Raises:
        DictionaryError: the provider cannot be asked.
    """
    pending = load_pending(store)
    if pending is None:
        return None
    found = _found(pending, settings)
    return None if found is not None and found.status in _UNDER_WAY else pending.batch or pending.file


class BatchDesk:
    """Orders and collects the batch of one database."""

    def __init__(self, settings: ModelSettings, store: BatchKeeper, budget: Budget, guard: Guard) -> None:
        self._settings, self._store, self._budget, self._guard = settings, store, budget, guard
        self.pending = load_pending(store)

    def collect(self, facts: Mapping[str, TableFacts], keep: Callable[[str, Answer], None]) -> bool:
        """Take in what the provider answered, if it is done; what a table then lacks is asked for as usual.

        Args:
            facts: Key of a table -> what it is now; a table that changed meanwhile has another key.
            keep: Called with the key of each table and what was answered about it.

        Returns:
            Whether a batch was taken in; also where the provider cannot be asked at the moment, it stays ordered.

        Raises:
            ConfigurationError: key, model or address are wrong.
        """
        if self.pending is None:
            return False
        try:
            found = _found(self.pending, self._settings)
            if found is not None and found.status in _UNDER_WAY:
                return False
            output = self._output(found)
        except _PASSING:
            return False
        self._budget.adopt(self.pending.reserved)
        used = Usage()
        answers: dict[str, Answer] = {}
        for name, reply in _replies(output):
            used += reply.usage
            for key, answer in self._read(self.pending.requests.get(name, ()), facts, reply.text):
                answers[key] = answers.get(key, Answer()) | answer
        for key, answer in answers.items():
            keep(key, answer)
        # In this order, as one that dies in between must not settle twice: what was set aside counts as spent then.
        self._store.delete([PENDING_KEY])
        self._budget.settle(self.pending.reserved, used)
        self._tidy(self.pending.file, found)
        was_ordered = found is not None or self.pending.batch is not None
        self.pending = None
        return was_ordered

    def order(self, orders: Sequence[Order]) -> Sequence[Order]:
        """Send requests as a batch; returns those that the budget allows, which are all sent.

        Raises:
            ConfigurationError: key, model or address are wrong, or the server takes no batches.
            ModelUnavailable: the server did not answer.
        """
        client = ModelClient(self._settings)
        lines: dict[str, str] = {}
        sent: list[Order] = []
        reserved: list[Reservation] = []
        for number, order in enumerate(orders[:_MOST]):
            most = order.request.max_tokens + self._settings.reasoning_tokens
            try:
                reserved.append(self._budget.reserve(prompt_tokens(order.prompt), most))
            except BudgetReached:
                break
            body = client.body(order.request, order.prompt) | {
                "model": self._settings.batch_model or self._settings.model
            }
            line = {"custom_id": f"r{number}", "method": "POST", "url": self._path, "body": body}
            lines[f"r{number}"] = json.dumps(line, ensure_ascii=False)
            sent.append(order)
        if not sent:
            return ()
        total = _total(reserved)
        requests = {name: order.keys for name, order in zip(lines, sent, strict=True)}
        content = ("\n".join(lines.values()) + "\n").encode()
        file = _required(self._settings, lambda openai: openai.files.create(file=("r.jsonl", content), purpose="batch"))
        self._note(Pending(file.id, None, requests, total))
        path: Any = self._path
        batch = _required(
            self._settings,
            lambda openai: openai.batches.create(input_file_id=file.id, endpoint=path, completion_window=_WINDOW),
        )
        self._note(Pending(file.id, batch.id, requests, total))
        return sent

    @property
    def _path(self) -> str:
        return "/chat/completions" if self._settings.provider == "azure" else "/v1/chat/completions"

    def _note(self, pending: Pending) -> None:
        self.pending = pending
        usage = pending.reserved.usage
        counts = [usage.requests, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens]
        document = {
            "format": _FORMAT,
            "file": pending.file,
            "batch": pending.batch,
            "requests": {name: list(keys) for name, keys in pending.requests.items()},
            "reserved": [counts, pending.reserved.cost, pending.reserved.day],
        }
        self._store.write(PENDING_KEY, jsontext.pretty(document).encode())

    def _tidy(self, file: str, batch: openai.types.Batch | None) -> None:
        """Delete what the provider keeps of the questions and answers."""
        names = [file, *((batch.output_file_id, batch.error_file_id) if batch else ())]
        for name in filter(None, names):
            # Nothing depends on it, and what is under way is already settled.
            with suppress(*_PASSING):
                _call(self._settings, partial(_delete_file, name))

    def _output(self, batch: openai.types.Batch | None) -> str:
        """The provider's file of answers; empty when there is none."""
        name = batch.output_file_id if batch else None
        return (_call(self._settings, lambda openai: openai.files.content(name).text) if name else None) or ""

    def _read(self, keys: Sequence[str], facts: Mapping[str, TableFacts], text: str) -> Iterator[tuple[str, Answer]]:
        """What was answered about each table that is still as it was."""
        whole = {key: Question(facts[key], True, True, facts[key].columns) for key in keys if key in facts}
        if len(keys) == 1:
            answers = [read_answer(text, question, self._guard) for question in whole.values()]
        else:
            answers = Shared(tuple(whole.values())).read(text, self._guard)
        for key, answer in zip(whole, answers, strict=True):
            yield key, replace(answer, faults=())


def _replies(output: str) -> Iterator[tuple[str, Reply]]:
    """Each request that was answered, by its name; all others are asked as usual."""
    for line in output.split("\n"):
        try:
            document = json.loads(line)
            reply = reply_of(document["response"]["body"])
            yield str(document["custom_id"]), reply
        except (ValueError, KeyError, TypeError):  # no answer, but an error of that request
            continue


def _delete_file(name: str, client: openai.OpenAI) -> None:
    client.files.delete(name)


def _found(pending: Pending, settings: ModelSettings) -> openai.types.Batch | None:
    """The batch as the provider has it; null when it has none."""
    known = pending.batch
    if known is not None:
        return _call(settings, lambda openai: openai.batches.retrieve(known))
    listed = _call(settings, lambda openai: openai.batches.list(limit=100))
    return next((batch for batch in listed.data if batch.input_file_id == pending.file), None) if listed else None


def _required(settings: ModelSettings, work: Callable[[openai.OpenAI], Result]) -> Result:
    """One call whose result is there, unless the server knows no batches.

    Raises:
        DictionaryError: what the client's error means.
    """
    found = _call(settings, work)
    if found is None:
        what = "the server takes no batches, or the address is wrong"
        raise ConfigurationError(what, where="the language model", fix="Delete 'batch: true' of 'model:'.")
    return found


def _call(settings: ModelSettings, work: Callable[[openai.OpenAI], Result]) -> Result | None:
    """One call of the provider's client; null when what is asked for is not there.

    Raises:
        DictionaryError: what the client's error means.
    """
    import openai

    failure: DictionaryError
    try:
        return work(connected(settings))
    except openai.NotFoundError:
        return None
    except openai.OpenAIError as error:
        failure = as_failure(error, settings)
    # Raised outside the handler: the server's text can quote what it was sent.
    raise failure


def _total(reserved: Sequence[Reservation]) -> Reservation:
    usage = sum((item.usage for item in reserved), Usage())
    return Reservation(usage, sum(item.cost for item in reserved), reserved[-1].day)
