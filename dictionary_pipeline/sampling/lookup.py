"""Value sets that a foreign key gives: a column that refers to a small code table may hold its codes."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.sampling.allowed import ALLOWED
from dictionary_pipeline.sampling.plan import COLUMN_KEY
from dictionary_pipeline.sampling.values import encode

MAX_LOOKUP_ROWS = 200
"""Rows of a referenced table whose keys are listed at most."""

_PARENT = ["to_schema", "to_table", "to_column"]


def lookup_sets(catalog: Catalog, profiles: pl.DataFrame, values: pl.DataFrame, hidden: pl.DataFrame) -> pl.DataFrame:
    """Keys of small referenced tables as the value sets of the columns that refer to them.

    Only text keys count, such as currency or country codes: numbers that stand for rows say nothing.
    The referenced table was read whole, the key consists of one column, and no sampled value of the
    referring column lies outside, which tells keys that the engine does not enforce.

    Args:
        catalog: Its validated foreign keys.
        profiles: `frames.PROFILES`.
        values: `frames.VALUES`.
        hidden: schema, table, column whose values must not be seen.

    Returns:
        Frame of schema `ALLOWED`; columns in the order of the catalog's foreign keys, each once.
    """
    text = catalog.columns.filter(pl.col("type_class") == "string").select(COLUMN_KEY)
    usable = text.join(hidden, on=COLUMN_KEY, how="anti")
    keys = _references(catalog).join(usable, on=COLUMN_KEY, how="semi", maintain_order="left")
    whole = profiles.filter(
        (pl.col("status") == "ok") & pl.col("complete") & pl.col("sampled_rows").is_between(1, MAX_LOOKUP_ROWS)
    )
    parents = (
        usable.join(keys, left_on=COLUMN_KEY, right_on=_PARENT, how="semi")
        .join(whole.select(*COLUMN_KEY, "distinct_estimate"), on=COLUMN_KEY)
        .join(values.group_by(COLUMN_KEY).agg(codes=pl.col("value")), on=COLUMN_KEY)
        # Values too long to be listed are missing among `values`.
        .filter(pl.col("codes").list.len() == pl.col("distinct_estimate"))
        .select(*COLUMN_KEY, pl.col("codes").list.sort())
    )
    found = keys.join(parents, left_on=_PARENT, right_on=COLUMN_KEY, maintain_order="left")
    outside = (
        found.join(values, on=COLUMN_KEY).filter(~pl.col("value").is_in(pl.col("codes"))).select(COLUMN_KEY).unique()
    )
    inside = found.join(outside, on=COLUMN_KEY, how="anti", maintain_order="left")
    rows = [
        (schema, table, column, [encode(code, "string") for code in codes], "lookup")
        for schema, table, column, codes in inside.select(*COLUMN_KEY, "codes").iter_rows()
    ]
    return frames.from_rows(rows, ALLOWED)


def _references(catalog: Catalog) -> pl.DataFrame:
    """Referring and referenced column of the validated keys of one column to another table, first key first."""
    single = catalog.foreign_keys.filter(
        (pl.col("from_columns").list.len() == 1)
        & pl.col("is_validated").fill_null(False)
        & pl.col("to_database").is_null()
        & ((pl.col("from_schema") != pl.col("to_schema")) | (pl.col("from_table") != pl.col("to_table")))
    )
    return single.select(
        schema="from_schema",
        table="from_table",
        column=pl.col("from_columns").list.first(),
        to_schema="to_schema",
        to_table="to_table",
        to_column=pl.col("to_columns").list.first(),
    ).unique(COLUMN_KEY, keep="first", maintain_order=True)
