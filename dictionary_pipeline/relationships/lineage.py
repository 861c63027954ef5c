"""Which tables and views a view reads: from the catalog, else from the view's SQL."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.optimizer.scope import traverse_scope

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.introspection.sql import PARSE_ERRORS, dialect_of, parse
from dictionary_pipeline.relationships.names import Names, TableName

_DEFAULT_SCHEMAS = {"duckdb": "main", "tsql": "dbo"}
"""Dialect -> where an unqualified name is looked up after the view's own schema."""


class _Reader(NamedTuple):
    """What names in a view's SQL mean."""

    names: Names
    identity: Identity
    dialect: str
    any_case: bool
    """The engine finds a table whatever the case of its name, quoted or not."""


def view_lineage(catalog: Catalog, names: Names) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Direct sources of every view, common table expressions resolved, table level only when parsed.

    Names are matched to the catalog the way the engine does; an unqualified name is looked up in
    the view's own schema, then in the engine's default one. What is not found there is reported, never guessed.

    Returns:
        `frames.LINEAGE` and a sentence per source or view that could not be resolved.
    """
    reader = _reader(catalog, names)
    known = catalog.lineage.select(pl.col("view_schema").alias("schema"), pl.col("view").alias("table"))
    views = catalog.tables.filter(pl.col("kind").is_in(["view", "materialized_view"]))
    rows: list[tuple[object, ...]] = []
    unresolved: list[str] = []
    for schema, table, sql in (
        views.join(known, on=["schema", "table"], how="anti").select("schema", "table", "view_sql").iter_rows()
    ):
        view = TableName(schema, table)
        tables = _direct_tables(sql, reader) if sql else None
        if tables is None:
            unresolved.append(f"{view}: its SQL is not available" if not sql else f"{view}: its SQL is not understood")
            continue
        sources = {_resolve(source, view, reader) for source in tables}
        rows += [(*view, None, *source, None, "parsed") for source in sources if isinstance(source, TableName)]
        unresolved += [f"{view}: {source}" for source in sources if isinstance(source, str)]
    parsed = frames.from_rows(rows, frames.LINEAGE)
    both = pl.concat([frames.fit(catalog.lineage, frames.LINEAGE), parsed])
    schema_, order = FRAME_SCHEMAS["lineage"]
    return frames.fit(both, schema_, sort_by=order), tuple(sorted(unresolved))


def _reader(catalog: Catalog, names: Names) -> _Reader:
    dialect = dialect_of(catalog.identity.engine)
    strategy = Dialect.get_or_raise(dialect).normalization_strategy
    # Of an engine without a dialect nothing is known, so its names are matched leniently.
    any_case = not dialect or strategy is NormalizationStrategy.CASE_INSENSITIVE
    return _Reader(names, catalog.identity, dialect, any_case)


def _direct_tables(sql: str, reader: _Reader) -> list[exp.Table] | None:
    """The table references of a view's SQL that are not common table expressions; null if not understood."""
    tree = parse(sql, reader.dialect)
    query = tree.expression if isinstance(tree, exp.Create) else tree
    if not isinstance(query, exp.Query):
        return None
    try:
        scopes = traverse_scope(query)
    except PARSE_ERRORS:
        return None
    return [source for scope in scopes for source in scope.sources.values() if isinstance(source, exp.Table)]


def _resolve(source: exp.Table, view: TableName, reader: _Reader) -> TableName | str | None:
    """The table or view that a reference means, a sentence when it is unknown, null for the view itself."""
    if not isinstance(source.this, exp.Identifier):
        return f"reads the table function {_function(source)}"
    schema = _name(source.args.get("db"), reader)
    table = _name(source.this, reader) or ""
    catalog = _name(source.args.get("catalog"), reader)
    own = (reader.identity.catalog or reader.identity.database or "").casefold()
    schemas = [schema] if schema else [view.schema, _DEFAULT_SCHEMAS.get(reader.dialect, view.schema)]
    found = None
    if catalog is None or catalog.casefold() == own:
        look_up = reader.names.any_case if reader.any_case else reader.names.exact
        found = next((name for name in (look_up(schema, table) for schema in schemas) if name), None)
    if found is None:
        written = ".".join(part.name for part in source.parts)
        return f"reads {written}, which is not in the catalog"
    return found if found != view else None


def _name(identifier: exp.Expr | None, reader: _Reader) -> str | None:
    """An identifier as the engine stores it: unquoted ones are folded where the engine folds them."""
    if not isinstance(identifier, exp.Identifier) or not identifier.name:
        return None
    if reader.any_case or identifier.quoted:
        return identifier.name
    return Dialect.get_or_raise(reader.dialect).normalize_identifier(identifier.copy()).name


def _function(source: exp.Table) -> str:
    function = source.this
    return function.name if isinstance(function, exp.Anonymous) else function.key.upper()
