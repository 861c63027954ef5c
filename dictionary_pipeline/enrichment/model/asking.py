"""One question to the model: the messages, the schema of the answer, and what they may cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.facts import TableName
from dictionary_pipeline.enrichment.model.facts import ColumnFacts, TableFacts
from dictionary_pipeline.enrichment.model.texts import KNOWN_LENGTH, NAME_LENGTH, clean, estimated_tokens

PROMPT = "definitions_v1"
MAX_COLUMNS = 50
"""Columns described by one request; wider tables take several, each with the table's header."""
LENGTHS: Mapping[str, int] = {"entity_name": 80, "definition": 600, "column": 300}
CONFIDENCES = ("high", "medium", "low")
UNKNOWN = "unknown"
_MOST_PARENTS = 12
_MOST_CHILDREN = 12
_MESSAGE_TOKENS = 4
_TABLE_TOKENS = 250
_COLUMN_TOKENS = 70

Message = Mapping[str, str]


class Request(Protocol):
    """What the client needs to know of a question."""

    @property
    def max_tokens(self) -> int:
        """Tokens that an answer may take at most."""

    def schema(self, *, limits: bool) -> Mapping[str, Any] | None:
        """A strict JSON Schema of the answer; null when any text will do.

        Args:
            limits: Whether to state the greatest lengths; not every server understands that.
        """


@dataclass(frozen=True)
class Question:
    """What is asked about one table."""

    facts: TableFacts
    entity_name: bool
    definition: bool
    columns: tuple[ColumnFacts, ...]
    """Those to describe."""
    faults: tuple[str, ...] = ()
    """What was wrong with an earlier answer: this asks for a repair."""

    @property
    def max_tokens(self) -> int:
        """Tokens that an answer may take at most."""
        return _TABLE_TOKENS + _COLUMN_TOKENS * len(self.columns)

    def schema(self, *, limits: bool) -> dict[str, Any]:
        """The JSON Schema of the answer."""
        return answer_schema(self, limits=limits)

    def chunks(self, size: int) -> tuple[Question, ...]:
        """The same in questions of at most `size` columns; only the first asks about the table itself."""
        if len(self.columns) <= size:
            return (self,)
        parts = [self.columns[at : at + size] for at in range(0, len(self.columns), size)]
        return (
            Question(self.facts, self.entity_name, self.definition, parts[0], self.faults),
            *(Question(self.facts, False, False, part, self.faults) for part in parts[1:]),
        )


def messages(question: Question, settings: ModelSettings, meanings: Mapping[TableName, str]) -> list[Message]:
    """The prompt: rules and glossary, which are the same for all tables, then the table.

    Args:
        meanings: Definitions of other tables as far as they are known.
    """
    told = [{"role": "system", "content": system_text(settings)}]
    if question.faults:
        repair = prompt_text("repair_v1")
        told.append({"role": "system", "content": f"{repair}\n{_json(list(question.faults))}"})
    return [*told, {"role": "user", "content": _json(payload(question, meanings))}]


def prompt_tokens(messages: Sequence[Message]) -> int:
    """About how many tokens messages take."""
    return sum(estimated_tokens(message["content"]) + _MESSAGE_TOKENS for message in messages)


def expected_tokens(question: Request) -> int:
    """About how many tokens an answer takes; its limit is about twice as high."""
    return question.max_tokens // 2


def system_text(settings: ModelSettings) -> str:
    """Rules and glossary."""
    text = prompt_text(PROMPT).replace("{language}", settings.language)
    if not settings.glossary:
        return text
    terms = {clean(term, NAME_LENGTH): clean(told, KNOWN_LENGTH) for term, told in settings.glossary.items()}
    return f"{text}\n\nGlossary of this organisation:\n{_json(terms)}"


def format_text(schema: Mapping[str, Any]) -> str:
    """The schema in words, for servers that take none."""
    return f"{prompt_text('format_v1')}\n{_json(schema)}"


@cache
def prompt_text(name: str) -> str:
    """A prompt file of this project, by name and version."""
    return (files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def answer_schema(question: Question, *, limits: bool = True) -> dict[str, Any]:
    """A strict JSON Schema with one required property for each text that is asked for.

    Args:
        limits: Whether to state the greatest lengths; not every server understands that.
    """

    def text(kind: str) -> dict[str, Any]:
        return {"type": "string", "maxLength": LENGTHS[kind]} if limits else {"type": "string"}

    properties: dict[str, Any] = {}
    if question.entity_name:
        properties["entity_name"] = text("entity_name")
    if question.definition:
        properties["definition"] = text("definition")
    if question.columns:
        properties["columns"] = closed({column.shown: text("column") for column in question.columns})
    properties["confidence"] = {"type": "string", "enum": list(CONFIDENCES)}
    properties["unsure"] = {"type": "array", "items": {"type": "string"}}
    return closed(properties)


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def cache_key(facts: TableFacts, settings: ModelSettings) -> str:
    """Hash of everything that an answer is worth keeping for.

    Samples, profiles, inferred keys, roles, incoming references and other tables' texts take no part:
    an answer stays good when they move.
    """
    parameters = [
        PROMPT,
        hashlib.sha256(prompt_text(PROMPT).encode()).hexdigest(),
        settings.provider,
        settings.model,
        settings.temperature,
        settings.reasoning_effort,
        settings.language,
        settings.samples,
        dict(settings.glossary),
    ]
    return jsontext.digest({"parameters": parameters, "table": facts.structure()})


def payload(question: Question, meanings: Mapping[TableName, str]) -> dict[str, Any]:
    """What is told about a table."""
    facts = question.facts
    asked = {column.name for column in question.columns}
    told: dict[str, Any] = {
        "table": table_label(facts.name),
        "kind": facts.kind,
        "role": facts.role if facts.role != "other" else None,
        "entity_name": facts.entity_name,
        "known": facts.human or facts.comment,
        "primary_key": _names(facts, facts.primary_key),
        "unique": [_names(facts, key) for key in facts.unique],
        "references": [
            _without_nothing(
                {
                    "columns": _names(facts, parent.columns),
                    "table": table_label(parent.table),
                    "meaning": _meaning(parent.table, meanings),
                }
            )
            for parent in facts.parents[:_MOST_PARENTS]
        ],
        "referenced_by": list(facts.children[:_MOST_CHILDREN]),
        "reads": [
            _without_nothing({"table": table_label(source), "meaning": _meaning(source, meanings)})
            for source in facts.sources[:_MOST_PARENTS]
        ],
        "sql": facts.view_sql,
        "columns": [
            _column(column)
            for column in facts.columns
            if column.name in asked or (column.known and not question.faults)
        ],
    }
    return _without_nothing(told)


def _column(column: ColumnFacts) -> dict[str, Any]:
    return _without_nothing(
        {
            "name": column.shown,
            "type": column.data_type,
            "known": column.known,
            "values": list(column.values),
            "samples": list(column.samples) if not column.values and not column.known else [],
        }
    )


def _names(facts: TableFacts, columns: Sequence[str]) -> list[str]:
    shown = {column.name: column.shown for column in facts.columns}
    return [shown.get(name) or clean(name, NAME_LENGTH) for name in columns]


def table_label(name: TableName) -> str:
    """A table's name as the model sees it."""
    return clean(".".join(name), 2 * NAME_LENGTH)


def _meaning(name: TableName, meanings: Mapping[TableName, str]) -> str | None:
    text = meanings.get(name)
    return clean(text, KNOWN_LENGTH) if text else None


def _without_nothing(told: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if value not in (None, "", [])}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
