"""What Snowflake's INFORMATION_SCHEMA and SHOW commands say about a declared database.

Columns and their order are those of Snowflake's documentation of the views and commands (left out:
columns that nothing here could fill).
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from servers.warehouse_model import Column, Database, Relation, VendorError
from servers.warehouse_sql import Answer, Views, text_frame

SHOW_ROWS = 10_000
"""The vendor's limit on rows of a SHOW command."""

_CREATED = "1767323045.000000000"
_TYPES = {
    "table": "BASE TABLE",
    "view": "VIEW",
    "materialized_view": "MATERIALIZED VIEW",
    "external": "EXTERNAL TABLE",
    "temporary": "TEMPORARY TABLE",
}
_KEYS = [
    "created_on",
    "database_name",
    "schema_name",
    "table_name",
    "column_name",
    "key_sequence",
    "constraint_name",
    "rely",
    "comment",
]
_IMPORTED = [
    "created_on",
    "pk_database_name",
    "pk_schema_name",
    "pk_table_name",
    "pk_column_name",
    "fk_database_name",
    "fk_schema_name",
    "fk_table_name",
    "fk_column_name",
    "key_sequence",
    "update_rule",
    "delete_rule",
    "fk_name",
    "pk_name",
    "deferrability",
    "rely",
    "comment",
]
_NAME = r'(?:"(?:[^"]|"")*"|\w+)'
_SHOW = re.compile(
    rf"SHOW (PRIMARY KEYS|UNIQUE KEYS|IMPORTED KEYS|VIEWS|TABLES|COLUMNS|SCHEMAS) "
    rf"IN (DATABASE|SCHEMA) ({_NAME})(?:\.({_NAME}))?",
    re.IGNORECASE,
)


def information_schema(database: Database) -> Views:
    """The views of one database."""
    relations = list(database.visible())
    return {
        "tables": text_frame(
            [
                "table_catalog",
                "table_schema",
                "table_name",
                "table_type",
                "row_count",
                "bytes",
                "comment",
                "last_altered",
            ],
            [
                (
                    *(database.name, each.schema, each.name, _TYPES[each.kind]),
                    *(_count(each), _size(each), each.comment, each.schema_changed),
                )
                for each in relations
            ],
            ["row_count", "bytes"],
        ).with_columns(pl.col("last_altered").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="ns")),
        "columns": text_frame(
            [
                *("table_catalog", "table_schema", "table_name", "column_name", "ordinal_position", "column_default"),
                *("is_nullable", "data_type", "character_maximum_length", "numeric_precision", "numeric_scale"),
                *("is_identity", "comment"),
            ],
            [
                (database.name, each.schema, each.name, column.name, place, column.default, *_described(column))
                for each in relations
                for place, column in enumerate(each.columns, 1)
            ],
            ["ordinal_position", "character_maximum_length", "numeric_precision", "numeric_scale"],
        ),
    }


def show(command: str, databases: dict[str, Database]) -> Answer:
    """The answer to a SHOW command.

    Raises:
        VendorError: unknown scope, or a command that this double does not know.
    """
    match = _SHOW.fullmatch(command.strip())
    if match is None:
        raise VendorError("001003", "42000", "SQL compilation error: syntax error")
    what, scope = match[1].upper(), match[2].upper()
    database = databases.get(_unquoted(match[3]))
    if database is None:
        raise VendorError("002043", "02000", "SQL compilation error: Object does not exist")
    schema = _unquoted(match[4]) if scope == "SCHEMA" and match[4] else None
    relations = [each for each in database.visible() if schema is None or each.schema == schema]
    names, rows = _answers(what, database, relations)
    return Answer(names, rows[:SHOW_ROWS])


def _answers(what: str, database: Database, relations: list[Relation]) -> tuple[list[str], list[tuple[Any, ...]]]:
    if what == "SCHEMAS":
        return ["created_on", "name"], [(_CREATED, name) for name in [*database.schemas(), "INFORMATION_SCHEMA"]]
    if what == "TABLES":
        return (
            ["created_on", "name", "database_name", "schema_name", "kind", "comment", "rows", "bytes"],
            [
                (
                    _CREATED,
                    each.name,
                    database.name,
                    each.schema,
                    "TABLE",
                    each.comment or "",
                    _count(each),
                    _size(each),
                )
                for each in relations
                if "view" not in each.kind
            ],
        )
    if what == "VIEWS":
        return (
            ["created_on", "name", "reserved", "database_name", "schema_name", "owner", "comment", "text", "is_secure"],
            [
                (
                    _CREATED,
                    each.name,
                    "",
                    database.name,
                    each.schema,
                    "OWNER",
                    each.comment or "",
                    each.text or "",
                    "false",
                )
                for each in relations
                if "view" in each.kind
            ],
        )
    if what == "COLUMNS":
        return (
            [
                "table_name",
                "schema_name",
                "column_name",
                "data_type",
                "null?",
                "default",
                "kind",
                "expression",
                "comment",
            ],
            [
                (
                    *(each.name, each.schema, column.name, f'{{"type":"{column.type}"}}'),
                    *(str(column.nullable).lower(), column.default or "", "COLUMN", "", column.comment or ""),
                )
                for each in relations
                for column in each.columns
            ],
        )
    if what == "IMPORTED KEYS":
        return _IMPORTED, [row for each in relations for row in _imported(database, each)]
    kind = what.partition(" ")[0].lower()
    return _KEYS, [row for each in relations for row in _keys(database, each, kind)]


def _keys(database: Database, relation: Relation, kind: str) -> list[tuple[Any, ...]]:
    return [
        (_CREATED, database.name, relation.schema, relation.name, column, place, key.name, "false", None)
        for key in relation.keys
        if key.kind == kind
        for place, column in enumerate(key.columns, 1)
    ]


def _imported(database: Database, relation: Relation) -> list[tuple[Any, ...]]:
    rows = [
        (
            *(_CREATED, key.database or database.name, key.schema, key.table, to),
            *(database.name, relation.schema, relation.name, column, place),
            *("NO ACTION", "NO ACTION", key.name, "SYS_CONSTRAINT_PK", "NOT DEFERRABLE", "false", None),
        )
        for key in relation.foreign_keys
        for place, (column, to) in enumerate(zip(key.columns, key.to_columns, strict=True), 1)
    ]
    # The documentation promises an order by names, not one by position in the key.
    return sorted(rows, key=lambda row: (row[4], row[8]))


def _count(relation: Relation) -> int | None:
    if "view" in relation.kind:
        return None
    return len(relation.rows) if relation.row_count is None else relation.row_count


def _size(relation: Relation) -> int | None:
    return None if "view" in relation.kind else relation.bytes or 1024


def _described(column: Column) -> tuple[Any, ...]:
    name, _, rest = column.type.upper().partition("(")
    numbers = [int(part) for part in rest.rstrip(")").split(",") if part.strip().isdigit()]
    length = precision = scale = None
    if name in ("VARCHAR", "STRING", "TEXT", "CHAR"):
        name, length = "TEXT", numbers[0] if numbers else 16_777_216
    elif name == "BINARY":
        length = numbers[0] if numbers else 8_388_608
    elif name in ("NUMBER", "DECIMAL", "NUMERIC", "INTEGER", "INT"):
        name, precision, scale = "NUMBER", *([*numbers, 0] if len(numbers) == 1 else numbers or [38, 0])
    return (
        "YES" if column.nullable else "NO",
        *(name, length, precision, scale),
        *("YES" if column.identity else "NO", column.comment),
    )


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.upper()
