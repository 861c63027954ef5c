"""Acknowledgements: who has seen which change, and why it is all right.

Kept in the database's `.state/`; losing them only makes drift unacknowledged again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.drift.record import moment
from dictionary_pipeline.errors import StoreConflict
from dictionary_pipeline.store import Store

ACKS_KEY = ".state/drift_acks.json"
_FORMAT = 1
_ATTEMPTS = 20


class Ack(NamedTuple):
    """One change that somebody acknowledged."""

    key: str
    """`Entry.key` of the change."""
    author: str
    reason: str
    at: str
    """UTC, ISO 8601, seconds."""


def read_acks(store: Store) -> Mapping[str, Ack]:
    """Key of a change -> its acknowledgement; nothing where the record was lost or damaged.

    Raises:
        StoreError: the store cannot be read.
    """
    return _parsed(store.read(ACKS_KEY))


def acknowledged(store: Store) -> frozenset[str]:
    """Keys (`Entry.key`) of the changes that somebody acknowledged.

    Raises:
        StoreError: the store cannot be read.
    """
    return frozenset(read_acks(store))


def acknowledge(store: Store, keys: Iterable[str], author: str, reason: str, now: datetime) -> tuple[Ack, ...]:
    """Acknowledge changes; those that are acknowledged already keep their first author.

    Returns:
        The new acknowledgements.

    Raises:
        StoreError: the store cannot be used, or others keep changing the record.
    """
    wanted = sorted(set(keys))
    for _ in range(_ATTEMPTS):
        current = store.read_versioned(ACKS_KEY)
        known = _parsed(current.data if current else None)
        new = tuple(Ack(key, author, reason, moment(now)) for key in wanted if key not in known)
        if not new:
            return ()
        acks = sorted([*known.values(), *new])
        document = {"format": _FORMAT, "acknowledged": [ack._asdict() for ack in acks]}
        try:
            store.swap(ACKS_KEY, jsontext.pretty(document).encode(), current.etag if current else None)
            return new
        except StoreConflict:
            continue
    raise StoreConflict(
        "others keep changing the acknowledgements", where=f"{store.location}/{ACKS_KEY}", fix="Run the command again."
    )


def _parsed(data: bytes | None) -> dict[str, Ack]:
    try:
        document = json.loads(data) if data is not None else None
        if document is None or document["format"] != _FORMAT:
            return {}
        return {
            str(item["key"]): Ack(**{name: str(item[name]) for name in Ack._fields})
            for item in document["acknowledged"]
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
