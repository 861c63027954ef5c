"""What a stage tells about itself: to Dagster as metadata and checks, to the command line as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.problems import Problem

MAX_TABLE_ROWS = 200
"""Rows of a table shown in the Dagster UI at most (an event must stay small)."""
HELD = "held"
"""Status of a run that leaves the published bundle as it is, because of breaking drift."""
MAX_IMAGE_BYTES = 42_000
"""Size of all pictures of a stage at most; within an event they take a third more."""


@dataclass(frozen=True)
class Check:
    """The outcome of a gate: a function of the core decided, this only reports it."""

    name: str
    passed: bool
    description: str
    """What was checked and, when it failed, what was found first."""
    found: int = 0
    """How many findings there are."""


class Refused(ContractViolation):
    """A gate refused a stage's result; `checks` tell the outcome of every gate."""

    def __init__(self, refusal: ContractViolation, checks: tuple[Check, ...]) -> None:
        super().__init__(refusal.what, where=refusal.where, fix=refusal.fix, code=refusal.code)
        self.checks = checks


@dataclass(frozen=True)
class StageReport:
    """Result of one stage."""

    stage: str
    metrics: Mapping[str, int | float | str | bool]
    """Fixed names per stage; numbers are plottable over runs."""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Small frames for people, most important rows first."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Markdown for people, without HTML."""
    images: Mapping[str, bytes] = field(default_factory=dict)
    """SVG pictures, small enough together for an event (`MAX_IMAGE_BYTES`)."""
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
