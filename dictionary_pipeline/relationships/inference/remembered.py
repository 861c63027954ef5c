"""Answers of the database that still hold, because neither of their tables was sampled again since.

Kept beside the results of the stages: counts of a living table move every night, and nothing that is
published shows them as such. Losing them costs the statements that ask again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dictionary_pipeline import jsontext
from dictionary_pipeline.relationships.inference.probes import (
    NO_ANSWERS,
    Answers,
    Counted,
    Included,
    Inclusion,
    Question,
    Uniqueness,
)
from dictionary_pipeline.relationships.names import TableName
from dictionary_pipeline.store import Store

KEY = ".state/key_probes.json"
_FORMAT = 1

Stamps = Mapping[tuple[str, str], str]
"""(schema, table) -> a text that names its last sampling; a table without one is asked about again."""


def load_answers(store: Store, stamps: Stamps) -> Answers:
    """The kept answers about tables whose stamps are still the same."""
    try:
        document = json.loads(store.read(KEY) or b"{}")
        if document.get("format") != _FORMAT:
            return NO_ANSWERS
        included = {
            inclusion: Included(*counts)
            for fields, told, counts in document["included"]
            if _stamps_of(inclusion := _inclusion(*fields), stamps) == told
        }
        counted = {
            uniqueness: Counted(*counts)
            for fields, told, counts in document["counted"]
            if _stamps_of(uniqueness := _uniqueness(*fields), stamps) == told
        }
    except (ValueError, KeyError, TypeError, AttributeError):  # unreadable state is lost state
        return NO_ANSWERS
    return Answers(included, counted, 0, ())


def save_answers(store: Store, answers: Answers, stamps: Stamps) -> None:
    """Keep the answers about tables that have a stamp."""
    document = {
        "format": _FORMAT,
        "included": sorted(_rows(answers.included, stamps), key=jsontext.canonical),
        "counted": sorted(_rows(answers.counted, stamps), key=jsontext.canonical),
    }
    data = (jsontext.compact(document) + "\n").encode()
    if store.read(KEY) != data:
        store.write(KEY, data)


def _rows(answers: Mapping[Any, tuple[int, ...]], stamps: Stamps) -> Iterator[tuple[object, ...]]:
    for question, counts in answers.items():
        told = _stamps_of(question, stamps)
        if None not in told:
            yield list(vars(question).values()), told, counts


def _stamps_of(question: Question, stamps: Stamps) -> list[str | None]:
    tables = (question.child, question.parent) if isinstance(question, Inclusion) else (question.table,)
    return [stamps.get(table) for table in tables]


def _inclusion(
    child: list[str], child_columns: list[str], parent: list[str], parent_columns: list[str], as_text: bool
) -> Inclusion:
    return Inclusion(TableName(*child), tuple(child_columns), TableName(*parent), tuple(parent_columns), as_text)


def _uniqueness(table: list[str], columns: list[str]) -> Uniqueness:
    return Uniqueness(TableName(*table), tuple(columns))
