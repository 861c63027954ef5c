"""Catalog of a SQL Server database from `sys.*`: nine statements whatever the size.

Source: SQL Server documentation, "System catalog views". A login sees the rows of objects that it
has any permission on, and definitions only with VIEW DEFINITION.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.engines.assembly import STAGE, CatalogRows, column_row, key_row
from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.engines.sqlserver_types import type_class, type_text
from dictionary_pipeline.engines.statements import statement
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError, QueryTimeout
from dictionary_pipeline.problems import Problem

_ACTIONS = ("NO ACTION", "CASCADE", "SET NULL", "SET DEFAULT")
_NAME_PART = re.compile(r"\[((?:[^\]]|\]\])+)\]|([^.\[\]]+)")
_Row = tuple[Any, ...]


class _Object(NamedTuple):
    schema: str
    name: str
    type: str

    @property
    def label(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class CatalogReading:
    """A catalog and what its owner should know about how it was read."""

    catalog: Catalog
    warnings: tuple[str, ...]


def read(session: Session, identity: Identity) -> CatalogReading:
    """Read all catalog facts; objects that Microsoft ships are left out."""
    return _Reader(session, identity).read()


class _Reader:
    def __init__(self, session: Session, identity: Identity) -> None:
        self._session = session
        self._identity = identity
        self._rows = CatalogRows()
        self._objects: dict[int, _Object] = {}
        self._hidden = 0
        """Views, checks and computed columns whose definition the login may not see."""

    def read(self) -> CatalogReading:
        objects = self._session.rows(statement("sqlserver_objects"))
        columns = self._session.rows(statement("sqlserver_columns"))
        self._objects = {row[0]: _Object(*row[1:4]) for row in objects}
        views: dict[int, str | None] = dict(self._optional("sqlserver_views", "view definitions"))
        sizes = {number: (rows, size) for number, rows, size in self._row_counts()}
        for number, schema, name, kind, comment, is_external, readable in objects:
            is_view = kind == "V"
            shown = "view" if is_view else "external" if is_external else "table"
            self._hidden += is_view and views.get(number) is None
            row_estimate, size = (None, None) if is_view else sizes.get(number, (None, None))
            self._rows.tables.append(
                (schema, name, shown, comment, row_estimate, size, views.get(number), readable != 0, None)
            )
        self._add_columns(columns)
        self._add_indexes(self._optional("sqlserver_indexes", "keys and indexes"))
        self._add_foreign_keys(self._optional("sqlserver_foreign_keys", "foreign keys"))
        self._add_checks(self._optional("sqlserver_checks", "CHECK constraints"))
        lineage = self._lineage()
        catalog = self._rows.build(self._identity)
        schema, order = FRAME_SCHEMAS["lineage"]
        catalog = replace(catalog, lineage=frames.fit(frames.from_rows(lineage, schema), schema, sort_by=order))
        return CatalogReading(catalog, self._warnings())

    def _optional(self, name: str, what: str) -> list[_Row]:
        """Rows of a statement without which there still is a catalog; its failure is named."""
        try:
            return self._session.rows(statement(name))
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            self._rows.problems.append(
                Problem(
                    self._identity.fqn(),
                    STAGE,
                    error.code,
                    f"The {what} could not be read: {error.what}",
                    error.fix or "",
                )
            )
            self._rows.complete = False
            return []

    def _row_counts(self) -> list[_Row]:
        """Counts of the statistics view, or, without VIEW DATABASE STATE, those of the catalog."""
        try:
            return self._session.rows(statement("sqlserver_rows"))
        except (ConnectionFailed, QueryTimeout):
            raise
        except DictionaryError:
            return self._optional("sqlserver_rows_fallback", "row counts")

    def _add_columns(self, columns: Iterable[_Row]) -> None:
        by_object: dict[int, list[_Row]] = defaultdict(list)
        for column in columns:
            by_object[column[0]].append(column)
        for number, found in by_object.items():
            owner = self._objects.get(number)
            if owner is None:
                continue  # the object came into being between two statements
            # Numbers of dropped columns are never used again, so the position is counted.
            for ordinal, row in enumerate(sorted(found, key=lambda each: each[1]), 1):
                name, native, length, precision, scale, nullable, identity, computed, always, text, comment = row[2:]
                self._hidden += bool(computed) and text is None
                self._rows.columns.append(
                    column_row(
                        *(owner.schema, owner.name, name, ordinal, type_text(native, length, precision, scale)),
                        type_class(native),
                        is_nullable=bool(nullable),
                        default=text,
                        is_identity=bool(identity),
                        is_generated=bool(computed) or bool(always),
                        comment=comment,
                    )
                )

    def _add_indexes(self, found: Iterable[_Row]) -> None:
        grouped: dict[_Row, list[tuple[int, str]]] = defaultdict(list)
        for *index, ordinal, column in found:
            grouped[tuple(index)].append((ordinal, column))
        for (number, name, primary, constraint, unique, filtered, disabled), parts in grouped.items():
            owner = self._objects.get(number)
            if owner is None:
                continue
            columns = [column for _, column in sorted(parts)]
            if primary or constraint:
                kind = "primary" if primary else "unique"
                self._rows.keys.append(key_row(owner.schema, owner.name, name, kind, columns))
            else:
                is_unique = bool(unique) and not filtered and not disabled
                self._rows.indexes.append((owner.schema, owner.name, name, columns, is_unique))

    def _add_foreign_keys(self, found: Iterable[_Row]) -> None:
        grouped: dict[int, list[_Row]] = defaultdict(list)
        for row in found:
            grouped[row[0]].append(row)
        for parts in grouped.values():
            parts.sort(key=lambda row: row[8])
            _, name, child_number, _, disabled, distrusted, on_update, on_delete = parts[0][:8]
            child, (to_schema, to_table) = self._objects.get(child_number), parts[0][11:]
            if child is None:
                continue
            columns = [row[9] for row in parts]
            to_columns = [row[10] for row in parts]
            if to_table is None or None in to_columns:
                # Without any permission on the parent its rows are not in the catalog at all.
                self._rows.problems.append(
                    Problem(
                        child.label,
                        STAGE,
                        None,
                        f"The foreign key of {', '.join(columns)} leads to a table that the account may not see",
                        "GRANT VIEW DEFINITION on the database or on that table to the account.",
                    )
                )
                continue
            self._rows.foreign_keys.append(
                (
                    *(child.schema, child.name, columns, None, to_schema, to_table, to_columns, name),
                    *(not disabled and not distrusted, _ACTIONS[on_update], _ACTIONS[on_delete]),
                )
            )

    def _add_checks(self, found: Iterable[_Row]) -> None:
        for number, name, definition, disabled, distrusted in found:
            owner = self._objects.get(number)
            if owner is None:
                continue
            if definition is None:
                self._hidden += 1
                continue
            self._rows.checks.append((owner.schema, owner.name, name, definition, not disabled and not distrusted))

    def _lineage(self) -> list[_Row]:
        """(view, source) per dependency on a table or view, through synonyms to what they stand for.

        Synonyms are other names of objects, so they are no objects of the dictionary.
        """
        by_name = {(each.schema, each.name): each for each in self._objects.values()}
        aliases: dict[int, tuple[str, str] | None] = {}
        by_alias: dict[tuple[str, str], tuple[str, str] | None] = {}
        for number, schema, name, base in self._optional("sqlserver_synonyms", "synonyms"):
            aliases[number] = by_alias[schema, name] = synonym_target(base, self._identity.database)
        rows = set()
        for view_number, number, schema, name in self._optional("sqlserver_dependencies", "view dependencies"):
            view = self._objects.get(view_number)
            if view is None:
                continue
            if number in self._objects:
                source: _Object | None = self._objects[number]
            else:
                named = aliases.get(number) or (schema or view.schema, name)
                source = by_name.get(by_alias.get(named) or named)
            if source is not None:
                rows.add((view.schema, view.name, None, source.schema, source.name, None, "catalog"))
        return list(rows)

    def _warnings(self) -> tuple[str, ...]:
        if not self._hidden:
            return ()
        return (
            f"{self._identity.fqn()}: the account may not see {self._hidden} definitions of views, CHECK constraints or"
            " computed columns. GRANT VIEW DEFINITION on the database to it.",
        )


def synonym_target(base: str, database: str | None) -> tuple[str, str] | None:
    """(schema, table) that `[database].[schema].[table]` means here; null for another database or server."""
    parts = [bracketed.replace("]]", "]") or plain.strip() for bracketed, plain in _NAME_PART.findall(base)]
    if len(parts) > 3 or (len(parts) == 3 and parts[0].casefold() != (database or "").casefold()):
        return None
    return (parts[-2], parts[-1]) if len(parts) > 1 else ("dbo", parts[-1])
