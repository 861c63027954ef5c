"""The freshness policy of `published_dictionary`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, SamplingLimits, ScheduleSettings
from dictionary_pipeline.definitions import defs
from dictionary_pipeline.orchestration.assets import asset_key
from dictionary_pipeline.orchestration.freshness import longest_quiet_time

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def config(max_age_hours: float, cron: str) -> DatabaseConfig:
    sampling = SamplingLimits(max_age_hours=max_age_hours)
    return DatabaseConfig("a", ConnectionSpec("sqlite"), sampling=sampling, schedule=ScheduleSettings(cron))


def test_the_window_is_what_the_database_that_is_published_most_often_allows() -> None:
    daily, weekly = config(168, "0 2 * * *"), config(24, "0 2 * * 0")
    assert longest_quiet_time([daily], NOW) == timedelta(days=8, hours=2)
    assert longest_quiet_time([daily, weekly, config(24, "0 2 * * 1-5")], NOW) == timedelta(days=4, hours=2)
    assert longest_quiet_time([], NOW) == timedelta(days=8, hours=2)


def test_only_the_published_dictionary_has_a_policy() -> None:
    specs = defs.resolve_all_asset_specs()
    with_policy = [spec.key for spec in specs if spec.freshness_policy is not None]
    assert with_policy == [asset_key("published_dictionary")]
