"""When Dagster's UI shows `published_dictionary` as overdue.

Dagster looks at the newest materialisation of an asset whatever its partition, and a look that finds nothing to
do materialises nothing. So the policy notices that refreshing has stopped altogether; per database
`data_dictionary status` tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import dagster as dg

from dictionary_pipeline.config.resolved import DatabaseConfig, SamplingLimits, ScheduleSettings
from dictionary_pipeline.config.schedule import period

_FOR_THE_RUN = timedelta(hours=2)
"""How long a run may wait and take."""


def longest_quiet_time(configs: Iterable[DatabaseConfig], now: datetime) -> timedelta:
    """How long it can take, with nothing wrong, until some database is published again.

    Each is at the first due time after its samples became too old.
    """
    known = [(config.sampling, config.schedule) for config in configs] or [(SamplingLimits(), ScheduleSettings())]
    return _FOR_THE_RUN + min(
        timedelta(hours=sampling.max_age_hours) + period(schedule.cron, schedule.timezone, now)
        for sampling, schedule in known
    )


def with_freshness(
    assets: Iterable[dg.AssetsDefinition], key: dg.AssetKey, configs: Iterable[DatabaseConfig]
) -> list[dg.AssetsDefinition]:
    """The same assets, of which `key` has a freshness policy that fits the configured databases."""
    policy = dg.FreshnessPolicy.time_window(longest_quiet_time(configs, datetime.now(UTC)))

    def applied(spec: dg.AssetSpec) -> dg.AssetSpec:
        return dg.apply_freshness_policy(spec, policy) if spec.key == key else spec

    return [definition.map_asset_specs(applied) for definition in assets]
