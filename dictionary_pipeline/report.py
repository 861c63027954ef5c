"""What a stage tells about itself: to Dagster as metadata and checks, to the command line as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline.problems import Problem

MAX_TABLE_ROWS = 200
"""Rows of a table shown in the Dagster UI at most (an event must stay small)."""


@dataclass(frozen=True)
class Check:
    """The outcome of a gate: a function of the core decided, this only reports it."""

    name: str
    passed: bool
    description: str
    """What was checked and, when it failed, what was found first."""
    found: int = 0
    """How many findings there are."""


@dataclass(frozen=True)
class StageReport:
    """Result of one stage."""

    stage: str
    metrics: Mapping[str, int | float | str | bool]
    """Fixed names per stage; numbers are plottable over runs."""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Small frames for people, most important rows first."""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    """Sentences about what people gave wrongly; the dictionary is not partial because of them."""
    checks: tuple[Check, ...] = ()
    output: str = ""
    """Hash of the stage's output: equal content, equal hash."""


def problem_frame(problems: tuple[Problem, ...]) -> pl.DataFrame:
    """Problem rows as a frame, at most `MAX_TABLE_ROWS`."""
    return pl.DataFrame(
        [tuple(problem) for problem in problems[:MAX_TABLE_ROWS]],
        schema=dict.fromkeys(Problem._fields, pl.String()),
        orient="row",
    )
