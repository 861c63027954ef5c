"""What to do with each table: read it, keep what is known from last time, or leave it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog

COLUMN_KEY = ["schema", "table", "column"]


class Action(Enum):
    """What happens to a table."""

    READ = "one statement samples it"
    KEEP = "its profiles and values of last time are taken over"
    LEAVE = "unreadable, without a column to read, or sampling is off"


@dataclass(frozen=True)
class TablePlan:
    """One table and the rows of `SamplingPlan.columns` that are its columns."""

    schema: str
    table: str
    kind: str
    row_estimate: int | None
    size_bytes: int | None
    first: int
    count: int
    action: Action
    fingerprint: str | None
    """Moves with the table's structure."""

    @property
    def key(self) -> tuple[str, str]:
        """Schema and table."""
        return self.schema, self.table

    @property
    def name(self) -> str:
        """Name as shown to people."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True)
class SamplingPlan:
    """The work on one database."""

    tables: tuple[TablePlan, ...]
    """In the order of the catalog."""
    columns: pl.DataFrame
    """schema, table, column, type_class, data_type, withheld, previous (samples or null), and
    `position`, the row number, in the order of the catalog."""


def plan_sampling(
    catalog: Catalog,
    withheld: pl.DataFrame,
    previous_profiles: pl.DataFrame | None,
    *,
    enabled: bool,
    only: Callable[[str, str], bool] | None,
) -> SamplingPlan:
    """Decide per table.

    A table outside `only` is kept when every one of its columns has a profile of last time and
    none was withheld or released since; otherwise it is read like the others.
    """
    before = frames.empty(frames.PROFILES) if previous_profiles is None else previous_profiles
    columns = (
        catalog.columns.select(*COLUMN_KEY, "type_class", "data_type")
        .join(withheld.select(*COLUMN_KEY, withheld=pl.lit(True)), on=COLUMN_KEY, how="left", maintain_order="left")
        .join(
            before.select(*COLUMN_KEY, before="status", previous="samples"),
            on=COLUMN_KEY,
            how="left",
            maintain_order="left",
        )
        .with_columns(pl.col("withheld").fill_null(False))
        .with_row_index("position")
    )
    known = pl.col("before").is_in(["ok", "failed", "withheld"]) & (
        (pl.col("before") == "withheld") == pl.col("withheld")
    )
    spans = {
        (schema, table): (first, count, readable, reusable)
        for schema, table, first, count, readable, reusable in columns.group_by("schema", "table")
        .agg(
            pl.col("position").min(),
            pl.len(),
            readable=(~pl.col("withheld")).any(),
            reusable=known.fill_null(False).all(),
        )
        .iter_rows()
    }
    tables = []
    for schema, table, kind, rows, size, readable, fingerprint in catalog.tables.select(
        "schema", "table", "kind", "row_estimate", "size_bytes", "readable", "fingerprint"
    ).iter_rows():
        first, count, has_columns, reusable = spans.get((schema, table), (0, 0, False, False))
        action = Action.READ
        if not enabled or not has_columns or readable is False:
            action = Action.LEAVE
        elif reusable and only is not None and not only(schema, table):
            action = Action.KEEP
        tables.append(TablePlan(schema, table, kind, rows, size, first, count, action, fingerprint))
    return SamplingPlan(tuple(tables), columns.drop("before"))
