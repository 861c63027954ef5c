"""Declarations as the catalog of a warehouse double: the declaration itself is what the double serves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from servers import warehouse_model as served

from conformance.ddl import Ddl
from conformance.model import Column, Declaration, Table, Value, View
from dictionary_pipeline.engines.base import TypeClass


def database(declaration: Declaration, name: str, ddl: Ddl, types: Mapping[TypeClass, str]) -> served.Database:
    """A served database of the declared tables and views.

    Args:
        ddl: Writes view text in the vendor's dialect.
        types: The vendor's types by family; `{length}` stands for a string's length.
    """
    relations = [_table(table, declaration, types) for table in declaration.tables]
    relations += [_view(view, declaration, ddl, types) for view in declaration.views]
    return served.Database(name, tuple(relations))


def _table(table: Table, declaration: Declaration, types: Mapping[TypeClass, str]) -> served.Relation:
    keys = [served.Key(table.primary.name, "primary", table.primary.columns)] if table.primary else []
    keys += [served.Key(key.name, "unique", key.columns) for key in table.unique]
    return served.Relation(
        table.schema,
        table.name,
        tuple(_column(column, types) for column in table.columns),
        keys=tuple(keys),
        foreign_keys=tuple(
            served.ForeignKey(
                *(key.name, key.columns, *key.to, key.to_columns),
                parent_key=parent.name,
                parent_columns=parent.columns,
            )
            for key in table.foreign_keys
            for parent in [_parent_key(declaration.table(*key.to), key.to_columns)]
        ),
        comment=table.comment,
        rows=tuple(tuple(map(_stored, row)) for row in table.rows),
    )


def _parent_key(table: Table, columns: tuple[str, ...]) -> Any:
    every = [key for key in (table.primary, *table.unique) if key]
    return next(key for key in every if sorted(key.columns) == sorted(columns))


def _view(view: View, declaration: Declaration, ddl: Ddl, types: Mapping[TypeClass, str]) -> served.Relation:
    columns = []
    for each in view.columns:
        source = declaration.source_column(*view.sources[each.source], each.column)
        columns.append(served.Column(each.name, _type(source, types)))
    text = ddl.create_view(view)
    return served.Relation(view.schema, view.name, tuple(columns), kind="view", comment=view.comment, text=text)


def _column(column: Column, types: Mapping[TypeClass, str]) -> served.Column:
    return served.Column(column.name, _type(column, types), column.nullable, column.comment, identity=column.identity)


def _type(column: Column, types: Mapping[TypeClass, str]) -> str:
    return types[column.family].replace("{length}", str(column.length or 80))


def _stored(value: Value) -> Any:
    """A value in the form that the double's DuckDB takes."""
    if isinstance(value, list):
        return str(value)
    return (
        value.isoformat()
        if isinstance(value, dt.date | dt.time)
        else float(value)
        if isinstance(value, Decimal)
        else value
    )
