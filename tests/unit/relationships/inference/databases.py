"""Small databases without keys as plain columns of values, and what the product infers from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.inference.infer import Given, Inferred, infer
from dictionary_pipeline.relationships.inference.probes import Answers, Counted, Included, Inclusion, Question
from dictionary_pipeline.sampling.profile import ColumnSpec, profile_rows
from unit.builders import make_catalog

Values = Sequence[Any]
Tables = Mapping[str, Mapping[str, Values]]
"""`table` or `schema.table` -> column -> its values, row by row."""
_TYPES = {int: "bigint", float: "double", str: "text", bool: "boolean"}


def cycle(values: Iterable[Any], rows: int, *, step: int = 1) -> list[Any]:
    """`rows` values taken round and round in steps: every value occurs, in no order that helps."""
    listed = list(values)
    return [listed[(at * step) % len(listed)] for at in range(rows)]


def ids(rows: int, first: int = 1) -> list[int]:
    """A surrogate key."""
    return list(range(first, first + rows))


def qualified(tables: Tables) -> dict[str, Mapping[str, Values]]:
    """The tables, in schema `app` where none is named."""
    return {name if "." in name else f"app.{name}": columns for name, columns in tables.items()}


def catalog_of(tables: Tables, **more: Any) -> Catalog:
    """The catalog of the tables, whose types follow from the values."""
    return make_catalog(
        tables={
            table: [f"{name} {_type(values)}" for name, values in columns.items()]
            for table, columns in qualified(tables).items()
        },
        **more,
    )


def _type(values: Values) -> str:
    return next((_TYPES[type(value)] for value in values if value is not None), "text")


def profiles_of(catalog: Catalog, tables: Tables, *, row_limit: int = 20_000) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`frames.PROFILES` and `frames.VALUES` as sampling finds them in the first rows."""
    classes = {row[:3]: row[3] for row in catalog.columns.select("schema", "table", "column", "type_class").iter_rows()}
    profiles: list[tuple[Any, ...]] = []
    stored: list[tuple[Any, ...]] = []
    for table, columns in qualified(tables).items():
        place = tuple(table.split("."))
        rows = list(zip(*columns.values(), strict=True))
        specs = [
            ColumnSpec(classes[(*place, name)], max_values=1_000 if classes[(*place, name)] == "string" else 0)
            for name in columns
        ]
        found = profile_rows(rows[:row_limit], specs, complete=len(rows) < row_limit, row_estimate=len(rows))
        for name, profile in zip(columns, found, strict=True):
            facts = profile._asdict()
            row = {"schema": place[0], "table": place[1], "column": name, "status": "ok", **facts}
            profiles.append(tuple(row.get(field) for field in frames.PROFILES))
            stored += [(*place, name, value, count) for value, count in profile.values]
    return frames.from_rows(profiles, frames.PROFILES), frames.from_rows(stored, frames.VALUES)


@dataclass
class Database:
    """Answers questions from the rows as a database would."""

    tables: Tables
    asked: list[Question] = field(default_factory=list)

    def ask(self, questions: Sequence[Question], tables: int) -> Answers:
        """Answer everything in one statement."""
        self.asked += questions
        included: dict[Any, Included] = {}
        counted: dict[Any, Counted] = {}
        for question in questions:
            if isinstance(question, Inclusion):
                included[question] = self._included(question)
            else:
                rows = self._rows(question.table, question.columns)
                nulls = sum(None in row for row in rows)
                counted[question] = Counted(len(rows), len(set(rows)), nulls)
        return Answers(included, counted, 1, ())

    def _included(self, question: Inclusion) -> Included:
        keys = {self._spelled(row, question) for row in self._rows(question.parent, question.parent_columns)}
        rows = [self._spelled(row, question) for row in self._rows(question.child, question.child_columns)]
        rows = [row for row in rows if None not in row]
        found = [row for row in rows if row in keys]
        return Included(len(set(rows)), len(rows), len(set(found)), len(found))

    def _rows(self, table: Any, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        held = qualified(self.tables)[str(table)]
        return list(zip(*(held[column] for column in columns), strict=True))

    @staticmethod
    def _spelled(row: tuple[Any, ...], question: Inclusion) -> tuple[Any, ...]:
        if not question.as_text:
            return row
        return tuple(None if value is None else str(value).lstrip("0") for value in row)


def infer_from(
    tables: Tables,
    *,
    catalog: Catalog | None = None,
    with_data: bool = True,
    asking: bool = True,
    relationships: pl.DataFrame | None = None,
    denied: Sequence[tuple[str, str, str]] = (),
    rejected: frozenset[tuple[object, ...]] = frozenset(),
    row_limit: int = 20_000,
) -> Inferred:
    """What is inferred, with data (and a database to ask) or from names alone."""
    known = catalog or catalog_of(tables)
    profiles, values = frames.empty(frames.PROFILES), frames.empty(frames.VALUES)
    if with_data:
        profiles, values = profiles_of(known, tables, row_limit=row_limit)
    names = pl.DataFrame(list(denied), schema=dict.fromkeys(("schema", "table", "column"), pl.String()), orient="row")
    given = Given(
        known,
        known.keys,
        frames.empty(frames.RELATIONSHIPS) if relationships is None else relationships,
        profiles,
        values,
        names,
        rejected,
    )
    ask = Database(tables).ask if with_data and asking else None
    return infer(given, list_at=0.5, accept_at=0.9, ask=ask)


def edges(inferred: Inferred, least: float = 0.9) -> set[str]:
    """Inferred relationships as `child(columns) -> parent(columns)`, without schemas."""
    chosen = inferred.relationships.filter(pl.col("confidence") >= least)
    fields = ("from_table", "from_columns", "to_table", "to_columns")
    return {
        f"{child}({', '.join(columns)}) -> {parent}({', '.join(keys)})"
        for child, columns, parent, keys in chosen.select(fields).iter_rows()
    }


def evidence_of(inferred: Inferred, child: str, column: str) -> str:
    """The evidence of the relationship of a column."""
    rows = inferred.relationships.filter(
        (pl.col("from_table") == child) & (pl.col("from_columns").list.first() == column)
    )
    return str(rows["evidence"][0])


def confidence_of(inferred: Inferred, child: str, column: str) -> float:
    """The confidence of the relationship of a column; 0 when there is none."""
    rows = inferred.relationships.filter(
        (pl.col("from_table") == child) & (pl.col("from_columns").list.first() == column)
    )
    return float(rows["confidence"][0]) if rows.height else 0.0
