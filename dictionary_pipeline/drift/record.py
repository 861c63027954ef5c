"""Detected changes as the log keeps them, each with the moment of its first detection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
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
    def change(self) -> tuple[str | None, ...]:
        """Names the change of a published state, whatever else changed by the time it is seen."""
        parts = (self.kind, self.schema, self.table, self.column, self.name, self.before, self.after)
        return (self.previous, *parts)

    @property
    def step_key(self) -> str:
        """Names the change between its two fingerprints, whenever and by whomever it is seen."""
        previous, *parts = self.change
        return jsontext.digest([previous, self.new, *parts])[:32]

    @property
    def key(self) -> str:
        """Names this detection of the change: when the same happens again later, nobody has seen that yet."""
        return jsontext.digest([self.step_key, self.detected_at])[:32]


def moment(now: datetime) -> str:
    """A moment as the log writes it."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def entries_of(
    changes: Iterable[Change],
    step: Step,
    now: Detection,
    seen: Mapping[str, Detection],
    waiting: Iterable[Entry] = (),
) -> tuple[Entry, ...]:
    """Changes as log entries.

    Args:
        changes: In the order in which they are to be logged.
        step: Between which states they happened.
        now: For changes that are seen for the first time.
        seen: `Entry.step_key` -> first detection, of an earlier run that saw the change but did not publish it.
        waiting: What an earlier run held back: a change that is still there stays as it was detected.
    """
    held = {entry.change: entry for entry in waiting}
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
        known = held.get(entry.change)
        first = seen.get(entry.step_key, now) if known is None else Detection(known.detected_at, known.run_id)
        entries.append(replace(entry, **first._asdict(), new=entry.new if known is None else known.new))
    return tuple(entries)
