"""Which tables a view reads and which columns its columns come from.

Tables are what the engine's catalog records, else what the view's SQL says; columns always come from the SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog
from dictionary_pipeline.relationships.lineage_columns import Output, output_columns
from dictionary_pipeline.relationships.lineage_sql import Reader, ViewQuery, read_view, reader
from dictionary_pipeline.relationships.names import Names, TableName

_MAX_NAMED = 3
"""Unresolved columns that a sentence names."""


def view_lineage(catalog: Catalog, names: Names) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Direct sources of every view and of every view column, common table expressions resolved.

    Names are matched to the catalog the way the engine does; an unqualified name is looked up in
    the view's own schema, then in the engine's default one. What is not found there is reported, never guessed.

    Returns:
        `frames.VIEW_LINEAGE` and a sentence per source, view or set of columns that could not be resolved.
    """
    recorded = set(catalog.lineage.select("view_schema", "view").iter_rows())
    views = catalog.tables.filter(pl.col("kind").is_in(["view", "materialized_view"]))
    found = _Views(reader(names, catalog.identity))
    for schema, table, sql in views.select("schema", "table", "view_sql").iter_rows():
        found.add(TableName(schema, table), sql, tables_known=(schema, table) in recorded)
    found.add_postponed()
    parsed = frames.from_rows(found.rows, frames.VIEW_LINEAGE)
    both = pl.concat([frames.fit(catalog.lineage, frames.VIEW_LINEAGE), parsed])
    return frames.fit(both, frames.VIEW_LINEAGE, sort_by=FRAME_SCHEMAS["lineage"][1]), tuple(sorted(found.unresolved))


class _Views:
    """Collects the lineage of views one by one: their syntax trees are too large to be kept."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._columns: dict[TableName, dict[str, str]] = {}
        """Table or view -> its columns, folded -> exact."""
        self._postponed: dict[TableName, tuple[str, list[TableName]]] = {}
        """View -> its SQL and its sources, one of which has columns that the catalog does not know."""
        self.rows: list[tuple[object, ...]] = []
        self.unresolved: list[str] = []

    def add(self, view: TableName, sql: str | None, *, tables_known: bool) -> None:
        """Take a view in.

        Args:
            tables_known: The catalog records its tables.
        """
        query = read_view(sql, view, self._reader) if sql else None
        if query is None or sql is None:
            self.unresolved.append(f"{view}: its SQL is not {'understood' if sql else 'available'}")
            return
        if not tables_known:
            self.rows += [(*view, None, *source, None, "parsed", None) for source in query.tables.values()]
            self.unresolved += [f"{view}: {phrase}" for phrase in query.unknown]
        if all(self._columns_of(source) for source in query.tables.values()):
            self._add_columns(view, query)
        else:
            self._postponed[view] = sql, [*query.tables.values()]

    def add_postponed(self) -> None:
        """Take in the columns of views on views that only their own SQL describes, sources first."""
        graph = {view: sources for view, (_, sources) in self._postponed.items()}
        try:
            order = [*TopologicalSorter(graph).static_order()]
        except CycleError:
            order = [*graph]
        for view in order:
            if view in graph and (query := read_view(self._postponed[view][0], view, self._reader)):
                self._add_columns(view, query)

    def _add_columns(self, view: TableName, query: ViewQuery) -> None:
        tables = {number: self._columns_of(name) for number, name in query.tables.items()}
        known = {number: list(columns) for number, columns in tables.items()}
        outputs = output_columns(query.tree, known, self._reader.dialect)
        if outputs is None:
            self.unresolved.append(f"{view}: the sources of its columns are not understood")
            return
        own = self._columns_of(view)
        named = _named(outputs, query.columns, own)
        if not own:
            self._columns[view] = {name: name for name in named}
        missing = []
        for column, output in named.items():
            if output is None or not output.is_resolved:
                missing.append(column)
                continue
            for number, source in output.sources:
                place = (*query.tables[number], tables[number][source])
                self.rows.append((*view, column, *place, "parsed", output.is_plain))
        if missing:
            self.unresolved.append(f"{view}: {_uncertain(missing, len(named))}")

    def _columns_of(self, name: TableName) -> dict[str, str]:
        known = self._columns.get(name)
        if known is None:
            exact = self._reader.names.columns[name]
            known = self._columns[name] = {
                (column.lower() if self._reader.any_case else column): column for column in exact
            }
        return known


def _named(outputs: Sequence[Output], listed: Sequence[str], own: Mapping[str, str]) -> dict[str, Output | None]:
    """Column of a view -> the output that it shows, null when that is not certain.

    Args:
        listed: Column list of the view's SQL.
        own: The view's columns in the catalog, folded -> exact; empty when it does not know them.
    """
    names = listed if len(listed) == len(outputs) else [output.name for output in outputs]
    if not own:
        return {name: output for name, output in zip(names, outputs, strict=True) if name and name != "*"}
    # Engines name what the SQL does not, and number what it names twice: then the position tells. Where a
    # name stands elsewhere, a `*` has changed since the view was made, and only names are certain.
    pairs = [*zip(names, own, strict=False)]
    moved = ({name for name, column in pairs if name != column} & {*own}) - {
        name for name, column in pairs if name == column
    }
    if len(names) == len(own) and not moved and "*" not in names:
        return dict(zip(own.values(), outputs, strict=True))
    by_name = {name: output for name, output in reversed([*zip(names, outputs, strict=True)]) if name != "*"}
    return {exact: by_name.get(column) for column, exact in own.items()}


def _uncertain(columns: Sequence[str], total: int) -> str:
    more = f" and {len(columns) - _MAX_NAMED} more" if len(columns) > _MAX_NAMED else ""
    return (
        f"the sources of {len(columns)} of its {total} columns are not certain: {', '.join(columns[:_MAX_NAMED])}{more}"
    )
