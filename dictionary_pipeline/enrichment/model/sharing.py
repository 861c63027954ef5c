"""Small tables share a request: the rules, which are most of a short prompt, are sent once for all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.facts import TableName
from dictionary_pipeline.enrichment.model.answers import Answer, json_object, read_document
from dictionary_pipeline.enrichment.model.asking import (
    Message,
    Question,
    closed,
    messages,
    payload,
    prompt_text,
    system_text,
    table_label,
)
from dictionary_pipeline.enrichment.model.facts import TableFacts
from dictionary_pipeline.enrichment.model.texts import Guard

_FEW = 4
"""Up to so many tables are asked about one by one: sharing saves little, and singles are answered best."""
_SMALL = 8
"""Columns of a table that shares a request, at most."""
_MOST_COLUMNS = 25
_MOST_TABLES = 6
_SHORT_SQL = 500
_PROMPT = "several_v1"

Item = TypeVar("Item")


@dataclass(frozen=True)
class Shared:
    """Questions about several tables in one request."""

    questions: tuple[Question, ...]

    @property
    def max_tokens(self) -> int:
        """Tokens that an answer may take at most."""
        return sum(question.max_tokens for question in self.questions)

    def schema(self, *, limits: bool) -> dict[str, Any]:
        """A strict JSON Schema with the usual answer for each table, by its name."""
        tables = {table_label(question.facts.name): question.schema(limits=limits) for question in self.questions}
        return closed({"tables": closed(tables)})

    def messages(self, settings: ModelSettings, meanings: Mapping[TableName, str]) -> list[Message]:
        """The prompt: the usual rules, how to answer for several, then the tables."""
        told = {"tables": [payload(question, meanings) for question in self.questions]}
        return [
            {"role": "system", "content": system_text(settings)},
            {"role": "system", "content": prompt_text(_PROMPT)},
            {"role": "user", "content": json.dumps(told, ensure_ascii=False, separators=(",", ":"))},
        ]

    def read(self, text: str, guard: Guard) -> list[Answer]:
        """What was answered about each table, in order; of a table that is left out, an empty answer."""
        tables = (json_object(text) or {}).get("tables")
        found = tables if isinstance(tables, dict) else {}
        return [
            read_document(found.get(table_label(question.facts.name)), question, guard) for question in self.questions
        ]


def prompt_of(request: Question | Shared, settings: ModelSettings, meanings: Mapping[TableName, str]) -> list[Message]:
    """The messages of a request of either kind."""
    if isinstance(request, Shared):
        return request.messages(settings, meanings)
    return messages(request, settings, meanings)


def shares(settings: ModelSettings, tables: int) -> bool:
    """Whether small tables are asked about together.

    With real values in the prompt they are not: what one table shows may not be quoted about another.

    Args:
        tables: How many are to be asked about.
    """
    return settings.share_requests and settings.samples != "values" and tables > _FEW


def together(items: Sequence[Item], facts: Sequence[TableFacts], *, share: bool) -> Iterator[tuple[Item, ...]]:
    """Groups of items whose tables are asked about in one request, in order; large tables stay alone.

    Args:
        items: Of tables that do not refer to each other.
        facts: Of the items' tables.
    """
    waiting: list[Item] = []
    names: set[str] = set()
    columns = 0
    for item, table in zip(items, facts, strict=True):
        size, label = len(table.columns), table_label(table.name)
        if not share or size > _SMALL or len(table.view_sql or "") > _SHORT_SQL:
            yield (item,)
            continue
        if columns + size > _MOST_COLUMNS or len(waiting) == _MOST_TABLES or label in names:
            yield tuple(waiting)
            waiting, names, columns = [], set(), 0
        waiting.append(item)
        names.add(label)
        columns += size
    if waiting:
        yield tuple(waiting)
