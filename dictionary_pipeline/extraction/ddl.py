"""Normalised DDL: one CREATE statement per table and view with all its keys inside.

Databases declare keys in statements of their own as often as not; here a reader of one statement
sees all that concerns its table. Defaults and CHECKs are left out: they can quote values.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.enrichment.prose import shortened
from dictionary_pipeline.extraction.model import VIEW_KINDS

_MAX_COLUMNS = 30
_MAX_KEYS = 20
_MAX_TYPE = 80
_MAX_QUERY = 800
_SQL_PIECE = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]"""  # quoted, to be kept
    r"""|(?P<blank>(?:\s|--[^\n]*|/\*.*?\*/)+)""",
    re.DOTALL,
)
_VIEW_HEAD = re.compile(r"\A\s*CREATE\b.*?\bAS\b\s*(?=\(*\s*(?:SELECT|WITH|FROM|VALUES|TABLE)\b)", re.I | re.S)

_Name = tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """The parts of the CREATE statement of one table or view."""

    name: _Name
    """Schema and name."""
    kind: str
    """Of `frames.TABLES`."""
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    query: str | None
    """What a view selects, as the database keeps it."""

    def full(self) -> str:
        """The statement on several lines, without the query of a view."""
        lines = [*self.columns, *self.keys]
        return f"{self._head} (\n    " + ",\n    ".join(lines) + "\n);" if lines else f"{self._head};"

    def short(self) -> str:
        """The statement on one line, cut where it is long; keys stay when columns are cut."""
        columns = [shortened(column, _MAX_TYPE) for column in _first(self.columns, _MAX_COLUMNS, "columns")]
        lines = [*columns, *_first(self.keys, _MAX_KEYS, "keys")]
        text = f"{self._head} ({', '.join(lines)})" if lines else self._head
        return f"{text} AS {shortened(squeezed(self.query), _MAX_QUERY)}" if self.query else text

    @property
    def _head(self) -> str:
        noun = self.kind.replace("_", " ").upper() if self.kind in VIEW_KINDS else "TABLE"
        return f"CREATE {noun} {quoted(*self.name)}"


def statements(catalog: Catalog) -> dict[_Name, Statement]:
    """The statement of every table and view by schema and name, in the order of the catalog."""
    columns, keys = _column_lines(catalog), _key_lines(catalog)
    return {
        (schema, table): Statement(
            (schema, table),
            kind,
            tuple(columns[schema, table]),
            tuple(keys[schema, table]),
            view_query(sql) if sql and kind in VIEW_KINDS else None,
        )
        for schema, table, kind, sql in catalog.tables.select("schema", "table", "kind", "view_sql").iter_rows()
    }


def quoted(*parts: str) -> str:
    """A qualified name in standard SQL: `"sales"."orders"`."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def listed(columns: Sequence[str]) -> str:
    """Column names in standard SQL, separated by commas."""
    return ", ".join(map(quoted, columns))


def view_query(sql: str) -> str:
    """The query of a view: some databases keep the whole CREATE statement, some only this."""
    return _VIEW_HEAD.sub("", sql).strip().rstrip(";").rstrip()


def squeezed(sql: str) -> str:
    """SQL on one line, without comments; what stands in quotes is kept as it is."""
    return _SQL_PIECE.sub(lambda piece: " " if piece["blank"] else piece.group(), sql).strip()


def _first(lines: Sequence[str], limit: int, noun: str) -> list[str]:
    more = [f"/* and {len(lines) - limit} more {noun} */"] if len(lines) > limit else []
    return [*lines[:limit], *more]


def _column_lines(catalog: Catalog) -> Mapping[_Name, list[str]]:
    lines: defaultdict[_Name, list[str]] = defaultdict(list)
    for schema, table, column, data_type, nullable in catalog.columns.select(
        "schema", "table", "column", "data_type", "is_nullable"
    ).iter_rows():
        parts = [quoted(column), data_type, None if nullable is None or nullable else "NOT NULL"]
        lines[schema, table].append(" ".join(part for part in parts if part))
    return lines


def _key_lines(catalog: Catalog) -> Mapping[_Name, list[str]]:
    """Declared keys as constraints inside the statement of their table."""
    lines: defaultdict[_Name, list[str]] = defaultdict(list)
    declared = catalog.keys.filter(pl.col("origin") == "declared").sort("schema", "table", "kind", "name")
    for schema, table, kind, columns in declared.select("schema", "table", "kind", "columns").iter_rows():
        lines[schema, table].append(f"{'PRIMARY KEY' if kind == 'primary' else 'UNIQUE'} ({listed(columns)})")
    for schema, table, columns, *parent, parent_columns in catalog.foreign_keys.select(
        "from_schema", "from_table", "from_columns", "to_database", "to_schema", "to_table", "to_columns"
    ).iter_rows():
        target = quoted(*(part for part in parent if part is not None))
        ending = f" ({listed(parent_columns)})" if parent_columns else ""
        lines[schema, table].append(f"FOREIGN KEY ({listed(columns)}) REFERENCES {target}{ending}")
    return lines
