"""Catalog of MySQL and MariaDB from `information_schema`: seven statements whatever the size.

They are joined here, because the servers join `information_schema` by opening tables one by one.
Sources: MySQL 8.4 reference manual, "INFORMATION_SCHEMA Tables"; MariaDB knowledge base, "Information
Schema Tables".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.engines.assembly import STAGE, CatalogRows, column_row, key_row
from dictionary_pipeline.engines.base import Session, TypeClass
from dictionary_pipeline.engines.statements import statement
from dictionary_pipeline.engines.types import type_class as known_class
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError
from dictionary_pipeline.problems import Problem

_SYSTEM = "('information_schema', 'mysql', 'performance_schema', 'sys', 'ndbinfo')"
_Row = tuple[Any, ...]
_Name = tuple[str, str]

_LABEL = re.compile(r"'((?:[^'\\]|''|\\.)*)'")
_JSON_CHECK = re.compile(r"json_valid\(`((?:[^`]|``)+)`\)\Z", re.IGNORECASE)
_INTRODUCER = re.compile(r"\b_[a-z0-9]+(?=\\?')")
_BROKEN_VIEW = "references invalid table(s)"
"""Part of the text that the servers give instead of a broken view's comment; it is not translated in practice."""
_REMOTE_ENGINES = frozenset({"FEDERATED", "CONNECT", "SPIDER"})
_CLASSES: dict[str, TypeClass] = {"bit": "integer", "vector": "binary"}


def in_scope(sql: str, database: str | None) -> str:
    """The statement with its `{scope}` filled: the connection's database, or all but the system's."""

    def condition(match: re.Match[str]) -> str:
        column = match[1] or "table_schema"
        return f"{column} = DATABASE()" if database else f"{column} NOT IN {_SYSTEM}"

    return re.sub(r"\{scope(?::([\w.]+))?\}", condition, sql)


def read(session: Session, identity: Identity, *, database: str | None, is_mariadb: bool) -> Catalog:
    """Read all catalog facts of the connection's database, or of all databases when it names none."""
    return _Reader(session, database, is_mariadb).read(identity)


class _Reader:
    def __init__(self, session: Session, database: str | None, is_mariadb: bool) -> None:
        self._session = session
        self._database = database
        self._is_mariadb = is_mariadb
        self._rows = CatalogRows()

    def read(self, identity: Identity) -> Catalog:
        tables = self._session.rows(self._sql("mysql_tables"))
        columns = self._session.rows(self._sql("mysql_columns"))
        checks = self._optional(f"mysql_checks_{'mariadb' if self._is_mariadb else 'mysql'}", "CHECK constraints")
        views = {(schema, view): sql for schema, view, sql in self._optional("mysql_views", "view definitions")}
        described = {(row[0], row[1]) for row in columns}
        broken = {
            (schema, name)
            for schema, name, kind, comment, *_ in tables
            if kind == "VIEW" and (_BROKEN_VIEW in (comment or "") or (schema, name) not in described)
        }
        for table in tables:
            self._add_table(table, views, broken)
        self._add_columns([row for row in columns if (row[0], row[1]) not in broken], _json_columns(checks))
        self._add_indexes(self._optional("mysql_indexes", "keys and indexes"))
        self._add_foreign_keys()
        for schema, name, constraint, clause, enforced in checks:
            if not _JSON_CHECK.match(clause):
                self._rows.checks.append((schema, name, constraint, _plain_check(clause), enforced == "YES"))
        return self._rows.build(identity)

    def _sql(self, name: str) -> str:
        return in_scope(statement(name), self._database)

    def _optional(self, name: str, what: str) -> list[_Row]:
        """Rows of a statement without which there still is a catalog; its failure is named."""
        try:
            return self._session.rows(self._sql(name))
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            self._rows.problems.append(
                Problem(
                    self._database or "all databases", STAGE, error.code, f"The {what} could not be read", error.what
                )
            )
            self._rows.complete = False
            return []

    def _add_table(self, row: _Row, views: dict[_Name, str], broken: set[_Name]) -> None:
        schema, name, kind, comment, row_estimate, size, engine = row
        is_view = kind in ("VIEW", "SYSTEM VIEW")
        shown = "view" if is_view else "foreign_table" if engine in _REMOTE_ENGINES else "table"
        readable = (schema, name) not in broken
        if not readable:
            self._rows.problems.append(
                Problem(
                    f"{schema}.{name}",
                    STAGE,
                    "1356",
                    "The view refers to something that does not exist, or that its definer may not use",
                    "Repair or drop the view, or exclude it.",
                )
            )
        self._rows.tables.append(
            (
                *(schema, name, shown, None if is_view else comment or None),
                *(None if is_view else row_estimate, None if is_view else size),
                *(views.get((schema, name)) or None, readable, None),
            )
        )

    def _add_columns(self, columns: Iterable[_Row], json_columns: set[tuple[str, str, str]]) -> None:
        for schema, table, name, ordinal, native, kind, nullable, default, extra, expression, comment in columns:
            flags = (extra or "").upper()
            is_generated = "VIRTUAL GENERATED" in flags or "STORED GENERATED" in flags
            is_json = kind == "longtext" and (schema, table, name) in json_columns
            self._rows.columns.append(
                column_row(
                    *(schema, table, name, ordinal, "json" if is_json else native),
                    "json" if is_json else _CLASSES.get(kind) or known_class(native),
                    is_nullable=nullable == "YES",
                    default=expression if is_generated else self._default(default),
                    is_identity="AUTO_INCREMENT" in flags,
                    is_generated=is_generated,
                    comment=comment or None,
                    enum_values=enum_labels(native),
                )
            )

    def _default(self, default: str | None) -> str | None:
        """MariaDB writes the word NULL where a column has no default."""
        return None if self._is_mariadb and default == "NULL" else default

    def _add_indexes(self, found: list[_Row]) -> None:
        """Primary and unique keys are unique indexes here, and the other way round."""
        grouped: dict[tuple[str, str, str, int], list[tuple[int, str]]] = defaultdict(list)
        for schema, table, index, non_unique, position, column, _ in found:
            grouped[schema, table, index, int(non_unique)].append((position, column))
        for (schema, table, index, non_unique), parts in grouped.items():
            columns = [column for _, column in sorted(parts, key=lambda part: part[0])]
            if non_unique or None in columns:
                names = [column or "<expression>" for column in columns]
                self._rows.indexes.append((schema, table, index, names, not non_unique))
            else:
                kind = "primary" if index == "PRIMARY" else "unique"
                self._rows.keys.append(key_row(schema, table, index, kind, columns))

    def _add_foreign_keys(self) -> None:
        found = self._optional("mysql_foreign_keys", "foreign keys")
        rules = {tuple(row[:3]): row[3:] for row in self._optional("mysql_rules", "rules of foreign keys")}
        grouped: dict[tuple[str, ...], list[tuple[int, str, str]]] = defaultdict(list)
        for schema, table, name, position, column, to_schema, to_table, to_column in found:
            grouped[schema, table, name, to_schema, to_table].append((position, column, to_column))
        for (schema, table, name, to_schema, to_table), parts in grouped.items():
            parts.sort()
            columns, to_columns = [part[1] for part in parts], [part[2] for part in parts]
            on_update, on_delete = rules.get((schema, table, name), (None, None))
            self._rows.foreign_keys.append(
                (schema, table, columns, None, to_schema, to_table, to_columns, name, True, on_update, on_delete)
            )


def enum_labels(native: str) -> list[str] | None:
    """Labels of `enum('a','it''s')` in declared order; null for any other type, sets included."""
    if not native.lower().startswith("enum("):
        return None
    return [re.sub(r"''|\\(.)", lambda match: match[1] or "'", label) for label in _LABEL.findall(native)]


def _json_columns(checks: Iterable[_Row]) -> set[tuple[str, str, str]]:
    """MariaDB's JSON is a text with this check on it (knowledge base, "JSON Data Type")."""
    found = ((schema, table, _JSON_CHECK.match(clause)) for schema, table, _, clause, _ in checks)
    return {(schema, table, match[1].replace("``", "`")) for schema, table, match in found if match}


def _plain_check(clause: str) -> str:
    """The expression without the character sets and escapes that MySQL writes into it."""
    if "\\'" not in clause and not _INTRODUCER.search(clause):
        return clause
    return _INTRODUCER.sub("", clause).replace("\\'", "'")
