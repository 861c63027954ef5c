"""Asking within a budget, and what the stages of one run spent together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.model.asking import Message, Request, prompt_tokens
from dictionary_pipeline.enrichment.model.budget import Budget, BudgetReached, Usage
from dictionary_pipeline.enrichment.model.cache import AnswerStore
from dictionary_pipeline.enrichment.model.client import ModelClient, Reply

RUN_KEY = ".state/model_run.json"


class PaidClient:
    """A model that is asked only while the budget lasts; threads may share it."""

    def __init__(self, settings: ModelSettings, budget: Budget) -> None:
        self._settings = settings
        self._client = ModelClient(settings)
        self.budget = budget
        self.limit: str | None = None
        """The limit that was reached: nothing is asked any more."""

    def ask(self, question: Request, messages: Sequence[Message], *, divisible: bool = False) -> Reply:
        """Ask once.

        Args:
            divisible: Smaller requests may take this one's place, so that a limit which it exceeds is not reached yet.

        Raises:
            BudgetReached: the request could exceed a limit.
            DictionaryError: as `ModelClient.ask`.
        """
        if self.limit is not None:
            raise BudgetReached(self.limit)
        most = question.max_tokens + self._settings.reasoning_tokens
        try:
            reserved = self.budget.reserve(prompt_tokens(messages), most)
        except BudgetReached as reached:
            if not divisible:
                self.limit = reached.limit
            raise
        used = Usage(1)
        try:
            reply = self._client.ask(question, messages)
            used = reply.usage
        finally:
            self.budget.settle(reserved, used)
        return reply


def run_usage(store: AnswerStore, run_id: str) -> Usage:
    """What earlier stages of a run used, as far as `add_run_usage` noted it."""
    try:
        document = json.loads(store.read(RUN_KEY) or b"{}")
        return Usage(*map(int, document["used"])) if document.get("run_id") == run_id else Usage()
    except (ValueError, KeyError, TypeError, AttributeError):  # unreadable state is lost state
        return Usage()


def add_run_usage(store: AnswerStore, run_id: str, used: Usage) -> None:
    """Note what a stage used, for the limits of the stages after it; nothing is written when it used nothing."""
    if used.requests:
        total = run_usage(store, run_id) + used
        document = {"run_id": run_id, "used": list(astuple(total))}
        store.write(RUN_KEY, jsontext.pretty(document).encode())
