"""What the stages have in common: how they show tables and report gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing.verify import Finding
from dictionary_pipeline.report import MAX_TABLE_ROWS, Check
from dictionary_pipeline.state import StageState


def outputs(upstream: Mapping[str, StageState]) -> dict[str, str]:
    """Upstream stage -> hash of its output."""
    return {name: state.output for name, state in upstream.items()}


def head(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that an event may show."""
    return frame.head(MAX_TABLE_ROWS)


def counts(values: pl.Series) -> dict[str, int]:
    """Value -> how often."""
    return dict(values.value_counts().iter_rows())


def check(name: str, question: str, findings: Sequence[Any]) -> Check:
    """A passed check says what holds; a failed one what was found first."""
    if not findings:
        return Check(name, True, f"{question}.")
    first = findings[0]
    match first:
        case Problem():
            shown = f"{first.object}: {first.message}"
        case Finding():
            shown = f"{first.path}: {first.message}"
        case _:
            shown = str(first)
    return Check(name, False, f"{question}: no, first of {len(findings)}: {shown}", len(findings))
