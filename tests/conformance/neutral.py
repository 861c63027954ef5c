"""What is compared: the facts of a catalog without what is each engine's own spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from conformance.model import Declaration, Table, View
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.introspection.allowed_values import with_allowed_values
from dictionary_pipeline.relationships.lineage import view_lineage
from dictionary_pipeline.relationships.names import Names


class NeutralCatalog(NamedTuple):
    """Facts as sorted tuples; a name that the engine does not keep is null."""

    tables: tuple[tuple[str, str, str, str | None, bool], ...]
    """schema, table, kind, comment, readable."""
    columns: tuple[tuple[str, str, int, str, str, str | None], ...]
    """schema, table, ordinal, column, type class (`?` where the engine types views its own way), comment."""
    not_null: tuple[tuple[str, str, str], ...]
    """Columns of tables that refuse null."""
    identities: tuple[tuple[str, str, str], ...]
    generated: tuple[tuple[str, str, str], ...]
    keys: tuple[tuple[str, str, str, tuple[str, ...], str | None], ...]
    """schema, table, kind, columns, name."""
    foreign_keys: tuple[tuple[str, str, tuple[str, ...], str, str, tuple[str, ...], str | None], ...]
    allowed: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    """Values from CHECK constraints and enums of tables."""
    lineage: tuple[tuple[str, str, str, str], ...]
    """view, and what it reads."""


def neutral(catalog: Catalog, dialect: str, unsupported: Mapping[str, str]) -> NeutralCatalog:
    """The neutral facts that an engine found."""
    catalog = with_allowed_values(catalog, dialect)
    views = {(s, t) for s, t, kind in catalog.tables.select("schema", "table", "kind").iter_rows() if kind != "table"}
    columns = list(catalog.columns.iter_rows(named=True))
    own = [each for each in columns if (each["schema"], each["table"]) not in views]
    lineage, _ = view_lineage(catalog, Names(catalog))

    def flagged(flag: str) -> tuple[tuple[str, str, str], ...]:
        return tuple(sorted((each["schema"], each["table"], each["column"]) for each in own if each[flag]))

    def named(name: str | None, kind: str) -> str | None:
        return None if f"{kind}_key_names" in unsupported else name

    return NeutralCatalog(
        tables=tuple(
            sorted(
                (s, t, kind, comment, readable is not False)
                for s, t, kind, comment, readable in catalog.tables.select(
                    "schema", "table", "kind", "comment", "readable"
                ).iter_rows()
            )
        ),
        columns=tuple(
            sorted(
                (
                    *(each["schema"], each["table"], each["ordinal"], each["column"]),
                    _class(each["type_class"], (each["schema"], each["table"]) in views, unsupported),
                    None if (each["schema"], each["table"]) in views else each["comment"],  # some engines inherit them
                )
                for each in columns
            )
        ),
        not_null=()
        if "not_null" in unsupported
        else tuple(sorted((c["schema"], c["table"], c["column"]) for c in own if not c["is_nullable"])),
        identities=() if "identity" in unsupported else flagged("is_identity"),
        generated=() if "generated" in unsupported else flagged("is_generated"),
        keys=tuple(
            sorted(
                (key["schema"], key["table"], key["kind"], tuple(key["columns"]), named(key["name"], key["kind"]))
                for key in catalog.keys.iter_rows(named=True)
            )
        ),
        foreign_keys=tuple(
            sorted(
                (
                    *(key["from_schema"], key["from_table"], tuple(key["from_columns"])),
                    *(key["to_schema"], key["to_table"], tuple(key["to_columns"])),
                    named(key["name"], "foreign"),
                )
                for key in catalog.foreign_keys.iter_rows(named=True)
            )
        ),
        allowed=tuple(
            sorted(
                (each["schema"], each["table"], each["column"], tuple(each["allowed_values"]))
                for each in own
                if each["allowed_values"] is not None and each["allowed_values_origin"] in ("check", "enum")
            )
        ),
        lineage=tuple(sorted(set(lineage.select("view_schema", "view", "source_schema", "source_table").iter_rows()))),
    )


def expected(declaration: Declaration, unsupported: Mapping[str, str]) -> NeutralCatalog:
    """The neutral facts of an adapted declaration."""
    tables, views = declaration.tables, declaration.views
    every = [(table, column) for table in tables for column in table.columns]
    return NeutralCatalog(
        tables=tuple(
            sorted(
                [(table.schema, table.name, "table", table.comment, True) for table in tables]
                + [(view.schema, view.name, "view", view.comment, True) for view in views]
            )
        ),
        columns=tuple(
            sorted(
                [row for table in tables for row in _table_columns(table)]
                + [row for view in views for row in _view_columns(view, declaration, unsupported)]
            )
        ),
        not_null=tuple(sorted((t.schema, t.name, c.name) for t, c in every if not c.nullable)),
        identities=tuple(sorted((t.schema, t.name, c.name) for t, c in every if c.identity)),
        generated=tuple(sorted((t.schema, t.name, c.name) for t, c in every if c.generated)),
        keys=tuple(sorted(key for table in tables for key in _keys(table, unsupported))),
        foreign_keys=tuple(
            sorted(
                (
                    *(table.schema, table.name, key.columns, *key.to, key.to_columns),
                    None if "foreign_key_names" in unsupported else key.name,
                )
                for table in tables
                for key in table.foreign_keys
            )
        ),
        allowed=tuple(
            sorted((t.schema, t.name, c.name, c.allowed or c.enum or ()) for t, c in every if c.allowed or c.enum)
        ),
        lineage=tuple(sorted((view.schema, view.name, *source) for view in views for source in view.sources)),
    )


def _class(type_class: str, is_view: bool, unsupported: Mapping[str, str]) -> str:
    return "?" if is_view and "view_column_types" in unsupported else type_class


def _table_columns(table: Table) -> list[tuple[str, str, int, str, str, str | None]]:
    return [
        (table.schema, table.name, ordinal, column.name, column.family, column.comment)
        for ordinal, column in enumerate(table.columns, 1)
    ]


def _view_columns(
    view: View, declaration: Declaration, unsupported: Mapping[str, str]
) -> list[tuple[str, str, int, str, str, str | None]]:
    rows = []
    for ordinal, column in enumerate(view.columns, 1):
        source = declaration.source_column(*view.sources[column.source], column.column)
        rows.append((view.schema, view.name, ordinal, column.name, _class(source.family, True, unsupported), None))
    return rows


def _keys(table: Table, unsupported: Mapping[str, str]) -> list[tuple[str, str, str, tuple[str, ...], str | None]]:
    found = [("primary", table.primary)] if table.primary else []
    return [
        (table.schema, table.name, kind, key.columns, None if f"{kind}_key_names" in unsupported else key.name)
        for kind, key in [*found, *[("unique", key) for key in table.unique]]
    ]
