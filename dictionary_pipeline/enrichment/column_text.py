"""The derived text of a column: what it identifies, refers to or holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from dictionary_pipeline.enrichment.facts import ColumnFacts, ColumnName, Facts, TableName
from dictionary_pipeline.enrichment.prose import (
    capitalised,
    enumeration,
    sentence,
    shortened,
    singular,
    spoken,
    spoken_singular,
    spoken_view,
    value_list,
)

LIMIT = 200
_VIEW_KINDS = frozenset({"view", "materialized_view"})
_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "float": "a floating-point number",
    "decimal": "a decimal number",
    "boolean": "true or false",
    "date": "a date",
    "time": "a time of day",
    "timestamp": "a date and time",
    "interval": "a span of time",
    "uuid": "a UUID",
    "json": "a JSON document",
    "array": "a nested value",
    "xml": "an XML document",
    "binary": "binary data",
}
_KEY_WORDS = frozenset(["code", "fk", "id", "key", "no", "nr", "num", "number"])
"""Last words of a referring column that say nothing about what it refers to."""
_PREPOSITIONS = frozenset(["at", "by", "for", "from", "in", "of", "on", "to", "until"])
"""A name ending in one of these reads `order shipped at`, not `shipped at of the order`."""


def column_texts(schema: str, table: str, kind: str, columns: Sequence[ColumnFacts], facts: Facts) -> list[str]:
    """One sentence per column, at most 200 characters, in the order of `columns`."""
    owner = spoken_view(table) if kind in _VIEW_KINDS else spoken_singular(table)
    key = facts.primary_keys.get((schema, table), ())
    references = _references((schema, table), facts)
    texts = []
    for column in columns:
        name = (schema, table, column.name)
        if column.name in references:
            text = _referring(column.name, references[column.name]) + _key_part(column.name, key, owner)
        elif key == (column.name,):
            text = f"Identifier of the {owner} (primary key)"
        else:
            text = f"{_subject(column, owner)}, {_content(column, name, facts)}" + _key_part(column.name, key, owner)
        texts.append(sentence(shortened(text + _marks(column, name, facts), LIMIT - 1)))
    return texts


class _Target(NamedTuple):
    """What a foreign key column refers to."""

    thing: str
    """One row of the parent, spoken."""
    phrase: str


def _referring(column: str, targets: Sequence[_Target]) -> str:
    """`Refers to store (...)`; a column that names another role says so: `Manager, refers to employee (...)`."""
    phrases = " and ".join(target.phrase for target in targets)
    role = spoken(column).split(" ")
    while len(role) > 1 and role[-1] in _KEY_WORDS:
        role.pop()
    if any(set(map(singular, role)) <= {*target.thing.split(" "), *_KEY_WORDS} for target in targets):
        return capitalised(phrases)
    return capitalised(f"{' '.join(role)}, {phrases}")


def _references(table: TableName, facts: Facts) -> dict[str, list[_Target]]:
    """What each foreign key column refers to, one per key."""
    phrases: dict[str, list[_Target]] = defaultdict(list)
    for parent in facts.parents.get(table, ()):
        verb = "appears to refer to" if parent.inferred else "refers to"
        place = parent.place(table)
        for position, column in enumerate(parent.columns):
            target = f"{place}.{parent.parent_columns[position]}" if position < len(parent.parent_columns) else place
            thing = spoken_singular(parent.table)
            phrases[column].append(_Target(thing, f"{verb} {thing} ({target})"))
    return phrases


def _key_part(column: str, key: Sequence[str], owner: str) -> str:
    if column not in key:
        return ""
    return f"; primary key of the {owner}" if len(key) == 1 else f"; part of the primary key of the {owner}"


def _subject(column: ColumnFacts, owner: str) -> str:
    name = spoken(column.name)
    if column.type_class == "boolean":
        return f"Flag of the {owner}: {name}"
    if name.split(" ")[-1] in _PREPOSITIONS:
        return capitalised(f"{owner} {name}")
    return capitalised(name) if f" {owner} " in f" {name} " else capitalised(f"{name} of the {owner}")


def _content(column: ColumnFacts, name: ColumnName, facts: Facts) -> str:
    allowed = facts.allowed_values.get(name)
    if allowed:
        return f"one of {value_list(allowed, 8)}"
    kind = _TYPES.get(column.type_class) or f"of type {column.data_type}"
    sources = facts.column_sources.get(name)
    if not sources:
        return kind
    places = [
        f"{table}.{source}" if schema == name[0] else f"{schema}.{table}.{source}" for schema, table, source in sources
    ]
    return f"{kind}, derived from {enumeration(places, 2)}"


def _marks(column: ColumnFacts, name: ColumnName, facts: Facts) -> str:
    marks = "; unique" if name in facts.unique_columns else ""
    if column.is_generated:
        return marks + "; computed by the database"
    return marks + "; numbered by the database" if column.is_identity else marks
