"""The values a column may hold, from facts that cost nothing: enum, domain, CHECK, boolean.

A list is given only when it is known to be complete; a condition on the column that is not
understood gives none. Texts are equal as the column's collation says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.introspection.value_sets import (
    EVERYTHING,
    MAX_CHARACTERS,
    ColumnType,
    ValueSet,
    conditions,
    evaluate,
    listed,
)

Origin = Literal["enum", "domain", "check", "boolean"]

_LOOSE_BOOLEANS = ("sqlite", "mysql")
"""Dialects whose BOOLEAN is a number that can hold more than two values."""
_RESULT = {name: frames.COLUMNS[name] for name in ("schema", "table", "column")} | {
    name: frames.COLUMNS[name] for name in ("allowed_values", "allowed_values_origin")
}

_Name = tuple[str, str, str]


class _Column(NamedTuple):
    """A row of the columns frame, as far as it matters here."""

    schema: str
    table: str
    column: str
    data_type: str
    type_class: str | None
    enum_values: list[str] | None
    domain_checks: list[str] | None

    def type(self, dialect: str) -> ColumnType:
        return ColumnType(
            self.type_class, self.data_type or "", self.enum_values is not None, dialect in _LOOSE_BOOLEANS
        )


def with_allowed_values(catalog: Catalog, dialect: str) -> Catalog:
    """Fill `columns.allowed_values` and `allowed_values_origin`.

    Values are texts: strings unescaped, numbers as written. Enum labels keep their declared order,
    everything else is sorted. A CHECK that is not validated proves nothing and is left out.

    Args:
        catalog: Its table CHECKs narrow what enums and domains allow.
        dialect: sqlglot's dialect of the engine.
    """
    # Most columns have none of these facts; only the others leave the frame.
    checks = _checks_worth_parsing(catalog)
    has_fact = (
        pl.col("enum_values").is_not_null()
        | (pl.col("domain_checks").list.len() > 0)
        | (pl.col("type_class") == "boolean")
    )
    columns = catalog.columns.select(_Column._fields)
    checked = columns.join(checks.select("schema", "table").unique(), on=["schema", "table"], how="semi")
    restricted = _restrictions(checks, [_Column(*row) for row in checked.iter_rows()], dialect)
    rows = []
    for column in map(_Column._make, pl.concat([columns.filter(has_fact), checked]).unique().iter_rows()):
        name = (column.schema, column.table, column.column)
        found = _allowed(column, restricted.get(name, ()), dialect)
        if found is not None:
            rows.append((*name, *found))
    result = frames.from_rows(rows, _RESULT)
    bare = catalog.columns.drop("allowed_values", "allowed_values_origin")
    joined = bare.join(result, on=["schema", "table", "column"], how="left", maintain_order="left")
    return replace(catalog, columns=frames.fit(joined, frames.COLUMNS))


def _checks_worth_parsing(catalog: Catalog) -> pl.DataFrame:
    """Validated CHECKs of the tables that have a list of values, or a CHECK that may give one.

    Most CHECKs are ranges (`x > 0`); where there is no list that they could narrow they are not parsed.
    """
    valid = catalog.checks.filter(pl.col("is_validated").fill_null(False))
    lists = valid.filter(pl.col("expression").str.contains(r"(?i)(^|[^<>!])=|\bin\b"))
    typed = catalog.columns.filter(pl.col("enum_values").is_not_null() | pl.col("domain_checks").is_not_null())
    tables = pl.concat([lists.select("schema", "table"), typed.select("schema", "table")])
    return valid.join(tables, on=["schema", "table"], how="semi", maintain_order="left")


def _restrictions(
    checks: pl.DataFrame, columns: Sequence[_Column], dialect: str
) -> Mapping[_Name, list[ValueSet | None]]:
    """What the CHECKs of tables say about single columns; null for a condition that is not understood."""
    tables: dict[tuple[str, str], dict[str, _Column]] = defaultdict(dict)
    for column in columns:
        tables[column.schema, column.table][column.column] = column
    result: dict[_Name, list[ValueSet | None]] = defaultdict(list)
    for schema, table, expression in checks.select("schema", "table", "expression").iter_rows():
        known = tables[schema, table]
        for condition, mentioned in conditions(expression, dialect):
            names = {_resolve(name, known) for name in mentioned}
            # A condition over several columns ties them together; it does not list the values of one.
            if len(names) == 1 and (name := names.pop()) is not None:
                result[schema, table, name].append(evaluate(condition, known[name].type(dialect)))
    return result


def _resolve(name: str, known: Mapping[str, _Column]) -> str | None:
    if name in known:
        return name
    folded = [column for column in known if column.casefold() == name.casefold()]
    return folded[0] if len(folded) == 1 else None


def _domain(column: _Column, dialect: str) -> list[ValueSet | None]:
    return [
        evaluate(condition, column.type(dialect))
        for expression in column.domain_checks or ()
        for condition, mentioned in conditions(expression, dialect)
        if {name.upper() for name in mentioned} == {"VALUE"}
    ]


def _base(column: _Column, dialect: str) -> tuple[ValueSet, Origin | None]:
    """What the type itself allows."""
    labels = column.enum_values
    if labels and column.type_class == "string" and all(len(label) <= MAX_CHARACTERS for label in labels):
        return listed(labels), "enum"
    if column.type_class == "boolean" and dialect not in _LOOSE_BOOLEANS:
        return listed(["false", "true"]), "boolean"
    return EVERYTHING, None


def _allowed(
    column: _Column, check_sets: Sequence[ValueSet | None], dialect: str
) -> tuple[list[str], Origin | None] | None:
    """The allowed values of one column and where they come from, or null when they are not known."""
    current, origin = _base(column, dialect)
    facts: list[tuple[Origin, ValueSet | None]] = [("domain", found) for found in _domain(column, dialect)]
    facts += [("check", found) for found in check_sets]
    if all(found is not None for _, found in facts):
        for source, found in facts:
            narrowed = current & found if found is not None else current
            origin = origin if narrowed.is_same(current) else source
            current = narrowed
    if current.negated or not current.members:
        return None
    if column.enum_values is not None:
        return [label for label in column.enum_values if label in current.members], origin
    return current.texts(), origin
