"""From a cell as an engine returns it to the JSON value that is published (contract 3.1, "Values")."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import Any, TypeAlias

from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.jsontext import compact, loads_strict

Cell: TypeAlias = int | float | bool | str | bytes | None
"""What a sampling statement returns for one column of one row."""
JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
Number: TypeAlias = int | float | Decimal

MAX_CHARACTERS = 200
"""Longer text is cut in samples and never enters allowed values or the value store."""
_MAX_DEPTH = 32
"""Levels of nesting published as JSON; deeper values stay text."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?")
_TIMESTAMP = re.compile(rf"({_DATE.pattern})[ T]({_TIME.pattern}) ?(Z|[+-][0-9]{{2}}(?::?[0-9]{{2}})?)?")
_PARSERS: dict[str, Callable[[str], Number]] = {"integer": int, "float": float}
_BOOLEANS = {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}


def decode(cell: Cell, type_class: TypeClass) -> JsonValue:
    """The published value of a cell.

    A native cell keeps its own kind whatever the column's type says, because an engine without
    strict types (SQLite) may hold any kind in any column. Text is read by the type class; text
    that is not what the class promises (`infinity`, BC dates, NaN) stays as the engine wrote it.
    """
    if isinstance(cell, str):
        return _FROM_TEXT.get(type_class, cut)(cell)
    if isinstance(cell, bytes):
        return f"<{len(cell)} bytes>"
    if type_class == "binary" and isinstance(cell, int):
        return f"<{int(cell)} bytes>"
    if isinstance(cell, float) and not math.isfinite(cell):
        return "NaN" if math.isnan(cell) else ("Infinity" if cell > 0 else "-Infinity")
    return cell


def encode(cell: Cell, type_class: TypeClass) -> str:
    """The JSON text of the published value of a cell."""
    value = decode(cell, type_class)
    if isinstance(value, str):
        return encode_basestring(value)
    return repr(value) if type(value) in (int, float) else compact(value)


def well_formed(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot hold, replaced."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def cut(text: str) -> str:
    """The text as published in samples: well-formed, at most 200 characters."""
    return well_formed(text[:MAX_CHARACTERS])


def number(cell: Cell, type_class: TypeClass) -> Number | None:
    """The number that a cell of a numeric column stands for; null for NaN and what is no number."""
    if not isinstance(cell, str):
        return None if cell is None or isinstance(cell, bytes) or cell != cell else cell
    try:
        value = _PARSERS.get(type_class, Decimal)(cell)
    except (ValueError, InvalidOperation):
        return None
    return value if value == value else None


def iso_text(cell: Cell, type_class: TypeClass) -> str | None:
    """Date, time or timestamp text whose order is the order in time; null for any other cell."""
    if not isinstance(cell, str):
        return None
    if type_class == "timestamp":
        text = _timestamp(cell)
        return text if _TIMESTAMP.fullmatch(cell) or _DATE.fullmatch(cell) else None
    return cell if (_DATE if type_class == "date" else _TIME).fullmatch(cell) else None


def _integer(text: str) -> JsonValue:
    return int(text) if len(text) <= MAX_CHARACTERS and _INTEGER.fullmatch(text) else cut(text)


def _float(text: str) -> JsonValue:
    try:
        value = float(text)
    except ValueError:
        return cut(text)
    return value if math.isfinite(value) and "_" not in text else cut(text)


def _boolean(text: str) -> JsonValue:
    return _BOOLEANS.get(text.lower(), cut(text))


def _timestamp(text: str) -> str:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return cut(text)
    date, time, offset = match.groups(default="")
    if offset not in ("", "Z"):
        digits = offset[1:].replace(":", "")
        offset = f"{offset[0]}{digits[:2]}:{digits[2:] or '00'}"
    return f"{date}T{time}{offset}"


def _json(text: str) -> JsonValue:
    try:
        value = _publishable(loads_strict(text))
    except (ValueError, RecursionError):
        return cut(text)
    return text if value is None else value  # a JSON null among samples would read as SQL NULL


def _publishable(value: Any, depth: int = 0) -> JsonValue:
    """Parsed JSON with its texts cut; refuses what not every JSON reader can take."""
    if depth > _MAX_DEPTH or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("nested too deeply, or a number such as 1e999")
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, list):
        return [_publishable(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {well_formed(key): _publishable(item, depth + 1) for key, item in value.items()}
    plain: JsonValue = value
    return plain


_FROM_TEXT: dict[str, Callable[[str], JsonValue]] = {
    "integer": _integer,
    "float": _float,
    "boolean": _boolean,
    "timestamp": _timestamp,
    "json": _json,
    "array": _json,
}
"""Type class -> reader of the engine's text; every other class is published as that text."""
