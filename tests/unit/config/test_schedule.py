"""When cron expressions are due and windows open, across changes of the clock too."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import islice, pairwise

import pytest
from config_project import ProjectFolder
from dagster._utils.schedules import cron_string_iterator
from hypothesis import given, settings
from hypothesis import strategies as st

from dictionary_pipeline.config.resolved import ProbeWindow, ScheduleSettings
from dictionary_pipeline.config.schedule import cron_fault, is_open, next_due, next_opening, period, previous_due

BERLIN = "Europe/Berlin"
CRONS = (
    "0 2 * * *",
    "*/15 * * * *",
    "30 1 * * mon-fri",
    "5 4 1,15 * *",
    "0 0 29 2 *",
    "0 6 1 * 1",
    "10-40/15 8-18/5 * jan,jul 0",
    "0 12 31 * *",
    "45 23 * * 5-7",
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CRONS), st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)))
def test_due_times_are_those_of_dagster(cron: str, start: datetime) -> None:
    now = start.replace(tzinfo=UTC)
    expected = [due.astimezone(UTC) for due in islice(cron_string_iterator(now.timestamp(), cron, "UTC"), 4)]
    at_now = expected[0] == now
    assert (previous_due(cron, "UTC", now) if at_now else next_due(cron, "UTC", now)) == expected[0]
    for earlier, later in pairwise(expected):
        assert next_due(cron, "UTC", earlier) == later
        assert previous_due(cron, "UTC", later - timedelta(seconds=1)) == earlier
        assert previous_due(cron, "UTC", later) == later


def test_a_time_of_day_is_that_of_the_time_zone_summer_and_winter() -> None:
    assert previous_due("0 2 * * *", BERLIN, utc("2026-01-10T12:00")) == utc("2026-01-10T01:00")
    assert previous_due("0 2 * * *", BERLIN, utc("2026-07-10T12:00")) == utc("2026-07-10T00:00")


def test_a_time_that_the_clock_skips_is_due_once_on_that_day() -> None:
    day = [utc("2026-03-28T23:00")]
    while day[-1] < utc("2026-03-30T00:00"):
        day.append(next_due("30 2 * * *", BERLIN, day[-1]))
    assert day[1:] == [utc("2026-03-29T01:00"), utc("2026-03-30T00:30")]


def test_a_time_that_the_clock_shows_twice_is_due_once() -> None:
    first = next_due("30 2 * * *", BERLIN, utc("2026-10-24T23:00"))
    assert first == utc("2026-10-25T00:30")
    assert next_due("30 2 * * *", BERLIN, first) == utc("2026-10-26T01:30")


def test_when_both_day_fields_are_given_either_is_enough_and_a_stepped_star_restricts_nothing_alone() -> None:
    assert next_due("0 0 13 * 5", "UTC", utc("2026-11-05T12:00")) == utc("2026-11-06T00:00")
    assert next_due("0 0 13 * 5", "UTC", utc("2026-11-06T12:00")) == utc("2026-11-13T00:00")
    assert next_due("0 0 */2 * 5", "UTC", utc("2026-11-05T12:00")) == utc("2026-11-13T00:00")


def test_the_period_is_the_longest_wait_between_two_due_times() -> None:
    now = utc("2026-11-25T12:00")
    assert period("0 2 * * *", "UTC", now) == timedelta(days=1)
    assert period("0 2 * * 1-5", "UTC", now) == timedelta(days=3)
    assert period("0 0 29 2 *", "UTC", now) == timedelta(days=1461)


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "0 0 31 4,6,9,11 *"])
def test_an_expression_that_is_never_due_is_refused(cron: str) -> None:
    assert "never due" in str(cron_fault(cron))
    assert cron_fault(f"{cron[:-1]}1") is None


def test_a_window_lasts_from_its_start_to_before_its_end_across_midnight() -> None:
    night = ProbeWindow(time(22), time(6), BERLIN)
    winter = {"20:59": False, "21:00": True, "23:30": True, "04:59": True, "05:00": False}
    assert {at: is_open(night, utc(f"2026-01-10T{at}")) for at in winter} == winter
    assert is_open(night, utc("2026-07-10T20:00"))
    assert next_opening(night, utc("2026-01-10T21:00")) == utc("2026-01-11T21:00")
    day = ProbeWindow(time(9), time(17, 30), "UTC")
    assert [is_open(day, utc(f"2026-01-10T{at}")) for at in ("08:59", "09:00", "17:29", "17:30")] == [
        False,
        True,
        True,
        False,
    ]


def test_a_database_has_the_schedule_of_its_file_over_that_of_the_project(project: ProjectFolder) -> None:
    project.write("project.yml", 'automation: {nightly_cron: "0 3 * * *", timezone: Asia/Tokyo}\n')
    connection = "connection: {type: sqlite, path: x.db}\n"
    project.write("databases/a.yml", connection)
    project.write("databases/b.yml", f"{connection}schedule: {{cron: '0 5 * * 1', timezone: Europe/Berlin}}\n")
    project.write(
        "databases/c.yml", f"{connection}schedule: {{timezone: UTC}}\nprobe: {{every: 2h, window: 9:00-17:30}}\n"
    )
    project.write("databases/d.yml", f"{connection}probe: {{every: 15, window: '22:00-06:00'}}\n")
    configs = project.load().databases
    assert configs["a"].schedule == ScheduleSettings("0 3 * * *", "Asia/Tokyo")
    assert configs["b"].schedule == ScheduleSettings("0 5 * * 1", BERLIN)
    assert configs["c"].schedule == ScheduleSettings("0 3 * * *", "UTC")
    assert configs["a"].probe.window is None and configs["a"].probe.every_minutes == 1
    assert (configs["c"].probe.every_minutes, configs["c"].probe.window) == (
        120,
        ProbeWindow(time(9), time(17, 30), "UTC"),
    )
    assert (configs["d"].probe.every_minutes, configs["d"].probe.window) == (
        15,
        ProbeWindow(time(22), time(6), "Asia/Tokyo"),
    )


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("schedule: {cron: '0 25 * * *'}", "schedule.cron: '25' is not a valid hour"),
        ("schedule: {timezone: Europe/Berlyn}", "unknown time zone 'Europe/Berlyn'"),
        ("probe: {every: 15s}", "'15s' is not a time from 1m to 7d"),
        ("probe: {every: 8d}", "'8d' is not a time from 1m to 7d"),
        ("probe: {every: 0}", "'0' is not a time from 1m to 7d"),
        ("probe: {window: 22-06}", "'22-06' is not a window of time"),
        ("probe: {window: '25:00-06:00'}", "'25:00-06:00' is not a window of time"),
        ("probe: {window: '06:00-06:00'}", "'06:00-06:00' is not a window of time"),
    ],
)
def test_a_mistake_in_schedule_or_probe_is_named(project: ProjectFolder, section: str, told: str) -> None:
    project.write("databases/a.yml", f"connection: {{type: sqlite, path: x.db}}\n{section}\n")
    [error] = project.errors()
    assert told in error
