"""A Unity Catalog catalog from its information_schema: one statement per kind of fact, five in all.

A key's columns are paired by position (`position_in_unique_constraint`), never by name, and constraints
by catalog, schema and name. A parent in another catalog shows in `system.information_schema` only, which
is asked when there is such a key. Catalogs without information_schema (hive_metastore) and foreign tables
without columns in it are described table by table. Source: Databricks documentation, "Information schema".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from dictionary_pipeline import jsontext
from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.engines.assembly import STAGE, CatalogRows, column_row, key_row, table_row
from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.engines.databricks_describe import Describer
from dictionary_pipeline.engines.databricks_errors import MISSING
from dictionary_pipeline.engines.databricks_sampling import class_of
from dictionary_pipeline.engines.statements import statement
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError, QueryFailed
from dictionary_pipeline.problems import Problem

Rows = list[tuple[Any, ...]]

LEGACY = ("hive_metastore", "spark_catalog")
"""Catalogs that never have an information_schema."""

_KINDS = {"VIEW": "view", "METRIC_VIEW": "view", "MATERIALIZED_VIEW": "materialized_view", "FOREIGN": "foreign_table"}
_EXTERNAL = ("EXTERNAL", "EXTERNAL_SHALLOW_CLONE")


class CatalogReader:
    """Reads one catalog; what cannot be read becomes a problem and leaves the rest alone."""

    def __init__(self, session: Session, identity: Identity, catalog: str, quote: Callable[[str], str]) -> None:
        self._session = session
        self._identity = identity
        self._catalog = catalog
        self._quote = quote
        self._rows = CatalogRows()
        self._describer = Describer(session, catalog, quote, self._rows)

    def read(self) -> Catalog:
        """Read everything; without tables and columns there is no catalog, so those must succeed."""
        tables = self._tables()
        if tables is None:
            self._describer.describe_all()
            return self._rows.build(self._identity)
        has_views = any(kind in ("VIEW", "MATERIALIZED_VIEW") for _, _, kind, _ in tables)
        texts = {(schema, view): text for schema, view, text in (self._optional("views") if has_views else [])}
        for schema, table, kind, comment in tables:
            self._rows.tables.append(
                table_row(
                    *(schema, table, "external" if kind in _EXTERNAL else _KINDS.get(kind, "table")),
                    comment=comment or None,
                    view_sql=texts.get((schema, table)),
                )
            )
        described = self._add_columns()
        self._describer.describe([(schema, table) for schema, table, *_ in tables if (schema, table) not in described])
        self._add_keys()
        self._add_foreign_keys()
        return self._rows.build(self._identity)

    def probe(self) -> str | None:
        """Hash of names, kinds and times of the last change; null where there is no information_schema."""
        if self._catalog.lower() in LEGACY:
            return None
        try:
            rows = self._session.rows(self._statement("probe"))
        except QueryFailed as error:
            if error.code not in MISSING:
                raise
            return None
        facts = sorted(jsontext.compact([str(cell) for cell in row]) for row in rows)
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()

    def _statement(self, name: str, *, parents: str | None = None) -> str:
        text = statement(f"databricks_{name}").replace("{catalog}", self._quote(self._catalog))
        return text.replace("{parents}", self._quote(parents or self._catalog))

    def _tables(self) -> Rows | None:
        """Tables, or null when the catalog has no information_schema."""
        if self._catalog.lower() in LEGACY:
            return None
        try:
            return self._session.rows(self._statement("tables"))
        except QueryFailed as error:
            if error.code not in MISSING:
                raise
            return None

    def _optional(self, name: str, *, parents: str | None = None) -> Rows:
        """Rows of a statement without which a catalog is poorer but still one."""
        try:
            return self._session.rows(self._statement(name, parents=parents))
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            subject = f"{name.replace('_', ' ')} could not be read"
            self._rows.complete = False
            self._rows.problems.append(
                Problem(self._identity.fqn(), STAGE, error.code, f"{subject}: {error.what}", error.fix or "")
            )
            return []

    def _add_columns(self) -> set[tuple[str, str]]:
        """Columns, numbered anew by position; the tables that have some."""
        rows = sorted(self._session.rows(self._statement("columns")), key=lambda row: (row[0], row[1], row[3]))
        described = set()
        for (schema, table), group in groupby(rows, key=lambda row: row[:2]):
            described.add((schema, table))
            for ordinal, (_, _, column, _, data_type, nullable, default, comment) in enumerate(group, 1):
                self._rows.columns.append(
                    column_row(
                        *(schema, table, column, ordinal, data_type, class_of(data_type)),
                        is_nullable=nullable != "NO",
                        default=default,
                        comment=comment or None,
                    )
                )
        return described

    def _add_keys(self) -> None:
        rows = sorted(self._optional("keys"), key=lambda row: (row[3], row[4], row[1], row[6]))
        for (schema, table, name), group in groupby(rows, key=lambda row: (row[3], row[4], row[1])):
            parts = list(group)
            kind = "primary" if parts[0][2] == "PRIMARY KEY" else "unique"
            self._rows.keys.append(key_row(schema, table, name, kind, [part[5] for part in parts]))

    def _add_foreign_keys(self) -> None:
        keys = _grouped(self._optional("foreign_keys"))
        abroad = [key for key, parts in keys.items() if parts[0][5] != self._catalog and parts[0][11] is None]
        if abroad:
            wider = _grouped(self._optional("foreign_keys", parents="system"))
            keys |= {key: wider[key] for key in abroad if key in wider}
        for (schema, table, name), parts in keys.items():
            columns = [part[4] for part in parts]
            if any(part[11] is None for part in parts):
                self._add_unclear(schema, table, columns, parts[0])
                continue
            parent_catalog, to_schema, to_table = parts[0][8:11]
            to_database = None if parent_catalog == self._catalog else parent_catalog
            self._rows.foreign_keys.append(
                (
                    *(schema, table, columns, to_database, to_schema, to_table, [part[11] for part in parts], name),
                    # Databricks enforces no foreign key, so none is validated.
                    *(False, parts[0][12], parts[0][13]),
                )
            )

    def _add_unclear(self, schema: str, table: str, columns: Sequence[str], part: tuple[Any, ...]) -> None:
        parent = ".".join(str(name) for name in part[5:8])
        self._rows.complete = False
        self._rows.problems.append(
            Problem(
                f"{schema}.{table}",
                STAGE,
                None,
                f"the foreign key of {', '.join(columns)} leads to the key {parent}, which the principal cannot see",
                "GRANT SELECT on the parent table and on system.information_schema to the principal.",
            )
        )


def _grouped(rows: Rows) -> dict[tuple[str, str, str], Rows]:
    """Parts of each foreign key in order; each part once."""
    ordered = sorted(set(rows), key=lambda row: (*row[:4], str(row[11])))
    return {key: list(parts) for key, parts in groupby(ordered, key=lambda row: row[:3])}
