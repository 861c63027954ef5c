"""Runs the SELECT statements that a warehouse double receives: sqlglot translates, DuckDB computes.

Each declared relation is a DuckDB table with made-up names, so that names of any spelling and case work;
a statement's names are looked up in the declaration exactly as the vendor would. INFORMATION_SCHEMA is
given by the double as frames, computed from the declaration and never from the product's queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import duckdb
import polars as pl
import sqlglot
from sqlglot import exp

from servers.warehouse_model import Database, Relation, VendorError

Views = Mapping[str, pl.DataFrame]
"""INFORMATION_SCHEMA of a database: view name, lower case -> its rows."""

# Instants are declared and kept in UTC: DuckDB's time zones are an extension that is not everywhere.
_PHYSICAL = {
    **dict.fromkeys(("variant", "object", "array", "map", "struct", "vector"), "JSON"),
    **dict.fromkeys(("geography", "geometry", "void", "interval"), "VARCHAR"),
    **dict.fromkeys(("timestamp", "timestamp_ntz", "timestamp_tz", "timestamp_ltz", "datetime"), "TIMESTAMP"),
    **dict.fromkeys(("number", "numeric", "decimal"), "DECIMAL"),
    **dict.fromkeys(("string", "text", "varchar", "char"), "VARCHAR"),
    **dict.fromkeys(("binary", "varbinary"), "BLOB"),
    "float": "DOUBLE",
}


class Answer(NamedTuple):
    """Rows of a statement."""

    names: list[str]
    rows: list[tuple[Any, ...]]


class Dialect(NamedTuple):
    """What differs between vendors."""

    name: str
    """sqlglot's name."""
    exact_case: bool
    """Quoted names keep their case; else names are compared without it."""
    translate: Callable[[exp.Expression], exp.Expression]
    """Rewrites functions that sqlglot does not translate to DuckDB as needed here."""
    missing: Callable[[str], VendorError]
    """The error for an object that is not there."""
    denied: Callable[[str], VendorError]


class Backend:
    """All databases of a double."""

    def __init__(
        self, databases: Sequence[Database], dialect: Dialect, information_schema: Callable[[Database], Views]
    ) -> None:
        self.databases = {database.name: database for database in databases}
        self._dialect = dialect
        self._views = information_schema
        self._lock = Lock()
        self._connection = duckdb.connect(config={"threads": 1})
        self._tables: dict[tuple[str, str, str], str] = {}
        for database in databases:
            self.add(database)

    def add(self, database: Database) -> None:
        """Serve one more database."""
        with self._lock:
            self.databases[database.name] = database
            for relation in database.relations:
                self._create(database.name, relation)

    def close(self) -> None:
        """Free DuckDB's memory."""
        self._connection.close()

    def select(self, sql: str, database: str) -> Answer:
        """Run a SELECT; names without a database are looked up in `database`.

        Raises:
            VendorError: as the vendor would.
        """
        tree = sqlglot.parse_one(sql, read=self._dialect.name)
        with self._lock:
            columns: dict[str, str] = {}
            for table in list(tree.find_all(exp.Table)):
                columns |= self._resolve(table, database)
            for column in list(tree.find_all(exp.Column)):
                name = column.this
                if name.args.get("quoted") and (physical := columns.get(self._key(name.name))):
                    column.set("this", exp.to_identifier(physical))
            translated = self._dialect.translate(tree).sql("duckdb", unsupported_level=sqlglot.ErrorLevel.IGNORE)
            cursor = self._connection.execute(translated)
            return Answer([item[0] for item in cursor.description or ()], cursor.fetchall())

    def _resolve(self, table: exp.Table, database: str) -> dict[str, str]:
        """Point a table of the statement to its DuckDB table; logical -> physical column names."""
        place = table.catalog or database
        if table.db.lower() == "information_schema":
            self._register(table, place)
            return {}
        found = self._find(place, table.db, table.name)
        if found is None:
            raise self._dialect.missing(table.name)
        owner, relation = found
        if (relation.schema, relation.name) in owner.unreadable:
            raise self._dialect.denied(table.name)
        table.set("this", exp.to_identifier(self._tables[owner.name, relation.schema, relation.name]))
        table.set("db", None)
        table.set("catalog", None)
        return {self._key(column.name): f"c{place}" for place, column in enumerate(relation.columns)}

    def _find(self, place: str, schema: str, name: str) -> tuple[Database, Relation] | None:
        database = self.databases.get(place)
        if database is None:
            return None
        wanted = self._key(schema), self._key(name)
        for relation in database.visible():
            if (self._key(relation.schema), self._key(relation.name)) == wanted:
                return None if (relation.schema, relation.name) in database.dropped else (database, relation)
        return None

    def _register(self, table: exp.Table, place: str) -> None:
        views = self._views_of(place)
        if table.name.lower() not in views:
            raise self._dialect.missing(f"INFORMATION_SCHEMA.{table.name}")
        name = f"information_schema_{table.name.lower()}_of_{len(place)}_{place.encode().hex()}"
        self._connection.register(name, views[table.name.lower()])
        table.set("this", exp.to_identifier(name))
        table.set("db", None)
        table.set("catalog", None)

    def _views_of(self, place: str) -> Views:
        if place == "system":
            every = [self._views(each) for each in self.databases.values() if each.has_information_schema]
            return {name: pl.concat([views[name] for views in every]) for name in every[0]}
        database = self.databases.get(place)
        if database is None or not database.has_information_schema:
            raise self._dialect.missing("INFORMATION_SCHEMA")
        return self._views(database)

    def _key(self, name: str) -> str:
        return name if self._dialect.exact_case else name.lower()

    def _create(self, database: str, relation: Relation) -> None:
        physical = f"t{len(self._tables)}"
        self._tables[database, relation.schema, relation.name] = physical
        columns = ", ".join(f"c{place} {physical_type(column.type)}" for place, column in enumerate(relation.columns))
        self._connection.execute(f"CREATE TABLE {physical} ({columns or 'c0 VARCHAR'})")
        if relation.rows:
            marks = ", ".join("?" * len(relation.columns))
            self._connection.executemany(
                f"INSERT INTO {physical} VALUES ({marks})", [list(row) for row in relation.rows]
            )


def physical_type(declared: str) -> str:
    """The DuckDB type that holds values of a vendor's type."""
    head, parenthesis, parameters = declared.lower().partition("(")
    name = _PHYSICAL.get(head.partition("<")[0].partition(" ")[0], head.upper())
    return f"{name}({parameters}" if name == "DECIMAL" and parenthesis else name


def text_frame(names: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[str] = ()) -> pl.DataFrame:
    """Rows of an INFORMATION_SCHEMA view: text, but for the columns named in `numbers`."""
    schema = {name: pl.Int64() if name in numbers else pl.String() for name in names}
    return pl.DataFrame([list(row) for row in rows], schema=schema, orient="row")
