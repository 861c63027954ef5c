"""One partition per database."""

from __future__ import annotations

import dagster as dg

databases = dg.DynamicPartitionsDefinition(name="databases")
"""Keys are the names of `dbt_like_configs/databases/*.yml`, kept in step by `database_registry`."""
