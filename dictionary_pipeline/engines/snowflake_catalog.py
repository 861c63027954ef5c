"""Snowflake's catalog: INFORMATION_SCHEMA for tables and columns, SHOW for keys and view text.

Six statements whatever the size, as long as none meets a limit of Snowflake's. A SHOW command gives at
most 10,000 rows and an INFORMATION_SCHEMA query may be refused as too large (error 090030); both are then
repeated per schema, and the latter for ever smaller ranges of tables. SHOW is the only bulk source of key
columns: INFORMATION_SCHEMA has no usable KEY_COLUMN_USAGE. Source: Snowflake documentation, "Information
Schema", "SHOW PRIMARY KEYS", "SHOW IMPORTED KEYS", "SHOW VIEWS".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from dictionary_pipeline import jsontext
from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.engines.assembly import STAGE, CatalogRows, Row, column_row, key_row, table_row
from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.engines.snowflake_errors import TOO_MANY_ROWS, TOO_MUCH_DATA
from dictionary_pipeline.engines.snowflake_sampling import class_of, full_type
from dictionary_pipeline.engines.statements import statement
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError, QueryFailed
from dictionary_pipeline.problems import Problem

Rows = list[tuple[Any, ...]]

SHOW_LIMIT = 10_000
"""Rows that a SHOW command gives at most."""

_KINDS = {"VIEW": "view", "MATERIALIZED VIEW": "materialized_view", "EXTERNAL TABLE": "external"}
_PROBED = ("TABLES", "VIEWS", "COLUMNS", "PRIMARY KEYS", "IMPORTED KEYS")


def literal(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


class CatalogReader:
    """Reads one database; what cannot be read becomes a problem and leaves the rest alone."""

    def __init__(self, session: Session, identity: Identity, quote: Callable[[str], str]) -> None:
        self._session = session
        self._identity = identity
        self._database = identity.database or ""
        self._quote = quote
        self._rows = CatalogRows()
        self._known_schemas: list[str] | None = None

    def read(self, database: str) -> Catalog:
        """Read everything; without tables and columns there is no catalog, so those must succeed.

        Args:
            database: The database's own name; the identity may show another.
        """
        self._database = database
        tables = self._tables()
        names = [(schema, table) for schema, table, *_ in tables]
        self._add_columns(self._columns(names))
        self._add_tables(tables, self._view_texts() if any("VIEW" in row[2] for row in tables) else {})
        self._add_keys("primary", "PRIMARY KEYS")
        self._add_keys("unique", "UNIQUE KEYS")
        self._add_foreign_keys()
        return self._rows.build(self._identity)

    def probe(self, database: str) -> str | None:
        """Hash of names, types, comments, view text and keys, all from SHOW, which needs no warehouse.

        Null when a schema has more columns than SHOW gives: a signal that misses changes is none.
        """
        self._database = database
        found = hashlib.sha256()
        for what in _PROBED:
            rows, complete = self._show(what)
            if not complete:
                return None
            facts = sorted(jsontext.compact([what, *(str(cell) for cell in row)]) for row in rows)
            found.update("\n".join(facts).encode())
        return found.hexdigest()

    def _tables(self) -> Rows:
        sql = statement("snowflake_tables")
        try:
            rows = self._session.rows(sql)
        except QueryFailed as error:
            if error.code != TOO_MUCH_DATA:
                raise
            rows = []
            for schema in self._schemas():
                rows += self._part(f"{sql}\n  AND table_schema = {literal(schema)}", schema)
        # Temporary tables belong to one session.
        return [row for row in rows if "TEMPORARY" not in row[2]]

    def _columns(self, names: Sequence[tuple[str, str]]) -> Rows:
        sql = statement("snowflake_columns")
        try:
            return self._session.rows(sql)
        except QueryFailed as error:
            if error.code != TOO_MUCH_DATA:
                raise
        rows: Rows = []
        for schema, group in groupby(sorted(names), key=lambda name: name[0]):
            rows += self._columns_between(schema, [table for _, table in group], whole=True)
        return rows

    def _columns_between(self, schema: str, tables: Sequence[str], *, whole: bool) -> Rows:
        """Columns of tables that are neighbours in order, in halves where that is still too much."""
        condition = f"\n  AND table_schema = {literal(schema)}"
        if not whole:
            condition += f"\n  AND table_name BETWEEN {literal(tables[0])} AND {literal(tables[-1])}"
        try:
            return self._session.rows(statement("snowflake_columns") + condition)
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            if error.code == TOO_MUCH_DATA and len(tables) > 1:
                middle = len(tables) // 2
                return [
                    *self._columns_between(schema, tables[:middle], whole=False),
                    *self._columns_between(schema, tables[middle:], whole=False),
                ]
            for table in tables:
                self._add_problem(f"{schema}.{table}", error, "columns could not be read")
            return []

    def _part(self, sql: str, schema: str) -> Rows:
        try:
            return self._session.rows(sql)
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            self._add_problem(schema, error, "tables could not be read")
            return []

    def _schemas(self) -> list[str]:
        if self._known_schemas is None:
            command = f"SHOW SCHEMAS IN DATABASE {self._quote(self._database)}"
            names = [str(name) for (name,) in self._session.rows(command)]
            self._known_schemas = sorted(name for name in names if name != "INFORMATION_SCHEMA")
        return self._known_schemas

    def _show(self, what: str) -> tuple[Rows, bool]:
        """Rows of `SHOW <what>` of the database and whether they are all; per schema beyond the limit."""
        try:
            rows = self._session.rows(f"SHOW {what} IN DATABASE {self._quote(self._database)}")
            if len(rows) < SHOW_LIMIT:
                return rows, True
        except QueryFailed as error:
            if error.code != TOO_MANY_ROWS:
                raise
        rows, complete = [], True
        for schema in self._schemas():
            found = self._show_schema(what, schema)
            rows += found or []
            complete = complete and found is not None and len(found) < SHOW_LIMIT
            if found is None or len(found) >= SHOW_LIMIT:
                self._incomplete(schema, what)
        return rows, complete

    def _show_schema(self, what: str, schema: str) -> Rows | None:
        scope = f"{self._quote(self._database)}.{self._quote(schema)}"
        try:
            return self._session.rows(f"SHOW {what} IN SCHEMA {scope}")
        except QueryFailed as error:
            if error.code != TOO_MANY_ROWS:
                raise
            return None

    def _incomplete(self, schema: str, what: str) -> None:
        self._rows.complete = False
        self._rows.problems.append(
            Problem(
                schema,
                STAGE,
                TOO_MANY_ROWS,
                f"the schema has more than {SHOW_LIMIT:,} rows of {what.lower()}, and Snowflake gives no more",
                "Declare the missing ones in the database's YAML file, or divide the schema.",
            )
        )

    def _optional(self, what: str) -> Rows:
        """Rows of a SHOW command without which a catalog is poorer but still one."""
        try:
            return self._show(what)[0]
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            self._add_problem(self._identity.fqn(), error, f"{what.lower()} could not be read")
            return []

    def _add_problem(self, name: str, error: DictionaryError, subject: str) -> None:
        self._rows.complete = False
        self._rows.problems.append(Problem(name, STAGE, error.code, f"{subject}: {error.what}", error.fix or ""))

    def _view_texts(self) -> dict[tuple[str, str], str]:
        rows = self._optional("VIEWS")
        return {(schema, view): text.strip() for schema, view, _, text in rows if text}

    def _add_tables(self, rows: Rows, texts: dict[tuple[str, str], str]) -> None:
        for schema, table, kind, comment, row_count, size in rows:
            row = table_row(
                *(schema, table, _KINDS.get(kind, "table")),
                comment=comment or None,
                row_estimate=None if row_count is None else int(row_count),
                view_sql=texts.get((schema, table)),
            )
            self._rows.tables.append(with_size(row, size))

    def _add_columns(self, rows: Rows) -> None:
        for schema, table, column, ordinal, name, length, precision, scale, nullable, default, identity, text in rows:
            data_type = full_type(str(name), length, precision, scale)
            self._rows.columns.append(
                column_row(
                    *(schema, table, column, int(ordinal), data_type, class_of(data_type)),
                    is_nullable=nullable != "NO",
                    default=default,
                    is_identity=identity == "YES",
                    comment=text or None,
                )
            )

    def _add_keys(self, kind: str, what: str) -> None:
        rows = self._optional(what)
        for (schema, table, name), parts in groupby(sorted(rows, key=_key_order), key=lambda row: row[:3]):
            self._rows.keys.append(key_row(schema, table, name, kind, [part[4] for part in parts]))

    def _add_foreign_keys(self) -> None:
        rows = self._optional("IMPORTED KEYS")
        for (schema, table, name), group in groupby(sorted(rows, key=_key_order), key=lambda row: row[:3]):
            parts = list(group)
            _, _, _, _, _, database, to_schema, to_table, _, on_update, on_delete = parts[0]
            to_database = None if database == self._database else database
            self._rows.foreign_keys.append(
                (
                    *(schema, table, [part[4] for part in parts], to_database, to_schema, to_table),
                    # Snowflake enforces no foreign key of a standard table, so none is validated.
                    *([part[8] for part in parts], name, False, on_update, on_delete),
                )
            )


def with_size(row: Row, size: int | None) -> Row:
    """A row of `assembly.table_row` with the table's size in bytes."""
    return (*row[:5], None if size is None else int(size), *row[6:])


def _key_order(row: tuple[object, ...]) -> tuple[str, str, str, int]:
    return str(row[0]), str(row[1]), str(row[2]), int(str(row[3]))
