"""What a publish would change, in the words of the dictionary: for dry runs."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.publishing.bundle import Bundle
from dictionary_pipeline.publishing.previous import PreviousBundle

_TEXTS: frames.Schema = {"object": pl.String(), "definition": pl.String()}
_RELATION = ("from_schema", "from_table", "from_columns", "to_schema", "to_table", "to_columns", "origin")


class Differences(NamedTuple):
    """Frames for people."""

    definitions: pl.DataFrame
    """object, before, after: tables and columns whose definition is new, changed or gone."""
    relationships: pl.DataFrame
    """change (added, removed), relationship, origin."""


def compare_bundles(previous: PreviousBundle | None, bundle: Bundle) -> Differences:
    """Compare definitions and relationships of the published bundle with those of a built one."""

    def old(name: str) -> pl.DataFrame | None:
        return previous.frame(name) if previous else None

    def new(name: str) -> pl.DataFrame:
        return bundle.frame(name)

    tables, columns, relations = (f"catalog/{name}.parquet" for name in ("tables", "columns", "relationships"))
    before, after = _texts(old(tables), old(columns)), _texts(new(tables), new(columns))
    texts = before.join(after, on="object", how="full", coalesce=True, suffix="_after")
    changed = texts.filter(pl.col("definition").ne_missing(pl.col("definition_after")))
    return Differences(
        changed.rename({"definition": "before", "definition_after": "after"}).sort("object"),
        _relation_changes(_relations(old(relations)), _relations(new(relations))),
    )


def _texts(tables: pl.DataFrame | None, columns: pl.DataFrame | None) -> pl.DataFrame:
    if tables is None or columns is None:
        return frames.empty(_TEXTS)
    return pl.concat(
        [
            tables.select(pl.concat_str("schema", "table", separator=".").alias("object"), "definition"),
            columns.select(pl.concat_str("schema", "table", "column", separator=".").alias("object"), "definition"),
        ]
    ).filter(pl.col("definition").is_not_null())


def _relations(frame: pl.DataFrame | None) -> pl.DataFrame:
    if frame is None:
        return frames.empty({"relationship": pl.String(), "origin": pl.String()})
    child = pl.format("{}.{} ({})", "from_schema", "from_table", pl.col("from_columns").list.join(", "))
    parent = pl.format("{}.{} ({})", "to_schema", "to_table", pl.col("to_columns").list.join(", "))
    return frame.select(_RELATION).select(pl.format("{} -> {}", child, parent).alias("relationship"), "origin").unique()


def _relation_changes(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    on = ["relationship", "origin"]
    added = after.join(before, on=on, how="anti").select(pl.lit("added").alias("change"), *on)
    removed = before.join(after, on=on, how="anti").select(pl.lit("removed").alias("change"), *on)
    return pl.concat([added, removed]).sort("change", *on)
