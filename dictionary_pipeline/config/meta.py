"""The keys of dbt's free-form `meta:` that are knowledge for us."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from dictionary_pipeline.config.dbt_tests import Malformed, json_scalars
from dictionary_pipeline.config.resolved import Approval
from dictionary_pipeline.config.yamlfile import scalar_text

Owner = Literal["table", "column"]


class MetaKey(NamedTuple):
    """One key, for readers of the configuration reference."""

    name: str
    owners: tuple[Owner, ...]
    kind: str
    meaning: str


_BOTH: tuple[Owner, ...] = ("table", "column")
META_KEYS = (
    MetaKey("entity_name", ("table",), "text", "Name of the entity for people, e.g. `Sales Order`."),
    MetaKey("allowed_values", ("column",), "list", "The complete list of values."),
    MetaKey("value_synonyms", ("column",), "mapping", "Other words for values: `{DE: [Germany]}`."),
    MetaKey(
        "approved_from",
        _BOTH,
        "text",
        "`model` or `derived`: a person took the text over. Written by `review` and `approve`, deleted by an edit.",
    ),
    MetaKey(
        "approved_for",
        _BOTH,
        "text",
        "Hash of the table's or column's structure at that moment; when it differs, `review` shows the text again.",
    ),
    MetaKey(
        "rejected",
        _BOTH,
        "list of text",
        "Hashes of drafts that are neither proposed nor published again. Written by `review`; delete one to undo it.",
    ),
)
"""Every key that is read or written. Others are somebody else's, also all those of a source."""

Warn = Callable[[str, str], None]
"""Takes a key and a text about it."""


class ColumnMeta(NamedTuple):
    """What `meta:` says about a column."""

    allowed_values: tuple[Any, ...] | None
    value_synonyms: Mapping[str, tuple[str, ...]]
    rejected: tuple[str, ...]
    approval: Approval | None


class TableMeta(NamedTuple):
    """What `meta:` says about a table."""

    entity_name: str | None
    rejected: tuple[str, ...]
    approval: Approval | None


def table_meta(meta: Mapping[str, Any], warn: Warn) -> TableMeta:
    """What a table's `meta:` says.

    Raises:
        Malformed: the name is not one text.
    """
    _warn_of_typos(meta, "table", warn)
    name = meta.get("entity_name")
    if isinstance(name, dict | list):
        raise Malformed("'entity_name' must be one text", "Write entity_name: Sales Order.")
    entity_name = scalar_text(name).strip() or None if name is not None else None
    return TableMeta(entity_name, _rejected(meta), _approval(meta))


def column_meta(meta: Mapping[str, Any], warn: Warn) -> ColumnMeta:
    """What a column's `meta:` says.

    Raises:
        Malformed: a key has the wrong shape.
    """
    _warn_of_typos(meta, "column", warn)
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
        _approval(meta),
    )


def _rejected(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Hashes of drafts; a key of that name that holds anything else is somebody else's."""
    found = meta.get("rejected")
    return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()


def _approval(meta: Mapping[str, Any]) -> Approval | None:
    """What `review` and `approve` noted down; keys of these names that hold anything else are somebody else's."""
    origin, structure = meta.get("approved_from"), meta.get("approved_for")
    if origin != "model" and origin != "derived":
        return None
    return Approval(origin, structure if isinstance(structure, str) else None)


def _texts(words: Any) -> tuple[str, ...]:
    listed = words if isinstance(words, list) else [words]
    return tuple(dict.fromkeys(str(word) for word in json_scalars(listed)))


def _warn_of_typos(meta: Mapping[str, Any], owner: Owner, warn: Warn) -> None:
    """`meta:` may hold anything, so a near miss is worth a word but no error."""
    known = [key.name for key in META_KEYS if owner in key.owners]
    for key in meta:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.85)
        if key not in known and near:
            warn(key, f"meta.{key} is not used. Did you mean {near[0]!r}?")
