"""What the detector looks at and what it says."""

from __future__ import annotations

from dataclasses import dataclass

from dictionary_pipeline.engines.base import TypeClass


@dataclass(frozen=True)
class ColumnEvidence:
    """Everything known about one column. Values are looked at in memory only."""

    schema: str
    table: str
    column: str
    data_type: str
    type_class: TypeClass
    comment: str | None = None
    values: tuple[str, ...] = ()
    """Distinct sampled values as text, most frequent first; empty when none were read."""
    siblings: tuple[str, ...] = ()
    """Names of all columns of the table, in order."""


@dataclass(frozen=True)
class Verdict:
    """A column is sensitive."""

    category: str
    """Presidio's entity name where there is one (PERSON, EMAIL_ADDRESS, ...), else the product's."""
    confidence: float
    """0..1."""
    reason: str
    """For people: `92 % of values are valid IBANs`; never a value."""
