"""Derived definitions: short factual English made from names, keys, relationships and types.

The texts say only what the catalog or the relationship graph says, expand no abbreviation, and
hold nothing that moves with the data (no row counts, no samples), so that an unchanged structure
keeps its words. The only values they quote are declared value sets of columns that may be read.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.enrichment.column_text import column_texts
from dictionary_pipeline.enrichment.facts import ColumnFacts, Facts
from dictionary_pipeline.enrichment.table_text import table_text

_TABLE_TEXTS = {"schema": pl.String(), "table": pl.String(), "definition": pl.String()}
_COLUMN_TEXTS = {"schema": pl.String(), "table": pl.String(), "column": pl.String(), "definition": pl.String()}


def derive(catalog: Catalog, facts: Facts) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Derive a text for every table and column of the catalog.

    Returns:
        Frames (schema, table, definition) and (schema, table, column, definition).
    """
    tables: list[tuple[str, str, str]] = []
    columns: list[tuple[str, str, str, str]] = []
    for schema, table, kind, members in _with_columns(catalog):
        tables.append((schema, table, table_text(schema, table, kind, members, facts)))
        texts = column_texts(schema, table, kind, members, facts)
        columns.extend((schema, table, member.name, text) for member, text in zip(members, texts, strict=True))
    return (
        pl.DataFrame(tables, schema=_TABLE_TEXTS, orient="row"),
        pl.DataFrame(columns, schema=_COLUMN_TEXTS, orient="row"),
    )


def _with_columns(catalog: Catalog) -> Iterator[tuple[str, str, str, list[ColumnFacts]]]:
    """Each table with its columns in order, one table's objects at a time."""
    fields = ["column", "type_class", "data_type", "is_identity", "is_generated"]
    grouped = (
        catalog.columns.sort("schema", "table", "ordinal")
        .group_by("schema", "table", maintain_order=True)
        .agg([pl.col(field) for field in fields])
    )
    tables = catalog.tables.select("schema", "table", "kind").join(
        grouped, on=["schema", "table"], how="left", maintain_order="left"
    )
    for schema, table, kind, *lists in tables.iter_rows():
        members = [ColumnFacts(*values) for values in zip(*lists, strict=True)] if lists[0] is not None else []
        yield schema, table, kind, members
