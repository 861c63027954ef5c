"""The keys of dbt's free-form `meta:` that are knowledge for us."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dictionary_pipeline.config.dbt_tests import Malformed, json_scalars
from dictionary_pipeline.config.yamlfile import scalar_text

_REVIEW = ("approved_from", "rejected")
"""Written by `review` and `approve`; `approved_from` is for those who read the file."""

Warn = Callable[[str, str], None]
"""Takes a key and a text about it."""


class ColumnMeta(NamedTuple):
    """What `meta:` says about a column."""

    allowed_values: tuple[Any, ...] | None
    value_synonyms: Mapping[str, tuple[str, ...]]
    rejected: tuple[str, ...]


class TableMeta(NamedTuple):
    """What `meta:` says about a table."""

    entity_name: str | None
    rejected: tuple[str, ...]


def table_meta(meta: Mapping[str, Any], warn: Warn) -> TableMeta:
    """The `entity_name` and `rejected` of a table's `meta:`.

    Raises:
        Malformed: the name is not one text.
    """
    _warn_of_typos(meta, ("entity_name", *_REVIEW), warn)
    name = meta.get("entity_name")
    if isinstance(name, dict | list):
        raise Malformed("'entity_name' must be one text", "Write entity_name: Sales Order.")
    return TableMeta(scalar_text(name).strip() or None if name is not None else None, _rejected(meta))


def column_meta(meta: Mapping[str, Any], warn: Warn) -> ColumnMeta:
    """The `allowed_values`, `value_synonyms` and `rejected` of a column's `meta:`.

    Raises:
        Malformed: one of them has the wrong shape.
    """
    _warn_of_typos(meta, ("allowed_values", "value_synonyms", *_REVIEW), warn)
    values = meta.get("allowed_values")
    if values is not None and not isinstance(values, list):
        raise Malformed("'allowed_values' must be a list", "Write allowed_values: ['a', 'b'].")
    synonyms = meta.get("value_synonyms") or {}
    if not isinstance(synonyms, dict) or any(isinstance(words, dict) for words in synonyms.values()):
        raise Malformed("'value_synonyms' must map values to synonyms", "Write value_synonyms: {DE: [Germany]}.")
    return ColumnMeta(
        None if values is None else json_scalars(values),
        {value: _texts(words) for value, words in synonyms.items() if words is not None},
        _rejected(meta),
    )


def _rejected(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Hashes of drafts; a key of that name that holds anything else is somebody else's."""
    found = meta.get("rejected")
    return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()


def _texts(words: Any) -> tuple[str, ...]:
    listed = words if isinstance(words, list) else [words]
    return tuple(dict.fromkeys(str(word) for word in json_scalars(listed)))


def _warn_of_typos(meta: Mapping[str, Any], known: tuple[str, ...], warn: Warn) -> None:
    """`meta:` may hold anything, so a near miss is worth a word but no error."""
    for key in meta:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.85)
        if key not in known and near:
            warn(key, f"meta.{key} is not used. Did you mean {near[0]!r}?")
