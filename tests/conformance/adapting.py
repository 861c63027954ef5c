"""Leaves out of a declaration what an engine cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from conformance.model import FACTS, Column, Declaration, ForeignKey, Key, Table, View


def adapt(declaration: Declaration, unsupported: Mapping[str, str], only_schema: str | None) -> Declaration:
    """See `Declaration.adapted`."""
    unknown = unsupported.keys() - FACTS.keys()
    assert not unknown, f"not in FACTS: {sorted(unknown)}"
    schemas = declaration.schemas
    if "schemas" in unsupported:
        schemas = schemas[:1]
    elif "schema_names" in unsupported:
        schemas = tuple(name for name in schemas if name.isidentifier())
    tables = [
        _table(table, unsupported)
        for table in declaration.tables
        if table.schema in schemas and not table.needs & unsupported.keys()
    ]
    names = {(table.schema, table.name) for table in tables}
    tables = [replace(table, foreign_keys=_leading_to(table.foreign_keys, names)) for table in tables]
    views: list[View] = []
    for view in declaration.views:
        if view.schema in schemas and not view.needs & unsupported.keys() and set(view.sources) <= names:
            names.add((view.schema, view.name))
            views.append(replace(view, comment=None) if "view_comments" in unsupported else view)
    result = Declaration(schemas, tuple(tables), tuple(views))
    if "schemas" in unsupported:
        assert only_schema is not None
        result = _renamed(result, lambda name: name, {schemas[0]: only_schema})
    if "upper_case" in unsupported:
        result = _renamed(result, str.lower, {name: name.lower() for name in schemas})
    return result


def _table(table: Table, unsupported: Mapping[str, str]) -> Table:
    kept = [
        number
        for number, column in enumerate(table.columns)
        if not column.needs & unsupported.keys() and f"type:{column.family}" not in unsupported
    ]
    columns = tuple(_column(table.columns[number], unsupported) for number in kept)
    rows = tuple(tuple(row[number] for number in kept) for row in table.rows)
    names = {column.name for column in columns}
    primary = table.primary if "primary_keys" not in unsupported else None
    unique = () if "unique_keys" in unsupported else table.unique
    foreign = () if "foreign_keys" in unsupported else table.foreign_keys
    return replace(
        table,
        columns=columns,
        rows=rows,
        primary=primary,
        unique=tuple(key for key in unique if _possible(key, names, unsupported)),
        foreign_keys=tuple(key for key in foreign if _possible(key, names, unsupported)),
        comment=None if "table_comments" in unsupported else table.comment,
    )


def _possible(key: Key | ForeignKey, columns: set[str], unsupported: Mapping[str, str]) -> bool:
    return not key.needs & unsupported.keys() and set(key.columns) <= columns


def _column(column: Column, unsupported: Mapping[str, str]) -> Column:
    dropped: dict[str, object] = {}
    for fact, field, empty in (
        ("column_comments", "comment", None),
        ("checks", "allowed", None),
        ("enums", "enum", None),
        ("identity", "identity", False),
        ("generated", "generated", None),
        ("not_null", "nullable", True),
    ):
        if fact in unsupported:
            dropped[field] = empty
    return replace(column, **dropped)  # type: ignore[arg-type]


def _leading_to(keys: tuple[ForeignKey, ...], tables: set[tuple[str, str]]) -> tuple[ForeignKey, ...]:
    return tuple(key for key in keys if key.to in tables)


def _renamed(declaration: Declaration, rename: Callable[[str], str], schemas: Mapping[str, str]) -> Declaration:
    """The declaration with every schema, table, column and key under its new name."""

    def target(name: tuple[str, str]) -> tuple[str, str]:
        return schemas[name[0]], rename(name[1])

    def key(of: Key) -> Key:
        return replace(of, name=rename(of.name), columns=tuple(map(rename, of.columns)))

    tables = tuple(
        replace(
            table,
            schema=schemas[table.schema],
            name=rename(table.name),
            columns=tuple(
                replace(
                    column,
                    name=rename(column.name),
                    generated=column.generated and (rename(column.generated[0]), rename(column.generated[1])),
                )
                for column in table.columns
            ),
            primary=table.primary and key(table.primary),
            unique=tuple(map(key, table.unique)),
            foreign_keys=tuple(
                replace(
                    each,
                    name=rename(each.name),
                    columns=tuple(map(rename, each.columns)),
                    to=target(each.to),
                    to_columns=tuple(map(rename, each.to_columns)),
                )
                for each in table.foreign_keys
            ),
        )
        for table in declaration.tables
    )
    views = tuple(
        replace(
            view,
            schema=schemas[view.schema],
            name=rename(view.name),
            sources=tuple(map(target, view.sources)),
            columns=tuple(replace(each, name=rename(each.name), column=rename(each.column)) for each in view.columns),
        )
        for view in declaration.views
    )
    return Declaration(tuple(schemas[name] for name in declaration.schemas), tables, views)
