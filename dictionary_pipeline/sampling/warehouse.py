"""The limit on what sampling may cost where the warehouse's working time is billed."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

import polars as pl

from dictionary_pipeline.config.resolved import SamplingLimits
from dictionary_pipeline.engines.base import Engine, Session
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.sampling.plan import TablePlan

Result = TypeVar("Result")


class WarehouseBudget:
    """Stops the reading of tables once the engine's statements took `max_warehouse_seconds` together.

    Statements that are running then are finished; what was read before stays.
    """

    def __init__(self, engine: Engine, limits: SamplingLimits) -> None:
        self._meter = engine.meter
        self._limit = limits.max_warehouse_seconds if engine.meter is not None else None
        self._lock = Lock()
        self._left_out: list[tuple[str, str]] = []

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be read."""
        return self._limit is not None and self._meter is not None and self._meter.seconds >= self._limit

    def guarded(self, read: Callable[[Session, TablePlan], Result]) -> Callable[[Session, TablePlan], Result | None]:
        """`read` as long as the budget lasts; then null for every table."""

        def guarded(session: Session, table: TablePlan) -> Result | None:
            if not self.is_spent:
                return read(session, table)
            with self._lock:
                self._left_out.append((table.schema, table.table))
            return None

        return guarded

    def with_unread(self, profiles: pl.DataFrame) -> pl.DataFrame:
        """Profiles (`frames.PROFILES`) in which columns of tables left out are unread, not failed."""
        if not self._left_out:
            return profiles
        left_out = pl.DataFrame(self._left_out, schema=["schema", "table"], orient="row")
        return profiles.join(
            left_out.with_columns(left_out=pl.lit(True)), on=["schema", "table"], how="left", maintain_order="left"
        ).select(
            pl.when(pl.col("left_out") & (pl.col("status") == "failed"))
            .then(pl.lit("unread"))
            .otherwise(pl.col(name))
            .alias(name)
            if name == "status"
            else name
            for name in profiles.columns
        )

    def problems(self, database: str, stage: str) -> list[Problem]:
        """One row for all tables that were left out."""
        if not self._left_out:
            return []
        return [
            Problem(
                database,
                stage,
                None,
                f"{len(self._left_out)} tables were not sampled: the warehouse had worked for {self._limit:g} seconds",
                "Raise limits.max_warehouse_seconds, sample fewer tables, or run again with --entity for these.",
            )
        ]
