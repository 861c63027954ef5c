"""The tables of a catalog that may have changed, as objects: the frames of the others stay untouched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.drift.model import Key
from dictionary_pipeline.drift.types import NativeType, parse_type

VIEW_KINDS = ("view", "materialized_view")
_TABLE = ["schema", "table"]
_OWNERS = {"foreign_keys": ["from_schema", "from_table"]}


@dataclass(frozen=True)
class Profile:
    """What is known about a column's values; nothing of it leaves the comparison."""

    samples: frozenset[str]
    null_fraction: float | None
    distinct: int | None
    low: str | None
    high: str | None
    is_complete: bool


@dataclass(frozen=True)
class Column:
    """A column of one state."""

    name: str
    place: int
    data_type: str
    native: NativeType
    type_class: str | None
    is_nullable: bool | None
    default: str | None
    is_identity: bool
    is_generated: bool
    comment: str | None
    enum_values: tuple[str, ...] | None
    domain_checks: tuple[str, ...] = ()
    profile: Profile | None = None


class ForeignKey(NamedTuple):
    """A declared foreign key; the parent is in the same database unless `to_database` says else."""

    name: str | None
    columns: tuple[str, ...]
    to_database: str | None
    parent: Key
    to_columns: tuple[str, ...]
    on_update: str | None
    on_delete: str | None
    is_validated: bool | None

    @property
    def target(self) -> str:
        """`schema.table(column, ...)`."""
        return f"{self.parent}({', '.join(self.to_columns)})"


class Index(NamedTuple):
    """An index that belongs to no key."""

    name: str | None
    columns: tuple[str, ...]


class Check(NamedTuple):
    """A CHECK constraint."""

    name: str | None
    expression: str


@dataclass
class Table:
    """A table or view of one state."""

    key: Key
    kind: str
    comment: str | None
    view_sql: str | None
    is_readable: bool
    columns: dict[str, Column] = field(default_factory=dict)
    primary: tuple[str | None, tuple[str, ...]] | None = None
    """Name and columns of the primary key."""
    unique: dict[tuple[str, ...], str | None] = field(default_factory=dict)
    """Columns of unique keys and indexes -> name."""
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    indexes: list[Index] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    @property
    def is_view(self) -> bool:
        """Whether it is a view of any kind."""
        return self.kind in VIEW_KINDS


def completed(table: Table, other: Table, names: Mapping[str, str]) -> Table:
    """A table that could not be described completely, with facts that it lacks taken from its other state.

    Args:
        names: Column -> its name in `other`.
    """
    columns = {}
    for name, column in table.columns.items():
        known = other.columns.get(names.get(name, ""))
        columns[name] = column if known is None else _completed(column, known)
    return replace(table, columns=columns, comment=table.comment or other.comment)


def _completed(column: Column, known: Column) -> Column:
    has_type = bool(column.data_type)
    return replace(
        column,
        data_type=column.data_type or known.data_type,
        native=column.native if has_type else known.native,
        is_nullable=column.is_nullable if has_type else known.is_nullable,
        default=known.default if column.default is None else column.default,
        comment=column.comment or known.comment,
        domain_checks=column.domain_checks or known.domain_checks,
    )


def differing(before: Catalog, after: Catalog) -> tuple[list[Key], list[Key]]:
    """Names of the tables on each side whose structure has no equal of the same name on the other side."""
    named = [*_TABLE, "fingerprint"]
    sides = []
    for one, other in ((before, after), (after, before)):
        same = one.tables.join(other.tables.select(named), on=named, how="anti", nulls_equal=False)
        sides.append([Key(*row) for row in same.select(_TABLE).iter_rows()])
    return sides[0], sides[1]


def load_tables(catalog: Catalog, keys: Sequence[Key], profiles: pl.DataFrame | None) -> dict[Key, Table]:
    """The named tables with all their facts."""
    wanted = pl.DataFrame(keys, schema=dict.fromkeys(_TABLE, pl.String()), orient="row")

    def part(name: str, owner: Sequence[str] = _TABLE) -> pl.DataFrame:
        frame: pl.DataFrame = getattr(catalog, name)
        return frame.join(wanted, left_on=owner, right_on=_TABLE, how="semi", maintain_order="left")

    tables = {
        Key(row["schema"], row["table"]): Table(
            Key(row["schema"], row["table"]), row["kind"], row["comment"], row["view_sql"], row["readable"] is not False
        )
        for row in part("tables").iter_rows(named=True)
    }
    _add_columns(tables, part("columns"), catalog.identity.engine, _profiles(profiles, wanted))
    for row in part("keys").iter_rows(named=True):
        _add_key(tables[Key(row["schema"], row["table"])], row["kind"], row["name"], tuple(row["columns"] or ()))
    for row in part("indexes").iter_rows(named=True):
        table, columns = tables[Key(row["schema"], row["table"])], tuple(row["columns"] or ())
        if row["is_unique"]:
            table.unique.setdefault(columns, row["name"])
        else:
            table.indexes.append(Index(row["name"], columns))
    for row in part("foreign_keys", _OWNERS["foreign_keys"]).iter_rows(named=True):
        tables[Key(row["from_schema"], row["from_table"])].foreign_keys.append(_foreign_key(row))
    for row in part("checks").iter_rows(named=True):
        tables[Key(row["schema"], row["table"])].checks.append(Check(row["name"], row["expression"] or ""))
    return tables


def _add_key(table: Table, kind: str, name: str | None, columns: tuple[str, ...]) -> None:
    if kind == "primary":
        table.primary = (name, columns)
    else:
        table.unique[columns] = name


def _foreign_key(row: Mapping[str, object]) -> ForeignKey:
    return ForeignKey(
        _text(row["name"]),
        _names(row["from_columns"]),
        _text(row["to_database"]),
        Key(str(row["to_schema"]), str(row["to_table"])),
        _names(row["to_columns"]),
        _text(row["on_update"]),
        _text(row["on_delete"]),
        row["is_validated"] if isinstance(row["is_validated"], bool) else None,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _names(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _add_columns(
    tables: Mapping[Key, Table], frame: pl.DataFrame, engine: str, profiles: Mapping[tuple[str, str, str], Profile]
) -> None:
    places: dict[Key, int] = defaultdict(int)
    parsed: dict[str, NativeType] = {}
    for row in frame.sort("schema", "table", "ordinal").iter_rows(named=True):
        key = Key(row["schema"], row["table"])
        places[key] += 1
        text = row["data_type"] or ""
        native = parsed.get(text) or parsed.setdefault(text, parse_type(text, engine))
        labels = row["enum_values"]
        tables[key].columns[row["column"]] = Column(
            name=row["column"],
            place=places[key],
            data_type=text,
            native=native if labels is None else NativeType("enum"),
            type_class=row["type_class"],
            is_nullable=row["is_nullable"],
            default=row["default"],
            is_identity=bool(row["is_identity"]),
            is_generated=bool(row["is_generated"]),
            comment=row["comment"],
            enum_values=None if labels is None else tuple(labels),
            domain_checks=tuple(sorted(row["domain_checks"] or ())),
            profile=profiles.get((*key, row["column"])),
        )


def _profiles(frame: pl.DataFrame | None, wanted: pl.DataFrame) -> dict[tuple[str, str, str], Profile]:
    if frame is None:
        return {}
    found = frame.join(wanted, on=_TABLE, how="semi").filter(pl.col("sampled_rows") > 0)
    return {
        (row["schema"], row["table"], row["column"]): Profile(
            frozenset([*(row.get("samples") or ()), *(row["allowed_values"] or ())]),
            row["null_fraction"],
            row["distinct_estimate"],
            row["min"],
            row["max"],
            bool(row["complete"]),
        )
        for row in found.iter_rows(named=True)
    }
