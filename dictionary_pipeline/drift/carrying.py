"""What the next comparison starts from where a catalog proves too little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog
from dictionary_pipeline.drift.trust import Trust

_TABLE = ["schema", "table"]
_SAME = "_same"
_GLUE = "\0"
_IDENTITIES: Mapping[str, pl.Expr] = {
    "columns": pl.col("column").str.to_lowercase(),
    "keys": pl.when(pl.col("kind") == "primary")
    .then(pl.lit(""))
    .otherwise(pl.col("columns").list.sort().list.join(_GLUE)),
    "indexes": pl.col("columns").list.join(_GLUE),
    "foreign_keys": pl.col("from_columns").list.join(_GLUE),
    "checks": pl.coalesce("name", "expression"),
    "lineage": pl.concat_str(
        "view_column", "source_schema", "source_table", "source_column", separator=_GLUE, ignore_nulls=True
    ),
}
"""By what a part of a table is one that was compared: what it became is told already, so it is not carried."""


def carried(before: Catalog, after: Catalog, trust: Trust) -> Catalog | None:
    """What the next comparison starts from, so that no removal is lost and nothing is told twice.

    Returns:
        The later catalog with what it lacks of missing and doubtful tables taken from the earlier one; null where
        nothing is in doubt.
    """
    known = before.tables.select(_TABLE)
    shared = known.join(after.tables, on=_TABLE, how="semi")
    missing = known.clear()
    if trust.removals:
        named = pl.DataFrame(sorted(trust.doubtful), schema=known.schema, orient="row")
        shared = shared.join(named, on=_TABLE, how="semi")
    else:
        missing = known.join(after.tables, on=_TABLE, how="anti")
    if missing.is_empty() and shared.is_empty():
        return None
    doubted = pl.concat([missing, shared])
    parts: dict[str, Any] = {}
    for name, (_, order) in FRAME_SCHEMAS.items():
        owner = [column for column in order if column.endswith(("schema", "table", "view"))][:2]
        old, new = (getattr(side, name) for side in (before, after))
        old = old.join(doubted, left_on=owner, right_on=_TABLE, how="semi")
        parts[name] = _completed(name, owner, old, new).sort(order)
    return replace(after, **parts, problems=before.problems, complete=before.complete, fingerprint=None)


def _completed(name: str, owner: list[str], old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """The later rows, and the earlier ones of doubted tables that have no equal among them."""
    on = list(owner)
    if name != "tables":
        on.append(_SAME)
        old, new = (frame.with_columns(_IDENTITIES[name].alias(_SAME)) for frame in (old, new))
    kept = old.join(new, on=on, how="anti", nulls_equal=True)
    if name in ("tables", "columns"):
        new = _filled(new, old.unique(on), on)
    return pl.concat([new.select(kept.columns), kept]).drop(_SAME, strict=False)


def _filled(new: pl.DataFrame, old: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """Rows with the facts that they lack, as `tables.completed` reads them."""
    both = new.join(old.with_columns(known=True), on=on, how="left", suffix="_old", maintain_order="left")
    if "fingerprint" in new.columns:
        both = both.with_columns(fingerprint=pl.when("known").then(None).otherwise("fingerprint"))
        return both.with_columns(pl.coalesce(fact, f"{fact}_old") for fact in ("comment", "view_sql"))
    has_type = pl.col("data_type").is_not_null()
    typed = ("data_type", "type_class", "is_nullable", "enum_values")
    has_checks = pl.col("domain_checks").list.len().fill_null(0) > 0
    return both.with_columns(
        *(pl.when(has_type).then(fact).otherwise(pl.coalesce(f"{fact}_old", fact)) for fact in typed),
        *(pl.coalesce(fact, f"{fact}_old") for fact in ("default", "comment")),
        pl.when(has_checks).then("domain_checks").otherwise("domain_checks_old").alias("domain_checks"),
    )
