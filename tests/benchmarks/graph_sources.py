"""What a database itself says about its tables, read without a line of the product's own code.

Every reader returns edges as (type, child, parent) with exact qualified names. PostgreSQL is asked
through `pg_catalog`, and for the origin of a view's columns through the description of the result
of the view's query; DuckDB through its catalog functions and its own parser; SQLite through
pragmas and the authoriser that sees what a view reads. What a database cannot tell (the columns
behind an expression in PostgreSQL, or behind any column of a view in SQLite) is not judged.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl
import psycopg

Name = tuple[str, ...]
Edge = tuple[str, Name, Name]
NamedEdge = tuple[str, str, str]


class Truth(NamedTuple):
    """All edges that a database knows of."""

    edges: set[Edge]
    judged: set[Name]
    """Columns of views whose sources the database tells."""

    def named(self) -> set[NamedEdge]:
        """The edges by qualified names."""
        return {(kind, ".".join(child), ".".join(parent)) for kind, child, parent in self.edges}

    def judgeable(self, found: set[NamedEdge]) -> set[NamedEdge]:
        """Those of the edges found that the database can confirm or deny."""
        outputs = {".".join(column) for column in self.judged}
        return {edge for edge in found if edge[0] != "IS_DERIVED_FROM" or edge[1] in outputs}


def published_edges(graph: Path) -> tuple[set[NamedEdge], int]:
    """The proven edges of a published `graph/` by qualified names, and how many edges are inferred."""
    names = pl.read_csv(graph / "neo4j" / "entities.csv", infer_schema=False)
    exact = dict(names.select("title:ID", "qualified_name").iter_rows())
    edges = pl.read_parquet(graph / "edges.parquet")
    proven = edges.filter(~pl.col("is_inferred"))
    rows = proven.select("type", "source", "target").iter_rows()
    return {(kind, exact[one], exact[two]) for kind, one, two in rows}, edges.height - proven.height


def key_edges(table: Name, columns: list[str], parent: Name, parent_columns: list[str]) -> Iterator[Edge]:
    """The edges of one foreign key."""
    yield "REFERENCES", table, parent
    for column, other in zip(columns, parent_columns, strict=True):
        yield "IS_FOREIGN_KEY_IN", (*table, column), table
        yield "IS_FOREIGN_KEY_REF_FOR", (*table, column), (*parent, other)


def postgres_truth(url: str) -> Truth:
    """Read pg_catalog; partitions count as their parent, objects of extensions not at all."""
    with psycopg.connect(url) as connection:
        name = connection.info.dbname

        def full(*parts: str) -> Name:
            return (name, *parts)

        edges: set[Edge] = set()
        for schema, table, column in connection.execute(_PG_COLUMNS):
            edges.add(("HAS_COLUMN", full(schema, table), full(schema, table, column)))
        for schema, table, columns in connection.execute(_PG_PRIMARY_KEYS):
            edges |= {("IS_PRIMARY_KEY_OF", full(schema, table, column), full(schema, table)) for column in columns}
        for schema, table, columns, *parent, parent_columns in connection.execute(_PG_FOREIGN_KEYS):
            edges |= set(key_edges(full(schema, table), columns, full(*parent), parent_columns))
        for schema, view, *source in connection.execute(_PG_VIEW_SOURCES):
            edges.add(("IS_CREATED_USING", full(schema, view), full(*source)))
        judged: set[Name] = set()
        attributes = {(row[0], row[1]): row[2:] for row in connection.execute(_PG_ATTRIBUTES)}
        for schema, view, query in connection.execute(_PG_VIEWS).fetchall():
            result = connection.execute(f"SELECT * FROM ({query.rstrip(';')}) AS q LIMIT 0").pgresult
            if result is None:
                continue
            for place in range(result.nfields):
                output = full(schema, view, (result.fname(place) or b"").decode())
                origin = attributes.get((result.ftable(place), result.ftablecol(place)))
                if origin:
                    judged.add(output)
                    edges.add(("IS_DERIVED_FROM", output, full(*origin)))
    return Truth(edges, judged)


_PG_OWN = """n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
    AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = {0}.oid AND e.deptype = 'e')"""
_PG_WHOLE = "coalesce(nullif(pg_partition_root({0}), 0), {0})"
_PG_COLUMNS = f"""
    SELECT n.nspname, c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE {_PG_OWN.format("c")} AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
      AND a.attnum > 0 AND NOT a.attisdropped"""
_PG_NAMES = """ARRAY(SELECT a.attname::text FROM unnest({keys}) WITH ORDINALITY AS k (number, place)
    JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = k.number ORDER BY k.place)"""
_PG_PRIMARY_KEYS = f"""
    SELECT n.nspname, c.relname, {_PG_NAMES.format(keys="x.conkey", table="x.conrelid")}
    FROM pg_constraint x JOIN pg_class c ON c.oid = x.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE {_PG_OWN.format("c")} AND x.contype = 'p' AND NOT c.relispartition"""
_PG_FOREIGN_KEYS = f"""
    SELECT n.nspname, c.relname, {_PG_NAMES.format(keys="x.conkey", table="x.conrelid")}, m.nspname, p.relname,
           {_PG_NAMES.format(keys="x.confkey", table="x.confrelid")}
    FROM pg_constraint x JOIN pg_class c ON c.oid = x.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class p ON p.oid = {_PG_WHOLE.format("x.confrelid")} JOIN pg_namespace m ON m.oid = p.relnamespace
    WHERE {_PG_OWN.format("c")} AND x.contype = 'f' AND x.conparentid = 0 AND NOT c.relispartition"""
_PG_VIEW_SOURCES = f"""
    SELECT DISTINCT n.nspname, v.relname, m.nspname, s.relname
    FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    JOIN pg_class v ON v.oid = r.ev_class JOIN pg_namespace n ON n.oid = v.relnamespace
    JOIN pg_class s ON d.refclassid = 'pg_class'::regclass AND s.oid = {_PG_WHOLE.format("d.refobjid")}
        AND s.oid <> v.oid
    JOIN pg_namespace m ON m.oid = s.relnamespace
    WHERE {_PG_OWN.format("v")} AND v.relkind IN ('v', 'm') AND s.relkind IN ('r', 'p', 'v', 'm', 'f')"""
_PG_VIEWS = f"""
    SELECT n.nspname, c.relname, pg_get_viewdef(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE {_PG_OWN.format("c")} AND c.relkind IN ('v', 'm')"""
_PG_ATTRIBUTES = f"""
    SELECT a.attrelid, a.attnum, n.nspname, c.relname, a.attname
    FROM pg_attribute a JOIN pg_class c ON c.oid = {_PG_WHOLE.format("a.attrelid")}
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE a.attnum > 0"""


def duckdb_truth(path: Path) -> Truth:
    """Read DuckDB's catalog functions; views through its own parser (`json_serialize_sql`)."""
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        edges: set[Edge] = set()
        rows = connection.execute(
            "SELECT database_name, schema_name, table_name, column_name FROM duckdb_columns() WHERE NOT internal"
        )
        for *table, column in rows.fetchall():
            edges.add(("HAS_COLUMN", (*table,), (*table, column)))
        constraints = connection.execute(
            "SELECT database_name, schema_name, table_name, constraint_type, constraint_column_names, "
            "referenced_table, referenced_column_names FROM duckdb_constraints()"
        )
        for database, schema, table, kind, columns, parent, parent_columns in constraints.fetchall():
            child = (database, schema, table)
            if kind == "PRIMARY KEY":
                edges |= {("IS_PRIMARY_KEY_OF", (*child, column), child) for column in columns}
            if kind == "FOREIGN KEY":  # DuckDB has no foreign keys across schemas
                edges |= set(key_edges(child, columns, (database, schema, parent), parent_columns))
        views = connection.execute(
            "SELECT database_name, schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        judged: set[Name] = set()
        for database, schema, view, sql in views:
            name = (database, schema, view)
            query = re.sub(r"(?is)\A\s*CREATE\b.*?\bAS\b\s*(?=\(*\s*(?:SELECT|WITH|FROM)\b)", "", sql).rstrip("; \n")
            serialised = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
            tree = json.loads(serialised[0]) if serialised else {}
            columns = [child[-1] for kind, parent, child in edges if kind == "HAS_COLUMN" and parent == name]
            edges |= set(_duckdb_view(name, tree, columns, judged))
    return Truth(edges, judged)


def _duckdb_view(name: Name, tree: dict[str, Any], columns: list[str], judged: set[Name]) -> Iterator[Edge]:
    (statement,) = tree["statements"]
    node = statement["node"]
    with_names = {entry["key"].lower() for each in _nodes(tree, "cte_map") for entry in each["cte_map"]["map"]}
    tables = [each for each in _nodes(tree, "type") if each["type"] == "BASE_TABLE"]
    real = [each for each in tables if each["schema_name"] or each["table_name"].lower() not in with_names]
    for each in real:
        yield "IS_CREATED_USING", name, _duckdb_name(name, each)
    is_plain = node["type"] == "SELECT_NODE" and len(real) == len(tables) and not list(_nodes(tree, "subquery"))
    if not is_plain or len(node["select_list"]) != len(columns):
        return
    by_alias = {(each["alias"] or each["table_name"]): _duckdb_name(name, each) for each in tables}
    for expression in node["select_list"]:
        references = [each for each in _nodes(expression, "column_names") if each["type"] == "COLUMN_REF"]
        output = expression["alias"] or (references[0]["column_names"][-1] if references else "")
        if any(len(each["column_names"]) != 2 for each in references) and len(by_alias) > 1:
            continue
        judged.add((*name, output))
        for each in references:
            alias = each["column_names"][0] if len(each["column_names"]) == 2 else next(iter(by_alias))
            yield "IS_DERIVED_FROM", (*name, output), (*by_alias[alias], each["column_names"][-1])


def _duckdb_name(view: Name, table: dict[str, Any]) -> Name:
    return (view[0], table["schema_name"] or view[1], table["table_name"])


def _nodes(tree: Any, key: str) -> Iterator[dict[str, Any]]:
    """All objects of a JSON tree that have the key."""
    if isinstance(tree, dict):
        if key in tree:
            yield tree
        for value in tree.values():
            yield from _nodes(value, key)
    if isinstance(tree, list):
        for value in tree:
            yield from _nodes(value, key)


def sqlite_truth(path: Path) -> Truth:
    """Read SQLite's pragmas; what a view reads is what the authoriser is asked about."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        objects = connection.execute(
            "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        names = {name.lower(): name for name, _ in objects}
        edges: set[Edge] = set()
        keys: dict[str, list[str]] = {}
        exact: dict[tuple[str, str], str] = {}
        for table, _ in objects:
            rows = connection.execute("SELECT name, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1", [table])
            columns = rows.fetchall()
            edges |= {("HAS_COLUMN", ("main", table), ("main", table, column)) for column, _ in columns}
            exact |= {(table, column.lower()): column for column, _ in columns}
            keys[table] = [name for name, place in sorted(columns, key=lambda row: row[1]) if place]
            edges |= {("IS_PRIMARY_KEY_OF", ("main", table, column), ("main", table)) for column in keys[table]}
        for table, _ in objects:
            edges |= set(_sqlite_keys(connection, table, names, keys, exact))
        views = [name for name, kind in objects if kind == "view"]
        reads = {view.lower(): _sqlite_reads(connection, view) for view in views}
        for view in views:
            edges |= set(_sqlite_view(view, reads, names))
    return Truth(edges, set())


def _sqlite_keys(
    connection: sqlite3.Connection,
    table: str,
    names: dict[str, str],
    keys: dict[str, list[str]],
    exact: dict[tuple[str, str], str],
) -> Iterator[Edge]:
    """SQLite tells names as the key writes them, and compares them whatever their case."""
    found: dict[int, tuple[str, list[str], list[str | None]]] = {}
    listed = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq'
    for number, parent, column, other in connection.execute(listed, [table]):
        _, columns, others = found.setdefault(number, (names.get(parent.lower(), parent), [], []))
        columns.append(column)
        others.append(other)
    for parent, columns, others in found.values():
        parent_columns = [other for other in others if other is not None] or keys.get(parent, [])
        own = ((table, columns), (parent, parent_columns))
        ends = [[exact.get((of, name.lower()), name) for name in told] for of, told in own]
        yield from key_edges(("main", table), ends[0], ("main", parent), ends[1])


def _sqlite_reads(connection: sqlite3.Connection, view: str) -> set[tuple[str, str]]:
    """(table, view or common table expression that reads it) of all that selecting from a view reads."""
    read: set[tuple[str, str]] = set()

    def authorise(action: int, table: str | None, column: str | None, database: str | None, within: str | None) -> int:
        if action == sqlite3.SQLITE_READ and within and table:
            read.add((table.lower(), within.lower()))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(authorise)
    quoted = view.replace('"', '""')
    connection.execute(f'EXPLAIN SELECT * FROM "{quoted}"').fetchall()
    connection.set_authorizer(None)
    return read


def _sqlite_view(view: str, reads: dict[str, set[tuple[str, str]]], names: dict[str, str]) -> Iterator[Edge]:
    """What a view reads itself, not through another view."""
    own = reads[view.lower()]
    others = [reads[table] for table, _ in own if table in reads and table != view.lower()]
    for table, within in own.difference(*others):
        if table in names and (within == view.lower() or within not in reads):
            yield "IS_CREATED_USING", ("main", view), ("main", names[table])
