"""What came of asking the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.enrichment.model.budget import Usage
from dictionary_pipeline.problems import Problem

_S = pl.String()
MODEL_TEXTS: frames.Schema = {
    "schema": _S,
    "table": _S,
    "column": _S,  # null: about the table itself
    "kind": _S,  # entity_name | definition | column
    "text": _S,  # null: the model says that it does not know
    "confidence": _S,  # high | medium | low
}


class Status(StrEnum):
    """How asking about a table ended."""

    KEPT = "kept"
    """All its texts were asked for earlier."""
    ASKED = "asked"
    PARTIAL = "partial"
    """Some of its texts were not acceptable."""
    FAILED = "failed"
    STOPPED = "stopped"
    """Not asked about because earlier tables got no answer."""
    WAITING = "waiting"
    """In a batch that the provider has not answered yet."""
    SKIPPED_BUDGET = "skipped_budget"
    NOT_ASKED = "not_asked"
    """Left out by this run's options."""


@dataclass(frozen=True)
class ModelTexts:
    """Texts of the model, and what they took."""

    texts: pl.DataFrame
    """`MODEL_TEXTS`, sorted by schema, table, kind, column."""
    problems: tuple[Problem, ...] = ()
    statuses: Sequence[tuple[str, Status]] = ()
    """Table as shown to people, and how it ended."""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    limit: str | None = None
    """The limit that was reached, by its name in the configuration."""

    def count(self, *statuses: Status) -> int:
        """How many tables ended so."""
        return sum(status in statuses for _, status in self.statuses)

    def of(self, kind: str) -> pl.DataFrame:
        """Known texts of a kind: schema, table, column, text."""
        found = self.texts.filter((pl.col("kind") == kind) & pl.col("text").is_not_null())
        return found.select("schema", "table", "column", "text")


def texts_frame(rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """Rows as `MODEL_TEXTS`."""
    frame = frames.from_rows(rows, MODEL_TEXTS)
    return frames.fit(frame, MODEL_TEXTS, sort_by=("schema", "table", "kind", "column"))


def no_texts() -> pl.DataFrame:
    """`MODEL_TEXTS` of a run that has no model."""
    return frames.empty(MODEL_TEXTS)
