"""The role a table plays: fact, dimension, bridge, lookup or other, with the reason in words.

Rules, first match wins: views are `other`; a bridge is identified by its references alone and says
little else; a lookup is small, referenced and refers to nothing; a fact refers to several tables,
is hardly referenced itself and holds measures or dates; a dimension is referenced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.names import TableName

_MAX_BRIDGE_EXTRAS = 2
"""Columns beyond its key and references that a bridge may have, such as a date and a rank."""
_MAX_LOOKUP_COLUMNS = 4
_MAX_LOOKUP_ROWS = 1_000
_MEASURES = ("integer", "float", "decimal", "date", "timestamp")


@dataclass
class _Facts:
    """What the rules look at, per table."""

    columns: list[tuple[str, str]] = field(default_factory=list)
    primary_key: frozenset[str] = frozenset()
    key_columns: set[str] = field(default_factory=set)
    references: list[frozenset[str]] = field(default_factory=list)
    """Child columns of each outgoing key, self references included."""
    parents: set[str] = field(default_factory=set)
    """Names of other tables that it refers to."""
    children: set[str] = field(default_factory=set)
    """Names of other tables that refer to it."""
    rows: int | None = None

    @property
    def own_columns(self) -> list[tuple[str, str]]:
        """Columns that are part of no key and no reference."""
        taken = self.key_columns.union(*self.references)
        return [column for column in self.columns if column[0] not in taken]


def table_roles(
    catalog: Catalog, relationships: pl.DataFrame, keys: pl.DataFrame, profiles: pl.DataFrame
) -> pl.DataFrame:
    """Role of every table and view.

    Args:
        relationships: `frames.RELATIONSHIPS`; the accepted ones count.
        keys: `frames.KEYS`.
        profiles: `frames.PROFILES`; tells the size of small tables that the engine does not estimate.

    Returns:
        `frames.ROLES` in the order of the catalog's tables.
    """
    facts = _gather(catalog, relationships, keys, profiles)
    rows = []
    for schema, table, kind in catalog.tables.select("schema", "table", "kind").iter_rows():
        role, reason = _role(kind, facts[TableName(schema, table)])
        rows.append((schema, table, role, reason))
    return frames.from_rows(rows, frames.ROLES)


def _role(kind: str, facts: _Facts) -> tuple[str, str]:
    if kind in ("view", "materialized_view"):
        return "other", f"It is a {kind.replace('_', ' ')}."
    referenced = f"is referred to by {_several(facts.children)}"
    refers = f"refers to {_several(facts.parents)}"
    if _is_bridge(facts):
        return "bridge", f"Its primary key consists of references, and it {refers}."
    if facts.children and not facts.parents and _is_small(facts):
        return "lookup", f"It has {_count(len(facts.columns), 'column', 'columns')}, {referenced}, and {refers}."
    measures = sum(type_class in _MEASURES for _, type_class in facts.own_columns)
    if len(facts.parents) >= 2 and len(facts.children) <= 1 and measures:
        return (
            "fact",
            f"It {refers}, holds {_count(measures, 'measure or date', 'measures or dates')}, and {referenced}.",
        )
    return ("dimension", f"It {referenced}.") if facts.children else ("other", f"It {referenced} and {refers}.")


def _is_bridge(facts: _Facts) -> bool:
    parts = [reference for reference in facts.references if reference & facts.primary_key]
    covered = frozenset[str]().union(*parts)
    return (
        len(facts.primary_key) >= 2
        and len(parts) >= 2
        and facts.primary_key <= covered
        and len(facts.own_columns) <= _MAX_BRIDGE_EXTRAS
    )


def _is_small(facts: _Facts) -> bool:
    return len(facts.columns) <= _MAX_LOOKUP_COLUMNS and (facts.rows is None or facts.rows <= _MAX_LOOKUP_ROWS)


def _gather(
    catalog: Catalog, relationships: pl.DataFrame, keys: pl.DataFrame, profiles: pl.DataFrame
) -> Mapping[TableName, _Facts]:
    facts: dict[TableName, _Facts] = defaultdict(_Facts)
    for schema, table, column, type_class in catalog.columns.select(
        "schema", "table", "column", "type_class"
    ).iter_rows():
        facts[TableName(schema, table)].columns.append((column, type_class))
    for schema, table, kind, columns in keys.select("schema", "table", "kind", "columns").iter_rows():
        own = facts[TableName(schema, table)]
        own.key_columns.update(columns)
        own.primary_key = frozenset(columns) if kind == "primary" else own.primary_key
    accepted = relationships.filter(pl.col("accepted"))
    for row in accepted.iter_rows(named=True):
        child = TableName(row["from_schema"], row["from_table"])
        facts[child].references.append(frozenset(row["from_columns"]))
        parent = TableName(row["to_schema"], row["to_table"])
        if row["to_database"] is not None:
            facts[child].parents.add(f"{row['to_database']}.{parent}")
        elif parent != child:
            facts[child].parents.add(str(parent))
            facts[parent].children.add(str(child))
    for schema, table, rows in _row_counts(catalog, profiles).iter_rows():
        facts[TableName(schema, table)].rows = rows
    return facts


def _row_counts(catalog: Catalog, profiles: pl.DataFrame) -> pl.DataFrame:
    """schema, table, rows: the engine's estimate, else the number of rows of a completely read table."""
    whole = profiles.filter(pl.col("complete")).group_by("schema", "table").agg(pl.col("sampled_rows").max())
    sizes = catalog.tables.select("schema", "table", "row_estimate").join(whole, on=["schema", "table"], how="left")
    return sizes.select("schema", "table", pl.coalesce("row_estimate", "sampled_rows"))


def _several(names: Iterable[str]) -> str:
    ordered = sorted(names)
    if not ordered:
        return "no other table"
    if len(ordered) <= 3:
        return " and ".join([", ".join(ordered[:-1]), ordered[-1]] if len(ordered) > 1 else ordered)
    return f"{len(ordered)} other tables"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
