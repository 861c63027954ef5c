"""Records kept per text unit: a unit is asked about again only when it, the prompts or the model changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from dictionary_pipeline import jsontext
from dictionary_pipeline.extraction.business.records import Found, FoundEntity, FoundRelationship

FOLDER = ".state/model_graph"
_FORMAT = 1


class Stored(Protocol):
    """An object of a listing."""

    @property
    def key(self) -> str:
        """Its key."""


class RecordStore(Protocol):
    """What keeping records needs of a store."""

    def read(self, key: str) -> bytes | None:
        """Content, or null when there is none."""

    def write(self, key: str, content: bytes) -> None:
        """Write unconditionally and atomically."""

    def list(self, prefix: str) -> Iterator[Stored]:
        """Objects whose key starts with `prefix`."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; absent ones are fine."""


@dataclass(frozen=True)
class Kept:
    """What was found in a unit the last time."""

    hash: str
    """Of what it was found in, by `asking.unit_hash`."""
    found: Found
    is_whole: bool
    """False when asking for what was missed ended early."""


def load_kept(store: RecordStore, unit: str) -> Kept | None:
    """What is kept of a unit, or null when nothing readable is."""
    try:
        document = json.loads(store.read(_path(unit)) or b"{}")
        if document.get("format") != _FORMAT or document["unit"] != unit:
            return None
        found = Found(
            tuple(FoundEntity(*map(_text, row)) for row in document["entities"]),
            tuple(map(_relationship, document["relationships"])),
            tuple(map(_text, document["malformed"])),
        )
        return Kept(_text(document["hash"]), found, document["is_whole"] is True)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):  # unreadable state is lost state
        return None


def save_kept(store: RecordStore, unit: str, kept: Kept) -> None:
    """Keep what was found in a unit."""
    document = {
        "format": _FORMAT,
        "unit": unit,
        "hash": kept.hash,
        "is_whole": kept.is_whole,
        "entities": [list(entity) for entity in kept.found.entities],
        "relationships": [list(relationship) for relationship in kept.found.relationships],
        "malformed": list(kept.found.malformed),
    }
    store.write(_path(unit), jsontext.pretty(document).encode("utf-8", "replace"))


def drop_others(store: RecordStore, units: Collection[str]) -> None:
    """Forget units that are no more."""
    wanted = {_path(unit) for unit in units}
    store.delete([item.key for item in store.list(f"{FOLDER}/") if item.key not in wanted])


def _path(unit: str) -> str:
    name = jsontext.digest(unit)
    return f"{FOLDER}/{name[:2]}/{name}.json"


def _relationship(row: Any) -> FoundRelationship:
    source, target, kind, description = map(_text, row[:4])
    return FoundRelationship(source, target, kind, description, float(row[4]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a kept text")
    return value
