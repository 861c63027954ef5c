"""What the catalog and the relationship graph say about each table, ready to be looked up."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.model import RelationshipGraph

TableName = tuple[str, str]
"""Schema and table, exactly as in the database."""
ColumnName = tuple[str, str, str]
"""Schema, table and column, exactly as in the database."""

_COLUMN = ["schema", "table", "column"]
_TEXTS = pl.List(pl.String())


class Reference(NamedTuple):
    """One key from a table to its parent."""

    database: str | None
    """Null: the described one."""
    schema: str
    table: str
    """The parent."""
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]
    inferred: bool

    def place(self, child: TableName) -> str:
        """The parent's name as it is written from the child's point of view: no more parts than needed."""
        if self.database is not None:
            return f"{self.database}.{self.schema}.{self.table}"
        return self.table if self.schema == child[0] else f"{self.schema}.{self.table}"

    def is_self(self, child: TableName) -> bool:
        """Whether the child refers to itself."""
        return self.database is None and (self.schema, self.table) == child


class ColumnFacts(NamedTuple):
    """What the catalog says about one column."""

    name: str
    type_class: str
    data_type: str
    is_identity: bool
    is_generated: bool


@dataclass(frozen=True)
class Facts:
    """Lookups that derived texts are made from; lists are in a fixed order."""

    primary_keys: Mapping[TableName, tuple[str, ...]]
    unique_columns: frozenset[ColumnName]
    """Columns that a declared key makes unique on their own."""
    parents: Mapping[TableName, Sequence[Reference]]
    children: Mapping[TableName, Sequence[TableName]]
    view_sources: Mapping[TableName, Sequence[TableName]]
    column_sources: Mapping[ColumnName, Sequence[ColumnName]]
    roles: Mapping[TableName, str]
    allowed_values: Mapping[ColumnName, tuple[str, ...]]
    """Declared value sets as texts; never of a withheld column."""


def gather(catalog: Catalog, profiles: pl.DataFrame, graph: RelationshipGraph) -> Facts:
    """Collect the facts of all tables once.

    Args:
        profiles: `frames.PROFILES`.
    """
    primary_keys, unique_columns = _keys(graph.keys)
    parents, children = _relationships(graph.relationships)
    view_sources, column_sources = _lineage(graph.lineage)
    declared = allowed_texts(catalog, profiles).filter(~pl.col("origin").is_in(["scan", "boolean"]))
    return Facts(
        primary_keys=primary_keys,
        unique_columns=unique_columns,
        parents=parents,
        children=children,
        view_sources=view_sources,
        column_sources=column_sources,
        roles={(schema, table): role for schema, table, role, _ in graph.roles.iter_rows()},
        allowed_values={(s, t, c): tuple(values) for s, t, c, values, _ in declared.iter_rows()},
    )


def allowed_texts(catalog: Catalog, profiles: pl.DataFrame) -> pl.DataFrame:
    """Complete value sets as people read them: schema, table, column, values (list), origin.

    What the profile knows comes first, then what the catalog declares. Withheld columns have none.
    """
    known = (
        catalog.columns.select(*_COLUMN, "allowed_values", "allowed_values_origin")
        .join(
            profiles.select(*_COLUMN, "status", json_values="allowed_values", json_origin="allowed_values_origin"),
            on=_COLUMN,
            how="left",
            maintain_order="left",
        )
        .filter(pl.col("status").ne_missing("withheld"))
    )
    profiled = known.filter(pl.col("json_values").is_not_null())
    declared = known.filter(pl.col("json_values").is_null() & pl.col("allowed_values").is_not_null())
    decoded = pl.Series([[_plain(value) for value in values] for values in profiled["json_values"]], dtype=_TEXTS)
    return pl.concat(
        [
            profiled.select(*_COLUMN, decoded.alias("values"), origin="json_origin"),
            declared.select(*_COLUMN, values="allowed_values", origin="allowed_values_origin"),
        ]
    ).filter(pl.col("values").list.len() > 0)


def _plain(json_text: str) -> str:
    value = json.loads(json_text)
    return value if isinstance(value, str) else json_text


def _keys(keys: pl.DataFrame) -> tuple[dict[TableName, tuple[str, ...]], frozenset[ColumnName]]:
    primary: dict[TableName, tuple[str, ...]] = {}
    unique: set[ColumnName] = set()
    for schema, table, kind, columns, origin in keys.select("schema", "table", "kind", "columns", "origin").iter_rows():
        if kind == "primary":
            primary.setdefault((schema, table), tuple(columns))
        elif len(columns) == 1 and origin != "inferred":
            unique.add((schema, table, columns[0]))
    return primary, frozenset(unique)


def _relationships(
    relationships: pl.DataFrame,
) -> tuple[dict[TableName, list[Reference]], dict[TableName, list[TableName]]]:
    parents: dict[TableName, list[Reference]] = defaultdict(list)
    children: dict[TableName, set[TableName]] = defaultdict(set)
    columns = ["from_schema", "from_table", "from_columns", "to_database", "to_schema", "to_table", "to_columns"]
    for row in relationships.filter("accepted").select(*columns, "origin").iter_rows():
        child_schema, child, from_columns, database, schema, table, to_columns, origin = row
        key = (tuple(from_columns), tuple(to_columns or ()), origin == "inferred")
        reference = Reference(database, schema, table, *key)
        parents[child_schema, child].append(reference)
        if database is None and not reference.is_self((child_schema, child)):
            children[schema, table].add((child_schema, child))
    return parents, {parent: sorted(found) for parent, found in children.items()}


def _lineage(
    lineage: pl.DataFrame,
) -> tuple[dict[TableName, list[TableName]], dict[ColumnName, list[ColumnName]]]:
    tables: dict[TableName, set[TableName]] = defaultdict(set)
    columns: dict[ColumnName, set[ColumnName]] = defaultdict(set)
    names = ("view_schema", "view", "view_column", "source_schema", "source_table", "source_column")
    for schema, view, column, source_schema, source, source_column in lineage.select(names).iter_rows():
        if column is None:
            tables[schema, view].add((source_schema, source))
        elif source_column is not None:
            columns[schema, view, column].add((source_schema, source, source_column))
    return (
        {view: sorted(sources) for view, sources in tables.items()},
        {column: sorted(sources) for column, sources in columns.items()},
    )
