"""What was told to whom: `.state/alerts/` of the store that a project's databases share.

It holds names and times, no text of a database. Losing it tells what is still open once more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.store import Store

_FOLDER = ".state/alerts"
_FORMAT = 1
DRIFT, FAILURES = "drift", "failures"
"""The two records; each has one sensor that writes it."""


class RecordKey(NamedTuple):
    """What was told, and to which channel."""

    topic: str
    channel: str


@dataclass(frozen=True)
class Record:
    """What one channel knows about one topic."""

    topic: str
    channel: str
    event: str
    title: str
    databases: tuple[str, ...]
    first_seen: float
    """Epoch seconds, like all times here."""
    sent_at: float | None = None
    """Of the last message that was taken; null: none yet."""
    gone_since: float | None = None
    """When the topic was first found to be over."""
    claimed_until: float = 0.0
    """A delivery is under way; when it does not report by then, it counts as lost."""
    not_before: float = 0.0
    """Of the next attempt after a failed one."""
    attempts: int = 0
    """Failed ones in a row."""
    error: str = ""
    """Why the last attempt failed, in the product's words."""

    @property
    def key(self) -> RecordKey:
        """Its place among the records."""
        return RecordKey(self.topic, self.channel)


@dataclass(frozen=True)
class Failure:
    """The last run of a database failed, or the database does not answer."""

    database: str
    identifier: str
    """As docs/operations.md lists them."""
    scope: str
    """See `errors.Scope`; `run` where a run ended without a word."""
    text: str
    """The product's own text."""
    stage: str
    run_id: str
    at: float


@dataclass(frozen=True)
class AlertState:
    """Everything that is remembered between two evaluations."""

    records: Mapping[RecordKey, Record] = field(default_factory=dict)
    failing: Mapping[str, Failure] = field(default_factory=dict)
    """Database -> how its last finished run failed."""

    def to_json(self) -> str:
        """As it is kept."""
        return jsontext.pretty(
            {
                "format": _FORMAT,
                "records": [asdict(self.records[key]) for key in sorted(self.records)],
                "failing": [asdict(self.failing[name]) for name in sorted(self.failing)],
            }
        )


class Kept(NamedTuple):
    """A state to start an evaluation from."""

    state: AlertState
    etag: str | None = None
    """Of what the store holds; null: nothing."""
    stored: AlertState | None = None
    """What the store holds; null: nothing that can be used, so everything that is open counts as never told."""
    is_away: bool = False
    """The store cannot be read."""


class DeliveryFailure(NamedTuple):
    """A channel that does not take its messages."""

    channel: str
    waiting: int
    """Messages that it did not take yet."""
    attempts: int
    error: str


def load_state(store: Store, name: str) -> Kept:
    """Read a record; an empty one when it is lost or damaged.

    Raises:
        StoreError: the store cannot be read.
    """
    current = store.read_versioned(_key(name))
    state = parse_state(current.data) if current else None
    return Kept(state or AlertState(), current.etag if current else None, state)


def save_state(store: Store, name: str, state: AlertState, etag: str | None) -> str:
    """Write a record unless another writer was faster; return its new etag.

    Raises:
        StoreConflict: another writer was faster.
        StoreError: the store cannot be written.
    """
    return store.swap(_key(name), state.to_json().encode(), etag)


def parse_state(data: str | bytes) -> AlertState | None:
    """What `AlertState.to_json` wrote; null for anything else."""
    try:
        document: dict[str, Any] = json.loads(data)
        if document["format"] != _FORMAT:
            return None
        records = [Record(**{**item, "databases": tuple(item["databases"])}) for item in document["records"]]
        failing = [Failure(**item) for item in document["failing"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return AlertState({record.key: record for record in records}, {failure.database: failure for failure in failing})


def delivery_failures(store: Store) -> tuple[DeliveryFailure, ...]:
    """Channels of a project that do not take their messages, sorted by name.

    Args:
        store: The store that the project's databases share.

    Raises:
        StoreError: it cannot be read.
    """
    found: dict[str, list[Record]] = {}
    for name in (DRIFT, FAILURES):
        for record in load_state(store, name).state.records.values():
            if record.attempts:
                found.setdefault(record.channel, []).append(record)
    return tuple(
        DeliveryFailure(
            channel, len(records), max(r.attempts for r in records), max(records, key=lambda r: r.not_before).error
        )
        for channel, records in sorted(found.items())
    )


def _key(name: str) -> str:
    return f"{_FOLDER}/{name}.json"
