"""Reading an answer: only texts that keep the rules get through, everything else is a named fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from dictionary_pipeline.enrichment.model.asking import CONFIDENCES, LENGTHS, UNKNOWN, Question
from dictionary_pipeline.enrichment.model.facts import TableFacts
from dictionary_pipeline.enrichment.model.texts import Guard, clean
from dictionary_pipeline.jsontext import leading_value, loads_strict

_MARKUP = re.compile(
    r"<[/!a-zA-Z][^>]*>|```|\*\*|__\w|^\s*(?:#{1,6}|[-*>])\s|\]\(|&#?\w+;|\{\{|\{%"
    r"|<\||\|>|\[/?INST\]|\b(?:human|assistant):\s?"  # of conversations
    r"|[{\[]\s*\"|\"\s*[}\]]|^\s*=",  # of JSON and of spreadsheets
    re.MULTILINE | re.IGNORECASE,
)
_URL = re.compile(
    r"(?:\b[a-z][a-z0-9+.-]*://|\bwww\.|\bmailto:|\bjavascript:)\S+|[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,}"
    r"|\b(?:[\w-]+\.)+(?:com|net|org|info|biz|io|xyz)\b",
    re.IGNORECASE,
)
"""A link, an address or a domain."""
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|prompt|rule|above|previous|prior)"
    r"|\b(?:ignor|vergiss|vergessen|missacht|olvid|esque[cç]|oubli|diment)\w*\b.{0,40}"
    r"\b(?:anweisung|vorgabe|instruc|instruç|istruzion|consigne)"
    r"|\bnote to (?:the |any )?(?:ai|llm|model|assistant|agent)\b"
    r"|\bsystem prompt\b|\bas an? (?:ai|language model)\b|\byou (?:are now|must now|are chatgpt)\b"
    r"|^\W*(?:reply|respond|reveal|repeat after|pretend|act as)\b"
    r"|^\W*(?:output|print|say|answer) (?:only|exactly|that|with)\b"
    r"|\badd an? (?:new )?(?:entity|table|column)\b|\byou (?:must|should|shall)\b"
    r"|\b(?:drop|truncate)\s+table\b|\bdelete\s+from\b|\bunion\s+select\b|\bjailbr",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(r"(?<![\w.,])(?:[A-Z]\w*[ -])?\d{4,}")
"""A number, with the name that it is a part of, as in `ISO 4217` or `Form 1099`."""
_WORD = re.compile(r"\w+")
_LINE_BEGINS_OBJECT = re.compile(r"^\{", re.MULTILINE)
_MOST_OBJECTS = 20
_COPY_LENGTH = 5
"""Shorter samples, such as `EUR`, are words like others."""


@dataclass(frozen=True)
class Told:
    """One text of an answer."""

    text: str | None
    """Null: the model says that it does not know."""
    confidence: str


@dataclass(frozen=True)
class Answer:
    """What of an answer keeps the rules."""

    entity_name: Told | None = None
    definition: Told | None = None
    columns: Mapping[str, Told] = field(default_factory=dict)
    """By the column's name in the database."""
    faults: tuple[str, ...] = ()
    """What does not, by name and kind; holds no text of the model."""

    def __or__(self, other: Answer) -> Answer:
        """Both, the other's texts first; the faults are the other's."""
        return Answer(
            other.entity_name or self.entity_name,
            other.definition or self.definition,
            {**self.columns, **other.columns},
            other.faults,
        )


def read_answer(text: str, question: Question, guard: Guard) -> Answer:
    """Read what a model answered to a question."""
    return read_document(json_object(text), question, guard)


def read_document(document: Any, question: Question, guard: Guard) -> Answer:
    """Read the parsed answer to a question."""
    if not isinstance(document, dict):
        return Answer(faults=("the answer is not a JSON object",))
    columns = document.get("columns", {})
    columns = columns if isinstance(columns, dict) else {}
    shown = {column.shown: column for column in question.columns}
    confidence = document.get("confidence")
    confidence = confidence if confidence in CONFIDENCES else "low"
    listed = document.get("unsure")
    unsure = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    faults: list[str] = []
    rules = _Rules(question.facts, guard)

    def told(kind: str, label: str, value: Any) -> Told | None:
        fault = rules.fault(kind, value)
        if fault:
            faults.append(f"{label}: {fault}")
            return None
        plain = clean(value, LENGTHS[kind])
        sure = "low" if label in unsure else confidence
        return Told(None if plain.strip(" .'\"").casefold() == UNKNOWN else plain, sure)

    name = told("entity_name", "entity_name", document.get("entity_name")) if question.entity_name else None
    definition = told("definition", "definition", document.get("definition")) if question.definition else None
    found = {column.name: told("column", label, columns.get(label)) for label, column in shown.items()}
    strange = len(set(columns) - set(shown))
    if strange:
        faults.append(f"{strange} columns that were not asked for")
    return Answer(name, definition, {name: text for name, text in found.items() if text}, tuple(faults))


def lacking(question: Question, answer: Answer) -> Question | None:
    """The part of a question that an answer leaves open, with its faults; null when there is none."""
    columns = tuple(column for column in question.columns if column.name not in answer.columns)
    name = question.entity_name and answer.entity_name is None
    definition = question.definition and answer.definition is None
    if not (columns or name or definition):
        return None
    return Question(question.facts, name, definition, columns, answer.faults)


def is_safe(text: str, facts: TableFacts, kind: str, guard: Guard) -> bool:
    """Whether a text that was accepted earlier still keeps the rules."""
    return _Rules(facts, guard).fault(kind, text) is None


def prose_fault(text: str, limit: int, known: Callable[[], str], guard: Guard) -> str | None:
    """What is wrong with a model's prose, in words without the prose.

    Args:
        limit: Characters that it may have.
        known: The input in lower case, whose links it may repeat.
    """
    if len(text) > limit:
        return f"longer than {limit} characters"
    if _MARKUP.search(text):
        return "holds markup"
    if any(link not in known() for link in _URL.findall(text.casefold())):
        return "holds a link that is not in the input"
    if _INSTRUCTION.search(text):
        return "reads like an instruction"
    if guard.matches(text):
        return "holds a value of a withheld column"
    return None


class _Rules:
    """What a text about one table may hold."""

    def __init__(self, facts: TableFacts, guard: Guard) -> None:
        self._guard = guard
        self._facts = facts
        self._known: str | None = None
        self._samples: frozenset[str] | None = None
        self._names: frozenset[str] | None = None

    def fault(self, kind: str, value: Any) -> str | None:
        """What is wrong with a text, in words without the text."""
        if value is None:
            return "missing"
        if not isinstance(value, str) or not clean(value, 1_000_000):
            return "empty or not a text"
        fault = prose_fault(value, LENGTHS[kind], self._input, self._guard)
        if fault:
            return fault
        if kind != "entity_name" and value.strip(" .").casefold() in self._bare():
            return "only repeats a name or a type"
        if any(number[0].isdigit() and number not in self._input() for number in _NUMBER.findall(value)):
            return "holds a number that is not in the input"
        if any(self._quoted(value.casefold())):
            return "quotes a sample"
        return None

    def _bare(self) -> frozenset[str]:
        """Names and types, which say nothing about a meaning."""
        if self._names is None:
            facts = self._facts
            names = [facts.schema, facts.table, facts.full_name]
            names += [part for column in facts.columns for part in (column.name, column.shown, column.data_type)]
            self._names = frozenset(name.casefold() for name in names if name)
        return self._names

    def _quoted(self, text: str) -> Iterator[bool]:
        spaced = f" {' '.join(_WORD.findall(text))} "
        for sample in self._copyable():
            yield f" {sample} " in spaced

    def _copyable(self) -> frozenset[str]:
        """Samples, in words, that are neither short nor part of the input."""
        if self._samples is None:
            known = f" {' '.join(_WORD.findall(self._input().replace('_', ' ')))} "
            words = (" ".join(_WORD.findall(sample.casefold())) for _, sample in self._facts.sample_texts)
            self._samples = frozenset(w for w in words if len(w) >= _COPY_LENGTH and f" {w} " not in known)
        return self._samples

    def _input(self) -> str:
        """Names, types, comments, declared values and SQL: what a definition may repeat."""
        if self._known is None:
            facts = self._facts
            parts: list[str | None] = [facts.schema, facts.table, facts.comment, facts.human, facts.entity_name]
            parts += [facts.view_sql, *facts.children, *(part for p in facts.parents for part in p.table)]
            for column in facts.columns:
                parts += [column.name, column.data_type, column.known, *column.values]
            self._known = "\n".join(part for part in parts if part).casefold()
        return self._known


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object of an answer; servers that know no format may wrap it in words, before and after it."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    with suppress(ValueError, RecursionError):
        document = loads_strict(text[start : end + 1])
        return document if isinstance(document, dict) else None
    # Braces in the words: an object that begins a line. One within another object would be a part of the answer.
    for found in islice(_LINE_BEGINS_OBJECT.finditer(text), _MOST_OBJECTS):
        with suppress(ValueError, RecursionError):
            document = leading_value(text, found.start())
            return document if isinstance(document, dict) else None
    return None
