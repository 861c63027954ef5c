"""What Databricks' information_schema, SHOW and DESCRIBE say about a declared catalog.

Columns are those of Databricks' documentation of the relations and commands (left out: columns that
nothing here could fill).
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from servers.warehouse_model import Database, ForeignKey, Relation, VendorError
from servers.warehouse_sql import Answer, Views, text_frame

_TYPES = {
    "table": "MANAGED",
    "view": "VIEW",
    "materialized_view": "MATERIALIZED_VIEW",
    "external": "EXTERNAL",
    "foreign": "FOREIGN",
}
_NAME = r"(?:`(?:[^`]|``)*`|\w+)"
_SHOW = re.compile(rf"SHOW (SCHEMAS|TABLES) IN ({_NAME})(?:\.({_NAME}))?", re.IGNORECASE)
_DESCRIBE = re.compile(rf"DESCRIBE TABLE EXTENDED ({_NAME})\.({_NAME})\.({_NAME})", re.IGNORECASE)
_ORDER = (
    *("constraint_catalog", "constraint_schema", "constraint_name", "table_catalog", "table_schema", "table_name"),
    *("column_name", "ordinal_position", "position_in_unique_constraint"),
)


def information_schema(database: Database) -> Views:
    """The relations of one catalog."""
    relations = list(database.visible())
    catalog = database.name
    return {
        "tables": text_frame(
            ["table_catalog", "table_schema", "table_name", "table_type", "comment", "last_altered"],
            [(catalog, r.schema, r.name, _TYPES[r.kind], r.comment, r.schema_changed) for r in relations],
        ),
        "columns": text_frame(
            [
                *("table_catalog", "table_schema", "table_name", "column_name", "ordinal_position", "column_default"),
                *("is_nullable", "full_data_type", "comment"),
            ],
            [
                (
                    *(catalog, r.schema, r.name, column.name, place, column.default),
                    *("YES" if column.nullable else "NO", column.type, column.comment),
                )
                for r in relations
                if r.described
                for place, column in enumerate(r.columns, 1)
            ],
            ["ordinal_position"],
        ),
        "views": text_frame(
            ["table_catalog", "table_schema", "table_name", "view_definition"],
            [(catalog, r.schema, r.name, r.text) for r in relations if "view" in r.kind],
        ),
        **_constraints(catalog, relations),
    }


def _constraints(catalog: str, relations: list[Relation]) -> dict[str, pl.DataFrame]:
    constraints, usage, references = [], [], []
    for relation in relations:
        place = catalog, relation.schema, relation.name
        for key in relation.keys:
            name = catalog, relation.schema, key.name
            constraints.append((*name, *place, "PRIMARY KEY" if key.kind == "primary" else "UNIQUE"))
            usage += [(*name, *place, column, number, None) for number, column in enumerate(key.columns, 1)]
        for foreign in relation.foreign_keys:
            name = catalog, relation.schema, foreign.name
            constraints.append((*name, *place, "FOREIGN KEY"))
            positions = _positions(foreign)
            usage += [
                (*name, *place, column, number, positions[number - 1])
                for number, column in enumerate(foreign.columns, 1)
            ]
            parent = foreign.database or catalog
            references.append((*name, parent, foreign.schema, foreign.parent_key, "NONE", "NO ACTION", "NO ACTION"))
    return {
        "table_constraints": text_frame([*_ORDER[:6], "constraint_type"], constraints),
        "key_column_usage": text_frame(_ORDER, usage, ["ordinal_position", "position_in_unique_constraint"]),
        "referential_constraints": text_frame(
            [
                *(*_ORDER[:3], "unique_constraint_catalog", "unique_constraint_schema", "unique_constraint_name"),
                *("match_option", "update_rule", "delete_rule"),
            ],
            references,
        ),
    }


def _positions(foreign: ForeignKey) -> list[int]:
    """Where each column's partner stands in the parent's key."""
    order = foreign.parent_columns or foreign.to_columns
    return [order.index(column) + 1 for column in foreign.to_columns]


def command(sql: str, databases: dict[str, Database]) -> Answer | None:
    """The answer to SHOW and DESCRIBE; null for any other statement.

    Raises:
        VendorError: no such object.
    """
    if show := _SHOW.fullmatch(sql.strip()):
        return _show(show[1].upper(), databases.get(_plain(show[2])), show[3] and _plain(show[3]))
    if describe := _DESCRIBE.fullmatch(sql.strip()):
        catalog, schema, table = map(_plain, describe.groups())
        return _describe(databases.get(catalog), schema, table)
    return None


def _show(what: str, database: Database | None, schema: str | None) -> Answer:
    if database is None:
        raise VendorError("SCHEMA_NOT_FOUND", "42704", "The schema cannot be found.")
    if what == "SCHEMAS":
        return Answer(["databaseName"], [(name,) for name in database.schemas()])
    rows: list[tuple[Any, ...]] = [(r.schema, r.name, False) for r in database.visible() if r.schema == schema]
    return Answer(["database", "tableName", "isTemporary"], rows)


def _describe(database: Database | None, schema: str, table: str) -> Answer:
    for relation in database.visible() if database else ():
        if (relation.schema, relation.name) == (schema, table) and (schema, table) not in database.dropped:
            rows: list[tuple[Any, ...]] = [(column.name, column.type, column.comment) for column in relation.columns]
            rows += [("", "", ""), ("# Detailed Table Information", "", ""), ("Type", _TYPES[relation.kind], "")]
            rows += [
                (fact, text, "") for fact, text in (("Comment", relation.comment), ("View Text", relation.text)) if text
            ]
            return Answer(["col_name", "data_type", "comment"], rows)
    raise VendorError("TABLE_OR_VIEW_NOT_FOUND", "42P01", f"The table or view `{table}` cannot be found.")


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
