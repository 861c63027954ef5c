"""What the rules of table roles look at: keys, relationships, and what a table's own columns hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.inference.lexicon import NAME_WORDS
from dictionary_pipeline.relationships.inference.words import Tokens, stem, tokens
from dictionary_pipeline.relationships.names import TableName

_AUDIT = frozenset(
    {
        *("create", "created", "creation", "update", "updated", "modify", "modified", "modification", "change"),
        *("changed", "insert", "inserted", "load", "loaded", "etl", "dwh", "sync", "synced", "delete", "deleted"),
        *("rowguid", "rowversion", "lastupdate", "archived"),
    }
)
"""Words of dates that tell when a row was written, which says nothing about what it describes."""
_ATTRIBUTE = frozenset({"birth", "born", "hire", "hired", "valid", "effective", "expiry", "expire", "expires", "since"})
"""Words of dates that describe a thing rather than an event."""
_QUANTITY = frozenset(
    {
        *("quantity", "qty", "count", "cnt", "amount", "amt", "total", "sum", "units", "price", "cost", "value"),
        *(
            "score",
            "points",
            "duration",
            "minutes",
            "seconds",
            "hours",
            "days",
            "weight",
            "volume",
            "rating",
            "balance",
        ),
    }
)
"""Words of whole numbers that are measured; without one they may as well be codes, flags or years."""
_LABEL_BEFORE = frozenset({"first", "last", "full", "company", "display", "short", "long", "legal", "common", "user"})
"""Words that may stand before `name` in the label of a thing, beside those of its table."""


@dataclass
class TableFacts:
    """One table, as the rules see it."""

    columns: list[tuple[str, str]] = field(default_factory=list)
    """Name and type class."""
    primary_key: frozenset[str] = frozenset()
    key_columns: set[str] = field(default_factory=set)
    references: list[frozenset[str]] = field(default_factory=list)
    """Child columns of each outgoing key, self references included."""
    parents: set[str] = field(default_factory=set)
    """Names of other tables that it refers to."""
    children: set[str] = field(default_factory=set)
    """Names of other tables that refer to it."""
    rows: int | None = None
    measures: int = 0
    """Own columns that hold an amount."""
    events: int = 0
    """Own columns that hold the date of an event."""
    extras: int = 0
    """Own columns that are not about when the row was written."""
    label: str | None = None
    """The column that names what the table describes."""

    @property
    def is_linked_by_key(self) -> bool:
        """Whether its primary key consists of two references or more."""
        parts = [reference for reference in self.references if reference & self.primary_key]
        return len(self.primary_key) >= 2 and len(parts) >= 2 and self.primary_key <= frozenset[str]().union(*parts)

    @property
    def is_part(self) -> bool:
        """Whether its primary key consists of a reference and something that tells the parts of the parent apart."""
        parts = [reference for reference in self.references if reference & self.primary_key]
        return bool(parts) and not self.primary_key <= frozenset[str]().union(*parts)


def gather(
    catalog: Catalog, relationships: pl.DataFrame, keys: pl.DataFrame, profiles: pl.DataFrame
) -> Mapping[TableName, TableFacts]:
    """Facts of every table.

    Args:
        relationships: `frames.RELATIONSHIPS`; all count.
        keys: `frames.KEYS`.
        profiles: `frames.PROFILES`.
    """
    facts: dict[TableName, TableFacts] = defaultdict(TableFacts)
    for schema, table, column, type_class in catalog.columns.select(
        "schema", "table", "column", "type_class"
    ).iter_rows():
        facts[TableName(schema, table)].columns.append((column, type_class))
    for schema, table, kind, columns in keys.select("schema", "table", "kind", "columns").iter_rows():
        own = facts[TableName(schema, table)]
        own.key_columns.update(columns)
        own.primary_key = frozenset(columns) if kind == "primary" else own.primary_key
    ends = ("from_schema", "from_table", "from_columns", "to_database", "to_schema", "to_table")
    for from_schema, from_table, columns, database, to_schema, to_table in relationships.select(ends).iter_rows():
        child, parent = TableName(from_schema, from_table), TableName(to_schema, to_table)
        facts[child].references.append(frozenset(columns))
        if database is not None:
            facts[child].parents.add(f"{database}.{parent}")
        elif parent != child:
            facts[child].parents.add(str(parent))
            facts[parent].children.add(str(child))
    for schema, table, rows in _row_counts(catalog, profiles).iter_rows():
        facts[TableName(schema, table)].rows = rows
    for name, own in facts.items():
        _read_columns(name, own)
    return facts


def _read_columns(table: TableName, facts: TableFacts) -> None:
    referring = frozenset[str]().union(*facts.references)
    about = frozenset(stem(word) for word in tokens(table.table))
    for column, type_class in facts.columns:
        spelled = tokens(column)
        if type_class == "string" and column not in referring and facts.label is None and _is_label(spelled, about):
            facts.label = column
        if column in referring or column in facts.key_columns:
            continue
        if _AUDIT & {*spelled}:
            continue
        facts.extras += 1
        if type_class in ("date", "timestamp"):
            facts.events += not _ATTRIBUTE & {*spelled}
        elif type_class in ("decimal", "float") or (type_class == "integer" and _QUANTITY & {*spelled}):
            facts.measures += 1


def _is_label(spelled: Tokens, about: frozenset[str]) -> bool:
    """Whether a column names the thing itself: `name`, `product_name`, `p_name` of products, `title`."""
    *before, last = spelled or ("",)
    initials = {word[:1] for word in about} | {word[:2] for word in about}
    return last in NAME_WORDS and all(
        word in _LABEL_BEFORE or stem(word) in about or word in initials for word in before
    )


def _row_counts(catalog: Catalog, profiles: pl.DataFrame) -> pl.DataFrame:
    """schema, table, rows: the engine's estimate, else the number of rows of a completely read table."""
    whole = profiles.filter(pl.col("complete")).group_by("schema", "table").agg(pl.col("sampled_rows").max())
    sizes = catalog.tables.select("schema", "table", "row_estimate").join(whole, on=["schema", "table"], how="left")
    return sizes.select("schema", "table", pl.coalesce("row_estimate", "sampled_rows"))
