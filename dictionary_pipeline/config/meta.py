"""The keys of dbt's free-form `meta:` that are knowledge for us."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dictionary_pipeline.config.dbt_tests import Malformed, json_scalars
from dictionary_pipeline.config.yamlfile import scalar_text

Warn = Callable[[str, str], None]
"""Takes a key and a text about it."""


class ColumnMeta(NamedTuple):
    """What `meta:` says about a column."""

    allowed_values: tuple[Any, ...] | None
    value_synonyms: Mapping[str, tuple[str, ...]]


def table_meta(meta: Mapping[str, Any], warn: Warn) -> str | None:
    """The `entity_name` of a table's `meta:`.

    Raises:
        Malformed: it is not one text.
    """
    _warn_of_typos(meta, ("entity_name",), warn)
    name = meta.get("entity_name")
    if isinstance(name, dict | list):
        raise Malformed("'entity_name' must be one text", "Write entity_name: Sales Order.")
    return scalar_text(name).strip() or None if name is not None else None


def column_meta(meta: Mapping[str, Any], warn: Warn) -> ColumnMeta:
    """The `allowed_values` and `value_synonyms` of a column's `meta:`.

    Raises:
        Malformed: one of them has the wrong shape.
    """
    _warn_of_typos(meta, ("allowed_values", "value_synonyms"), warn)
    values = meta.get("allowed_values")
    if values is not None and not isinstance(values, list):
        raise Malformed("'allowed_values' must be a list", "Write allowed_values: ['a', 'b'].")
    synonyms = meta.get("value_synonyms") or {}
    if not isinstance(synonyms, dict) or any(isinstance(words, dict) for words in synonyms.values()):
        raise Malformed("'value_synonyms' must map values to synonyms", "Write value_synonyms: {DE: [Germany]}.")
    return ColumnMeta(
        None if values is None else json_scalars(values),
        {value: _texts(words) for value, words in synonyms.items() if words is not None},
    )


def _texts(words: Any) -> tuple[str, ...]:
    listed = words if isinstance(words, list) else [words]
    return tuple(dict.fromkeys(str(word) for word in json_scalars(listed)))


def _warn_of_typos(meta: Mapping[str, Any], known: tuple[str, ...], warn: Warn) -> None:
    """`meta:` may hold anything, so a near miss is worth a word but no error."""
    for key in meta:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.85)
        if key not in known and near:
            warn(key, f"meta.{key} is not used. Did you mean {near[0]!r}?")
