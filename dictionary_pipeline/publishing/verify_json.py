"""Structural checks of published JSON, by hand: validating every file against its JSON Schema would
cost more CPU than building it. The tests check that both agree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dictionary_pipeline import jsontext

_ENTRY_HEAD = ("Entity", "Definition", "Schema", "EntityName")
_ENTRY_TAIL = ("EntityRelationships", "CompleteEntityRelationshipsGraph", "Columns", "FQN")
_ENGINE_FIELDS = ((), ("Database",), ("Warehouse", "Database"), ("Catalog",))
_ITEM_HEAD = ("ForeignEntity", "ForeignSchema", "ForeignKeys")
_ITEM_TAIL = ("FQN", "ForeignFQN")
_COLUMN = ("Name", "DataType", "Definition", "SampleValues")
_COLUMN_ALLOWED = ("Name", "DataType", "Definition", "AllowedValues", "SampleValues")
_MAX_SAMPLES = 5

Add = Callable[[str, str], None]
"""Reports a finding: (check, message)."""


@dataclass(frozen=True)
class Known:
    """What the entries of a bundle may refer to."""

    fqns: frozenset[str]
    """Of tables and views of the bundle and of stubs."""
    withheld: frozenset[tuple[str, str, str]]


def parse(data: bytes, add: Add) -> Any:
    """Parse a whole JSON file strictly; null after a finding."""
    try:
        return jsontext.loads_strict(data.decode())
    except ValueError as error:
        add("strict_json", f"not strict JSON ({type(error).__name__})")
        return None


def check_entry(entry: Any, known: Known, add: Add) -> tuple[str, str] | None:
    """Check one schema-store entry; return (schema, table) of an entry that could be identified."""
    if not isinstance(entry, dict):
        add("structure", "an entry is not an object")
        return None
    keys = tuple(entry)
    fields = keys[len(_ENTRY_HEAD) : -len(_ENTRY_TAIL)]
    if keys != (*_ENTRY_HEAD, *fields, *_ENTRY_TAIL) or fields not in _ENGINE_FIELDS:
        add("structure", f"keys are {list(keys)}")
        return None
    if not _all_text(entry[key] for key in ("Entity", "Schema", "EntityName", "FQN", *fields)):
        add("structure", "a name is missing or not text")
        return None
    if not _text_or_null(entry["Definition"]) or not _all_text(entry["CompleteEntityRelationshipsGraph"]):
        add("structure", "Definition or CompleteEntityRelationshipsGraph is not text")
    table = (entry["Schema"], entry["Entity"])
    names = {column for column in (_check_column(item, table, known, add) for item in entry["Columns"]) if column}
    for item in entry["EntityRelationships"]:
        _check_relationship(item, entry["FQN"], fields, names, known, add)
    return table


def _check_column(column: Any, table: tuple[str, str], known: Known, add: Add) -> str | None:
    if not isinstance(column, dict) or tuple(column) not in (_COLUMN, _COLUMN_ALLOWED):
        add("structure", "a column has other keys than the contract's")
        return None
    name = column["Name"]
    if not _all_text((name, column["DataType"])) or not _text_or_null(column["Definition"]):
        add("structure", "a column's Name, DataType or Definition is not text")
        return None
    samples, allowed = column["SampleValues"], column.get("AllowedValues")
    if samples is not None and (not isinstance(samples, list) or len(samples) > _MAX_SAMPLES):
        add("structure", f"SampleValues of {name} is not a list of at most {_MAX_SAMPLES}")
    if "AllowedValues" in column and (not isinstance(allowed, list) or None in allowed):
        add("structure", f"AllowedValues of {name} is not a list of values")
    if (*table, name) in known.withheld and (samples is not None or "AllowedValues" in column):
        add("privacy", f"values of the withheld column {name} are shown")
    return str(name)


def _check_relationship(
    item: Any, fqn: str, fields: tuple[str, ...], columns: set[str], known: Known, add: Add
) -> None:
    expected = (*_ITEM_HEAD, *(f"Foreign{field}" for field in fields), *_ITEM_TAIL)
    # A key into another database names it even where the engine shows no database of its own.
    allowed = (expected, (*_ITEM_HEAD, "ForeignDatabase", *_ITEM_TAIL))
    keys = tuple(item) if isinstance(item, dict) else ()
    inferred = keys[-2:] == ("Origin", "Confidence")
    if (keys[:-2] if inferred else keys) not in allowed:
        add("structure", "a relationship has other keys than the contract's")
        return
    if inferred and (item["Origin"] != "inferred" or not 0 <= item["Confidence"] <= 1):
        add("structure", "an inferred relationship has no confidence between 0 and 1")
    if item["FQN"] != fqn:
        add("relationships", "a relationship names another table as its own")
    if item["ForeignFQN"] not in known.fqns:
        add("relationships", f"{item['ForeignFQN']} is neither in the bundle nor a known outside object")
    for pair in item["ForeignKeys"]:
        if tuple(pair) != ("Column", "ForeignColumn"):
            add("structure", "a ForeignKeys item has other keys than the contract's")
        elif pair["Column"] not in columns:
            add("relationships", f"{pair['Column']} is not a column of the table")


def check_value_lines(data: bytes, known: Known, add: Add) -> None:
    """Check one value file: every line, ids unique, one column only, none of them withheld."""
    if _are_plain_lines(data, known):
        return
    ids: set[str] = set()
    names: set[tuple[str, ...]] = set()
    for keys, values in _lines(data, add):
        start, fields, end = keys[:2], keys[2:-5], keys[-5:]
        if start != ("Entity", "Schema") or end != ("FQN", "Column", "Value", "Synonyms", "Id"):
            add("structure", f"keys of a line are {list(keys)}")
            return
        if fields not in _ENGINE_FIELDS or not _all_text(values[:-2] + values[-1:]) or not _all_text(values[-2]):
            add("structure", "a line has an unknown engine field or a value that is not text")
            return
        ids.add(values[-1])
        names.add((values[1], values[0], values[-4]))
        if len(ids) < len(names):
            break
    lines = data.count(b"\n")
    if len(ids) != lines or not data.endswith(b"\n"):
        add("structure", f"{lines} lines have {len(ids)} ids")
    if len(names) != 1:
        add("structure", f"a value file belongs to {len(names)} columns")
    if names & known.withheld:
        add("privacy", "a withheld column has a value file")


def _are_plain_lines(data: bytes, known: Known) -> bool:
    """Whether the lines are a sound value file, told by their form alone, as that of nearly all files is.

    False says nothing: the lines are then parsed.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    head = _HEAD.match(text)
    if head is None or not text.endswith("\n"):
        return False
    # The names are the same on every line, so that only the first line's are parsed.
    pairs = _PAIRS.decode(head[1] + "}")
    keys, values = zip(*pairs, strict=True)
    start, fields, end = keys[:2], keys[2:-2], keys[-2:]
    if start != ("Entity", "Schema") or end != ("FQN", "Column") or fields not in _ENGINE_FIELDS:
        return False
    if not _all_text(values) or (values[1], values[0], values[-1]) in known.withheld:
        return False
    lines = text.split("\n")[:-1]
    size = len(head[1])
    ids = {found[1] for line in lines if line.startswith(head[1]) and (found := _TAIL.fullmatch(line, size))}
    return len(ids) == len(lines)


def _lines(data: bytes, add: Add) -> Iterator[tuple[tuple[str, ...], tuple[Any, ...]]]:
    """Keys and values of every line; comparing all keys in order also finds duplicates."""
    for line in data.decode(errors="replace").split("\n")[:-1]:
        try:
            pairs = _PAIRS.decode(line)
        except ValueError as error:
            add("strict_json", f"a line is not strict JSON ({type(error).__name__})")
            return
        if not isinstance(pairs, tuple) or not pairs:
            add("structure", "a line is not an object")
            return
        keys, values = zip(*pairs, strict=True)
        yield keys, values


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_TEXT = r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"'
_HEAD = re.compile(rf'(\{{"Entity": {_TEXT}(?:, "[A-Za-z]+": {_TEXT})*), "Value": ')
_TAIL = re.compile(rf', "Value": {_TEXT}, "Synonyms": \[(?:{_TEXT}(?:, {_TEXT})*)?\], "Id": "([0-9a-f]+)"\}}')
"""A line of the value store is its column's names, the same on every line, and what follows."""
_PAIRS = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_refuse)


def _all_text(values: Any) -> bool:
    return not isinstance(values, str) and all(isinstance(value, str) for value in values)


def _text_or_null(value: Any) -> bool:
    return value is None or isinstance(value, str)
