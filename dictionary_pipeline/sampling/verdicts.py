"""Judges the columns of one sampling: which are sensitive, and what is done with the values of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.sampling.privacy import Name, Policy, Ruling, verdicts_of
from dictionary_pipeline.sampling.profile import ColumnProfile
from dictionary_pipeline.sampling.sensitivity.detect import detect
from dictionary_pipeline.sampling.sensitivity.model import ColumnEvidence, Verdict

_NAME = ["schema", "table", "column"]
_FIELDS = ("schema", "table", "column", "data_type", "type_class", "comment")


class Judge:
    """Rules on every column once, table by table and in any order of tables.

    A column whose values were seen is judged by them, whatever was thought of it before. One whose
    values were not seen this time keeps the verdict of last time; without one, its name decides.
    """

    def __init__(self, catalog: Catalog, policy: Policy, denied: pl.DataFrame, previous: pl.DataFrame) -> None:
        """Take `frames.SENSITIVITY` of the denied columns, and of last time."""
        self._policy = policy
        self._denied = denied
        self._never_read = set(denied.select(_NAME).iter_rows())
        self._columns = catalog.columns.select(_FIELDS)
        self._before = verdicts_of(previous)
        self._rulings: dict[int, Ruling] = {}
        self._judged: set[tuple[str, str]] = set()
        spans = self._columns.with_row_index("first").group_by("schema", "table").agg(pl.col("first").min(), pl.len())
        self._spans = {(schema, table): (first, count) for schema, table, first, count in spans.iter_rows()}

    def rule(self, positions: Sequence[int], profiles: Sequence[ColumnProfile]) -> list[Ruling | None]:
        """Judge columns of one table that were read.

        Args:
            positions: Their rows in the catalog's columns.
            profiles: What was measured, evidence included.
        """
        seen = {position: profile.evidence for position, profile in zip(positions, profiles, strict=True)}
        if seen:
            schema, table = self._columns.row(next(iter(seen)))[:2]
            self._judge(schema, table, seen)
        return [self._rulings.get(position) for position in positions]

    def keep(self, schema: str, table: str) -> None:
        """Rule on a table of last time, whose values are kept: by the verdicts of then."""
        self._judged.add((schema, table))
        first, count = self._spans[schema, table]
        for position, row in enumerate(self._columns.slice(first, count).iter_rows(), first):
            self._settle(position, row[:3], self._before.get(row[:3]))

    def sensitivity(self) -> pl.DataFrame:
        """Rule on what was neither read nor kept, and tell all: `frames.SENSITIVITY` in catalog order."""
        for schema, table in self._spans.keys() - self._judged:
            self._judge(schema, table, {})
        names = self._columns.select(_NAME)
        ruled = frames.from_rows(
            [ruling.row(names.row(position)) for position, ruling in self._rulings.items()], frames.SENSITIVITY
        )
        together = pl.concat([self._denied, ruled])
        return frames.fit(names.join(together, on=_NAME, how="inner", maintain_order="left"), frames.SENSITIVITY)

    def _judge(self, schema: str, table: str, seen: dict[int, tuple[str, ...]]) -> None:
        self._judged.add((schema, table))
        first, count = self._spans[schema, table]
        rows = self._columns.slice(first, count).rows()
        siblings = tuple(row[2] for row in rows)
        for position, (_, _, column, data_type, type_class, comment) in enumerate(rows, first):
            name = (schema, table, column)
            if name in self._never_read:
                continue
            values = seen.get(position, ())
            evidence = ColumnEvidence(schema, table, column, data_type, type_class, comment, values, siblings)
            before = self._before.get(name)
            is_kept = not values and (before is not None or self._policy.was_clear(name))
            verdict = before if is_kept else detect(evidence)
            if before and verdict and before.category == verdict.category:
                verdict = before  # its percentages would move with every night's new rows
            self._settle(position, name, verdict)

    def _settle(self, position: int, name: Name, verdict: Verdict | None) -> None:
        if name in self._never_read:
            return
        ruling = self._policy.ruling(name, verdict)
        if ruling is not None:
            self._rulings[position] = ruling


def readable_profiles(profiles: pl.DataFrame, sensitivity: pl.DataFrame) -> pl.DataFrame:
    """Last time's profiles with the status that the reading had: `withheld` for denied columns only."""
    read = sensitivity.filter(pl.col("treatment") == "withhold").select(*_NAME, read=pl.lit(True))
    status = pl.when(pl.col("sampled_rows").is_not_null()).then(pl.lit("ok")).otherwise(pl.lit("failed"))
    return (
        profiles.join(read, on=_NAME, how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("read")).then(status).otherwise("status").alias("status"))
        .drop("read")
    )


def wider(
    only: Callable[[str, str], bool] | None, catalog: Catalog, policy: Policy, previous: pl.DataFrame
) -> Callable[[str, str], bool] | None:
    """`only`, and the tables of which the policy now treats a column differently than what is kept of it.

    Args:
        only: Whether a table is to be read; null: all are.
        previous: `frames.SENSITIVITY` of last time.
    """
    if only is None:
        return None
    before = verdicts_of(previous)
    treatments = dict(zip(previous.select(_NAME).iter_rows(), previous["treatment"], strict=True))
    changed = set()
    for name in catalog.columns.select(_NAME).iter_rows():
        ruling = policy.ruling(name, before.get(name))
        if treatments.get(name) not in ("deny", ruling.treatment if ruling else None):
            changed.add(name[:2])
    return lambda schema, table: only(schema, table) or (schema, table) in changed
