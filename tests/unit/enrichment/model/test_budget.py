"""Limits hold whatever runs at the same time."""

from __future__ import annotations

import json
import threading
from datetime import date
from pathlib import Path

import pytest

from dictionary_pipeline.config.model_settings import ModelBudget, ModelPrice
from dictionary_pipeline.enrichment.model.budget import (
    LEDGER_KEY,
    Budget,
    BudgetReached,
    Ledger,
    Usage,
    micro_cost,
)
from dictionary_pipeline.publishing.local import LocalStore

PRICE = ModelPrice(input=2.0, output=8.0, cached_input=0.5)


def ledger(folder: Path, day: date = date(2030, 3, 31)) -> Ledger:
    return Ledger(LocalStore(folder), lambda: day)


def spent(folder: Path) -> dict[str, int]:
    days: dict[str, int] = json.loads((folder / LEDGER_KEY).read_text())["days"]
    return days


def test_cost_counts_cached_tokens_at_their_own_price() -> None:
    assert micro_cost(Usage(1, 1000, 400, 100), PRICE) == 600 * 2 + 400 * 0.5 + 100 * 8


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (ModelBudget(max_requests=2), "max_requests"),
        (ModelBudget(max_tokens=400), "max_tokens"),
        (ModelBudget(max_cost=0.0015), "max_cost"),
    ],
)
def test_a_request_that_would_exceed_a_limit_is_not_made(tmp_path: Path, limits: ModelBudget, name: str) -> None:
    budget = Budget(limits, PRICE, None)
    for _ in range(2):
        budget.settle(budget.reserve(100, 50), Usage(1, 90, 0, 50))
    with pytest.raises(BudgetReached) as caught:
        budget.reserve(100, 50)
    assert caught.value.limit == name
    assert budget.used == Usage(2, 180, 0, 100)


def test_what_is_under_way_counts(tmp_path: Path) -> None:
    budget = Budget(ModelBudget(max_requests=1), None, None)
    budget.reserve(1, 1)
    with pytest.raises(BudgetReached):
        budget.reserve(1, 1)


def test_day_and_month_are_limited_over_runs_and_months_start_anew(tmp_path: Path) -> None:
    limits = ModelBudget(max_cost_per_day=0.002, max_cost_per_month=0.003)
    for day, allowed in ((date(2030, 3, 30), 2), (date(2030, 3, 31), 1), (date(2030, 4, 1), 2)):
        made = 0
        with pytest.raises(BudgetReached):
            while True:
                budget = Budget(limits, PRICE, ledger(tmp_path, day))
                budget.settle(budget.reserve(100, 100), Usage(1, 100, 0, 100))
                made += 1
        assert made == allowed, day
    assert spent(tmp_path) == {"2030-03-30": 2000, "2030-03-31": 1000, "2030-04-01": 2000}


def test_runs_at_the_same_time_lose_nothing_of_each_others_spending(tmp_path: Path) -> None:
    def run() -> None:
        budget = Budget(ModelBudget(max_cost_per_day=100), PRICE, ledger(tmp_path))
        for _ in range(10):
            budget.settle(budget.reserve(500, 500), Usage(1, 100, 0, 100))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spent(tmp_path) == {"2030-03-31": 40 * 1000}


def test_what_a_killed_run_had_set_aside_stays_counted(tmp_path: Path) -> None:
    Budget(ModelBudget(max_cost_per_day=1), PRICE, ledger(tmp_path)).reserve(100, 100)
    assert spent(tmp_path) == {"2030-03-31": 1000}


def test_a_damaged_record_does_not_stop_every_run(tmp_path: Path) -> None:
    (tmp_path / ".state").mkdir()
    (tmp_path / LEDGER_KEY).write_text("{")
    Budget(ModelBudget(max_cost_per_day=1), PRICE, ledger(tmp_path)).reserve(100, 100)
    assert spent(tmp_path) == {"2030-03-31": 1000}


def test_spending_is_recorded_wherever_there_is_a_price_to_tell_it(tmp_path: Path) -> None:
    Budget(ModelBudget(max_requests=1), None, ledger(tmp_path)).reserve(1, 1)
    assert not (tmp_path / LEDGER_KEY).exists()
    budget = Budget(ModelBudget(), PRICE, ledger(tmp_path))
    budget.settle(budget.reserve(500, 500), Usage(1, 100, 0, 100))
    assert spent(tmp_path) == {"2030-03-31": 1000}
