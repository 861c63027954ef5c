"""Catalog of an SQLite file from `pragma_*` table-valued functions joined set-wise.

At most seven statements whatever the size. Names of constraints are not in the catalog, so keys
and foreign keys have null names. A column declared without a type, and a computed column of a
view, has data type `ANY`: SQLite stores any kind of value there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.engines.assembly import STAGE, CatalogRows, column_row, key_row, table_row
from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.engines.types import sqlite_type_class
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError
from dictionary_pipeline.problems import Problem

SCHEMA = "main"

_OWN = "l.schema = 'main' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
_OBJECTS = f"""
    SELECT l.name, l.type, l.wr FROM pragma_table_list AS l
    WHERE {_OWN} AND l.type IN ('table', 'view', 'virtual') ORDER BY l.name"""
_SQL = "SELECT name, sql FROM main.sqlite_schema WHERE type IN ('table', 'view')"
_STATISTICS = "SELECT tbl, max(CAST(stat AS INTEGER)) FROM main.sqlite_stat1 GROUP BY tbl"
_HAS_STATISTICS = "SELECT 1 FROM main.sqlite_schema WHERE name = 'sqlite_stat1'"
# hidden: 1 = of a virtual table's module, 2 and 3 = generated (https://sqlite.org/pragma.html#pragma_table_xinfo)
_COLUMNS = f"""
    SELECT l.name, x.name, x.type, x."notnull", x.dflt_value, x.pk, x.hidden
    FROM pragma_table_list AS l CROSS JOIN pragma_table_xinfo(l.name, l.schema) AS x
    WHERE {_OWN} AND x.hidden <> 1 AND {{which}} ORDER BY l.name, x.cid"""
_FOREIGN_KEYS = f"""
    SELECT l.name, x.id, x."table", x."from", x."to", x.on_update, x.on_delete
    FROM pragma_table_list AS l CROSS JOIN pragma_foreign_key_list(l.name, l.schema) AS x
    WHERE {_OWN} AND l.type = 'table' ORDER BY l.name, x.id, x.seq"""
_INDEXES = f"""
    SELECT l.name, i.name, i."unique", i.origin, i.partial, c.name
    FROM pragma_table_list AS l CROSS JOIN pragma_index_list(l.name, l.schema) AS i
         CROSS JOIN pragma_index_xinfo(i.name, l.schema) AS c
    WHERE {_OWN} AND l.type = 'table' AND c.key = 1 ORDER BY l.name, i.name, c.seqno"""


class _Column(NamedTuple):
    name: str
    data_type: str
    not_null: bool
    default: str | None
    pk: int
    """Position in the primary key, 0 when outside."""
    hidden: int

    @property
    def is_generated(self) -> bool:
        return self.hidden in (2, 3)


_Columns = dict[str, list[_Column]]


def rowid_tables(session: Session) -> frozenset[str]:
    """Tables that can be read by row id."""
    return frozenset(
        name for name, kind, without_rowid in session.rows(_OBJECTS) if kind == "table" and not without_rowid
    )


def read(session: Session, identity: Identity) -> Catalog:
    """Read all catalog facts of schema `main`; shadow tables of virtual tables are left out."""
    rows = CatalogRows()
    objects = session.rows(_OBJECTS)
    definitions = dict(session.rows(_SQL))
    estimates = dict(session.rows(_STATISTICS)) if session.rows(_HAS_STATISTICS) else {}
    columns = _grouped(session.rows(_COLUMNS.format(which="l.type = 'table'")))
    unreadable = _add_fragile(columns, rows, session, [name for name, kind, _ in objects if kind != "table"])
    indexes = session.rows(_INDEXES)
    with_key_index = {table for table, _, _, origin, _, _ in indexes if origin == "pk"}
    for name, kind, without_rowid in objects:
        is_view = kind == "view"
        rows.tables.append(
            table_row(
                *(SCHEMA, name, "view" if is_view else "table"),
                row_estimate=estimates.get(name),
                view_sql=definitions.get(name) if is_view else None,
                readable=name not in unreadable,
            )
        )
        has_alias = kind == "table" and not without_rowid and name not in with_key_index
        described = columns.get(name, [])
        if any(column.is_generated for column in described):
            described = _with_expressions(described, definitions.get(name) or "")
        _add_columns(rows, name, described, has_alias=has_alias)
        if kind == "table":
            _add_checks(rows, name, definitions.get(name) or "")
    _add_indexes(rows, indexes)
    _add_foreign_keys(rows, session.rows(_FOREIGN_KEYS), columns)
    rows.keys.sort(key=lambda row: (row[1], row[3], row[4]))  # names are null, so the columns order them
    return rows.build(identity)


def _grouped(found: Iterable[tuple[Any, ...]]) -> _Columns:
    columns: _Columns = defaultdict(list)
    for table, name, declared, not_null, default, pk, hidden in found:
        columns[table].append(_Column(name, declared or "ANY", bool(not_null), default, pk, hidden))
    return columns


def _add_fragile(columns: _Columns, rows: CatalogRows, session: Session, names: list[str]) -> set[str]:
    """Columns of views and virtual tables; returns those that cannot be read.

    One broken view or missing module fails the set-wise statement, so then each is asked alone.
    """
    try:
        columns.update(_grouped(session.rows(_COLUMNS.format(which="l.type IN ('view', 'virtual')"))))
    except ConnectionFailed:
        raise
    except DictionaryError:
        return {name for name in names if not _add_one(columns, rows, session, name)}
    return set()


def _add_one(columns: _Columns, rows: CatalogRows, session: Session, name: str) -> bool:
    literal = "'" + name.replace("'", "''") + "'"
    try:
        columns.update(_grouped(session.rows(_COLUMNS.format(which=f"l.name = {literal}"))))
    except ConnectionFailed:
        raise
    except DictionaryError as error:
        rows.add_problem(f"{SCHEMA}.{name}", error)
        return False
    return True


def _add_columns(rows: CatalogRows, table: str, columns: list[_Column], *, has_alias: bool) -> None:
    key = [column.name for column in sorted(columns, key=lambda column: column.pk) if column.pk]
    if key:
        rows.keys.append(key_row(SCHEMA, table, None, "primary", key))
    for ordinal, column in enumerate(columns, 1):
        # `INTEGER PRIMARY KEY` is another name of the row id: filled by SQLite, never null
        # (https://sqlite.org/lang_createtable.html#rowid). It has no index of its own.
        is_alias = has_alias and key == [column.name] and column.data_type.upper() == "INTEGER"
        rows.columns.append(
            column_row(
                *(SCHEMA, table, column.name, ordinal, column.data_type, sqlite_type_class(column.data_type)),
                is_nullable=not (column.not_null or is_alias),
                default=column.default,
                is_identity=is_alias,
                is_generated=column.is_generated,
            )
        )


def _with_expressions(columns: list[_Column], sql: str) -> list[_Column]:
    """Generated columns with their expression in place of a default, as far as the table's definition tells."""
    try:
        found = generated_expressions(sql, sqlglot.tokenize(sql, read="sqlite"))
    except SqlglotError:
        return columns
    return [
        column._replace(default=found.get(column.name.lower())) if column.is_generated else column for column in columns
    ]


def _add_indexes(rows: CatalogRows, found: list[tuple[Any, ...]]) -> None:
    for (table, name, unique, origin, partial), parts in groupby(found, key=itemgetter(0, 1, 2, 3, 4)):
        columns = [part[5] if part[5] is not None else "<expression>" for part in parts]
        if origin == "u":
            rows.keys.append(key_row(SCHEMA, table, None, "unique", columns))
        elif origin == "c":
            rows.indexes.append((SCHEMA, table, name, columns, bool(unique and not partial)))


def _add_foreign_keys(rows: CatalogRows, found: list[tuple[Any, ...]], columns: _Columns) -> None:
    """Foreign keys with parents and columns spelled as they are declared; SQLite compares without case."""
    spelled = {name.lower(): name for name in columns}
    for (table, _, named, on_update, on_delete), group in groupby(found, key=itemgetter(0, 1, 2, 5, 6)):
        parts = list(group)
        child = [part[3] for part in parts]
        parent = spelled.get(named.lower(), named)
        known = columns.get(parent, [])
        if parts[0][4] is None:  # REFERENCES without columns means the parent's primary key
            target = [column.name for column in sorted(known, key=lambda column: column.pk) if column.pk]
        else:
            names = {column.name.lower(): column.name for column in known}
            target = [names.get(part[4].lower(), part[4]) for part in parts]
        if len(target) != len(child):
            rows.add_unclear_key(SCHEMA, table, child, parent)
            continue
        rows.foreign_keys.append((SCHEMA, table, child, None, SCHEMA, parent, target, None, True, on_update, on_delete))
    rows.foreign_keys.sort(key=lambda row: (row[1], row[2], row[5], row[6]))


def _add_checks(rows: CatalogRows, table: str, sql: str) -> None:
    if "check" not in sql.lower():
        return
    try:
        tokens = sqlglot.tokenize(sql, read="sqlite")
    except SqlglotError:
        rows.problems.append(
            Problem(
                f"{SCHEMA}.{table}",
                STAGE,
                None,
                "the CHECK constraints could not be read from the table's definition",
                "List the allowed values of its columns in the database's YAML file.",
            )
        )
        return
    for name, expression in check_constraints(sql, tokens):
        rows.checks.append((SCHEMA, table, name, expression, True))


def check_constraints(sql: str, tokens: list[Token]) -> list[tuple[str | None, str]]:
    """(name, expression) of every CHECK in a CREATE TABLE statement, in the order and spelling of its text."""
    found = []
    for at, token in enumerate(tokens):
        if not _is_word(token, "CHECK") or at + 1 == len(tokens) or tokens[at + 1].token_type != TokenType.L_PAREN:
            continue
        expression = _bracketed(sql, tokens, at + 1)
        if expression is not None:
            named = at >= 2 and _is_word(tokens[at - 2], "CONSTRAINT")
            found.append((tokens[at - 1].text if named else None, expression))
    return found


def generated_expressions(sql: str, tokens: list[Token]) -> dict[str, str]:
    """Lower-case column -> expression of every generated column in a CREATE TABLE statement."""
    found: dict[str, str] = {}
    depth, column, starts = 0, "", False
    for at, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            depth += 1
            if depth == 2 and _is_word(tokens[at - 1], "AS"):
                found[column] = _bracketed(sql, tokens, at) or ""
        elif token.token_type == TokenType.R_PAREN:
            depth -= 1
        elif starts:
            column = token.text.lower()
        starts = depth == 1 and token.token_type in (TokenType.L_PAREN, TokenType.COMMA)
    return found


def _bracketed(sql: str, tokens: list[Token], opening: int) -> str | None:
    """The text between a parenthesis and the one that closes it."""
    depth = 0
    for closing in tokens[opening:]:
        depth += (closing.token_type == TokenType.L_PAREN) - (closing.token_type == TokenType.R_PAREN)
        if depth == 0:
            return sql[tokens[opening].end + 1 : closing.start].strip()
    return None


def _is_word(token: Token, word: str) -> bool:
    return token.text.upper() == word and token.token_type not in (TokenType.IDENTIFIER, TokenType.STRING)
