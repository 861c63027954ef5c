"""Answers kept by content: what was asked once about a table is not asked again while it stays the same."""

from __future__ import annotations

import json
from typing import Any, Protocol

from dictionary_pipeline import jsontext
from dictionary_pipeline.enrichment.model.answers import Answer, Told

FOLDER = ".state/model"
_FORMAT = 1


class AnswerStore(Protocol):
    """What keeping answers needs of a store."""

    def read(self, key: str) -> bytes | None:
        """Content, or null when there is none."""

    def write(self, key: str, content: bytes) -> None:
        """Write unconditionally and atomically."""


def load_answer(store: AnswerStore, key: str) -> Answer:
    """What is kept under a key; an empty answer when nothing readable is."""
    try:
        document = json.loads(store.read(_path(key)) or b"{}")
        if document.get("format") != _FORMAT or document["key"] != key:
            return Answer()
        return Answer(
            _told(document["entity_name"]),
            _told(document["definition"]),
            {name: told for name, row in document["columns"] if (told := _told(row))},
        )
    except (ValueError, KeyError, TypeError, AttributeError):  # unreadable state is lost state
        return Answer()


def save_answer(store: AnswerStore, key: str, answer: Answer) -> None:
    """Keep an answer."""
    document = {
        "format": _FORMAT,
        "key": key,
        "entity_name": _row(answer.entity_name),
        "definition": _row(answer.definition),
        "columns": [[name, _row(told)] for name, told in sorted(answer.columns.items())],
    }
    store.write(_path(key), jsontext.pretty(document).encode())


def _path(key: str) -> str:
    return f"{FOLDER}/{key[:2]}/{key}.json"


def _row(told: Told | None) -> list[str | None] | None:
    return [told.text, told.confidence] if told else None


def _told(row: Any) -> Told | None:
    if row is None:
        return None
    text, confidence = row
    if not isinstance(text, str | None) or not isinstance(confidence, str):
        raise TypeError("not a kept text")
    return Told(text, confidence)
