"""Gathers the profiles of single tables into the frames of the whole database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.sampling.plan import COLUMN_KEY, Action, SamplingPlan
from dictionary_pipeline.sampling.profile import ColumnProfile

_POSITION = pl.UInt32()
_MEASURED: frames.Schema = {
    "position": _POSITION,
    **{
        name: frames.PROFILES[name]
        for name in (
            "sampled_rows",
            "null_fraction",
            "distinct_estimate",
            "samples",
            "complete",
            "min",
            "max",
            "mean_length",
        )
    },
}
_STORED: frames.Schema = {"position": _POSITION, "value": pl.String(), "count": pl.Int64()}
_BATCH = 50_000
"""Python rows held before they become a frame: objects of a large database would fill memory."""


class TableSample(NamedTuple):
    """The profiles of one table's columns."""

    positions: list[int]
    """Rows of `SamplingPlan.columns`."""
    profiles: list[ColumnProfile]


class Collector:
    """Takes tables in any order and gives frames in the order of the catalog."""

    def __init__(self, plan: SamplingPlan) -> None:
        self._columns = plan.columns
        self._kept = pl.DataFrame(
            [(table.schema, table.table) for table in plan.tables if table.action is Action.KEEP],
            schema={"schema": pl.String, "table": pl.String},
            orient="row",
        )
        self._measured = _Batches(_MEASURED)
        self._stored = _Batches(_STORED)

    def add(self, sample: TableSample) -> None:
        """Take the sample of one table."""
        for position, profile in zip(sample.positions, sample.profiles, strict=True):
            self._measured.add([(position, *profile[:-1])])
            self._stored.add([(position, value, count) for value, count in profile.values])

    def keep(self, profiles: pl.DataFrame, values: pl.DataFrame) -> None:
        """Take over last time's rows of the tables that the plan keeps."""
        positions = self._columns.join(self._kept, on=["schema", "table"], how="semi").select("position", *COLUMN_KEY)
        ok = profiles.filter(pl.col("status") == "ok")
        self._measured.append(positions.join(ok, on=COLUMN_KEY, maintain_order="right"))
        self._stored.append(positions.join(values, on=COLUMN_KEY, maintain_order="right"))

    def profiles(self, allowed: pl.DataFrame, *, unmeasured: str) -> pl.DataFrame:
        """All columns as `frames.PROFILES`.

        Args:
            allowed: Complete value sets (`allowed.ALLOWED`).
            unmeasured: Status of columns that are not withheld and yet were not measured.
        """
        withheld, measured = pl.col("withheld"), pl.col("sampled_rows").is_not_null()
        status = (
            pl.when(withheld).then(pl.lit("withheld")).when(measured).then(pl.lit("ok")).otherwise(pl.lit(unmeasured))
        )
        joined = (
            self._columns.join(self._measured.frame(), on="position", how="left", maintain_order="left")
            .join(allowed, on=COLUMN_KEY, how="left", maintain_order="left")
            .with_columns(
                pl.when(~withheld).then(pl.col("allowed_values", "allowed_values_origin")),
                pl.col("complete").fill_null(False),
                status=status,
            )
        )
        return frames.fit(joined, frames.PROFILES)

    def values(self) -> pl.DataFrame:
        """All stored values as `frames.VALUES`."""
        stored = self._stored.frame().sort("position", maintain_order=True)
        names = self._columns.select(pl.col(COLUMN_KEY).gather(stored["position"]))
        return frames.fit(pl.concat([names, stored], how="horizontal"), frames.VALUES)


class _Batches:
    """Rows that become frames in batches."""

    def __init__(self, schema: frames.Schema) -> None:
        self._schema = schema
        self._rows: list[tuple[object, ...]] = []
        self._frames = [frames.empty(schema)]

    def add(self, rows: Sequence[tuple[object, ...]]) -> None:
        self._rows += rows
        if len(self._rows) >= _BATCH:
            self._flush()

    def append(self, frame: pl.DataFrame) -> None:
        self._frames.append(frames.fit(frame, self._schema))

    def frame(self) -> pl.DataFrame:
        self._flush()
        return pl.concat(self._frames)

    def _flush(self) -> None:
        self._frames.append(frames.from_rows(self._rows, self._schema))
        self._rows = []
