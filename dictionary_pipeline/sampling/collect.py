"""Gathers the profiles of single tables into the frames of the whole database, sensitive values treated."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.sampling.plan import COLUMN_KEY, Action, SamplingPlan
from dictionary_pipeline.sampling.privacy import masked_of, withheld_of
from dictionary_pipeline.sampling.profile import ColumnProfile
from dictionary_pipeline.sampling.treatment import mask_set, raw_texts, treat
from dictionary_pipeline.sampling.verdicts import Judge

_POSITION = pl.UInt32()
_MEASURES = ("sampled_rows", "null_fraction", "distinct_estimate", "samples", "complete", "min", "max", "mean_length")
_measures = attrgetter(*_MEASURES)
_MEASURED: frames.Schema = {"position": _POSITION, **{name: frames.PROFILES[name] for name in _MEASURES}}
_STORED: frames.Schema = {"position": _POSITION, "value": pl.String(), "count": pl.Int64()}
_HIDDEN: frames.Schema = {"position": _POSITION, "value": pl.String()}
HIDDEN_VALUES: frames.Schema = {name: pl.String() for name in (*COLUMN_KEY, "value")}
_BATCH = 50_000
"""Python rows held before they become a frame: objects of a large database would fill memory."""


class TableSample(NamedTuple):
    """The profiles of one table's columns."""

    positions: list[int]
    """Rows of `SamplingPlan.columns`."""
    profiles: list[ColumnProfile]


class Collector:
    """Takes tables in any order and gives frames in the order of the catalog.

    Values of sensitive columns are treated as they come in; raw ones are only in `hidden_values`.
    """

    def __init__(self, plan: SamplingPlan, judge: Judge) -> None:
        self._columns = plan.columns
        self._judge = judge
        self._kept = pl.DataFrame(
            [(table.schema, table.table) for table in plan.tables if table.action is Action.KEEP],
            schema={"schema": pl.String, "table": pl.String},
            orient="row",
        )
        self._measured = _Batches(_MEASURED)
        self._stored = _Batches(_STORED)
        self._hidden = _Batches(_HIDDEN)

    def add(self, sample: TableSample) -> None:
        """Take the sample of one table."""
        rulings = self._judge.rule(sample.positions, sample.profiles)
        for position, profile, ruling in zip(sample.positions, sample.profiles, rulings, strict=True):
            treated = profile
            if ruling is not None and ruling.treatment != "allow":
                self._hidden.add([(position, text) for text in raw_texts(profile)])
                treated = treat(profile, ruling.treatment)
            self._measured.add([(position, *_measures(treated))])
            self._stored.add([(position, value, count) for value, count in treated.values])

    def keep(self, profiles: pl.DataFrame, values: pl.DataFrame) -> None:
        """Take over last time's rows of the tables that the plan keeps, treated as they are."""
        for schema, table in self._kept.iter_rows():
            self._judge.keep(schema, table)
        positions = self._columns.join(self._kept, on=["schema", "table"], how="semi").select("position", *COLUMN_KEY)
        measured = profiles.filter(pl.col("sampled_rows").is_not_null())
        self._measured.append(positions.join(measured, on=COLUMN_KEY, maintain_order="right"))
        self._stored.append(positions.join(values, on=COLUMN_KEY, maintain_order="right"))

    def profiles(self, allowed: pl.DataFrame, sensitivity: pl.DataFrame, *, unmeasured: str) -> pl.DataFrame:
        """All columns as `frames.PROFILES`.

        Args:
            allowed: Complete value sets (`allowed.ALLOWED`).
            sensitivity: `frames.SENSITIVITY` of the judge.
            unmeasured: Status of columns that are not withheld and yet were not measured.
        """
        columns = self._columns.drop("withheld").join(
            withheld_of(sensitivity).select(*COLUMN_KEY, withheld=pl.lit(True)),
            on=COLUMN_KEY,
            how="left",
            maintain_order="left",
        )
        withheld, measured = pl.col("withheld").is_not_null(), pl.col("sampled_rows").is_not_null()
        status = (
            pl.when(withheld).then(pl.lit("withheld")).when(measured).then(pl.lit("ok")).otherwise(pl.lit(unmeasured))
        )
        joined = (
            columns.join(self._measured.frame(), on="position", how="left", maintain_order="left")
            .join(_masked(allowed, sensitivity), on=COLUMN_KEY, how="left", maintain_order="left")
            .with_columns(
                pl.when(~withheld).then(pl.col("allowed_values", "allowed_values_origin")),
                pl.col("complete").fill_null(False),
                status=status,
            )
        )
        return frames.fit(joined, frames.PROFILES)

    def values(self) -> pl.DataFrame:
        """All stored values as `frames.VALUES`."""
        return frames.fit(self._named(self._stored), frames.VALUES)

    def hidden_values(self) -> pl.DataFrame:
        """Raw values of columns that are withheld or masked, as `HIDDEN_VALUES`: for the memory only."""
        return frames.fit(self._named(self._hidden), HIDDEN_VALUES)

    def _named(self, batches: _Batches) -> pl.DataFrame:
        rows = batches.frame().sort("position", maintain_order=True)
        names = self._columns.select(pl.col(COLUMN_KEY).gather(rows["position"]))
        return pl.concat([names, rows], how="horizontal")


def _masked(allowed: pl.DataFrame, sensitivity: pl.DataFrame) -> pl.DataFrame:
    """Complete value sets with those of masked columns masked."""
    masked = masked_of(sensitivity)
    shown = allowed.join(masked, on=COLUMN_KEY, how="anti")
    hidden = allowed.join(masked, on=COLUMN_KEY, how="semi")
    lists = pl.Series(map(mask_set, hidden["allowed_values"].to_list()), dtype=pl.List(pl.String))
    return pl.concat([shown, hidden.with_columns(lists.alias("allowed_values"))])


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
