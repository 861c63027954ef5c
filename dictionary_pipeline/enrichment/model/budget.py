"""What a run may spend, checked before each request and settled after it."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.model_settings import ModelBudget, ModelPrice
from dictionary_pipeline.errors import StoreConflict

LEDGER_KEY = ".state/model_budget.json"
_MICRO = 1_000_000
_CONFLICTS = 100
_FORMAT = 1


@dataclass(frozen=True)
class Usage:
    """What requests used, as the provider counted it."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    @property
    def tokens(self) -> int:
        """Prompt and answer."""
        return self.prompt_tokens + self.completion_tokens


def micro_cost(usage: Usage, price: ModelPrice | None) -> int:
    """Cost in millionths of the price's currency; 0 when no price is known."""
    if price is None:
        return 0
    cached = price.input if price.cached_input is None else price.cached_input
    fresh = usage.prompt_tokens - usage.cached_tokens
    # A price is for a million tokens, so tokens times price are millionths.
    return round(fresh * price.input + usage.cached_tokens * cached + usage.completion_tokens * price.output)


class BudgetReached(Exception):
    """A request would exceed a limit; `limit` is the limit's name in the configuration."""

    def __init__(self, limit: str) -> None:
        self.limit = limit
        super().__init__(limit)


class Versioned(Protocol):
    """Content with the tag that a conditional write must name."""

    @property
    def data(self) -> bytes:
        """The content."""

    @property
    def etag(self) -> str:
        """Its tag."""


class LedgerStore(Protocol):
    """What the shared ledger needs of a store."""

    def read_versioned(self, key: str) -> Versioned | None:
        """Content and etag, or null when there is none."""

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        """Write if the object still has `etag`; raises StoreConflict otherwise."""


class Ledger:
    """What all databases of a project spent, by UTC day, in the store that they share.

    Every change is a conditional write on what was read, so that runs at the same time never lose
    each other's spending. What a killed run had reserved stays counted as spent.
    """

    def __init__(self, store: LedgerStore, today: Callable[[], date]) -> None:
        self._store = store
        self._today = today

    def book(self, amount: int, limits: ModelBudget) -> str:
        """Add an amount to today's spending, within the limits unless it is negative; the day.

        Raises:
            BudgetReached: a limit of the day or month would be exceeded; nothing was added.
        """
        day = self._today().isoformat()
        self._change(day, amount, limits)
        return day

    def settle(self, day: str, difference: int) -> None:
        """Correct what was booked on a day by what was really spent."""
        if difference:
            self._change(day, difference, ModelBudget())

    def _change(self, day: str, amount: int, limits: ModelBudget) -> None:
        for _ in range(_CONFLICTS):
            current = self._store.read_versioned(LEDGER_KEY)
            days = spent_by_day(current.data) if current else {}
            month = sum(spent for other, spent in days.items() if other[:7] == day[:7])
            _require(days.get(day, 0) + amount, limits.max_cost_per_day, "max_cost_per_day")
            _require(month + amount, limits.max_cost_per_month, "max_cost_per_month")
            days[day] = days.get(day, 0) + amount
            kept = {other: spent for other, spent in sorted(days.items()) if other[:4] >= str(int(day[:4]) - 1)}
            document = jsontext.pretty({"format": _FORMAT, "unit": "millionths", "days": kept}).encode()
            try:
                self._store.swap(LEDGER_KEY, document, current.etag if current else None)
                return
            except StoreConflict:
                time.sleep(random.uniform(0.0, 0.05))
        raise StoreConflict(
            "the record of model spending is written by too many runs at once", where=LEDGER_KEY, fix="Run again."
        )


def spent_by_day(data: bytes) -> dict[str, int]:
    """Spending by day in millionths; a damaged record counts as empty rather than stopping every run for good."""
    try:
        days = json.loads(data)["days"]
        return {str(day): int(spent) for day, spent in days.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _require(amount: int, limit: float | None, name: str) -> None:
    if limit is not None and amount > limit * _MICRO:
        raise BudgetReached(name)


@dataclass(frozen=True)
class Reservation:
    """What one request may use at most."""

    usage: Usage
    cost: int
    day: str | None


class Budget:
    """Limits of one run and what a stage of it used; threads may share it.

    Args:
        before: What earlier stages of the run used; it counts against the limits only.
    """

    def __init__(
        self, limits: ModelBudget, price: ModelPrice | None, ledger: Ledger | None, before: Usage = Usage()
    ) -> None:
        self._limits = limits
        self._before = before
        self._price = price
        self._ledger = ledger if price is not None else None
        self._lock = threading.Lock()
        self._open = Usage()
        self.used = Usage()

    @property
    def cost(self) -> float:
        """What was spent so far, in the currency of the price."""
        return micro_cost(self.used, self._price) / _MICRO

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> Reservation:
        """Set aside what a request may use at most.

        Raises:
            BudgetReached: it would exceed a limit.
        """
        usage = Usage(1, prompt_tokens, 0, completion_tokens)
        with self._lock:
            total = self._before + self.used + self._open + usage
            if self._limits.max_requests is not None and total.requests > self._limits.max_requests:
                raise BudgetReached("max_requests")
            if self._limits.max_tokens is not None and total.tokens > self._limits.max_tokens:
                raise BudgetReached("max_tokens")
            _require(micro_cost(total, self._price), self._limits.max_cost, "max_cost")
            cost = micro_cost(usage, self._price)
            day = self._ledger.book(cost, self._limits) if self._ledger else None
            self._open += usage
        return Reservation(usage, cost, day)

    def adopt(self, reserved: Reservation) -> None:
        """Take over what an earlier run had set aside, to settle it in this one."""
        with self._lock:
            self._open += reserved.usage

    def settle(self, reserved: Reservation, used: Usage) -> None:
        """Replace what was set aside by what was used."""
        with self._lock:
            left = reserved.usage
            self._open += Usage(-left.requests, -left.prompt_tokens, -left.cached_tokens, -left.completion_tokens)
            self.used += used
            if self._ledger and reserved.day:
                self._ledger.settle(reserved.day, micro_cost(used, self._price) - reserved.cost)
