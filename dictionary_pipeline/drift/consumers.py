"""What uses a table or column that is gone, renamed or of another type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge
from dictionary_pipeline.drift.model import Change, Key
from dictionary_pipeline.drift.pairing import Pairs
from dictionary_pipeline.drift.tables import VIEW_KINDS
from dictionary_pipeline.relationships.lineage import view_lineage
from dictionary_pipeline.relationships.names import Names

_OF_COLUMNS = frozenset({"column_removed", "column_renamed", "type_changed", "type_narrowed"})
_OF_TABLES = frozenset({"table_removed", "table_renamed", "view_removed", "view_renamed"})
_Place = tuple[str, str, str]
"""Schema, table and column; the column is empty for the table."""


def with_consumers(
    changes: Sequence[Change], before: Catalog, pairs: Pairs, human: HumanKnowledge | None
) -> list[Change]:
    """Name what used the objects of breaking changes in the earlier state."""
    if not any(change.kind in _OF_COLUMNS | _OF_TABLES for change in changes):
        return list(changes)
    earlier = {new: old for old, new in pairs.tables}
    uses = _uses(before, human)
    told = []
    for change in changes:
        if change.kind in _OF_COLUMNS | _OF_TABLES:
            place = _place_before(change, pairs, earlier)
            change = replace(change, consumers=tuple(uses.get(place, ())))
        told.append(change)
    return told


def _place_before(change: Change, pairs: Pairs, earlier: dict[Key, Key]) -> _Place:
    """Where the object was in the earlier state."""
    key = Key(change.schema, change.table)
    if change.kind in _OF_TABLES:
        return (*key, "")
    key = earlier.get(key, key)
    if change.kind in ("column_removed", "column_renamed"):
        return (*key, change.column)
    names = {new: old for old, new in pairs.columns[key].same} if key in pairs.columns else {}
    return (*key, names.get(change.column, change.column))


def _uses(before: Catalog, human: HumanKnowledge | None) -> dict[_Place, list[str]]:
    """Place -> what uses it."""
    found: dict[_Place, set[str]] = defaultdict(set)
    for place, user in [*_views(before), *_keys(before), *_foreign_keys(before), *_definitions(human)]:
        found[place].add(user)
    return {place: sorted(users) for place, users in found.items()}


def _views(before: Catalog) -> Iterable[tuple[_Place, str]]:
    if before.tables.filter(pl.col("kind").is_in(VIEW_KINDS)).is_empty():
        return
    lineage = before.lineage
    if lineage.filter(pl.col("view_column").is_not_null()).is_empty():
        lineage, _ = view_lineage(before, Names(before))
    named = lineage.select("view_schema", "view", "source_schema", "source_table", "source_column").unique()
    for schema, view, source_schema, source, column in named.iter_rows():
        yield (source_schema, source, ""), f"view {schema}.{view}"
        if column is not None:
            yield (source_schema, source, column), f"view {schema}.{view}"


def _keys(before: Catalog) -> Iterable[tuple[_Place, str]]:
    for schema, table, kind, columns in before.keys.select("schema", "table", "kind", "columns").iter_rows():
        for column in columns:
            yield (schema, table, column), f"{kind} key ({', '.join(columns)})"


def _foreign_keys(before: Catalog) -> Iterable[tuple[_Place, str]]:
    for row in before.foreign_keys.iter_rows(named=True):
        child = f"{row['from_schema']}.{row['from_table']}"
        to = f"{row['to_schema']}.{row['to_table']}"
        for column in row["from_columns"] or ():
            yield (row["from_schema"], row["from_table"], column), f"foreign key to {to}"
        user = f"foreign key of {child}({', '.join(row['from_columns'] or ())})"
        yield (row["to_schema"], row["to_table"], ""), user
        for column in row["to_columns"] or ():
            yield (row["to_schema"], row["to_table"], column), user


def _definitions(human: HumanKnowledge | None) -> Iterable[tuple[_Place, str]]:
    """Everything that people wrote about a table or column."""
    for table in human.tables if human else ():
        at = f" ({table.origin})" if table.origin else ""
        yield (table.schema, table.table, ""), f"definition{at}"
        for column in table.columns:
            yield (table.schema, table.table, column.name), f"definition{at}"
    for relation in human.relationships if human else ():
        ends = (
            (relation.from_schema, relation.from_table, relation.from_columns),
            (relation.to_schema, relation.to_table, relation.to_columns),
        )
        for schema, name, columns in ends:
            for part in ("", *columns):
                yield (schema, name, part), f"relationship ({relation.origin})" if relation.origin else "relationship"
