"""Which databases do not answer, as the sensors that ask them found: kept beside the alerts' own state."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from dictionary_pipeline import jsontext
from dictionary_pipeline.alerts.state import Failure
from dictionary_pipeline.errors import ConnectionFailed, StoreConflict
from dictionary_pipeline.store import Store

REACHABILITY_KEY = ".state/alerts/reachability.json"
_FORMAT = 1
_ATTEMPTS = 10
_STAGE = "change probe"


@dataclass(frozen=True)
class Silence:
    """Why a database could not be asked."""

    text: str = "the database does not answer"
    """The product's own text."""
    identifier: str = ConnectionFailed.identifier
    scope: str = ConnectionFailed.scope


@dataclass(frozen=True)
class Reachability:
    """What the probes found last."""

    down: Mapping[str, Failure] = field(default_factory=dict)
    """Database -> since when it does not answer, and why."""
    back: Mapping[str, float] = field(default_factory=dict)
    """Database -> when it answered again, in epoch seconds."""


def read_reachability(store: Store) -> Reachability:
    """What is kept; nothing where it is lost or damaged: the next probes find out anew.

    Raises:
        StoreError: the store cannot be read.
    """
    return _parsed(store.read(REACHABILITY_KEY))


def note_probes(
    store: Store,
    down: Mapping[str, Silence],
    answered: Collection[str],
    now: float,
    verified: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Keep what a round of probes found; writes only what is new.

    Args:
        store: The store that the project's databases share.
        down: Databases that do not answer.
        answered: Databases that do.
        now: Epoch seconds.
        verified: When each database was last known to be what its dictionary says: it answered then, whoever asked.

    Raises:
        StoreError: the store cannot be used.
    """
    for _ in range(_ATTEMPTS):
        current = store.read_versioned(REACHABILITY_KEY)
        known = _parsed(current.data if current else None)
        spoke = {name for name, failure in known.down.items() if verified.get(name, 0.0) > failure.at}
        changed = _noted(known, down, spoke.union(answered), now)
        if changed == known:
            return
        document = {
            "format": _FORMAT,
            "down": [asdict(changed.down[name]) for name in sorted(changed.down)],
            "back": dict(sorted(changed.back.items())),
        }
        try:
            store.swap(REACHABILITY_KEY, jsontext.pretty(document).encode(), current.etag if current else None)
            return
        except StoreConflict:
            continue
    raise StoreConflict("others keep changing the record of probes", where=REACHABILITY_KEY, fix="It is tried again.")


def _noted(known: Reachability, down: Mapping[str, Silence], answered: Collection[str], now: float) -> Reachability:
    still = {name: failure for name, failure in known.down.items() if name not in answered}
    back = {**known.back, **{name: now for name in answered if name in known.down}}
    new = {
        name: Failure(name, silence.identifier, silence.scope, silence.text, _STAGE, "", now)
        for name, silence in down.items()
        if name not in still
    }
    return Reachability({**still, **new}, {name: at for name, at in back.items() if name not in {**still, **new}})


def _parsed(data: bytes | None) -> Reachability:
    try:
        document: dict[str, Any] | None = json.loads(data) if data is not None else None
        if document is None or document["format"] != _FORMAT:
            return Reachability()
        failures = [Failure(**item) for item in document["down"]]
        back = {str(name): float(at) for name, at in document["back"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return Reachability()
    return Reachability({failure.database: failure for failure in failures}, back)
