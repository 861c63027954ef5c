"""Reading replies: the records of each unit, in either answer format, unchecked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dictionary_pipeline.enrichment.model.answers import json_object
from dictionary_pipeline.extraction.business.asking import Batch
from dictionary_pipeline.extraction.business.records import Found, FoundEntity, FoundRelationship
from dictionary_pipeline.extraction.delimited import EntityRecord, parse_replies, weight_of
from dictionary_pipeline.extraction.model import ALL_EDGE_TYPES

MAX_RECORDS = 200
"""Records of a unit that are looked at: a reply that runs on is not a better one."""
_MAX_TEXT = 2_000
_LOWEST, _HIGHEST = 1.0, 10.0
_TYPED = re.compile(rf"\W*({'|'.join(ALL_EDGE_TYPES)})\b\W*", re.IGNORECASE)
_COMPLETE = re.compile(r"[<|{]\s?complete\b|\bcomplete\W*\Z", re.IGNORECASE)
_YES = re.compile(r"\W*(?:y|yes)\b", re.IGNORECASE)

Replies = Mapping[str, Found]
"""Key of a unit -> what was found in it."""


def read_reply(text: str, batch: Batch) -> Replies | None:
    """Read one reply about the texts of a batch; null when it is not in the format at all."""
    if batch.settings.format == "delimited":
        found = _delimited(text)
        if not found.is_empty:
            return {batch.units[0].key: _capped(found)}
        document = _document(text)  # some models write JSON whatever they are asked for
        if document is not None:
            return _by_unit(document, batch)
        # Nothing found is an answer only when the model says that it is complete.
        return {batch.units[0].key: Found()} if _COMPLETE.search(text) else None
    document = _document(text)
    return None if document is None else _by_unit(document, batch)


def says_yes(text: str) -> bool:
    """Whether a reply to the loop prompt asks to go on: `Y`, `yes`, `YES.`; anything else is a no."""
    return _YES.match(text) is not None


def clamped(weight: float) -> float:
    """A weight between 1 and 10; 1 for what is no number."""
    return _LOWEST if math.isnan(weight) else min(max(float(weight), _LOWEST), _HIGHEST)


def _delimited(text: str) -> Found:
    parsed = parse_replies([text])
    entities = [FoundEntity(*map(_cut, record)) for record in parsed.records if isinstance(record, EntityRecord)]
    relationships = [_typed(*record) for record in parsed.records if not isinstance(record, EntityRecord)]
    return Found(tuple(entities), tuple(relationships), parsed.rejected)


def _typed(source: str, target: str, description: str, weight: float) -> FoundRelationship:
    """The type stands before the description in this format."""
    found = _TYPED.match(description)
    kind = found[1].upper() if found else ""
    rest = description[found.end() :] if found else description
    return FoundRelationship(_cut(source), _cut(target), kind, _cut(rest), clamped(weight))


def _document(text: str) -> Mapping[str, Any] | None:
    """The JSON object of a reply."""
    document = json_object(text)
    is_answer = document is not None and ("entities" in document or "relationships" in document)
    return document if is_answer else None


def _by_unit(document: Mapping[str, Any], batch: Batch) -> Replies:
    labels = batch.labels()
    entities: dict[str, list[FoundEntity]] = {unit.key: [] for unit in batch.units}
    relationships: dict[str, list[FoundRelationship]] = {unit.key: [] for unit in batch.units}
    malformed: dict[str, list[str]] = {unit.key: [] for unit in batch.units}
    for label, record in _records(document):
        only = batch.units[0] if len(batch.units) == 1 else None
        unit = labels.get(label, only)
        match record:
            case _ if unit is None:
                malformed[batch.units[0].key].append("the record cites no text of the request")
            case FoundEntity():
                entities[unit.key].append(record)
            case FoundRelationship():
                relationships[unit.key].append(record)
            case str():
                malformed[unit.key].append(record)
    return {
        key: _capped(
            Found(tuple(dict.fromkeys(entities[key])), tuple(dict.fromkeys(relationships[key])), tuple(malformed[key]))
        )
        for key in entities
    }


def _records(document: Mapping[str, Any]) -> Iterator[tuple[str, FoundEntity | FoundRelationship | str]]:
    """The unit that a record cites, and the record or why it is none."""
    for name, fields in (("entities", _ENTITY), ("relationships", _RELATIONSHIP)):
        listed = document.get(name)
        for record in listed[: 10 * MAX_RECORDS] if isinstance(listed, list) else ():
            if not isinstance(record, dict):
                yield "", "a record is not an object"
                continue
            label = str(record.get("unit", ""))
            texts = [_cut(text) for field in fields if isinstance(text := record.get(field), str)]
            if len(texts) < len(fields):
                yield label, f"one of the {name} lacks a text"
            elif name == "entities":
                yield label, FoundEntity(*texts)
            else:
                source, target, kind, description = texts
                yield label, FoundRelationship(source, target, kind, description, _weight(record.get("weight")))


_ENTITY = ("name", "type", "description")
_RELATIONSHIP = ("source", "target", "type", "description")


def _weight(value: Any) -> float:
    if isinstance(value, str):
        return weight_of(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # The bounds first: a whole number may be too large for a float.
    return clamped(max(_LOWEST, min(value, _HIGHEST))) if is_number else _LOWEST


def _cut(text: str) -> str:
    return text[:_MAX_TEXT]


def _capped(found: Found) -> Found:
    return Found(
        found.entities[:MAX_RECORDS], found.relationships[:MAX_RECORDS], tuple(sorted(found.malformed))[:MAX_RECORDS]
    )
