"""Bringing an index that exists up to what documents need, without touching what others made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.publishing.search.indexes import OWNER, OWNER_KEY, Definition

Conflict = Callable[[str, str], DictionaryError]
"""Makes the error for (field, what is wrong)."""
_NEEDED = ("key", "filterable", "sortable")
_RELIED_ON = frozenset({"Id", OWNER, OWNER_KEY})
"""Attributes that the service does not change later, and the fields that the product needs them of."""
_PARTS = ("algorithms", "profiles", "vectorizers")


def evolved(existing: Definition, wanted: Definition, conflict: Conflict) -> Definition:
    """An existing index with everything that it lacks; equal to it when it lacks nothing.

    Args:
        existing: As the service has it: possibly made by the predecessor, or with fields of others.
        wanted: As a new index would be made.

    Raises:
        SearchUnusable: a field exists whose kind cannot be changed any more.
    """
    result = dict(existing)
    result["fields"] = _fields(existing["fields"], wanted["fields"], "", conflict)
    for section, part in (("semantic", "configurations"), *(("vectorSearch", part) for part in _PARTS)):
        missing = _missing(existing.get(section), wanted.get(section), part)
        if missing:
            held = result.get(section) or {}
            result[section] = {**held, part: [*(held.get(part) or []), *missing]}
    return result


def _missing(held: Any, wanted: Any, part: str) -> list[Definition]:
    names = {item["name"] for item in (held or {}).get(part) or []}
    return [item for item in (wanted or {}).get(part) or [] if item["name"] not in names]


def _fields(
    held: Iterable[Definition], wanted: Iterable[Definition], parent: str, conflict: Conflict
) -> list[Definition]:
    needed = {field["name"]: field for field in wanted}
    fields = [_field(field, needed.pop(field["name"], None), parent, conflict) for field in held]
    return [*fields, *needed.values()]


def _field(held: Definition, wanted: Definition | None, parent: str, conflict: Conflict) -> Definition:
    if wanted is None:
        return held
    name = f"{parent}{held['name']}"
    if held["type"] != wanted["type"]:
        raise conflict(name, f"is of type {held['type']}, not {wanted['type']}")
    if "fields" in wanted:
        return {**held, "fields": _fields(held["fields"], wanted["fields"], f"{name}/", conflict)}
    if "dimensions" in wanted and held.get("dimensions") != wanted["dimensions"]:
        raise conflict(name, f"has {held.get('dimensions')} dimensions, not {wanted['dimensions']}")
    for attribute in _NEEDED:
        if name in _RELIED_ON and wanted.get(attribute) and not held.get(attribute):
            raise conflict(name, f"is not {attribute}")
    if name == "Id" and held.get("retrievable") is False:
        return {**held, "retrievable": True}  # the one attribute that the service lets change, and needed to delete
    return held
