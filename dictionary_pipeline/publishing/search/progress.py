"""What was pushed, kept in `.state/search.json`: hashes of documents by the file that they come from.

It is marked while a push is at work. A marked, lost, damaged or foreign state tells nothing about the
index: the next push then sends everything, and asks the index what else is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dictionary_pipeline import jsontext

STAGE = "search_index"
"""Name of the stage, as in problems and of Dagster's asset."""
STATE_KEY = ".state/search.json"
_FORMAT = 1
UNKNOWN = ""
"""Hash of a document that the index may hold in any form, or not at all."""

Hashes = dict[str, str]
"""Key of a document -> its hash, `.`, and the name of its vector, which may be empty."""


@dataclass
class PushedFile:
    """Documents of one file of the bundle."""

    content: str
    """Names the file's content; empty when not all of it was pushed."""
    documents: Hashes


@dataclass
class Progress:
    """What is known of the indexes."""

    target: str
    """Names service and indexes."""
    indexes: dict[str, dict[str, PushedFile]] = field(default_factory=dict)
    """Index -> path -> what was pushed; an index that is missing here may hold anything."""
    drift: dict[str, int] | None = None
    """File of the drift log -> lines whose stale queries were dropped; null: nobody knows."""

    def keys(self, index: str) -> Iterator[str]:
        """Keys of the documents that an index may hold."""
        for pushed in self.indexes.get(index, {}).values():
            yield from pushed.documents


class StateStore(Protocol):
    """What keeping the state needs of a store."""

    def read(self, key: str) -> bytes | None:
        """Content, or null when there is none."""

    def write(self, key: str, content: bytes) -> None:
        """Write unconditionally and atomically."""


def load_progress(store: StateStore, target: str) -> Progress:
    """What earlier pushes to a target left; nothing when that is not known for certain."""
    try:
        document = json.loads(store.read(STATE_KEY) or b"{}")
        if (document.get("format"), document.get("target"), document.get("at_work")) != (_FORMAT, target, False):
            return Progress(target)
        indexes = {
            index: {path: PushedFile(str(content), _hashes(kept)) for path, (content, kept) in files.items()}
            for index, files in document["indexes"].items()
        }
        drift = document["drift"]
        return Progress(target, indexes, None if drift is None else {path: int(count) for path, count in drift.items()})
    except (ValueError, KeyError, TypeError, AttributeError):
        return Progress(target)


def mark_at_work(store: StateStore) -> None:
    """Note down that the index is about to change; until `save_progress` the state counts as lost."""
    store.write(STATE_KEY, jsontext.pretty({"format": _FORMAT, "at_work": True}).encode())


def save_progress(store: StateStore, progress: Progress) -> None:
    """Keep what is known; nothing is written when that is kept already."""
    document = {
        "format": _FORMAT,
        "target": progress.target,
        "at_work": False,
        "drift": progress.drift,
        "indexes": {
            index: {path: [pushed.content, pushed.documents] for path, pushed in sorted(files.items())}
            for index, files in sorted(progress.indexes.items())
        },
    }
    data = jsontext.compact(document).encode()
    if store.read(STATE_KEY) != data:
        store.write(STATE_KEY, data)


def _hashes(kept: Mapping[str, Any]) -> Hashes:
    return {str(key): str(value) for key, value in kept.items()}
