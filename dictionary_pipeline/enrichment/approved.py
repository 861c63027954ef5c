"""Approved texts whose object has changed since a person looked at it: they stay, and are shown again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import polars as pl

from dictionary_pipeline import jsontext
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge
from dictionary_pipeline.enrichment import human_text
from dictionary_pipeline.enrichment.facts import TableName
from dictionary_pipeline.enrichment.human_text import Approved, ObjectName

_TABLE = ("schema", "table")
_CHILD = ("from_schema", "from_table")

_Rows = Mapping[TableName, list[tuple[Any, ...]]]


def stale_approvals(catalog: Catalog, human: HumanKnowledge) -> tuple[Approved, ...]:
    """Approvals whose object has another structure now, in the order of the configuration."""
    if not any(table.approval or any(column.approval for column in table.columns) for table in human.tables):
        return ()
    approved = human_text.match(catalog, human).approved
    now = structure_hashes(catalog, {(item.schema, item.table) for item in approved})
    return tuple(item for item in approved if item.structure != now[item.object])


def stale_sentence(item: Approved, database: str) -> str:
    """What a run says of a stale approval."""
    noun = "column" if item.column else "table"
    return f"approved text of {item.name}: the {noun} has changed since; run `data_dictionary review {database}`"


def structure_hashes(catalog: Catalog, tables: Collection[TableName] | None = None) -> dict[ObjectName, str]:
    """What a text about an object was written for, as a short hash.

    Of a table: names and types of its columns, keys, declared references and view SQL, each in an
    order of its own, so that moved columns and renamed constraints change nothing. Of a column: its
    type, the kinds of keys it is part of, and what it refers to.

    Args:
        tables: Only these; all by default.
    """
    columns = _rows(catalog.columns, _TABLE, ("column", "data_type"), tables)
    keys = _rows(catalog.keys, _TABLE, ("kind", "columns"), tables)
    targets = ("from_columns", "to_database", "to_schema", "to_table", "to_columns")
    references = _rows(catalog.foreign_keys, _CHILD, targets, tables)
    found: dict[ObjectName, str] = {}
    for name, ((sql,),) in _rows(catalog.tables, _TABLE, ("view_sql",), tables).items():
        parts = [_in_order(rows.get(name, ())) for rows in (columns, keys, references)]
        found[*name, None] = _hash([*parts, " ".join(sql.split()) if sql else None])
        for column, data_type in columns.get(name, ()):
            roles = _in_order(kind for kind, members in keys.get(name, ()) if column in members)
            led_to = _in_order(target for members, *target in references.get(name, ()) if column in members)
            found[*name, column] = _hash([data_type, roles, led_to])
    return found


def _rows(
    frame: pl.DataFrame, owner: tuple[str, str], fields: Iterable[str], tables: Collection[TableName] | None
) -> _Rows:
    """Rows of a frame by the table that owns them."""
    rows: dict[TableName, list[tuple[Any, ...]]] = defaultdict(list)
    for schema, table, *row in frame.select(*owner, *fields).iter_rows():
        if tables is None or (schema, table) in tables:
            rows[schema, table].append(tuple(row))
    return rows


def _in_order(facts: Iterable[Any]) -> list[str]:
    return sorted(map(jsontext.compact, facts))


def _hash(facts: Any) -> str:
    """Begins with a letter, so that YAML never takes it for a number."""
    return f"s{jsontext.digest(facts)[:11]}"
