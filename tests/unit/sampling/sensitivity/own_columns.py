"""Reads `columns.txt`: invented columns and what they are."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from dictionary_pipeline.engines.types import type_class
from dictionary_pipeline.sampling.sensitivity.model import ColumnEvidence


class OwnColumn(NamedTuple):
    """One line of `columns.txt`."""

    expected: str | None
    evidence: ColumnEvidence

    @property
    def label(self) -> str:
        return f"{self.evidence.table}.{self.evidence.column}"


def own_columns() -> list[OwnColumn]:
    lines = Path(__file__).with_name("columns.txt").read_text(encoding="utf-8").splitlines()
    return [_column(line) for line in lines if line and not line.startswith("#")]


def _column(line: str) -> OwnColumn:
    expected, table, column, data_type, others, values = (part.strip() for part in line.split("|", 5))
    evidence = ColumnEvidence(
        schema="",
        table=table,
        column=column,
        data_type=data_type,
        type_class=type_class(data_type),
        values=tuple(value for value in values.split("; ") if value),
        siblings=(column, *others.split()),
    )
    return OwnColumn(None if expected == "-" else expected, evidence)
