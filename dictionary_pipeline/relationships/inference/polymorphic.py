"""Ids that refer to rows of several tables: a second column says of which (`owner_id`, `owner_type`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dictionary_pipeline.relationships.inference.facts import Column, Facts, Table
from dictionary_pipeline.relationships.inference.lexicon import POLYMORPHIC_WORDS, TYPE_WORDS
from dictionary_pipeline.relationships.inference.readings import things_by_table
from dictionary_pipeline.relationships.inference.words import Tokens, stems, tokens

_MOST_KINDS = 100
"""A column that names tables has no more different values than this."""
_NAMED_SHARE = 0.5
"""Share of the values that must name tables."""


@dataclass(frozen=True, slots=True)
class Polymorphic:
    """An id column, the column that names the table it refers to, and the tables that it names."""

    column: int
    kind_column: int
    targets: tuple[int, ...]
    """Tables, by number; empty when the values are not known."""


def find_polymorphic(facts: Facts, values: Mapping[int, Sequence[str]]) -> dict[int, Polymorphic]:
    """Recognise pairs of an id and a type column.

    The values decide where they are known: most must name tables of the schema. Elsewhere only names that
    mean no table in particular count (`object_id` and `object_type`, `commentable_id` and `commentable_type`).

    Args:
        values: Column number -> distinct values, of text columns that were sampled.

    Returns:
        Id column -> what was recognised.
    """
    index = things_by_table([table.reading for table in facts.tables])
    found: dict[int, Polymorphic] = {}
    for table in facts.tables:
        kinds = {thing: column for column in table.columns for thing in _kind_things(column)}
        if not kinds:
            continue
        for column in table.columns:
            if column.reading.mark not in ("id", "number") or column.number in found:
                continue
            kind = next((kinds[thing] for thing in column.reading.things if thing in kinds), None)
            if kind is not None and kind.number != column.number:
                targets = _targets(values.get(kind.number), index)
                if targets or (kind.number not in values and _means_no_table(column, table, index)):
                    found[column.number] = Polymorphic(column.number, kind.number, targets)
    return found


def _kind_things(column: Column) -> list[Tokens]:
    """What a column that ends in a word such as `type` is the type of."""
    words = column.reading.plain
    if column.family == "text" and len(words) >= 2 and words[-1] in TYPE_WORDS:
        return [words[:-1]]
    return []


def _means_no_table(column: Column, table: Table, index: Mapping[Tokens, Sequence[int]]) -> bool:
    thing = column.reading.things[0]
    if not thing or thing in index:
        return False
    return thing[-1] in POLYMORPHIC_WORDS or thing[-1].endswith("able")


def _targets(values: Sequence[str] | None, index: Mapping[Tokens, Sequence[int]]) -> tuple[int, ...]:
    if not values or len(values) > _MOST_KINDS:
        return ()
    named = [tables[0] for value in values if (tables := _named(value, index))]
    return tuple(sorted(set(named))) if len(named) >= max(2.0, _NAMED_SHARE * len(values)) else ()


def _named(value: str, index: Mapping[Tokens, Sequence[int]]) -> Sequence[int]:
    """Tables that a value names: `Post`, `posts`, `blog.Post`, `App\\Models\\Post`."""
    words = stems(tokens(value))
    for start in range(len(words)):
        if words[start:] in index:
            return index[words[start:]]
    return ()
