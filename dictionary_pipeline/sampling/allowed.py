"""Which values a column may hold, where that is known without looking at its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge
from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.jsontext import compact
from dictionary_pipeline.sampling.profile import value_order
from dictionary_pipeline.sampling.values import MAX_CHARACTERS, encode

ALLOWED: frames.Schema = {
    name: frames.PROFILES[name] for name in ("schema", "table", "column", "allowed_values", "allowed_values_origin")
}


def allowed_values(catalog: Catalog, human: HumanKnowledge) -> pl.DataFrame:
    """Complete value sets as JSON texts, one row per column that has one (schema `ALLOWED`).

    What people say wins over the catalog. Enum labels keep their declared order, everything else
    is sorted. A set with a text that is too long to be listed is left out: the rest of it would
    claim to be complete.
    """
    said = {
        (table.schema, table.table, column.name): column
        for table in human.tables
        for column in table.columns
        if column.allowed_values is not None
    }
    schemas = sorted({schema for schema, _, _ in said})
    candidates = catalog.columns.filter(
        pl.col("allowed_values").is_not_null() | pl.col("schema").is_in(schemas)
    ).select("schema", "table", "column", "type_class", "allowed_values", "allowed_values_origin")
    rows = []
    for schema, table, column, type_class, values, origin in candidates.iter_rows():
        words = said.get((schema, table, column))
        if words is not None and words.allowed_values is not None:
            values, origin = _texts(words.allowed_values), words.allowed_values_origin or "human"
        listed = _listed(values or (), type_class, keep_order=origin == "enum")
        if listed:
            rows.append((schema, table, column, listed, origin))
    return frames.from_rows(rows, ALLOWED)


def _texts(values: Iterable[Any]) -> list[str]:
    """JSON scalars as an engine would spell them, so that a quoted `'1'` fits an integer column."""
    return [value if isinstance(value, str) else compact(value) for value in values if value is not None]


def _listed(values: Iterable[str | None], type_class: TypeClass, *, keep_order: bool) -> list[str] | None:
    texts = list(dict.fromkeys(value for value in values if value is not None))
    if any(len(text) > MAX_CHARACTERS for text in texts):
        return None
    ordered = texts if keep_order else sorted(texts, key=lambda text: value_order(text, type_class))
    return list(dict.fromkeys(encode(text, type_class) for text in ordered))
