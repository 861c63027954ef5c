"""What a diagram shows: boxes with their rows, and the lines between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.names import TableName

_MAX_ROWS, _MANY_TABLES, _FEWER_ROWS = 8, 15, 6
"""Columns of a box at most, keys and references first; fewer where there are many tables."""
_MAX_KEY_ROWS = 12
"""Keys and references of a box at most; they are what a picture of relationships is about."""
_MAX_OUTSIDE = 8
"""Parents outside an area that its picture shows."""


class Row(NamedTuple):
    """A column in a box, or a table in the box of an area."""

    column: str
    detail: str
    """Type without its parameters, which may list values; or a role."""
    is_primary: bool = False
    is_foreign: bool = False


class Box(NamedTuple):
    """A table in a picture."""

    schema: str
    table: str
    role: str
    """Of the table; `outside` for a parent that belongs elsewhere, `area` for a box that stands for an area."""
    tooltip: str
    rows: tuple[Row, ...] = ()
    more: str = ""
    """How many columns or tables are not shown."""


class Link(NamedTuple):
    """A reference, from a row of the child to a row of the parent; a null row is the box's head."""

    child: int
    child_row: int | None
    parent: int
    parent_row: int | None
    is_inferred: bool
    is_one_to_one: bool
    tooltip: str


class Scene(NamedTuple):
    """A picture before it is laid out."""

    title: str
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    shows_schemas: bool
    notes: tuple[str, ...] = ()
    """What is not shown."""
    lines: tuple[str, str] = ("many refer to one", "the same, inferred")
    """What the legend says of whole and of dashed lines."""


class Reference(NamedTuple):
    """An accepted relationship."""

    child: TableName
    columns: tuple[str, ...]
    database: str | None
    parent: TableName
    parent_columns: tuple[str, ...]
    is_inferred: bool
    confidence: float
    cardinality: str
    is_stub: bool


@dataclass(frozen=True)
class Schema:
    """The tables of a database, ready to be drawn."""

    columns: Mapping[TableName, Sequence[tuple[str, str]]]
    """Name and type of every column, in order."""
    primary_keys: Mapping[TableName, Sequence[str]]
    roles: Mapping[TableName, tuple[str, str]]
    """Role and reason."""
    references_of: Mapping[TableName, Sequence[Reference]]
    """Of every child."""
    shows_schemas: bool

    @property
    def references(self) -> Iterator[Reference]:
        """All references."""
        return chain.from_iterable(self.references_of.values())


def read_schema(catalog: Catalog, relationships: pl.DataFrame, keys: pl.DataFrame, roles: pl.DataFrame) -> Schema:
    """Collect what diagrams show: tables without views, and accepted relationships.

    Args:
        relationships: `frames.RELATIONSHIPS`.
        keys: `frames.KEYS`.
        roles: `frames.ROLES`.
    """
    tables = catalog.tables.filter(~pl.col("kind").str.contains("view")).select("schema", "table")
    columns: dict[TableName, list[tuple[str, str]]] = {TableName(*name): [] for name in tables.iter_rows()}
    for schema, table, column, data_type in catalog.columns.select(
        "schema", "table", "column", "data_type"
    ).iter_rows():
        if (name := TableName(schema, table)) in columns:
            columns[name].append((column, data_type or ""))
    primary: dict[TableName, Sequence[str]] = {}
    for schema, table, own in keys.filter(pl.col("kind") == "primary").select("schema", "table", "columns").iter_rows():
        primary.setdefault(TableName(schema, table), own)
    reasons = {TableName(schema, table): (role, reason) for schema, table, role, reason in roles.iter_rows()}
    return Schema(columns, primary, reasons, _references(relationships), tables["schema"].n_unique() > 1)


def _references(relationships: pl.DataFrame) -> dict[TableName, list[Reference]]:
    ends = ("from_schema", "from_table", "from_columns", "to_database", "to_schema", "to_table", "to_columns")
    facts = ("origin", "confidence", "cardinality", "to_stub")
    found: dict[TableName, list[Reference]] = defaultdict(list)
    for row in relationships.filter("accepted").select(*ends, *facts).iter_rows():
        from_schema, from_table, columns, database, to_schema, to_table, to_columns, origin, sure, kind, stub = row
        child, parent = TableName(from_schema, from_table), TableName(to_schema, to_table)
        pairs = tuple(columns), database, parent, tuple(to_columns or ())
        found[child].append(Reference(child, *pairs, origin == "inferred", sure, kind, stub))
    return found


def area_scene(schema: Schema, title: str, tables: Sequence[TableName], notes: Sequence[str] = ()) -> Scene:
    """The picture of an area: its tables, and in grey the parents outside that it refers to most.

    Args:
        tables: Sorted.
        notes: What else the legend says.
    """
    max_rows = _MAX_ROWS if len(tables) <= _MANY_TABLES else _FEWER_ROWS
    references = [reference for table in tables for reference in schema.references_of.get(table, ())]
    own = set(tables)
    outside = Counter((r.database, r.parent) for r in references if r.database or r.parent not in own)
    shown = sorted(outside, key=lambda end: (-outside[end], end[0] or "", end[1]))[:_MAX_OUTSIDE]
    foreign: dict[TableName, set[str]] = {table: set() for table in tables}
    referred: dict[TableName, set[str]] = {table: set() for table in tables}
    for reference in references:
        foreign[reference.child].update(reference.columns)
        if reference.parent in own and not reference.database:
            referred[reference.parent].update(reference.parent_columns)
    boxes = [_box(schema, table, foreign[table], referred[table], max_rows) for table in tables]
    places: dict[tuple[str | None, TableName], int] = {(None, table): number for number, table in enumerate(tables)}
    for database, parent in sorted(shown, key=lambda end: (end[0] or "", end[1])):
        places[database, parent] = len(boxes)
        name = f"{database}.{parent}" if database else str(parent)
        where = "in another area" if parent in schema.columns and not database else "outside the dictionary"
        boxes.append(Box(parent.schema, parent.table, "outside", f"{name}: {where}"))
    links = [
        _link(reference, places, boxes) for reference in references if (reference.database, reference.parent) in places
    ]
    hidden = sum(count for end, count in outside.items() if end not in shown)
    said = [f"{hidden} more references lead outside"] if hidden else []
    return Scene(title, tuple(boxes), tuple(dict.fromkeys(links)), schema.shows_schemas, (*said, *notes))


def _box(schema: Schema, table: TableName, foreign: set[str], referred: set[str], max_rows: int) -> Box:
    primary = schema.primary_keys.get(table, ())
    columns = schema.columns.get(table, ())
    ranked = sorted(
        range(len(columns)),
        key=lambda place: (
            columns[place][0] not in primary,
            columns[place][0] not in foreign,
            columns[place][0] not in referred,
            place,
        ),
    )
    keys = sum(column in primary or column in foreign for column, _ in columns)
    max_rows = max(max_rows, min(keys, _MAX_KEY_ROWS))
    rows = [
        Row(column, data_type.split("(")[0].strip().lower(), column in primary, column in foreign)
        for column, data_type in (columns[place] for place in ranked[:max_rows])
    ]
    role, reason = schema.roles.get(table, ("other", ""))
    return Box(*table, role, f"{table}: {role}. {reason}", tuple(rows), more(len(columns) - len(rows), "column"))


def keys_only(scene: Scene) -> Scene:
    """The same scene with no more than the keys and references of every table."""
    kept = [sum(row.is_primary or row.is_foreign for row in box.rows) for box in scene.boxes]
    boxes = [box._replace(rows=box.rows[:count], more="") for box, count in zip(scene.boxes, kept, strict=True)]

    def row(box: int, number: int | None) -> int | None:
        return number if number is not None and number < kept[box] else None

    links = [
        link._replace(child_row=row(link.child, link.child_row), parent_row=row(link.parent, link.parent_row))
        for link in scene.links
    ]
    return scene._replace(boxes=tuple(boxes), links=tuple(links))


def more(count: int, noun: str) -> str:
    """What a box says about what it does not show."""
    return f"+ {count} more {noun}{'s' if count > 1 else ''}" if count else ""


def _link(reference: Reference, places: Mapping[tuple[str | None, TableName], int], boxes: Sequence[Box]) -> Link:
    child, parent = places[None, reference.child], places[reference.database, reference.parent]
    joined = [*zip(reference.columns, reference.parent_columns, strict=False)]
    # Of a composite reference to itself, the column that differs tells more than the one that is shared.
    joined.sort(key=lambda pair: child == parent and pair[0] == pair[1])
    pairs = f"({', '.join(reference.columns)}) refers to {reference.parent}({', '.join(reference.parent_columns)})"
    sure = f", inferred, confidence {reference.confidence:.2f}" if reference.is_inferred else ""
    return Link(
        child,
        _row(boxes[child], [column for column, _ in joined]),
        parent,
        _row(boxes[parent], [column for _, column in joined]),
        reference.is_inferred,
        reference.cardinality == "one_to_one",
        f"{reference.child}{pairs}{sure}",
    )


def _row(box: Box, columns: Sequence[str]) -> int | None:
    names = [row.column for row in box.rows]
    return next((names.index(column) for column in columns if column in names), None)
