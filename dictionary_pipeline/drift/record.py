"""Detected changes as the log keeps them, each with the moment of its first detection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.drift.model import Change


class Detection(NamedTuple):
    """When and by which run a change was first seen."""

    detected_at: str
    """UTC, ISO 8601, seconds."""
    run_id: str


class Step(NamedTuple):
    """The fingerprints between which changes happened."""

    previous: str | None
    new: str | None


@dataclass(frozen=True)
class Entry:
    """One line of the drift log, fields in published order."""

    detected_at: str
    run_id: str
    previous: str | None
    new: str | None
    kind: str
    severity: str
    schema: str
    table: str
    column: str
    name: str
    before: str
    after: str
    confidence: float
    reason: str

    def line(self) -> str:
        """As published, with its line end."""
        return jsontext.compact(asdict(self)) + "\n"

    @property
    def key(self) -> str:
        """Names the change between its two fingerprints, whenever and by whomever it is seen."""
        change = (self.kind, self.schema, self.table, self.column, self.name, self.before, self.after)
        return jsontext.digest([self.previous, self.new, *change])[:32]


def moment(now: datetime) -> str:
    """A moment as the log writes it."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def entries_of(
    changes: Iterable[Change], step: Step, now: Detection, seen: Mapping[str, Detection]
) -> tuple[Entry, ...]:
    """Changes as log entries.

    Args:
        changes: In the order in which they are to be logged.
        step: Between which states they happened.
        now: For changes that are seen for the first time.
        seen: Key -> first detection, of an earlier run that saw the change but did not publish it.
    """
    entries = []
    for change in changes:
        entry = Entry(
            *now,
            *step,
            change.kind,
            change.severity,
            change.schema,
            change.table,
            change.column,
            change.name,
            change.before,
            change.after,
            change.confidence,
            change.reason,
        )
        first = seen.get(entry.key, now)
        entries.append(Entry(**{**asdict(entry), **first._asdict()}))
    return tuple(entries)
