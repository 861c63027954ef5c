"""Columns that people hide: they leave the catalog together with everything that names them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.patterns import ColumnFilter
from dictionary_pipeline.config.resolved import ColumnPatterns
from dictionary_pipeline.introspection.selection import STAGE
from dictionary_pipeline.problems import Problem, sorted_unique

_COLUMN = ["schema", "table", "column"]

Row = dict[str, Any]
Table = tuple[str, str]


def hide_columns(catalog: Catalog, patterns: ColumnPatterns) -> Catalog:
    """Take hidden columns out of the catalog.

    Keys, indexes and CHECKs that use one go with it, and so does the text of a generated column or a
    view that names it. A key that goes is a problem, because what is described is less than there is.
    """
    wanted = ColumnFilter(patterns)
    if wanted.is_empty:
        return catalog
    hidden = [name for name in catalog.columns.select(_COLUMN).iter_rows() if not wanted.keeps(*name)]
    texts = _Texts(hidden)

    def used_by_key(row: Row) -> list[str]:
        return _hidden(row["schema"], row["table"], row["columns"], wanted)

    def used_by_reference(row: Row) -> list[str]:
        used = _hidden(row["from_schema"], row["from_table"], row["from_columns"], wanted)
        if row["to_database"] is None:
            used += _hidden(row["to_schema"], row["to_table"], row["to_columns"], wanted)
        return used

    keys, lost_keys = _without(catalog.keys, used_by_key)
    foreign_keys, lost_references = _without(catalog.foreign_keys, used_by_reference)
    indexes, _ = _without(catalog.indexes, lambda row: [c for c in row["columns"] if texts.names(row, c)])
    checks, _ = _without(catalog.checks, lambda row: [row["name"]] if texts.names(row, row["expression"]) else [])
    problems = [_problem(row["schema"], row["table"], row["name"], used) for row, used in lost_keys]
    problems += [_problem(row["from_schema"], row["from_table"], row["name"], used) for row, used in lost_references]
    return replace(
        catalog,
        tables=_with_text(catalog.tables, "view_sql", lambda row: texts.names_any(row["view_sql"])),
        columns=_with_text(
            _anti(catalog.columns, hidden),
            "default",
            lambda row: row["is_generated"] and texts.names(row, row["default"]),
        ),
        keys=keys,
        indexes=indexes,
        foreign_keys=foreign_keys,
        checks=checks,
        lineage=_lineage(catalog.lineage, wanted),
        problems=sorted_unique([*catalog.problems, *problems]),
    )


class _Texts:
    """Tells whether SQL texts name a hidden column."""

    def __init__(self, hidden: Iterable[tuple[str, str, str]]) -> None:
        by_table: dict[Table, set[str]] = defaultdict(set)
        by_column: dict[str, set[str]] = defaultdict(set)
        for schema, table, column in hidden:
            by_table[schema, table].add(column)
            by_column[column].add(table)
        self._own = {table: _word(columns) for table, columns in by_table.items()}
        self._any = _word(by_column) if by_column else None
        self._beside = {column: _word(tables) for column, tables in by_column.items()}

    def names(self, row: Row, text: str | None) -> bool:
        """Whether a text of the row's table names one of its hidden columns."""
        own = self._own.get((row["schema"], row["table"]))
        return own is not None and text is not None and own.search(text) is not None

    def names_any(self, text: str | None) -> bool:
        """Whether a text names a hidden column of any table, and that table too."""
        if text is None or self._any is None or not self._any.search(text):
            return False
        return any(_word([column]).search(text) and tables.search(text) for column, tables in self._beside.items())


def _word(names: Iterable[str]) -> re.Pattern[str]:
    """Any of the names as a word of its own, as SQL may write it: quotes doubled, case ignored."""
    spelled = sorted({spelling for name in names for spelling in (name, name.replace('"', '""'))})
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, spelled))})(?!\w)", re.IGNORECASE)


def _hidden(schema: str, table: str, columns: Iterable[str], wanted: ColumnFilter) -> list[str]:
    return [f"{schema}.{table}.{column}" for column in columns if not wanted.keeps(schema, table, column)]


def _without(frame: pl.DataFrame, used: Callable[[Row], list[str]]) -> tuple[pl.DataFrame, list[tuple[Row, list[str]]]]:
    """The rows that use no hidden column, and the others with what they use."""
    uses = [used(row) for row in frame.iter_rows(named=True)]
    lost = [(row, names) for row, names in zip(frame.iter_rows(named=True), uses, strict=True) if names]
    return frame.filter(pl.Series([not names for names in uses], dtype=pl.Boolean)), lost


def _anti(columns: pl.DataFrame, hidden: list[tuple[str, str, str]]) -> pl.DataFrame:
    gone = pl.DataFrame(hidden, schema={name: pl.String() for name in _COLUMN}, orient="row")
    left = columns.join(gone, on=_COLUMN, how="anti", maintain_order="left")
    return left.with_columns(ordinal=pl.int_range(1, pl.len() + 1).over("schema", "table").cast(pl.Int64))


def _with_text(frame: pl.DataFrame, name: str, is_lost: Callable[[Row], bool]) -> pl.DataFrame:
    """The frame with a text column emptied where the text names a hidden column."""
    texts = [None if is_lost(row) else row[name] for row in frame.iter_rows(named=True)]
    return frame.with_columns(pl.Series(name, texts, dtype=pl.String))


def _lineage(lineage: pl.DataFrame, wanted: ColumnFilter) -> pl.DataFrame:
    """Dependencies on or by a hidden column as dependencies between the table and the view."""
    rows = []
    for row in lineage.iter_rows(named=True):
        ends = (("view_schema", "view", "view_column"), ("source_schema", "source_table", "source_column"))
        if any(row[end[2]] is not None and not wanted.keeps(*(row[part] for part in end)) for end in ends):
            row |= {"view_column": None, "source_column": None}
        rows.append(row)
    return pl.DataFrame(rows, schema=lineage.schema).unique(maintain_order=True)


def _problem(schema: str, table: str, name: str | None, used: list[str]) -> Problem:
    columns = " and ".join(dict.fromkeys(used))
    key = f"key {name}" if name else "a key"
    return Problem(
        f"{schema}.{table}",
        STAGE,
        None,
        f"{key} uses the hidden column {columns} and is left out",
        "Show the column (`columns:` in the database's file), and withhold its values under `privacy:` if need be.",
    )
