"""Strict, deterministic JSON: the same value gives the same bytes everywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any


def compact(value: Any) -> str:
    """One-line JSON, non-ASCII as is, keys in the given order; NaN and infinities are refused."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))


def pretty(value: Any) -> str:
    """Indented JSON with a final newline, as published."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=4) + "\n"


def canonical(value: Any) -> bytes:
    """Key-sorted, space-free UTF-8 JSON for hashing."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """Hex sha256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def loads_strict(text: str | bytes) -> Any:
    """Parse JSON, refusing NaN, Infinity and duplicate keys."""
    return json.loads(text, parse_constant=_refused, object_pairs_hook=_unique)


def leading_value(text: str, start: int) -> Any:
    """Parse the JSON value that begins at a position, as strictly, whatever follows it."""
    return json.JSONDecoder(parse_constant=_refused, object_pairs_hook=_unique).raw_decode(text, start)[0]


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice in an object")
    return result


def leaves(value: Any) -> Iterator[str]:
    """Every text and number within a parsed JSON value as text, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
