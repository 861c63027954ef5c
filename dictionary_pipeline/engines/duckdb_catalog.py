"""Catalog of a DuckDB file from the engine's own `duckdb_*()` functions.

Five statements whatever the size (https://duckdb.org/docs/current/sql/meta/duckdb_table_functions),
and one per hundred views that makes DuckDB bind them: the catalog keeps the columns that a view had
when it was made, so only binding tells that it no longer works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.engines.assembly import CatalogRows, column_row, key_row, table_row
from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.engines.types import type_class
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError

_OWN = "database_name = current_database()"
_TABLES = f"""
    SELECT schema_name, table_name, comment, estimated_size
    FROM duckdb_tables() WHERE {_OWN} AND NOT internal AND NOT temporary"""
_VIEWS = f"""
    SELECT schema_name, view_name, comment, sql
    FROM duckdb_views() WHERE {_OWN} AND NOT internal AND NOT temporary"""
_COLUMNS = f"""
    SELECT schema_name, table_name, column_name, column_index, data_type, is_nullable, column_default, is_generated,
           comment
    FROM duckdb_columns() WHERE {_OWN} AND NOT internal"""
# DuckDB refuses foreign keys between schemas, so the parent is always in the child's schema.
_CONSTRAINTS = f"""
    SELECT schema_name, table_name, constraint_name, constraint_type, constraint_column_names, expression,
           referenced_table, referenced_column_names
    FROM duckdb_constraints()
    WHERE {_OWN} AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY', 'CHECK')
    ORDER BY schema_name, table_name, constraint_index"""
_INDEXES = f"""
    SELECT schema_name, table_name, index_name, expressions::VARCHAR[], is_unique FROM duckdb_indexes() WHERE {_OWN}"""
_PROBE = f"""
    SELECT md5(coalesce(string_agg(fact, chr(30) ORDER BY fact), '')) FROM (
        SELECT to_json(['table', schema_name, table_name, comment, sql])::VARCHAR AS fact
        FROM duckdb_tables() WHERE {_OWN} AND NOT internal AND NOT temporary
        UNION ALL
        SELECT to_json(['view', schema_name, view_name, comment, sql])::VARCHAR
        FROM duckdb_views() WHERE {_OWN} AND NOT internal AND NOT temporary
        UNION ALL
        SELECT to_json(['column', schema_name, table_name, column_name, data_type, comment])::VARCHAR
        FROM duckdb_columns() WHERE {_OWN} AND NOT internal
        UNION ALL
        SELECT to_json(['index', schema_name, table_name, index_name, sql])::VARCHAR
        FROM duckdb_indexes() WHERE {_OWN})"""

_VIEWS_PER_STATEMENT = 100
_BIND_SECONDS = 30.0
_LABEL = re.compile(r"'((?:[^']|'')*)'")


def read(session: Session, identity: Identity, sql_name: Callable[[str, str], str]) -> Catalog:
    """Read all catalog facts of the attached file; temporary and internal objects are left out."""
    rows = CatalogRows()
    for schema, table, comment, size in session.rows(_TABLES):
        rows.tables.append(table_row(schema, table, "table", comment=comment, row_estimate=size))
    views = session.rows(_VIEWS)
    broken = _broken_views(session, [(schema, view) for schema, view, _, _ in views], sql_name)
    for schema, view, comment, sql in views:
        failure = broken.get((schema, view))
        if failure is not None:
            rows.add_problem(f"{schema}.{view}", failure)
        rows.tables.append(
            table_row(schema, view, "view", comment=comment, view_sql=sql, readable=(schema, view) not in broken)
        )
    _add_columns(rows, session)
    _add_constraints(rows, session)
    for schema, table, name, expressions, is_unique in session.rows(_INDEXES):
        rows.indexes.append((schema, table, name, [_index_column(text) for text in expressions], is_unique))
    return rows.build(identity)


def probe(session: Session) -> str:
    """Hash of names, types, definitions and comments; counts of rows do not move it."""
    return str(session.rows(_PROBE)[0][0])


def _add_columns(rows: CatalogRows, session: Session) -> None:
    for schema, table, column, ordinal, data_type, is_nullable, default, is_generated, comment in session.rows(
        _COLUMNS
    ):
        rows.columns.append(
            column_row(
                *(schema, table, column, ordinal, data_type, type_class(data_type)),
                is_nullable=is_nullable,
                default=default,
                is_generated=is_generated,
                comment=comment,
                enum_values=enum_labels(data_type),
            )
        )


def _add_constraints(rows: CatalogRows, session: Session) -> None:
    for schema, table, name, kind, columns, expression, parent, parent_columns in session.rows(_CONSTRAINTS):
        if kind == "FOREIGN KEY":
            rows.foreign_keys.append(
                (schema, table, columns, None, schema, parent, parent_columns, name, True, "NO ACTION", "NO ACTION")
            )
        elif kind == "CHECK":
            rows.checks.append((schema, table, name, expression, True))
        else:
            rows.keys.append(key_row(schema, table, name, "primary" if kind == "PRIMARY KEY" else "unique", columns))


def enum_labels(data_type: str) -> list[str] | None:
    """Labels of `ENUM('a', 'it''s')` in declared order, null for any other type (also for lists of enums)."""
    if not data_type.startswith("ENUM(") or not data_type.endswith(")"):
        return None
    return [label.replace("''", "'") for label in _LABEL.findall(data_type)]


def _index_column(text: str) -> str:
    """An indexed column's name, or the text of an indexed expression."""
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('""', '"')
    return text


def _broken_views(
    session: Session, views: Sequence[tuple[str, str]], sql_name: Callable[[str, str], str]
) -> dict[tuple[str, str], DictionaryError]:
    """Views that DuckDB cannot bind, with the reason; groups with a broken one are halved."""
    if not views:
        return {}
    if len(views) <= _VIEWS_PER_STATEMENT:
        bound = " UNION ALL ".join(f"(SELECT NULL FROM {sql_name(*view)} LIMIT 0)" for view in views)
        try:
            session.rows(bound, timeout_s=_BIND_SECONDS)
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            if len(views) == 1:
                return {views[0]: error}
        else:
            return {}
    middle = len(views) // 2
    return {
        **_broken_views(session, views[:middle], sql_name),
        **_broken_views(session, views[middle:], sql_name),
    }
