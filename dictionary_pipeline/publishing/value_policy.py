"""Which columns' values go to the value store, and why: contract 3.2 as a function of known facts."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.patterns import ColumnFilter
from dictionary_pipeline.config.resolved import DatabaseConfig

ROLES = ("dimension", "lookup", "other")
"""Roles of tables whose values describe something; facts and bridges refer to those."""
VIEW_KINDS = ("view", "materialized_view")
POLICY: frames.Schema = {
    "schema": pl.String(),
    "table": pl.String(),
    "column": pl.String(),
    "stored": pl.Boolean(),
    "reason": pl.String(),
}
_COLUMN = ["schema", "table", "column"]


def value_store_policy(
    catalog: Catalog, roles: pl.DataFrame, withheld: pl.DataFrame, config: DatabaseConfig
) -> pl.DataFrame:
    """Decide for every text column; other columns are never stored.

    `value_store: exclude` and `include` override what roles and kinds say; a withheld column is never
    stored. Columns of nearly unique long texts have no values to store unless they are included.

    Args:
        catalog: Tables and columns.
        roles: `frames.ROLES`; tables without a role count as other.
        withheld: schema, table, column whose values are shown nowhere.
        config: `value_store` and `sampling.value_store_views`.

    Returns:
        Frame of schema `POLICY` in the order of the catalog's columns.
    """
    patterns = ColumnFilter(config.value_store)
    facts = (
        catalog.columns.filter(pl.col("type_class") == "string")
        .select(_COLUMN)
        .join(catalog.tables.select("schema", "table", "kind"), on=["schema", "table"], maintain_order="left")
        .join(roles.select("schema", "table", "role"), on=["schema", "table"], how="left", maintain_order="left")
        .join(withheld.select(*_COLUMN, withheld=pl.lit(True)).unique(), on=_COLUMN, how="left", maintain_order="left")
        .with_columns(pl.col("role").fill_null("other"), pl.col("withheld").fill_null(False))
    )
    names = facts.select(_COLUMN).rows()
    is_view = pl.col("kind").is_in(VIEW_KINDS) & (not config.sampling.value_store_views)
    decided = facts.with_columns(
        pl.Series("included", [patterns.includes(*name) for name in names], dtype=pl.Boolean),
        pl.Series("excluded", [patterns.excludes(*name) for name in names], dtype=pl.Boolean),
    ).with_columns(
        reason=pl.when("withheld")
        .then(pl.lit("its values are withheld"))
        .when("excluded")
        .then(pl.lit("excluded by a pattern of value_store"))
        .when("included")
        .then(pl.lit("included by a pattern of value_store"))
        .when(is_view)
        .then(pl.lit("its table is a view"))
        .otherwise(pl.format("its table is of role {}", "role")),
        stored=~pl.col("withheld")
        & ~pl.col("excluded")
        & (pl.col("included") | (~is_view & pl.col("role").is_in(ROLES))),
    )
    return frames.fit(decided, POLICY)
