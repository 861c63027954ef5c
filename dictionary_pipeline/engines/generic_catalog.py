"""Catalog of any database through SQLAlchemy's inspector: in bulk where that works, else object by object."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc, types
from sqlalchemy.engine.interfaces import Dialect, ReflectedColumn, ReflectedIndex
from sqlalchemy.engine.reflection import Inspector, ObjectKind, ObjectScope

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.engines.assembly import CatalogRows, column_row, key_row, table_row
from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.engines.generic_errors import driver_error
from dictionary_pipeline.engines.types import known_type_class, sqlite_type_class
from dictionary_pipeline.errors import ConnectionFailed

_SYSTEM_NAMES = (
    "information_schema",
    "pg_catalog pg_toast pg_internal crdb_internal",  # PostgreSQL and relatives
    "mysql performance_schema sys ndbinfo",  # MySQL
    "guest db_owner db_accessadmin db_securityadmin db_ddladmin db_backupoperator db_datareader db_datawriter"
    " db_denydatareader db_denydatawriter",  # SQL Server
    "system xdb ctxsys mdsys outln dbsnmp appqossys audsys gsmadmin_internal lbacsys olapsys ordsys wmsys dvsys"
    " ojvmsys dbsfwuser",  # Oracle
    "sysibm syscat sysstat",  # Db2
)
_SYSTEM_SCHEMAS = frozenset(name for names in _SYSTEM_NAMES for name in names.split())
# Reflection code of dialects fails with these, too, on catalogs that it did not expect.
_REFLECTION_ERRORS = (exc.SQLAlchemyError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
_CLASSES: tuple[tuple[type[types.TypeEngine[Any]], TypeClass], ...] = (
    (types.JSON, "json"),
    (types.ARRAY, "array"),
    (types.String, "string"),
    (types.Boolean, "boolean"),
    (types.Integer, "integer"),
    (types.Float, "float"),
    (types.Numeric, "decimal"),
    (types.DateTime, "timestamp"),
    (types.Date, "date"),
    (types.Time, "time"),
    (types.Interval, "interval"),
    (types.Uuid, "uuid"),
    (types.LargeBinary, "binary"),
)
"""For native types whose name says nothing."""


class _Object(NamedTuple):
    schema: str
    name: str
    kind: str


def read(connection: sa.Connection, identity: Identity, *, only_schema: str | None = None) -> Catalog:
    """Read what the dialect reflects; system schemas are left out.

    Args:
        connection: An open connection.
        identity: For the catalog.
        only_schema: Read this schema alone (MySQL: the database that the URL names).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exc.SAWarning)  # about reflection gaps; they would go to stderr unasked
        reader = _Reader(connection)
        for schema in [only_schema] if only_schema else reader.schemas():
            reader.read_schema(schema)
    return reader.rows.build(identity)


class _Reader:
    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._inspector: Inspector = sa.inspect(connection)
        self._default = self._inspector.default_schema_name or "main"
        self.rows = CatalogRows()

    def schemas(self) -> list[str | None]:
        """Schemas that are not the system's; `[None]` (the default one) where the dialect has none."""
        try:
            names = self._inspector.get_schema_names()
        except NotImplementedError:
            return [None]
        except _REFLECTION_ERRORS as error:
            self._incomplete(self._default, error)
            return [None]
        return [name for name in names if name.lower() not in _SYSTEM_SCHEMAS and not name.startswith("pg_temp")]

    def read_schema(self, schema: str | None) -> None:
        """Add everything in one schema to `rows`."""
        objects = self._objects(schema)
        tables = [each for each in objects if each.kind == "table"]
        comments = dict(self._facts("table_comment", schema, objects))
        columns = dict(self._facts("columns", schema, objects))
        for each in objects:
            comment = comments[each]["text"] if each in comments else None
            sql = None if each.kind == "table" else self._view_sql(each, schema)
            self.rows.tables.append(table_row(*each, comment=comment, view_sql=sql, readable=each in columns))
            for ordinal, column in enumerate(columns.get(each, []), 1):
                self._add_column(each, ordinal, column)
        primary = self._add_keys(schema, tables)
        for each, indexes in self._facts("indexes", schema, [each for each in objects if each.kind != "view"]):
            for index in indexes:
                if index.get("duplicates_constraint"):
                    continue  # stands among the keys
                names = [name or "<expression>" for name in index["column_names"]]
                self.rows.indexes.append((*each[:2], index["name"], names, _is_unique(index)))
        self._add_foreign_keys(schema, tables, primary)
        for each, checks in self._facts("check_constraints", schema, tables):
            for check in checks:
                is_valid = not (check.get("dialect_options") or {}).get("not_valid", False)
                self.rows.checks.append((*each[:2], check["name"], check["sqltext"], is_valid))

    def _objects(self, schema: str | None) -> list[_Object]:
        found: dict[str, _Object] = {}
        for method, kind in (
            (self._inspector.get_table_names, "table"),
            (self._inspector.get_view_names, "view"),
            (self._inspector.get_materialized_view_names, "materialized_view"),
        ):
            try:
                names = method(schema)
            except NotImplementedError:
                continue
            except _REFLECTION_ERRORS as error:
                self._incomplete(schema or self._default, error)
                continue
            found.update((name, _Object(schema or self._default, name, kind)) for name in names)
        return sorted(found.values())

    def _facts(self, fact: str, schema: str | None, objects: list[_Object]) -> Iterator[tuple[_Object, Any]]:
        """(object, fact) of all objects: in bulk, and one by one what the bulk call could not give.

        Some dialects fail as a whole on one broken view, others leave it out.
        """
        found: dict[str, Any] = {}
        if not objects:
            return
        try:
            bulk = getattr(self._inspector, f"get_multi_{fact}")
            found = {key[1]: value for key, value in bulk(schema, None, ObjectKind.ANY, ObjectScope.ANY).items()}
        except NotImplementedError:
            return  # the dialect does not reflect this kind of fact
        except _REFLECTION_ERRORS:
            self._connection.rollback()
        one = getattr(self._inspector, f"get_{fact}")
        for each in objects:
            if each.name in found:
                yield each, found[each.name]
                continue
            try:
                yield each, one(each.name, schema)
            except NotImplementedError:
                return
            except _REFLECTION_ERRORS as error:
                self._problem(f"{each.schema}.{each.name}", error)

    def _view_sql(self, view: _Object, schema: str | None) -> str | None:
        try:
            return self._inspector.get_view_definition(view.name, schema)
        except NotImplementedError:
            return None
        except _REFLECTION_ERRORS as error:
            self._problem(f"{view.schema}.{view.name}", error)
            return None

    def _add_column(self, of: _Object, ordinal: int, column: ReflectedColumn) -> None:
        native, dialect = column["type"], self._connection.dialect
        data_type = native_text(native, dialect)
        computed = column.get("computed")
        self.rows.columns.append(
            column_row(
                *(of.schema, of.name, str(column["name"]), ordinal, data_type),
                class_of(native, data_type, dialect),
                is_nullable=bool(column["nullable"]),
                default=computed["sqltext"] if computed else column.get("default"),
                is_identity=bool(column.get("identity")) or column.get("autoincrement") is True,
                is_generated=bool(computed),
                comment=column.get("comment"),
                enum_values=native.enums if isinstance(native, types.Enum) else None,
            )
        )

    def _add_keys(self, schema: str | None, tables: list[_Object]) -> dict[str, list[str]]:
        """Add primary and unique keys; returns the primary key of each table."""
        primary = {}
        for each, key in self._facts("pk_constraint", schema, tables):
            if key and key["constrained_columns"]:
                primary[each.name] = list(key["constrained_columns"])
                self.rows.keys.append(key_row(*each[:2], key.get("name"), "primary", primary[each.name]))
        for each, uniques in self._facts("unique_constraints", schema, tables):
            for unique in uniques:
                self.rows.keys.append(key_row(*each[:2], unique["name"], "unique", unique["column_names"]))
        return primary

    def _add_foreign_keys(self, schema: str | None, tables: list[_Object], primary: dict[str, list[str]]) -> None:
        # PostgreSQL names no schema for parents on the search path, other dialects for those in the same schema.
        own = {each.name for each in tables} if self._connection.dialect.name != "postgresql" else set()
        for each, keys in self._facts("foreign_keys", schema, tables):
            for key in keys:
                parent, child = key["referred_table"], key["constrained_columns"]
                to_schema = key["referred_schema"] or (each.schema if parent in own else self._default)
                columns = key["referred_columns"] or primary.get(parent, [])
                if len(columns) != len(child):
                    self.rows.add_unclear_key(*each[:2], child, parent)
                    continue
                options = key.get("options") or {}
                self.rows.foreign_keys.append(
                    (
                        *(*each[:2], list(child), None, to_schema, parent, list(columns), key["name"], True),
                        *(options.get("onupdate"), options.get("ondelete")),
                    )
                )

    def _problem(self, object_name: str, error: Exception) -> None:
        failure = driver_error(error, where=object_name)
        if isinstance(failure, ConnectionFailed):
            raise failure from None
        self._connection.rollback()
        self.rows.add_problem(object_name, failure)

    def _incomplete(self, object_name: str, error: Exception) -> None:
        self._problem(object_name, error)
        self.rows.complete = False


def _is_unique(index: ReflectedIndex) -> bool:
    """Whether the index is unique over all rows; a partial one says nothing about the others."""
    options = index.get("dialect_options") or {}
    return bool(index["unique"]) and not any(
        key.endswith("_where") and value is not None for key, value in options.items()
    )


def native_text(native: types.TypeEngine[Any], dialect: Dialect) -> str:
    """The type as the database spells it, `unknown` for types that the dialect does not know."""
    try:
        return str(native.compile(dialect=dialect))
    except (exc.CompileError, exc.UnsupportedCompilationError, AttributeError):
        return "unknown"


def class_of(native: types.TypeEngine[Any], data_type: str, dialect: Dialect) -> TypeClass:
    """The class by the type's name, else by its SQLAlchemy class; a domain has that of its base type."""
    if isinstance(base := getattr(native, "data_type", None), types.TypeEngine):
        return class_of(base, native_text(base, dialect), dialect)
    if isinstance(native, types.Enum | types.NullType):
        return "string" if isinstance(native, types.Enum) else "other"
    if dialect.name == "sqlite":
        return sqlite_type_class(data_type)
    by_name = known_type_class(data_type)
    if by_name is not None:
        return by_name
    return next((name for kind, name in _CLASSES if isinstance(native, kind)), "other")
