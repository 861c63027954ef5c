"""Which columns may be the key of a table: declared, proven unique, or so named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dictionary_pipeline.relationships.inference.facts import Column, Facts, Table
from dictionary_pipeline.relationships.inference.lexicon import MEASURES
from dictionary_pipeline.relationships.inference.matching import owns
from dictionary_pipeline.relationships.inference.readings import things_by_table
from dictionary_pipeline.relationships.inference.words import Tokens, with_stems

OWNED = 0.7
"""Ownership (`matching.owns`) from which a column is named after its own table."""
LIKELY = 0.5
"""Strength from which a single column is a table's key rather than several columns together."""
_MAX_KEYS = 4
_MAX_KEY_LENGTH = 60.0
_LEAST = 0.1
_MEASURES = with_stems(MEASURES)


@dataclass(frozen=True, slots=True)
class Key:
    """One column that may identify the rows of its table."""

    column: int
    table: int
    strength: float
    """How much it looks like the table's primary key, 0 to 1."""
    proof: str
    """declared | sample (the whole table was read) | open (nothing read speaks against it)"""
    owned: float
    """How surely it is named after its own table, 0 to 1; a plain `id` is 1."""
    names_another: bool
    """It is named exactly after another table."""

    @property
    def is_own(self) -> bool:
        """It is the table's own key rather than a reference that happens to be unique."""
        return self.owned >= OWNED and not self.names_another


def single_keys(facts: Facts) -> list[list[Key]]:
    """Keys of one column per table, the likeliest primary key first."""
    index = things_by_table([table.reading for table in facts.tables])
    return [_keys_of(table, index) for table in facts.tables]


def primary_of(keys: Sequence[Key]) -> Key | None:
    """The likeliest primary key of a table, if one is likely at all."""
    return keys[0] if keys and keys[0].strength >= 0.3 else None


def _keys_of(table: Table, index: Mapping[Tokens, Sequence[int]]) -> list[Key]:
    declared = [key[0] for key in table.unique if len(key) == 1]
    found = []
    for column in table.columns:
        owned = max(owns(thing, table.reading.thing) for thing in column.reading.things)
        another = owned < 0.99 and _names_another(column, table, owned, index)
        if column.number in declared:
            first = table.has_primary and column.number == declared[0] and len(table.unique[0]) == 1
            found.append(Key(column.number, table.number, 1.0 if first else 0.8, "declared", owned, another))
        elif _is_eligible(column, table):
            strength = _strength(column, table, owned, another=another)
            if strength >= _LEAST:
                proof = "sample" if column.is_unique else "open"
                found.append(Key(column.number, table.number, strength, proof, owned, another))
    return sorted(found, key=lambda key: (-round(key.strength, 3), key.column))[:_MAX_KEYS]


def _is_eligible(column: Column, table: Table) -> bool:
    if column.family not in ("number", "text", "uuid") or not column.may_be_unique:
        return False
    if column.type_class == "float" and column.reading.mark == "":
        return False
    if table.has_primary and column.reading.mark == "":
        return False
    return column.length is None or column.length <= _MAX_KEY_LENGTH


def _strength(column: Column, table: Table, owned: float, *, another: bool) -> float:
    reading, first = column.reading, column.position == 0
    plain = () in reading.things
    is_owned = owned >= OWNED
    if reading.mark == "id":
        strength = 1.0 if plain else 0.9 + 0.08 * owned if is_owned else 0.55 if first else 0.25
    elif reading.mark in ("number", "code"):
        strength = (0.85 if first else 0.45) if plain else 0.8 + 0.1 * owned if is_owned else 0.5 if first else 0.2
    elif reading.mark == "name":
        strength = (0.3 if plain else 0.45 if is_owned else 0.15) + (0.15 if first else 0.0)
    elif reading.things[0] and reading.things[0][-1] in _MEASURES:
        # A table of years or levels; where nothing proves it, a measure is no key.
        return 0.3 if first and column.is_unique and column.rows >= 10 else 0.0
    else:
        strength = (0.65 if first else 0.45) if owned >= 0.9 else 0.4 if first else 0.0
    if another:
        strength *= 0.4
    if not plain and owned < 0.9 and _references(table) >= 2:
        strength *= 0.8
    if first and not (reading.mark == "id" and plain):
        strength += 0.02
    if strength > _LEAST and column.is_unique and column.rows >= 10:
        strength += 0.2 * (1.0 - strength)
    return strength


def _references(table: Table) -> int:
    """Columns at the front of a table that carry an id word: several of them look like references."""
    return sum(column.reading.mark == "id" and () not in column.reading.things for column in table.columns[:4])


def _names_another(column: Column, table: Table, owned: float, index: Mapping[Tokens, Sequence[int]]) -> bool:
    """Whether what the column is about is exactly what another table is about."""
    starts = 1 if owned >= OWNED else None  # the end of a name that fits its own table says nothing of others
    return any(
        other != table.number
        for thing in column.reading.things
        for start in range(len(thing))[:starts]
        for other in index.get(thing[start:], ())
    )
