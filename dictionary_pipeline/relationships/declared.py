"""Keys and relationships that are declared: by constraints of the database or by people."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKey, HumanRelationship
from dictionary_pipeline.relationships.names import NameMismatch, Names, TableName

RELATIONSHIP_ORDER = (
    "from_schema",
    "from_table",
    "to_schema",
    "to_table",
    "name",
    "from_columns",
    "to_columns",
    "to_database",
)
_Unique = dict[TableName, list[frozenset[str]]]
"""Table -> the column sets of its primary and unique keys."""

KEY_ORDER = ("schema", "table", "name", "columns")


class _Relationship(NamedTuple):
    """A row of `frames.RELATIONSHIPS`, in its order."""

    from_schema: str
    from_table: str
    from_columns: Sequence[str]
    to_database: str | None
    to_schema: str
    to_table: str
    to_columns: Sequence[str]
    name: str | None
    origin: str
    confidence: float
    cardinality: str
    evidence: str
    accepted: bool
    to_stub: bool

    def identity(self) -> tuple[object, ...]:
        """What two declarations of the same key share: the ends and the column pairs, in any order."""
        pairs = frozenset(zip(self.from_columns, self.to_columns, strict=False))
        return self.from_schema, self.from_table, self.to_database, self.to_schema, self.to_table, pairs


def declared_keys(catalog: Catalog, names: Names, human: Sequence[HumanKey]) -> tuple[pl.DataFrame, list[str]]:
    """The catalog's keys and the unique keys that people declared and the catalog does not know.

    Returns:
        `frames.KEYS` and a sentence per declaration that names something unknown.
    """
    known = {
        (schema, table, frozenset(columns))
        for schema, table, columns in catalog.keys.select("schema", "table", "columns").iter_rows()
    }
    rows: list[tuple[object, ...]] = []
    unmatched: list[str] = []
    for key in human:
        try:
            table = names.table(key.schema, key.table)
            columns = names.columns_of(table, key.columns)
        except NameMismatch as error:
            unmatched.append(f"A unique test {error.what}. {error.hint}")
            continue
        if (*table, frozenset(columns)) not in known:
            known.add((*table, frozenset(columns)))
            rows.append((*table, None, "unique", columns, "dbt", 1.0))
    keys = pl.concat([frames.fit(catalog.keys, frames.KEYS), frames.from_rows(rows, frames.KEYS)])
    return frames.fit(keys, frames.KEYS, sort_by=KEY_ORDER), unmatched


def declared_relationships(
    catalog: Catalog, names: Names, keys: pl.DataFrame, human: Sequence[HumanRelationship]
) -> tuple[pl.DataFrame, list[str]]:
    """One row per foreign key constraint and per relationship that people declared.

    Args:
        keys: `frames.KEYS`; a relationship whose child columns hold a key is one to one.

    Returns:
        `frames.RELATIONSHIPS` and a sentence per declaration that names something unknown.
    """
    unique: _Unique = defaultdict(list)
    for schema, table, columns in keys.select("schema", "table", "columns").iter_rows():
        unique[TableName(schema, table)].append(frozenset(columns))
    rows = [
        _from_constraint(row, names, unique)
        for row in catalog.foreign_keys.select(list(frames.FOREIGN_KEYS)).iter_rows(named=True)
    ]
    seen = {row.identity() for row in rows}
    unmatched: list[str] = []
    for declared in human:
        try:
            row = _from_person(declared, names, unique)
        except NameMismatch as error:
            unmatched.append(_mismatch(declared, error))
            continue
        if row.identity() not in seen:
            seen.add(row.identity())
            rows.append(row)
    frame = frames.from_rows(rows, frames.RELATIONSHIPS)
    return frames.fit(frame, frames.RELATIONSHIPS, sort_by=RELATIONSHIP_ORDER), unmatched


def rejected_relationships(
    names: Names, human: Sequence[HumanRelationship]
) -> tuple[frozenset[tuple[object, ...]], list[str]]:
    """What people said is no relationship.

    Returns:
        Identities (child, parent, column pairs) and a sentence per rejection that names something unknown.
    """
    rejected: set[tuple[object, ...]] = set()
    unmatched: list[str] = []
    for item in human:
        try:
            row = _from_person(item, names, defaultdict(list))
            rejected.add(row.identity())
        except NameMismatch as error:
            unmatched.append(_mismatch(item, error, "rejected relationship"))
    return frozenset(rejected), unmatched


def _from_constraint(row: dict[str, Any], names: Names, unique: _Unique) -> _Relationship:
    name, child = row["name"], TableName(row["from_schema"], row["from_table"])
    evidence = f"declared foreign key {name}" if name else "declared foreign key"
    if not row["is_validated"]:
        evidence += ", not validated: existing rows may break it"
    outside = row["to_database"] is not None or names.exact(row["to_schema"], row["to_table"]) is None
    return _Relationship(
        *child,
        row["from_columns"],
        row["to_database"],
        row["to_schema"],
        row["to_table"],
        row["to_columns"],
        name,
        origin="declared",
        confidence=1.0,
        cardinality=_cardinality(row["from_columns"], unique[child]),
        evidence=evidence,
        accepted=True,
        to_stub=outside,
    )


def _from_person(declared: HumanRelationship, names: Names, unique: _Unique) -> _Relationship:
    if len(declared.from_columns) != len(declared.to_columns):
        what = f"joins {len(declared.from_columns)} columns to {len(declared.to_columns)}"
        raise NameMismatch(what, "Name as many columns on both sides.")
    child = names.table(declared.from_schema, declared.from_table)
    parent = names.table(declared.to_schema, declared.to_table)
    from_columns = names.columns_of(child, declared.from_columns)
    to_columns = names.columns_of(parent, declared.to_columns)
    # Not the line: moving a declaration within its file must not change what is published.
    file = re.split(r"[\\/]", re.sub(r"(:[0-9]+)+$", "", declared.origin))[-1]
    return _Relationship(
        *child,
        from_columns,
        None,
        *parent,
        to_columns,
        name=None,
        origin="dbt",
        confidence=1.0,
        cardinality=_cardinality(from_columns, unique[child]),
        evidence=f"declared by people in {file}" if file else "declared by people",
        accepted=True,
        to_stub=False,
    )


def _cardinality(from_columns: Sequence[str], unique: Sequence[frozenset[str]]) -> str:
    return "one_to_one" if any(key <= set(from_columns) for key in unique) else "many_to_one"


def _mismatch(declared: HumanRelationship, error: NameMismatch, noun: str = "relationship") -> str:
    child = f"{declared.from_schema}.{declared.from_table}"
    ends = f"`{child}` to `{declared.to_schema}.{declared.to_table}`"
    where = f" It is declared in {declared.origin}." if declared.origin else ""
    return f"The {noun} from {ends} {error.what}. {error.hint}{where}"
