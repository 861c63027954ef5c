"""What a tick of `nightly_refresh` looks at and what it makes of the answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, ScheduleSettings
from dictionary_pipeline.orchestration.probing import Down, Probed, Unchanged, Unwatched
from dictionary_pipeline.orchestration.schedules import due_refreshes, in_turn, plan_refreshes, run_key
from dictionary_pipeline.verified import Verification

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)


def config(name: str, cron: str = "0 2 * * *", timezone: str = "UTC") -> DatabaseConfig:
    return DatabaseConfig(name, ConnectionSpec("sqlite"), schedule=ScheduleSettings(cron, timezone))


def verified(at: datetime) -> Verification:
    return Verification(at, "1", "m", "c", True)


def test_each_database_is_due_by_its_own_cron_and_time_zone() -> None:
    configs = {
        "utc": config("utc"),
        "tokyo": config("tokyo", timezone="Asia/Tokyo"),
        "later": config("later", cron="30 2 * * *"),
    }
    last = dict.fromkeys(configs, verified(NOW - timedelta(hours=5)))
    assert due_refreshes(configs, last, NOW) == {"utc": NOW}


def test_a_due_time_stays_due_until_something_verifies_the_database() -> None:
    configs = {"a": config("a")}
    yesterday = {"a": verified(NOW - timedelta(days=1))}
    for wait in (0, 15, 600):
        assert due_refreshes(configs, yesterday, NOW + timedelta(minutes=wait)) == {"a": NOW}
    assert due_refreshes(configs, {"a": verified(NOW)}, NOW + timedelta(minutes=15)) == {}


def test_due_times_missed_for_days_are_made_up_once() -> None:
    configs = {"a": config("a")}
    found = due_refreshes(configs, {"a": verified(NOW - timedelta(days=5))}, NOW + timedelta(hours=7))
    assert found == {"a": NOW}


def test_an_edited_cron_holds_from_the_next_due_time() -> None:
    last = {"a": verified(NOW)}
    assert due_refreshes({"a": config("a", cron="0 3 * * *")}, last, NOW + timedelta(minutes=45)) == {}
    at_three = NOW + timedelta(hours=1)
    assert due_refreshes({"a": config("a", cron="0 3 * * *")}, last, at_three) == {"a": at_three}


def test_only_databases_with_possible_work_are_run() -> None:
    outcomes = {
        "same": Unchanged(verified(NOW)),
        "moved": Probed("2", "1"),
        "unwatched": Unwatched(),
        "down": Down("refused"),
        "locked_out": Down("wrong password", lasting=True),
    }
    due = dict.fromkeys([*outcomes, "late"], NOW)
    plan = plan_refreshes(due, outcomes)
    assert sorted(plan.run_keys) == ["locked_out", "moved", "unwatched"]
    assert list(plan.verified) == ["same"]
    assert plan.silent == {"down": "refused"}
    assert plan.unreached == ("late",)
    assert plan.summary() == (
        "Runs requested: locked_out, moved, unwatched. Verified, nothing to do: same. "
        "No answer, asked again at the next tick: down. Not reached in time: late."
    )


def test_the_run_of_a_due_time_has_the_same_key_at_every_tick() -> None:
    assert run_key("a", NOW) == "a:due:2026-11-30T02:00:00+00:00"
    assert run_key("a", NOW + timedelta(days=1)) != run_key("a", NOW) != run_key("b", NOW)


def test_every_database_comes_first_at_some_tick() -> None:
    names = [f"d{number:03}" for number in range(50)]
    ticks = [in_turn(names, NOW + timedelta(minutes=15 * number)) for number in range(50)]
    assert all(sorted(tick) == names for tick in ticks)
    assert {name for tick in ticks[:4] for name in tick[:16]} == set(names)
    assert in_turn([], NOW) == []
