"""T-SQL over a declared database: sqlglot reads it, DuckDB runs it, SQL Server's errors come back."""

from __future__ import annotations

import re
import threading
from decimal import Decimal
from typing import Any

import duckdb
import sqlglot
from conformance.ddl import Ddl
from conformance.model import Declaration
from sqlglot import exp
from sqlglot.errors import SqlglotError

from servers.tds_catalog import SysCatalog
from servers.tds_names import Names

_TYPES = {
    **Ddl.types,
    "string": "varchar",
    "float": "double",
    "decimal": "decimal(12,2)",
    "xml": "varchar",
    "binary": "blob",
}
_MACROS = (
    "quotename(x) AS '[' || replace(x, ']', ']]') || ']'",
    "has_perms_by_name(what, kind, permission) AS CASE WHEN what IN (SELECT name FROM denied) THEN 0 ELSE 1 END",
    "datalength(x) AS octet_length(x)",
    "checksum_agg(x) AS sum(x)",
    "checksum(a, b) AS (hash(a, b) % 1000000)::BIGINT, (a, b, c) AS (hash(a, b, c) % 1000000)::BIGINT",
)


class SqlError(Exception):
    """An error as the server words it."""

    def __init__(self, number: int, text: str, severity: int = 16) -> None:
        super().__init__(text)
        self.number, self.text, self.severity = number, text, severity


class Backend:
    """One database; statements run one at a time."""

    def __init__(self, database: str, declaration: Declaration) -> None:
        self.database = database
        self.denied: set[tuple[str, str]] = set()
        self.no_state_permission = False
        self._lock = threading.Lock()
        self._names = Names(declaration)
        self._connection = duckdb.connect()
        self._connection.execute("CREATE TABLE denied (name varchar)")
        for macro in _MACROS:
            self._connection.execute(f"CREATE MACRO {macro}")
        SysCatalog(self._connection, declaration, self._names).create()
        self._load(declaration)

    def close(self) -> None:
        """Free the database."""
        self._connection.close()

    def change_catalog(self, sql: str) -> None:
        """Declare what a `Declaration` cannot: any statement on the tables `sys.*`."""
        with self._lock:
            self._connection.execute(sql)

    def deny_select(self, schema: str, name: str) -> None:
        """The object stays visible, but may not be read."""
        self.denied.add((schema, name))
        quoted = ".".join("[" + part.replace("]", "]]") + "]" for part in (schema, name))
        self.change_catalog(f"INSERT INTO denied VALUES ('{quoted}')")

    def revoke(self, schema: str, name: str) -> None:
        """Without any permission on an object its rows vanish from the catalog."""
        number = self._names.number(schema, name)
        for view, column in (
            *(("objects", "object_id"), ("tables", "object_id"), ("columns", "object_id")),
            *(("indexes", "object_id"), ("index_columns", "object_id"), ("foreign_keys", "parent_object_id")),
            *(("dm_db_partition_stats", "object_id"), ("check_constraints", "parent_object_id")),
        ):
            self.change_catalog(f"DELETE FROM sys.{view} WHERE {column} = {number}")

    def drop(self, schema: str, name: str) -> None:
        """Drop a table; who has read the catalog before does not know yet."""
        self.revoke(schema, name)
        self._names.forget(schema, name)

    def run(self, sql: str) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]] | None:
        """(name, type) of each column and the rows of a SELECT; null for a batch without one."""
        if not re.search(r"\bSELECT\b", sql, re.IGNORECASE):
            return None  # SET and USE, which change nothing here
        try:
            [statement] = sqlglot.parse(sql, read="tsql")
        except SqlglotError as error:
            raise SqlError(102, f"Incorrect syntax. ({error})") from None
        if not isinstance(statement, exp.Query):
            raise SqlError(102, "Incorrect syntax: the double runs SELECT and SET only.")
        return self._select(statement)

    def _select(self, query: exp.Query) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
        for select in list(query.find_all(exp.Select)):
            self._place(select)
        translated = query.transform(_translate).sql("duckdb")
        with self._lock:
            try:
                relation = self._connection.execute(translated)
            except duckdb.BinderException as error:
                raise SqlError(207, f"Invalid column name. ({error})") from None
            kinds = [_kind(str(description[1])) for description in relation.description or []]
            rows = relation.fetchall()
        # SQL Server gives expressions no name.
        names = [part.alias_or_name for part in query.selects]
        return list(zip(names, kinds, strict=True)), [tuple(_plain(value) for value in row) for row in rows]

    def _place(self, select: exp.Select) -> None:
        """Lead the names of a SELECT from one table to where its data lies."""
        source = select.args.get("from_")
        table = source.this if source is not None else None
        if not isinstance(table, exp.Table):
            return
        schema, name = table.db or "dbo", table.name
        if schema.lower() == "sys":
            if name == "dm_db_partition_stats" and self.no_state_permission:
                raise SqlError(262, "VIEW DATABASE PERFORMANCE STATE permission was denied in database.", 14)
            return
        place = self._names.find(schema, name)
        if place is None:
            raise SqlError(208, f"Invalid object name '{schema}.{name}'.")
        if (schema, name) in self.denied:
            raise SqlError(229, f"The SELECT permission was denied on the object '{name}', schema '{schema}'.", 14)
        for column in list(select.find_all(exp.Column)):
            found = self._names.column(schema, name, column.name)
            if found is None:
                raise SqlError(207, f"Invalid column name '{column.name}'.")
            column.replace(exp.column(found))
        table.set("this", exp.to_identifier(place))
        table.set("db", exp.to_identifier("data"))

    def _load(self, declaration: Declaration) -> None:
        ddl = _Literals()
        run = self._connection.execute
        run("CREATE SCHEMA data")
        for table in declaration.tables:
            place = f"data.{self._names.find(table.schema, table.name)}"
            typed = ", ".join(f"c{n} {_TYPES[column.family]}" for n, column in enumerate(table.columns))
            run(f"CREATE TABLE {place} ({typed})")
            for row in table.rows:
                values = ", ".join(ddl.literal(v, c) for v, c in zip(row, table.columns, strict=True))
                run(f"INSERT INTO {place} VALUES ({values})")
        for view in declaration.views:
            sources = [f"data.{self._names.find(*source)} AS s{n}" for n, source in enumerate(view.sources)]
            selected = ", ".join(
                f"s{each.source}.{self._names.column(*view.sources[each.source], each.column)} AS c{n}"
                for n, each in enumerate(view.columns)
            )
            place = self._names.find(view.schema, view.name)
            run(f"CREATE VIEW data.{place} AS SELECT {selected} FROM {' CROSS JOIN '.join(sources)}")


class _Literals(Ddl):
    def binary(self, value: bytes) -> str:
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"


def _translate(node: exp.Expr) -> exp.Expr:
    """What sqlglot leaves in T-SQL's ways when it writes DuckDB's SQL."""
    if isinstance(node, exp.National):
        return exp.Literal.string(node.name)
    if isinstance(node, exp.Collate):
        return node.this
    if isinstance(node, exp.Convert):
        # Style 121 is how DuckDB writes dates and times anyway.
        return _text(node.args["expression"], node.this)
    if isinstance(node, exp.Cast) and node.to.this in (exp.DType.NVARCHAR, exp.DType.TEXT):
        return _text(node.this, node.to)
    return node


def _text(value: exp.Expr, to: exp.DataType) -> exp.Expr:
    text = exp.cast(value.transform(_translate), "VARCHAR")
    length = to.expressions[0].name if to.expressions else "MAX"
    return exp.Left(this=text, expression=exp.Literal.number(length)) if length.isdecimal() else text


def _kind(duckdb_type: str) -> str:
    if duckdb_type in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UINTEGER", "UBIGINT"):
        return "integer"
    return {"BOOLEAN": "boolean", "DOUBLE": "float", "FLOAT": "float"}.get(duckdb_type, "text")


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
