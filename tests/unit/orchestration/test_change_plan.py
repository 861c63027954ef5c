"""Which databases a `schema_change` tick asks, requests and reports; and what a round does with hanging ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from datetime import time as time_of_day

import pytest

from dictionary_pipeline.config.resolved import ProbeSettings, ProbeWindow
from dictionary_pipeline.orchestration.change_sensor import ChangeCursor, ChangePlan, due, plan_changes
from dictionary_pipeline.orchestration.probing import Budget, Down, Outcome, Probed, ProbePool, Unwatched

NOW = 1_000_000.0


class Ticks:
    """Ticks in a row, each with the cursor that the last one left."""

    def __init__(self, *names: str, every: int = 1, window: ProbeWindow | None = None) -> None:
        self.settings = {name: ProbeSettings(every_minutes=every, window=window) for name in names}
        self.cursor = ChangeCursor()
        self.now = NOW

    def tick(self, outcomes: Mapping[str, Outcome], failed: tuple[str, ...] = ()) -> ChangePlan:
        asked = due(self.settings, self.cursor, self.now)
        reached = {name: outcome for name, outcome in outcomes.items() if name in asked}
        plan = plan_changes(self.settings, asked, reached, failed, self.cursor, self.now)
        self.cursor = ChangeCursor.parse(plan.cursor.dump())
        self.now += 60
        return plan


def test_a_moved_probe_is_requested_once() -> None:
    ticks = Ticks("a", "b")
    moved = {"a": Probed("2", "1"), "b": Probed("1", "1")}
    assert [request.database for request in ticks.tick(moved).requests] == ["a"]
    assert ticks.tick(moved).requests == ()


def test_a_schema_that_goes_back_and_forth_is_requested_each_time_with_another_key() -> None:
    ticks = Ticks("a")
    keys = []
    for probe, published in (("B", "A"), ("B", "B"), ("A", "B"), ("A", "A"), ("B", "A")):
        keys += [request.run_key for request in ticks.tick({"a": Probed(probe, published)}).requests]
    assert len(keys) == len(set(keys)) == 3


def test_a_cursor_that_was_reset_repeats_no_key() -> None:
    ticks = Ticks("a")
    keys = []
    for probe, published in (("B", "A"), ("A", "B"), ("B", "A")):
        ticks.cursor = ChangeCursor()
        keys += [request.run_key for request in ticks.tick({"a": Probed(probe, published)}).requests]
    assert len(keys) == len(set(keys)) == 3


@pytest.mark.parametrize("every", [1, 240])
def test_a_pause_that_a_wrong_clock_set_is_not_kept(every: int) -> None:
    ticks = Ticks("a", every=every)
    ticks.cursor = ChangeCursor(not_before={"a": NOW + 400 * 86_400}, down={"a": 1})
    plan = ticks.tick({"a": Probed("1", "1")})
    assert plan.back == ("a",)
    assert plan.cursor.not_before.get("a", NOW) < NOW + 86_400


def test_a_probe_that_moved_without_a_published_change_does_not_start_runs_for_ever() -> None:
    ticks = Ticks("a")
    requests = [ticks.tick({"a": Probed("2", "1")}).requests for _ in range(5)]
    assert [len(found) for found in requests] == [1, 0, 0, 0, 0]


def test_a_change_whose_run_failed_is_requested_again() -> None:
    ticks = Ticks("a")
    [first] = ticks.tick({"a": Probed("2", "1")}).requests
    [second] = ticks.tick({"a": Probed("2", "1")}, failed=("a",)).requests
    assert first.run_key != second.run_key
    assert ticks.tick({"a": Probed("2", "1")}, failed=("a",)).requests == ()


@pytest.mark.parametrize(("lasting", "most"), [(False, 8), (True, 5)])
def test_a_database_that_is_down_is_reported_once_asked_ever_less_and_its_return_is_told(
    lasting: bool, most: int
) -> None:
    ticks = Ticks("a")
    down = {"a": Down("refused", lasting)}
    asked = 0
    told = []
    for _ in range(60):
        asked += "a" in due(ticks.settings, ticks.cursor, ticks.now)
        told += list(ticks.tick(down).newly_down.values())
    assert told == ["refused"]
    assert asked == most
    ticks.now += 3_600
    assert ticks.tick({"a": Probed("1", "1")}).back == ("a",)
    assert ticks.cursor.down == {}


def test_a_change_made_while_a_database_was_down_is_not_lost() -> None:
    ticks = Ticks("a")
    ticks.tick({"a": Down("refused")})
    ticks.now += 3_600
    assert len(ticks.tick({"a": Probed("2", "1")}).requests) == 1


def test_rounds_start_behind_the_database_reached_last() -> None:
    ticks = Ticks("a", "b", "c")
    ticks.tick({"a": Probed("1", "1"), "b": Unwatched()})
    assert due(ticks.settings, ticks.cursor, ticks.now) == ["c", "a", "b"]


def test_a_database_is_asked_as_often_as_its_file_says() -> None:
    ticks = Ticks("a", every=5)
    asked = 0
    for _ in range(10):
        asked += "a" in due(ticks.settings, ticks.cursor, ticks.now)
        ticks.tick({"a": Probed("1", "1")})
    assert asked == 2


def test_a_database_with_a_window_is_asked_within_it_only_and_first_when_it_opens() -> None:
    ticks = Ticks("a", every=300, window=ProbeWindow(time_of_day(22), time_of_day(6), "UTC"))
    ticks.now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC).timestamp()
    asked = []
    for _ in range(36 * 60):
        if "a" in due(ticks.settings, ticks.cursor, ticks.now):
            asked.append(datetime.fromtimestamp(ticks.now, UTC).strftime("%d %H:%M"))
        ticks.tick({"a": Probed("1", "1")})
    assert asked == ["30 22:00", "01 03:00", "01 22:00"]


def test_a_change_while_the_window_was_shut_is_requested_when_it_opens() -> None:
    ticks = Ticks("a", window=ProbeWindow(time_of_day(22), time_of_day(6), "UTC"))
    ticks.now = datetime(2026, 11, 30, 21, 58, tzinfo=UTC).timestamp()
    requests = [len(ticks.tick({"a": Probed("2", "1")}).requests) for _ in range(4)]
    assert requests == [0, 0, 1, 0]


def test_what_is_no_longer_configured_is_forgotten() -> None:
    ticks = Ticks("a", "b")
    ticks.tick({"a": Down("refused"), "b": Probed("2", "1")})
    ticks.settings = {}
    ticks.tick({})
    assert (ticks.cursor.down, ticks.cursor.requested, ticks.cursor.not_before) == ({}, {}, {})


@pytest.mark.parametrize("window", [None, ProbeWindow(time_of_day(13), time_of_day(14), "UTC")])
def test_hanging_databases_cost_neither_the_others_nor_the_budget(window: ProbeWindow | None) -> None:
    release = threading.Event()
    names = [f"d{number:03}" for number in range(200)]

    def probe(name: str) -> Outcome:
        if int(name[1:]) % 10 == 0:
            release.wait()
        return Probed("1", "1")

    pool = ProbePool(Budget(workers=8, seconds_each=0.2, seconds=0.4))
    ticks = Ticks(*names, window=window)
    answered: set[str] = set()
    try:
        for _ in range(4):
            begin = time.monotonic()
            outcomes = pool.round(due(ticks.settings, ticks.cursor, ticks.now), probe)
            assert time.monotonic() - begin < 20
            answered |= {name for name, outcome in outcomes.items() if isinstance(outcome, Probed)}
            ticks.tick(outcomes)
    finally:
        release.set()
    assert len(answered) == 180
    assert len(ticks.cursor.down) == 20


def test_a_probe_that_still_hangs_is_not_started_again() -> None:
    release, calls = threading.Event(), []

    def probe(name: str) -> Outcome:
        calls.append(name)
        release.wait()
        return Unwatched()

    pool = ProbePool(Budget(workers=2, seconds_each=0.05, seconds=0.1))
    try:
        for _ in range(3):
            assert isinstance(pool.round(["a"], probe)["a"], Down)
    finally:
        release.set()
    assert calls == ["a"]
