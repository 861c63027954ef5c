"""Keeps values of the value store in their places, so that a living table does not rewrite its files every night."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.sampling.plan import COLUMN_KEY


def keep_places(values: pl.DataFrame, previous: pl.DataFrame) -> pl.DataFrame:
    """Put the values of each column in the order of last time, those that are new behind them.

    Args:
        values: `frames.VALUES` of this sampling, new values in their order.
        previous: `frames.VALUES` of last time, in the order that was published.

    Returns:
        The same rows; the order of the columns stays.
    """
    known = [*COLUMN_KEY, "value"]
    places = previous.select(known).with_row_index("place")
    ordered = (
        values.with_row_index("row")
        .with_columns(first=pl.col("row").min().over(COLUMN_KEY))
        .join(places, on=known, how="left")
        .sort("first", "place", "row", nulls_last=True)
    )
    return frames.fit(ordered, frames.VALUES)
