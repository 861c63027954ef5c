"""Drafts that a person rejected: known by a hash of their text, so that another text gets its chance."""

from __future__ import annotations

import hashlib

import polars as pl

from dictionary_pipeline.config.resolved import HumanKnowledge

_COLUMN = ("schema", "table", "column")

Rejected = frozenset[tuple[str, str, str | None, str]]
"""Schema, table, column (null: the table itself) and hash, the names in lower case as people may write them."""


def text_hash(text: str) -> str:
    """Short hash of a text; begins with a letter, so that YAML never takes it for a number."""
    return "h" + hashlib.sha256(text.encode()).hexdigest()[:11]


def rejected_texts(human: HumanKnowledge) -> Rejected:
    """What people rejected."""
    return frozenset(
        (table.schema.casefold(), table.table.casefold(), column, item)
        for table in human.tables
        for column, hashes in (
            (None, table.rejected),
            *((column.name.casefold(), column.rejected) for column in table.columns),
        )
        for item in hashes
    )


def is_rejected(rejected: Rejected, schema: str, table: str, column: str | None, text: str) -> bool:
    """Whether a person rejected this text about this object."""
    name = (schema.casefold(), table.casefold(), None if column is None else column.casefold())
    return (*name, text_hash(text)) in rejected


def without_rejected(texts: pl.DataFrame, human: HumanKnowledge) -> pl.DataFrame:
    """A model's texts (schema, table, column, text and more) without those that people rejected."""
    rejected = rejected_texts(human)
    if not rejected:
        return texts
    rows = texts.select(*_COLUMN, "text").iter_rows()
    kept = [row[3] is None or not is_rejected(rejected, *row) for row in rows]
    return texts.filter(pl.Series(kept, dtype=pl.Boolean()))
