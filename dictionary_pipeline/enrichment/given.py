"""What people and the database say about objects, before anything is written or derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dictionary_pipeline.enrichment.facts import ColumnName, TableName


@dataclass(frozen=True)
class GivenTexts:
    """Texts by the object's name."""

    people: Mapping[TableName, str]
    """A person's definitions of tables."""
    comments: Mapping[TableName, str]
    """The database's comments on tables."""
    entity_names: Mapping[TableName, str]
    columns: Mapping[ColumnName, str]
    """Of a person, else of the database, else inherited by a view."""
    own_columns: Mapping[ColumnName, str]
    """The same without inherited ones."""

    def table(self, name: TableName) -> str | None:
        """The trusted definition of a table."""
        return self.people.get(name) or self.comments.get(name)


def table_texts(frame: pl.DataFrame, text: str) -> dict[TableName, str]:
    """Texts that are not null, by table."""
    rows = frame.filter(pl.col(text).is_not_null()).select("schema", "table", text).iter_rows()
    return {(schema, table): told for schema, table, told in rows}


def column_texts(frame: pl.DataFrame, text: str) -> dict[ColumnName, str]:
    """Texts that are not null, by column."""
    rows = frame.filter(pl.col(text).is_not_null()).select("schema", "table", "column", text).iter_rows()
    return {(schema, table, column): told for schema, table, column, told in rows}
