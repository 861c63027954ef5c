"""The neutral declaration of a database, and what an engine must offer to be tested with it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol, TypeAlias

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.base import TypeClass

Value: TypeAlias = "bool | int | float | str | bytes | Decimal | dt.date | dt.time | dt.datetime | list[int] | None"
Needs: TypeAlias = frozenset[str]
NOTHING: Needs = frozenset()

FACTS: Mapping[str, str] = {
    "schemas": "several schemas; without it only the first schema is built, under the engine's own name",
    "schema_names": "a schema may have any name",
    "primary_keys": "declared primary keys",
    "unique_keys": "declared unique keys",
    "foreign_keys": "declared foreign keys",
    "cross_schema_keys": "a foreign key may lead to another schema",
    "circular_keys": "two tables may refer to each other",
    "reordered_keys": "a foreign key may name the columns of the parent's key in another order",
    "keys_to_unique": "a foreign key may lead to a unique key",
    "repeated_key_names": "two tables of one schema may have foreign keys of one name",
    "foreign_key_names": "foreign keys keep their declared names",
    "primary_key_names": "primary keys keep their declared names",
    "unique_key_names": "unique keys keep their declared names",
    "checks": "CHECK constraints",
    "enums": "enumerated types",
    "identity": "generated numbers are marked as such",
    "generated": "computed columns",
    "not_null": "NOT NULL is recorded",
    "table_comments": "comments on tables",
    "view_comments": "comments on views",
    "column_comments": "comments on columns",
    "view_column_types": "columns of views keep the type of their source",
    "upper_case": "names keep upper-case letters; without it all names are lower-cased",
    "case_only_tables": "two tables may differ in case only",
    "case_only_columns": "two columns of a table may differ in case only",
    "name:dot": "names with a dot",
    "name:quote": "names with a double quote",
    "name:apostrophe": "names with an apostrophe",
    "name:backtick": "names with a backtick",
    "name:bracket": "names with square brackets",
    "name:space": "names with spaces",
    "name:percent": "names with a percent sign and an underscore",
    "name:slash": "names with a slash and a backslash",
    "name:unicode": "names beyond ASCII",
    **{
        f"type:{family}": f"columns of the family {family}"
        for family in (
            *("string", "integer", "float", "decimal", "boolean", "date", "time", "timestamp", "interval"),
            *("uuid", "json", "array", "xml", "binary"),
        )
    },
    **{
        f"value:{family}": f"samples of the family {family} come back in the common spelling"
        for family in ("decimal", "boolean", "date", "time", "timestamp", "interval", "uuid", "json", "xml")
    },
}
"""Every fact that an engine may leave out, and what it means."""


def needs(*facts: str) -> Needs:
    """A set of facts, all of them known."""
    unknown = set(facts) - FACTS.keys()
    assert not unknown, f"not in FACTS: {sorted(unknown)}"
    return frozenset(facts)


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    family: TypeClass
    length: int | None = None
    """Characters of a string; for a decimal always (12,2), for time-like types microseconds."""
    nullable: bool = True
    comment: str | None = None
    enum: tuple[str, ...] | None = None
    """Labels; the family is then string."""
    allowed: tuple[str, ...] | None = None
    """A CHECK restricts the string column to these, sorted."""
    identity: bool = False
    generated: tuple[str, str] | None = None
    """The product of two integer columns."""
    needs: Needs = NOTHING


@dataclass(frozen=True)
class Key:
    """A primary or unique key."""

    name: str
    columns: tuple[str, ...]
    needs: Needs = NOTHING


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key; `to` is (schema, table)."""

    name: str
    columns: tuple[str, ...]
    to: tuple[str, str]
    to_columns: tuple[str, ...]
    needs: Needs = NOTHING


@dataclass(frozen=True)
class Table:
    """A base table and its rows, each in the order of `columns`."""

    schema: str
    name: str
    columns: tuple[Column, ...]
    primary: Key | None = None
    unique: tuple[Key, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str | None = None
    rows: tuple[tuple[Value, ...], ...] = ()
    needs: Needs = NOTHING

    def column(self, name: str) -> Column:
        """The column of this name."""
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view: column `column` of source number `source`, under the name `name`."""

    name: str
    source: int
    column: str


@dataclass(frozen=True)
class View:
    """`SELECT ... FROM sources[0] CROSS JOIN sources[1] ...`; sources are tables or views."""

    schema: str
    name: str
    sources: tuple[tuple[str, str], ...]
    columns: tuple[ViewColumn, ...]
    comment: str | None = None
    needs: Needs = NOTHING


@dataclass(frozen=True)
class Declaration:
    """A database: tables in an order in which parents come first, but for circular keys; views likewise."""

    schemas: tuple[str, ...]
    tables: tuple[Table, ...]
    views: tuple[View, ...] = ()

    def adapted(self, unsupported: Mapping[str, str], *, only_schema: str | None = None) -> Declaration:
        """What an engine can hold: elements that need an unsupported fact left out.

        Args:
            unsupported: Facts (`FACTS`) that the engine does not have, with the reason.
            only_schema: Name of the one schema of an engine without the fact `schemas`.
        """
        from conformance.adapting import adapt

        return adapt(self, unsupported, only_schema)

    def table(self, schema: str, name: str) -> Table:
        """The table of this name."""
        return next(table for table in self.tables if (table.schema, table.name) == (schema, name))

    def source_column(self, schema: str, name: str, column: str) -> Column:
        """The table column behind a column of a table or view."""
        for view in self.views:
            if (view.schema, view.name) == (schema, name):
                found = next(each for each in view.columns if each.name == column)
                return self.source_column(*view.sources[found.source], found.column)
        return self.table(schema, name).column(column)


class EngineUnderTest(Protocol):
    """An engine with a place where databases can be built."""

    @property
    def name(self) -> str:
        """Name of the engine."""

    @property
    def unsupported(self) -> Mapping[str, str]:
        """Facts (`FACTS`) left out -> the reason, for people."""

    @property
    def only_schema(self) -> str | None:
        """Name of the one schema of an engine without the fact `schemas`; else null."""

    @property
    def max_catalog_statements(self) -> int:
        """Statements that `read_catalog` may send whatever the number of tables (no vendor cap hit)."""

    def build(self, declaration: Declaration) -> ConnectionSpec:
        """Make a database of an adapted declaration and say how to connect to it.

        Called several times; a call may replace the database of the one before.
        """
