"""`sys.*` of a declared database, with the documented columns of SQL Server's catalog views.

The rows are made from the declaration alone. The columns are those of the pages "System catalog
views" of the SQL Server documentation; whoever asks for another one is told error 207.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import duckdb
import polars as pl
from conformance.model import Column, Declaration, Table

from servers.tds_names import Names

_VIEWS: Mapping[str, str] = {
    "schemas": "name, schema_id int, principal_id int",
    "objects": (
        "name, object_id int, principal_id int, schema_id int, parent_object_id int, type, type_desc,"
        " create_date timestamp, modify_date timestamp, is_ms_shipped int, is_published int, is_schema_published int"
    ),
    "tables": "name, object_id int, schema_id int, temporal_type int, history_table_id int, is_external int,"
    " is_memory_optimized int, durability int",
    "columns": (
        "object_id int, name, column_id int, system_type_id int, user_type_id int, max_length int, precision int,"
        " scale int, collation_name, is_nullable int, is_rowguidcol int, is_identity int, is_computed int,"
        " default_object_id int, rule_object_id int, is_sparse int, generated_always_type int, is_hidden int,"
        " is_masked int"
    ),
    "types": (
        "name, system_type_id int, user_type_id int, schema_id int, max_length int, precision int, scale int,"
        " is_nullable int, is_user_defined int, is_assembly_type int, is_table_type int"
    ),
    "default_constraints": "object_id int, name, parent_object_id int, parent_column_id int, definition",
    "computed_columns": "object_id int, column_id int, name, definition, is_persisted int",
    "extended_properties": "class int, class_desc, major_id int, minor_id int, name, value",
    "indexes": (
        "object_id int, name, index_id int, type int, type_desc, is_unique int, is_primary_key int,"
        " is_unique_constraint int, is_disabled int, is_hypothetical int, has_filter int, filter_definition"
    ),
    "index_columns": (
        "object_id int, index_id int, index_column_id int, column_id int, key_ordinal int, is_descending_key int,"
        " is_included_column int"
    ),
    "foreign_keys": (
        "name, object_id int, schema_id int, parent_object_id int, referenced_object_id int, key_index_id int,"
        " is_disabled int, is_not_for_replication int, is_not_trusted int, delete_referential_action int,"
        " update_referential_action int"
    ),
    "foreign_key_columns": (
        "constraint_object_id int, constraint_column_id int, parent_object_id int, parent_column_id int,"
        " referenced_object_id int, referenced_column_id int"
    ),
    "check_constraints": (
        "name, object_id int, schema_id int, parent_object_id int, parent_column_id int, is_disabled int,"
        " is_not_trusted int, definition"
    ),
    "sql_modules": "object_id int, definition, uses_ansi_nulls int, is_schema_bound int",
    "sql_expression_dependencies": (
        "referencing_id int, referencing_minor_id int, referencing_class int, is_schema_bound_reference int,"
        " referenced_class int, referenced_server_name, referenced_database_name, referenced_schema_name,"
        " referenced_entity_name, referenced_id int, referenced_minor_id int, is_ambiguous int"
    ),
    "synonyms": "name, object_id int, schema_id int, base_object_name",
    "dm_db_partition_stats": (
        "object_id int, index_id int, partition_number int, used_page_count bigint, row_count bigint"
    ),
    "partitions": "object_id int, index_id int, partition_number int, rows bigint",
}
"""View -> its columns; those without a type are text."""

_TYPES: Mapping[str, tuple[int, str, int, int, int]] = {
    # family -> system_type_id, name, max_length (bytes), precision, scale
    "string": (231, "nvarchar", 160, 0, 0),
    "integer": (56, "int", 4, 10, 0),
    "float": (62, "float", 8, 53, 0),
    "decimal": (106, "decimal", 9, 12, 2),
    "boolean": (104, "bit", 1, 1, 0),
    "date": (40, "date", 3, 10, 0),
    "time": (41, "time", 3, 8, 0),
    "timestamp": (42, "datetime2", 8, 26, 6),
    "uuid": (36, "uniqueidentifier", 16, 0, 0),
    "xml": (241, "xml", -1, 0, 0),
    "binary": (165, "varbinary", 100, 0, 0),
}


class SysCatalog:
    """Fills the views of one database."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, declaration: Declaration, names: Names) -> None:
        self._connection = connection
        self._declaration = declaration
        self._names = names
        self._next = 100_000
        self._rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._schemas = {name: number for number, name in enumerate(declaration.schemas, 5)}

    def create(self) -> None:
        """Make the views and their rows."""
        self._connection.execute("CREATE SCHEMA sys")
        for view, columns in _VIEWS.items():
            parts = [(part.split()[0], part.split()[1:]) for part in columns.split(",")]
            typed = ", ".join(f'"{name}" {kind[0] if kind else "varchar"}' for name, kind in parts)
            self._connection.execute(f"CREATE TABLE sys.{view} ({typed})")
        for name, number in self._schemas.items():
            self._add("schemas", name=name, schema_id=number, principal_id=1)
        for number, name, length, precision, scale in _TYPES.values():
            self._add(
                "types",
                **{"name": name, "system_type_id": number, "user_type_id": number, "schema_id": 4},
                **{"max_length": length, "precision": precision, "scale": scale, "is_user_defined": 0},
            )
        for table in self._declaration.tables:
            self._add_table(table)
        for table in self._declaration.tables:
            self._add_foreign_keys(table)
        for view in self._declaration.views:
            number = self._object(view.schema, view.name, "V", comment=view.comment)
            for position, each in enumerate(view.columns, 1):
                source = self._declaration.source_column(*view.sources[each.source], each.column)
                self._column(number, position, each.name, source)
            self._add("sql_modules", object_id=number, definition=f"CREATE VIEW {view.name} AS SELECT 1 -- declared")
            for schema, name in view.sources:
                self._add(
                    "sql_expression_dependencies",
                    **{"referencing_id": number, "referencing_minor_id": 0, "referencing_class": 1},
                    **{"referenced_class": 1, "referenced_schema_name": schema, "referenced_entity_name": name},
                    referenced_id=self._names.number(schema, name),
                )

        for view, rows in self._rows.items():
            self._connection.register("added", pl.DataFrame(rows, infer_schema_length=None).to_arrow())
            self._connection.execute(f"INSERT INTO sys.{view} BY NAME SELECT * FROM added")
            self._connection.unregister("added")

    def _add(self, view: str, **values: Any) -> None:
        self._rows[view].append(values)

    def _number(self) -> int:
        self._next += 1
        return self._next

    def _object(self, schema: str, name: str, kind: str, *, comment: str | None = None) -> int:
        number = self._names.number(schema, name)
        self._add(
            "objects",
            **{"name": name, "object_id": number, "schema_id": self._schemas[schema], "parent_object_id": 0},
            **{"type": kind, "is_ms_shipped": 0, "modify_date": "2024-01-01"},
        )
        self._comment(number, 0, comment)
        return number

    def _comment(self, number: int, minor: int, comment: str | None) -> None:
        if comment is not None:
            self._add(
                "extended_properties",
                **{"class": 1, "major_id": number, "minor_id": minor, "name": "MS_Description", "value": comment},
            )

    def _column(self, number: int, position: int, name: str, column: Column) -> None:
        type_id, _, length, precision, scale = _TYPES[column.family]
        if column.family == "string":
            length = 2 * (column.length or 80)
        self._add(
            "columns",
            **{"object_id": number, "name": name, "column_id": position, "system_type_id": type_id},
            **{"user_type_id": type_id, "max_length": length, "precision": precision, "scale": scale},
            **{"is_nullable": int(column.nullable), "is_identity": int(column.identity), "default_object_id": 0},
            **{"is_computed": int(column.generated is not None), "generated_always_type": 0, "is_hidden": 0},
        )

    def _add_table(self, table: Table) -> None:
        number = self._object(table.schema, table.name, "U", comment=table.comment)
        self._add(
            "tables",
            **{"name": table.name, "object_id": number, "schema_id": self._schemas[table.schema]},
            **{"temporal_type": 0, "is_external": 0, "is_memory_optimized": 0},
        )
        self._add(
            "dm_db_partition_stats",
            **{"object_id": number, "index_id": 1, "partition_number": 1, "used_page_count": 1},
            row_count=len(table.rows),
        )
        self._add("partitions", object_id=number, index_id=1, partition_number=1, rows=len(table.rows))
        for position, column in enumerate(table.columns, 1):
            self._column(number, position, column.name, column)
            self._comment(number, position, column.comment)
            if column.generated:
                left, right = column.generated
                text = f"([{left}]*[{right}])"
                self._add("computed_columns", object_id=number, column_id=position, name=column.name, definition=text)
            if column.allowed:
                values = " OR ".join(f"[{column.name}]='{value}'" for value in reversed(column.allowed))
                self._add(
                    "check_constraints",
                    **{"name": f"CK_{column.name}", "object_id": self._number(), "parent_object_id": number},
                    **{
                        "parent_column_id": position,
                        "is_disabled": 0,
                        "is_not_trusted": 0,
                        "definition": f"({values})",
                    },
                )
        keys = [(key, True) for key in (table.primary,) if key] + [(key, False) for key in table.unique]
        for index, (key, primary) in enumerate(keys, 1):
            self._add(
                "indexes",
                **{"object_id": number, "name": key.name, "index_id": index, "type": 1 if primary else 2},
                **{"is_unique": 1, "is_primary_key": int(primary), "is_unique_constraint": int(not primary)},
                **{"is_disabled": 0, "is_hypothetical": 0, "has_filter": 0},
            )
            for ordinal, name in enumerate(key.columns, 1):
                self._add(
                    "index_columns",
                    **{"object_id": number, "index_id": index, "index_column_id": ordinal, "key_ordinal": ordinal},
                    column_id=_position(table, name),
                )

    def _add_foreign_keys(self, table: Table) -> None:
        child = self._names.number(table.schema, table.name)
        for key in table.foreign_keys:
            parent, number = self._declaration.table(*key.to), self._number()
            self._add(
                "foreign_keys",
                **{"name": key.name, "object_id": number, "parent_object_id": child, "is_disabled": 0},
                **{"referenced_object_id": self._names.number(*key.to), "is_not_trusted": 0},
                **{"delete_referential_action": 0, "update_referential_action": 0},
            )
            for ordinal, (own, other) in enumerate(zip(key.columns, key.to_columns, strict=True), 1):
                self._add(
                    "foreign_key_columns",
                    **{"constraint_object_id": number, "constraint_column_id": ordinal, "parent_object_id": child},
                    **{"parent_column_id": _position(table, own), "referenced_column_id": _position(parent, other)},
                    referenced_object_id=self._names.number(*key.to),
                )


def _position(table: Table, column: str) -> int:
    return [each.name for each in table.columns].index(column) + 1
