"""Fingerprints that change exactly when the structure of a table or schema changes.

A fact is written as a text in which every value carries its length, so that no value can be taken
for another one, whatever characters it holds. The facts of a table are joined in a canonical order
and hashed. Row estimates, sizes, privileges and derived columns take no part, nor do the gaps that
dropped columns leave in ordinals. Frame by frame and column by column, because 10,000 tables of 15
columns are common.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.jsontext import digest


class _Section(NamedTuple):
    """Which columns of a catalog frame are structure."""

    frame: str
    owner: tuple[str, str]
    facts: tuple[str, ...]
    ordered_by: tuple[str, ...] = ()
    """Columns whose order is structure; without any the rows are a set."""


_SECTIONS = (
    _Section("tables", ("schema", "table"), ("kind", "comment", "view_sql")),
    _Section(
        "columns",
        ("schema", "table"),
        (
            "column",
            "data_type",
            "is_nullable",
            "default",
            "is_identity",
            "is_generated",
            "comment",
            "enum_values",
            "domain_checks",
        ),
        ordered_by=("ordinal",),
    ),
    _Section("keys", ("schema", "table"), ("name", "kind", "columns")),
    _Section(
        "foreign_keys",
        ("from_schema", "from_table"),
        (
            "name",
            "from_columns",
            "to_database",
            "to_schema",
            "to_table",
            "to_columns",
            "is_validated",
            "on_update",
            "on_delete",
        ),
    ),
    _Section("indexes", ("schema", "table"), ("name", "columns", "is_unique")),
    _Section("checks", ("schema", "table"), ("name", "expression", "is_validated")),
)

_BLANKS_OUTSIDE_QUOTES = r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*\n?|(?s:/\*.*?\*/))|\s+"""
"""Literals, quoted names and comments (captured), or a run of blanks; a comment ends with its line."""


def with_fingerprints(catalog: Catalog) -> Catalog:
    """Fill `tables.fingerprint` and the fingerprint of the whole catalog, hex sha256 each.

    A table's own name is not in its fingerprint, so that a renamed table can be recognised; it is
    in the catalog's.
    """
    named = catalog.tables.select("schema", "table")
    for section in _SECTIONS:
        facts = _facts_per_table(getattr(catalog, section.frame), section)
        named = named.join(facts, on=["schema", "table"], how="left", maintain_order="left")
    texts = named.select(pl.concat_str([_sized(pl.col(section.frame)) for section in _SECTIONS])).to_series()
    hashes = pl.Series("fingerprint", [hashlib.sha256(text.encode()).hexdigest() for text in texts], dtype=pl.String)
    tables = frames.fit(catalog.tables.with_columns(hashes), frames.TABLES)
    whole = digest(tables.select("schema", "table", "fingerprint").sort(pl.all()).rows())
    return replace(catalog, tables=tables, fingerprint=whole)


def _facts_per_table(frame: pl.DataFrame, section: _Section) -> pl.DataFrame:
    """One row per table: its facts of one section as one text, in a column named after the section."""
    fact = pl.concat_str([_encoded(name, frame.schema[name]) for name in section.facts])
    facts = frame.select(
        pl.col(section.owner[0]).alias("schema"),
        pl.col(section.owner[1]).alias("table"),
        *section.ordered_by,
        _sized(fact).alias(section.frame),
    )
    return _grouped(facts, section.frame, section.ordered_by)


def _grouped(facts: pl.DataFrame, name: str, ordered_by: Sequence[str]) -> pl.DataFrame:
    ordered = facts.sort("schema", "table", *ordered_by, name)
    return ordered.group_by("schema", "table", maintain_order=True).agg(pl.col(name).str.join(""))


def _encoded(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if name == "view_sql":
        column = column.str.replace_all(_BLANKS_OUTSIDE_QUOTES, "${1} ").str.strip_chars()
    if name == "domain_checks":
        column = column.list.sort()
    if dtype == pl.List(pl.String):
        items = column.list.eval(_sized(pl.element())).list.join("")
        return (column.list.len().cast(pl.String) + "[" + items + "]").fill_null("-")
    return _sized(column.cast(pl.String))


def _sized(text: pl.Expr) -> pl.Expr:
    """Length and text, or `-` for null: `abc` -> `3:abc`."""
    return (text.str.len_bytes().cast(pl.String) + ":" + text).fill_null("-")
