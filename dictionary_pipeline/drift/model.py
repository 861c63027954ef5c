"""The vocabulary of drift: kinds of change, severities, and one change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from dictionary_pipeline.config.drift_settings import KINDS, SEVERITIES, Kind, Severity

__all__ = ["KINDS", "SEVERITIES", "Change", "Drift", "Facts", "Key", "Kind", "Severity"]


class Key(NamedTuple):
    """Schema and name of a table or view, exactly as in the database."""

    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True)
class Change:
    """One difference between two catalogs."""

    kind: Kind
    schema: str
    table: str
    column: str = ""
    """The column, or the columns of a constraint or index joined by `,`; empty when the whole table is meant."""
    name: str = ""
    """Name of the constraint or index, where it has one."""
    severity: Severity = "safe"
    before: str = ""
    after: str = ""
    confidence: float = 1.0
    """Below 1 where the change was inferred (renames)."""
    reason: str = ""
    """Why the severity is not the kind's usual one, or what a rename was inferred from."""
    consumers: tuple[str, ...] = ()
    """Views, keys and definitions that use what was removed, renamed or retyped."""

    @property
    def object(self) -> str:
        """`schema.table` or `schema.table.column`."""
        return ".".join(part for part in (self.schema, self.table, self.column) if part)


@dataclass(frozen=True)
class Facts:
    """Which facts both catalogs hold; what one of them lacks is not compared."""

    checks: bool = True
    enums: bool = True
    rules: bool = True
    """ON UPDATE, ON DELETE and validity of foreign keys."""
    definitions: bool = True
    """View SQL."""
    comments: bool = True


@dataclass(frozen=True)
class Drift:
    """The outcome of a comparison."""

    changes: tuple[Change, ...]
    """Worst first; within a severity those with most consumers first."""
    authoritative: bool = True
    """False: absence from the later catalog proves nothing, so removals were left out."""
    suspicious: bool = False
    """More than half of the tables are gone at once."""
    notes: tuple[str, ...] = field(default=())
    """Sentences for people about what was not counted or looks wrong, with what to do."""

    @property
    def worst(self) -> Severity | None:
        """The worst severity, null without any change."""
        return min((change.severity for change in self.changes), key=SEVERITIES.index, default=None)
