"""Declarations as SQL; each engine's dialect is a subclass that overrides what differs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import ClassVar

from conformance.model import Column, Declaration, ForeignKey, Table, Value, View
from dictionary_pipeline.engines.base import TypeClass


class Ddl:
    """Standard SQL with double quotes, comments as statements, foreign keys added at the end."""

    types: ClassVar[Mapping[TypeClass, str]] = {
        "string": "varchar(80)",
        "integer": "integer",
        "float": "double precision",
        "decimal": "numeric(12,2)",
        "boolean": "boolean",
        "date": "date",
        "time": "time",
        "timestamp": "timestamp",
        "interval": "interval",
        "uuid": "uuid",
        "json": "json",
        "array": "integer[]",
        "xml": "xml",
        "binary": "bytea",
    }
    inline_foreign_keys: ClassVar[bool] = False
    """The engine cannot add foreign keys to a table that exists."""

    def statements(self, declaration: Declaration) -> Iterator[str]:
        """Statements that build the declared database, in order."""
        for schema in declaration.schemas:
            yield from self.create_schema(schema)
        for table in declaration.tables:
            yield self.create_table(table)
            yield from self.table_comments(table)
        if not self.inline_foreign_keys:
            for table in declaration.tables:
                for key in table.foreign_keys:
                    yield f"ALTER TABLE {self.name(table.schema, table.name)} ADD {self.foreign_key(key)}"
        for view in declaration.views:
            yield self.create_view(view)
            if view.comment is not None:
                yield from self.view_comment(view)
        for table in declaration.tables:
            if table.rows:
                yield self.insert(table)

    def quote(self, name: str) -> str:
        """One quoted identifier."""
        return '"' + name.replace('"', '""') + '"'

    def name(self, schema: str, table: str) -> str:
        """A qualified name."""
        return f"{self.quote(schema)}.{self.quote(table)}"

    def text(self, value: str) -> str:
        """A text literal."""
        return "'" + value.replace("'", "''") + "'"

    def create_schema(self, schema: str) -> Iterator[str]:
        """What makes a schema."""
        yield f"CREATE SCHEMA {self.quote(schema)}"

    def create_table(self, table: Table) -> str:
        """CREATE TABLE with keys."""
        parts = [self.column(column) for column in table.columns]
        if table.primary:
            parts.append(f"CONSTRAINT {self.quote(table.primary.name)} PRIMARY KEY {self.list(table.primary.columns)}")
        parts += [f"CONSTRAINT {self.quote(key.name)} UNIQUE {self.list(key.columns)}" for key in table.unique]
        if self.inline_foreign_keys:
            parts += [self.foreign_key(key) for key in table.foreign_keys]
        return f"CREATE TABLE {self.name(table.schema, table.name)} ({', '.join(parts)}){self.table_suffix(table)}"

    def table_suffix(self, table: Table) -> str:
        """What follows the closing parenthesis."""
        return ""

    def list(self, columns: tuple[str, ...]) -> str:
        """Column names in parentheses."""
        return "(" + ", ".join(map(self.quote, columns)) + ")"

    def foreign_key(self, key: ForeignKey) -> str:
        """A table constraint."""
        return (
            f"CONSTRAINT {self.quote(key.name)} FOREIGN KEY {self.list(key.columns)}"
            f" REFERENCES {self.name(*key.to)} {self.list(key.to_columns)}"
        )

    def type(self, column: Column) -> str:
        """The native type of a column."""
        if column.family == "string" and column.length:
            return self.types["string"].replace("80", str(column.length))
        return self.types[column.family]

    def column(self, column: Column) -> str:
        """One column definition."""
        parts = [self.quote(column.name), self.enum(column) if column.enum else self.type(column)]
        if column.generated:
            parts.append(self.generated(*column.generated))
        if column.identity:
            parts.append(self.identity())
        if not column.nullable:
            parts.append("NOT NULL")
        if column.allowed:
            parts.append(f"CHECK ({self.quote(column.name)} IN ({', '.join(map(self.text, column.allowed))}))")
        return " ".join(parts) + self.column_suffix(column)

    def column_suffix(self, column: Column) -> str:
        """What ends a column definition."""
        return ""

    def enum(self, column: Column) -> str:
        """The type of an enum column."""
        return f"ENUM({', '.join(map(self.text, column.enum or ()))})"

    def generated(self, left: str, right: str) -> str:
        """A computed column's expression."""
        return f"GENERATED ALWAYS AS ({self.quote(left)} * {self.quote(right)}) STORED"

    def identity(self) -> str:
        """What makes a column number itself."""
        return "GENERATED BY DEFAULT AS IDENTITY"

    def table_comments(self, table: Table) -> Iterator[str]:
        """Statements that comment on a table and its columns."""
        name = self.name(table.schema, table.name)
        if table.comment is not None:
            yield f"COMMENT ON TABLE {name} IS {self.text(table.comment)}"
        for column in table.columns:
            if column.comment is not None:
                yield f"COMMENT ON COLUMN {name}.{self.quote(column.name)} IS {self.text(column.comment)}"

    def view_comment(self, view: View) -> Iterator[str]:
        """Statements that comment on a view."""
        yield f"COMMENT ON VIEW {self.name(view.schema, view.name)} IS {self.text(view.comment or '')}"

    def view_sql(self, view: View) -> str:
        """The SELECT of a view."""
        selected = ", ".join(
            f"s{column.source}.{self.quote(column.column)} AS {self.quote(column.name)}" for column in view.columns
        )
        sources = " CROSS JOIN ".join(f"{self.name(*source)} AS s{n}" for n, source in enumerate(view.sources))
        return f"SELECT {selected} FROM {sources}"

    def create_view(self, view: View) -> str:
        """CREATE VIEW."""
        return f"CREATE VIEW {self.name(view.schema, view.name)} AS {self.view_sql(view)}"

    def insert(self, table: Table) -> str:
        """All rows of a table in one statement; computed columns are left out."""
        kept = [number for number, column in enumerate(table.columns) if not column.generated]
        names = self.list(tuple(table.columns[number].name for number in kept))
        rows = ", ".join(
            "(" + ", ".join(self.literal(row[number], table.columns[number]) for number in kept) + ")"
            for row in table.rows
        )
        return f"INSERT INTO {self.name(table.schema, table.name)} {names} VALUES {rows}"

    def literal(self, value: Value, column: Column) -> str:
        """A value of a column."""
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int | float | Decimal):
            return str(value)
        if isinstance(value, bytes):
            return self.binary(value)
        if isinstance(value, list):
            return self.array(value)
        if isinstance(value, dt.datetime):
            return self.text(value.isoformat(sep=" "))
        return self.text(str(value))

    def binary(self, value: bytes) -> str:
        """A literal of bytes."""
        return f"X'{value.hex()}'"

    def array(self, value: list[int]) -> str:
        """A literal of an array of integers."""
        return f"ARRAY[{', '.join(map(str, value))}]"
