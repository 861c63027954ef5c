"""What is known of every table and column, gathered from the catalog's and the samples' frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.inference.readings import (
    ColumnReading,
    TableReading,
    read_columns,
    read_tables,
)
from dictionary_pipeline.relationships.inference.words import Vocabulary
from dictionary_pipeline.relationships.names import TableName

_FAMILIES = {"integer": "number", "decimal": "number", "float": "number", "string": "text", "uuid": "uuid"}
_FAMILIES |= {"date": "date", "boolean": "boolean"}
_TABLE_KINDS = ("table", "foreign_table", "external")
_KEY = ["schema", "table", "column"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column with what sampling found out; numbers are those of `Facts`."""

    number: int
    table: int
    name: str
    position: int
    """0-based, among the table's columns."""
    type_class: str
    family: str
    """number | text | uuid | date | boolean | other; columns of enumerated types refer to nothing: other"""
    nullable: bool
    reading: ColumnReading
    measured: bool
    """Its values were sampled."""
    denied: bool
    """Its values must not be read, not even to count them."""
    rows: int
    """Sampled rows."""
    nulls: float
    distinct: int | None
    complete: bool
    """Every row was sampled."""
    low: float | None
    high: float | None
    """Smallest and largest value of number columns."""
    length: float | None
    """Mean length of texts."""
    failed: bool
    """Its table could not be sampled."""
    looks_numeric: bool
    """A text column whose smallest and largest sampled value are whole numbers."""

    @property
    def is_unique(self) -> bool:
        """The whole table was read, and no value occurred twice or was missing."""
        return self.complete and self.rows > 0 and self.distinct == self.rows and self.nulls == 0.0

    @property
    def may_be_unique(self) -> bool:
        """No sampled value speaks against it."""
        if not self.measured or self.rows == 0:
            return True
        if self.complete:
            return self.is_unique
        return self.nulls == 0.0 and (self.distinct or 0) >= 0.98 * self.rows

    @property
    def density(self) -> float | None:
        """Share of the whole numbers between smallest and largest that occur; null when it is not known."""
        if self.low is None or self.high is None or not self.distinct:
            return None
        return min(1.0, self.distinct / (self.high - self.low + 1.0))


@dataclass(slots=True)
class Table:
    """A table; views are none."""

    number: int
    name: TableName
    reading: TableReading
    columns: list[Column]
    rows: int | None
    """The engine's estimate, else what a complete sample counted."""
    unique: list[tuple[int, ...]] = field(default_factory=list)
    """Proven keys: declared, given by people, or unique indexes; column numbers, primary first."""
    has_primary: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """All tables and columns of a database, by number."""

    tables: Sequence[Table]
    columns: Sequence[Column]
    numbers: dict[tuple[str, str, str], int]
    """schema, table, column -> number"""

    def table_of(self, column: int) -> Table:
        """The table that a column belongs to."""
        return self.tables[self.columns[column].table]


def gather(catalog: Catalog, keys: pl.DataFrame, profiles: pl.DataFrame, denied: pl.DataFrame) -> Facts:
    """Collect the facts of all tables that can be read.

    Args:
        keys: `frames.KEYS`, declared and given by people.
        profiles: `frames.PROFILES`; may be empty.
        denied: schema, table, column whose values must not be read at all.
    """
    wanted = catalog.tables.filter(pl.col("kind").is_in(_TABLE_KINDS) & pl.col("readable").fill_null(True))
    joined = _joined(catalog, wanted, profiles, denied)
    names = [TableName(*row) for row in wanted.select("schema", "table").iter_rows()]
    vocabulary = Vocabulary((name.table for name in names), catalog.columns["column"].unique(maintain_order=True))
    readings = read_tables([name.table for name in names], vocabulary)
    place = {name: number for number, name in enumerate(names)}
    grouped: list[list[tuple[object, ...]]] = [[] for _ in names]
    for schema, table, *rest in joined.iter_rows():
        grouped[place[TableName(schema, table)]].append(tuple(rest))
    estimates = wanted["row_estimate"].to_list()
    tables: list[Table] = []
    columns: list[Column] = []
    for number, (name, reading, rows) in enumerate(zip(names, readings, grouped, strict=True)):
        own = _columns(number, len(columns), rows, reading, vocabulary)
        columns += own
        counted = max((column.rows for column in own if column.complete), default=None)
        tables.append(Table(number, name, reading, own, estimates[number] if counted is None else counted))
    numbers = {(*tables[column.table].name, column.name): column.number for column in columns}
    facts = Facts(tables, columns, numbers)
    _add_keys(facts, catalog, keys, place)
    return facts


_MEASURED = ["status", "sampled_rows", "null_fraction", "distinct_estimate", "complete", "min", "max", "mean_length"]


def _joined(catalog: Catalog, wanted: pl.DataFrame, profiles: pl.DataFrame, denied: pl.DataFrame) -> pl.DataFrame:
    return (
        catalog.columns.join(wanted.select("schema", "table"), on=["schema", "table"], how="semi")
        .join(profiles.select(*_KEY, *_MEASURED), on=_KEY, how="left", maintain_order="left")
        .join(denied.select(*_KEY, denied=pl.lit(True)), on=_KEY, how="left", maintain_order="left")
        .sort("schema", "table", "ordinal", maintain_order=True)
        .select(
            *_KEY,
            pl.when(pl.col("enum_values").is_null()).then("type_class").otherwise(pl.lit("enum")).alias("type_class"),
            pl.col("is_nullable").fill_null(True),
            pl.col("denied").fill_null(False),
            (pl.col("status") == "ok").fill_null(False).alias("measured"),
            (pl.col("status") == "failed").fill_null(False).alias("failed"),
            pl.col("sampled_rows").fill_null(0),
            pl.col("null_fraction").fill_null(0.0),
            "distinct_estimate",
            pl.col("complete").fill_null(False),
            "min",
            "max",
            "mean_length",
        )
    )


def _columns(
    table: int, first: int, rows: Sequence[tuple[object, ...]], reading: TableReading, vocabulary: Vocabulary
) -> list[Column]:
    readings = read_columns(reading, [str(row[0]) for row in rows], vocabulary)
    return [_column(first + at, table, at, row, readings[at]) for at, row in enumerate(rows)]


def _column(number: int, table: int, position: int, row: tuple[object, ...], reading: ColumnReading) -> Column:
    name, type_class, nullable, denied, measured, failed, sampled, nulls, distinct, complete, low, high, length = row
    family = _FAMILIES.get(str(type_class), "other")
    return Column(
        number=number,
        table=table,
        name=str(name),
        position=position,
        type_class=str(type_class),
        family=family,
        nullable=bool(nullable),
        reading=reading,
        measured=bool(measured),
        denied=bool(denied),
        rows=int(sampled) if isinstance(sampled, int) else 0,
        nulls=float(nulls) if isinstance(nulls, float) else 0.0,
        distinct=distinct if isinstance(distinct, int) else None,
        complete=bool(complete) and bool(measured),
        low=_number(low) if family == "number" else None,
        high=_number(high) if family == "number" else None,
        length=length if isinstance(length, float) else None,
        failed=bool(failed),
        looks_numeric=family == "text" and all(str(end).strip().isdigit() for end in (low, high)),
    )


def _number(text: object) -> float | None:
    try:
        return float(str(text)) if text is not None else None
    except ValueError:
        return None


def _add_keys(facts: Facts, catalog: Catalog, keys: pl.DataFrame, place: dict[TableName, int]) -> None:
    primary_first = keys.sort(pl.col("kind") != "primary", maintain_order=True)
    stated = list(primary_first.select("schema", "table", "columns", "kind").iter_rows())
    unique_indexes = catalog.indexes.filter(pl.col("is_unique").fill_null(False))
    stated += [(*row, "index") for row in unique_indexes.select("schema", "table", "columns").iter_rows()]
    for schema, table, columns, kind in stated:
        number = place.get(TableName(schema, table))
        if number is None or not columns:
            continue
        found = [facts.numbers.get((schema, table, column)) for column in columns]
        key = tuple(column for column in found if column is not None)
        if len(key) == len(columns) and key not in facts.tables[number].unique:
            facts.tables[number].unique.append(key)
            facts.tables[number].has_primary |= kind == "primary"
