"""The published catalog frames: exact columns, sorted by key, estimates coarse and sticky."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from sqlglot import exp

from dictionary_pipeline import frames
from dictionary_pipeline.frames import Schema
from dictionary_pipeline.naming import title_words
from dictionary_pipeline.publishing.inputs import BundleInputs
from dictionary_pipeline.publishing.scrub import dialect_of

FOLDER = "catalog"
MASKED_NOTE = "; shown masked"
"""Ends `sensitivity_reason` of columns that show masks instead of values."""
_NOTES = {"mask": MASKED_NOTE, "allow": "; released by configuration"}
_KEEP_WITHIN = 0.2
_TABLE = ["schema", "table"]
_COLUMN = ["schema", "table", "column"]

_S, _LS, _B, _I, _F = pl.String(), pl.List(pl.String()), pl.Boolean(), pl.Int64(), pl.Float64()

PUBLISHED: Mapping[str, tuple[Schema, tuple[str, ...]]] = {
    "tables": (
        {
            "schema": _S,
            "table": _S,
            "kind": _S,
            "fqn": _S,
            "sql_name": _S,
            "entity_name": _S,
            "entity_name_source": _S,
            "comment": _S,
            "definition": _S,
            "definition_source": _S,
            "row_estimate": _I,
            "size_bytes": _I,
            "role": _S,
            "role_reason": _S,
            "view_sql": _S,
            "fingerprint": _S,
        },
        ("schema", "table"),
    ),
    "columns": (
        {
            "schema": _S,
            "table": _S,
            "column": _S,
            "ordinal": _I,
            "data_type": _S,
            "is_nullable": _B,
            "default": _S,
            "is_identity": _B,
            "is_generated": _B,
            "comment": _S,
            "definition": _S,
            "definition_source": _S,
            "sensitivity": _S,
            "sensitivity_reason": _S,
            "withheld": _B,
        },
        ("schema", "table", "ordinal"),
    ),
    "keys": (frames.KEYS, ("schema", "table", "kind", "name", "columns")),
    "indexes": (frames.INDEXES, ("schema", "table", "name", "columns")),
    "relationships": (
        {name: dtype for name, dtype in frames.RELATIONSHIPS.items() if name not in ("to_database", "to_stub")},
        ("from_schema", "from_table", "from_columns", "to_schema", "to_table", "to_columns", "name", "origin"),
    ),
    "lineage": (
        frames.LINEAGE,
        ("view_schema", "view", "view_column", "source_schema", "source_table", "source_column", "origin"),
    ),
    "value_profiles": (
        {
            "schema": _S,
            "table": _S,
            "column": _S,
            "sampled_rows": _I,
            "null_fraction": _F,
            "distinct_estimate": _I,
            "allowed_values": _LS,
            "allowed_values_origin": _S,
            "complete": _B,
            "min": _S,
            "max": _S,
        },
        ("schema", "table", "column"),
    ),
}
"""Frame name -> (columns in published order, sort order)."""


def build_catalog_frames(inputs: BundleInputs) -> dict[str, pl.DataFrame]:
    """Build the frames of `catalog/`, by name.

    Args:
        inputs: After `without_withheld`.
    """
    built = {
        "tables": _tables(inputs),
        "columns": _columns(inputs),
        "keys": inputs.keys,
        "indexes": inputs.catalog.indexes,
        "relationships": inputs.relationships,
        "lineage": inputs.lineage,
        "value_profiles": _value_profiles(inputs),
    }
    return {name: _ordered(built[name], *PUBLISHED[name]) for name in PUBLISHED}


def coarse(frame: pl.DataFrame, name: str, digits: int, previous: pl.DataFrame | None, on: list[str]) -> pl.DataFrame:
    """Round an estimate to significant digits, or keep the published one when it is within 20 %."""
    return _sticky(frame, name, pl.col(name).round_sig_figs(digits), previous, on)


def _sticky(
    frame: pl.DataFrame, name: str, rounded: pl.Expr, previous: pl.DataFrame | None, on: list[str]
) -> pl.DataFrame:
    if previous is None or name not in previous.columns:
        return frame.with_columns(rounded.alias(name))
    known = previous.select(*on, pl.col(name).cast(frame.schema[name]).alias("_known"))
    near = (pl.col(name) - pl.col("_known")).abs() <= _KEEP_WITHIN * pl.col("_known").abs()
    return (
        frame.join(known, on=on, how="left", maintain_order="left")
        .with_columns(pl.when(near).then(pl.col("_known")).otherwise(rounded).alias(name))
        .drop("_known")
    )


def _tables(inputs: BundleInputs) -> pl.DataFrame:
    identity, tables = inputs.catalog.identity, inputs.catalog.tables
    names = tables.select(_TABLE).rows()
    dialect = dialect_of(identity.engine)
    previous = inputs.previous.tables if inputs.previous else None
    # A table that was read whole was counted: better than the engine's estimate, and the same
    # whether or not the engine has ever collected statistics.
    counted = inputs.profiles.filter("complete").group_by(_TABLE).agg(pl.col("sampled_rows").max().alias("_counted"))
    built = (
        tables.with_columns(
            pl.Series("fqn", [identity.fqn(*name) for name in names], dtype=_S),
            pl.Series("sql_name", [_quoted(name, dialect) for name in names], dtype=_S),
            pl.Series("_words", [title_words(table) for _, table in names], dtype=_S),
        )
        .join(inputs.table_definitions, on=_TABLE, how="left", validate="m:1")
        .join(inputs.roles, on=_TABLE, how="left", validate="m:1")
        .join(counted, on=_TABLE, how="left")
        .with_columns(
            pl.coalesce("_counted", "row_estimate").alias("row_estimate"),
            pl.col("entity_name").fill_null(pl.col("_words")),
            pl.col("entity_name_source").fill_null("derived"),
            pl.col("definition_source").fill_null("none"),
            pl.col("role").fill_null("other"),
        )
    )
    built = coarse(built, "row_estimate", 1, previous, _TABLE)
    return coarse(built, "size_bytes", 1, previous, _TABLE)


def _quoted(name: tuple[str, str], dialect: str) -> str:
    return ".".join(exp.to_identifier(part, quoted=True).sql(dialect=dialect or None) for part in name)


def _columns(inputs: BundleInputs) -> pl.DataFrame:
    note = pl.col("treatment").replace_strict(_NOTES, default="")
    reasons = inputs.sensitivity.select(
        *_COLUMN,
        pl.col("category").alias("sensitivity"),
        pl.concat_str("reason", note).alias("sensitivity_reason"),
        pl.col("treatment").is_in(["deny", "withhold"]).alias("withheld"),
    )
    return (
        inputs.catalog.columns.join(inputs.column_definitions, on=_COLUMN, how="left", validate="m:1")
        .join(reasons, on=_COLUMN, how="left", validate="m:1")
        .with_columns(pl.col("withheld").fill_null(False), pl.col("definition_source").fill_null("none"))
    )


def _value_profiles(inputs: BundleInputs) -> pl.DataFrame:
    previous = inputs.previous.value_profiles if inputs.previous else None
    is_known = pl.col("complete") | (pl.col("allowed_values_origin") == "scan").fill_null(False)
    profiles = inputs.profiles.with_columns(is_known.alias("complete"))
    built = coarse(profiles, "distinct_estimate", 2, previous, _COLUMN)
    return _sticky(built, "null_fraction", pl.col("null_fraction").round(2), previous, _COLUMN)


def _ordered(frame: pl.DataFrame, schema: Schema, sort_by: tuple[str, ...]) -> pl.DataFrame:
    return frames.fit(frame, schema, sort_by=sort_by)
