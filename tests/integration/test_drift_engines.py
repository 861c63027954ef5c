"""What real engines make of changed DDL, compared: the right changes, and none for mere formatting."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from servers.postgres import PostgresServer, execute, running_postgres

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import ConnectionSpec, Selection
from dictionary_pipeline.config.urls import spec_from_url
from dictionary_pipeline.drift.diff import diff_catalogs
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.introspection.snapshot import take_snapshot

Expected = set[tuple[str, str, str, str]]
"""kind, table, column, severity."""
Case = tuple[str, str, Expected]
"""DDL before, DDL after, changes."""

PARENT = "CREATE TABLE p (id INTEGER PRIMARY KEY);"
SHOP = "CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR(40) NOT NULL, opened DATE, size NUMERIC(10,2));"
SQLITE: dict[str, Case] = {
    "type aliases": (
        "CREATE TABLE a (x INT, y VARCHAR(5), z DECIMAL(8,2))",
        "CREATE TABLE a (x INTEGER, y CHARACTER VARYING(5), z NUMERIC(8, 2))",
        set(),
    ),
    "order of statements and constraints": (
        PARENT + "CREATE TABLE c (x INT, y INT, UNIQUE (x), FOREIGN KEY (y) REFERENCES p)",
        "CREATE TABLE c (x INT, y INT, FOREIGN KEY (y) REFERENCES p (id), UNIQUE (x));" + PARENT,
        set(),
    ),
    "quoted names": ("CREATE TABLE a (x INT)", 'CREATE TABLE "a" ("x" INT)', set()),
    "named constraint": (
        "CREATE TABLE a (x INT CHECK (x > 0))",
        "CREATE TABLE a (x INT, CONSTRAINT positive CHECK (x>0))",
        set(),
    ),
    "view formatted": (
        SHOP + "CREATE VIEW v AS SELECT id, city FROM shop WHERE size > 1",
        SHOP + 'create view "v" as\n  select id, -- key\n city from Shop where (size) > 1',
        set(),
    ),
    "default in parentheses": ("CREATE TABLE a (x INT DEFAULT 1)", "CREATE TABLE a (x INT DEFAULT (1))", set()),
    "default": (
        "CREATE TABLE a (x INT DEFAULT 1)",
        "CREATE TABLE a (x INT DEFAULT 2)",
        {("default_changed", "a", "x", "safe")},
    ),
    "mandatory column": (
        "CREATE TABLE a (x INT)",
        "CREATE TABLE a (x INT, y INT NOT NULL)",
        {("column_added", "a", "y", "risky")},
    ),
    "renamed and widened": (
        SHOP,
        SHOP.replace("city VARCHAR(40)", "city_name VARCHAR(80)"),
        {("column_renamed", "shop", "city", "breaking"), ("type_widened", "shop", "city_name", "safe")},
    ),
    "key renamed with its child": (
        "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p_id INT REFERENCES p(id))",
        "CREATE TABLE p (p_id INTEGER PRIMARY KEY); CREATE TABLE c (p_id INT REFERENCES p(p_id))",
        {("column_renamed", "p", "id", "breaking")},
    ),
    "parent renamed": (
        "CREATE TABLE region (region_id INTEGER PRIMARY KEY, zone TEXT); CREATE TABLE c (r INT REFERENCES region)",
        "CREATE TABLE sales_region (region_id INTEGER PRIMARY KEY, zone TEXT);"
        " CREATE TABLE c (r INT REFERENCES sales_region)",
        {("table_renamed", "region", "", "breaking")},
    ),
    "one small table replaced by another": (
        "CREATE TABLE color (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE k (x INT)",
        "CREATE TABLE weekday (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE k (x INT)",
        {("table_removed", "color", "", "breaking"), ("table_added", "weekday", "", "safe")},
    ),
    "column used by a star view": (
        SHOP + "CREATE VIEW v AS SELECT * FROM shop",
        SHOP.replace(", opened DATE", "") + "CREATE VIEW v AS SELECT * FROM shop",
        {("column_removed", "shop", "opened", "breaking")},
    ),
    "view broken by its table": (
        SHOP + "CREATE VIEW v AS SELECT opened FROM shop",
        SHOP.replace(", opened DATE", "") + "CREATE VIEW v AS SELECT opened FROM shop",
        {("column_removed", "shop", "opened", "breaking")},
    ),
    "view follows a rename": (
        SHOP + "CREATE VIEW v AS SELECT id, city FROM shop",
        SHOP.replace("city", "city_name") + "CREATE VIEW v AS SELECT id, city_name AS city FROM shop",
        {("column_renamed", "shop", "city", "breaking"), ("view_definition_changed", "v", "", "cosmetic")},
    ),
    "view loses a column": (
        SHOP + "CREATE VIEW v AS SELECT id, city FROM shop",
        SHOP + "CREATE VIEW v AS SELECT id FROM shop",
        {("view_definition_changed", "v", "", "risky"), ("column_removed", "v", "city", "breaking")},
    ),
    "view renamed": (
        SHOP + "CREATE VIEW small AS SELECT id FROM shop",
        SHOP + "CREATE VIEW tiny AS SELECT id FROM shop",
        {("view_renamed", "small", "", "breaking")},
    ),
    "table becomes a view": (
        SHOP + "CREATE TABLE v (id INTEGER, city VARCHAR(40))",
        SHOP + "CREATE VIEW v AS SELECT id, city FROM shop",
        {("object_type_changed", "v", "", "risky")},
    ),
    "primary key gone": (
        "CREATE TABLE a (x INTEGER PRIMARY KEY, y INT)",
        "CREATE TABLE a (x INTEGER, y INT)",
        {("pk_removed", "a", "x", "risky")},
    ),
    "primary key added": (
        "CREATE TABLE a (x INTEGER, y INT)",
        "CREATE TABLE a (x INTEGER PRIMARY KEY, y INT)",
        {("pk_added", "a", "x", "safe")},
    ),
    "primary key grows": (
        "CREATE TABLE a (x INT NOT NULL, y INT NOT NULL, PRIMARY KEY (x))",
        "CREATE TABLE a (x INT NOT NULL, y INT NOT NULL, PRIMARY KEY (x, y))",
        {("pk_changed", "a", "", "breaking")},
    ),
    "unique added and removed": (
        "CREATE TABLE a (x INT UNIQUE, y INT)",
        "CREATE TABLE a (x INT, y INT UNIQUE)",
        {("unique_removed", "a", "x", "risky"), ("unique_added", "a", "y", "safe")},
    ),
    "unique constraint becomes a unique index": (
        "CREATE TABLE a (x INT UNIQUE)",
        "CREATE TABLE a (x INT); CREATE UNIQUE INDEX a_x ON a(x)",
        set(),
    ),
    "foreign key points elsewhere": (
        PARENT + "CREATE TABLE q (id INTEGER PRIMARY KEY); CREATE TABLE c (f INT REFERENCES p)",
        PARENT + "CREATE TABLE q (id INTEGER PRIMARY KEY); CREATE TABLE c (f INT REFERENCES q)",
        {("fk_changed", "c", "f", "risky")},
    ),
    "foreign key rule": (
        "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (f INT REFERENCES p)",
        "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (f INT REFERENCES p ON DELETE CASCADE)",
        {("fk_rule_changed", "c", "f", "safe")},
    ),
    "check": (
        "CREATE TABLE a (s TEXT CHECK (s IN ('A','B')))",
        "CREATE TABLE a (s TEXT CHECK (s IN ('A','B','C')))",
        {("check_changed", "a", "s", "risky")},
    ),
    "index renamed": (
        SHOP + "CREATE INDEX i ON shop(city)",
        SHOP + "CREATE INDEX j ON shop(city)",
        set(),
    ),
    "index removed": (
        SHOP + "CREATE INDEX i ON shop(city, opened)",
        SHOP,
        {("index_removed", "shop", "city,opened", "safe")},
    ),
    "column with an index removed": (
        "CREATE TABLE a (x INT, y INT, z TEXT); CREATE INDEX i ON a(y)",
        "CREATE TABLE a (x INT, z TEXT)",
        {("column_removed", "a", "y", "breaking")},
    ),
    "column inserted in the middle": (
        "CREATE TABLE a (x INT, z TEXT)",
        "CREATE TABLE a (x INT, y BLOB, z TEXT)",
        {("column_added", "a", "y", "safe")},
    ),
    "case of a name": (
        "CREATE TABLE Shop (Id INT)",
        "CREATE TABLE shop (id INT)",
        {("identifier_case_changed", "Shop", "", "cosmetic"), ("identifier_case_changed", "shop", "Id", "cosmetic")},
    ),
    "generated column": (
        "CREATE TABLE a (x INT, y INT)",
        "CREATE TABLE a (x INT, y INT GENERATED ALWAYS AS (x + 1))",
        {("generated_changed", "a", "y", "risky")},
    ),
}
DUCKDB: dict[str, Case] = {
    "aliases and ignored lengths": (
        "CREATE TABLE a (x INT4, y VARCHAR(5), z DECIMAL(8,2), t TIMESTAMP, b BOOL)",
        "CREATE TABLE a (x INTEGER, y TEXT, z NUMERIC(8,2), t DATETIME, b BOOLEAN)",
        set(),
    ),
    "enum label added": (
        "CREATE TABLE a (s ENUM('x', 'y'))",
        "CREATE TABLE a (s ENUM('x', 'y', 'z'))",
        {("enum_value_added", "a", "s", "risky")},
    ),
    "comment": (
        "CREATE TABLE a (x INT); COMMENT ON COLUMN a.x IS 'one'",
        "CREATE TABLE a (x INT); COMMENT ON COLUMN a.x IS 'two'",
        {("comment_changed", "a", "x", "cosmetic")},
    ),
    "decimal grows on both sides": (
        "CREATE TABLE a (x DECIMAL(10,2))",
        "CREATE TABLE a (x DECIMAL(14,4))",
        {("type_widened", "a", "x", "safe")},
    ),
    "decimal loses digits before the point": (
        "CREATE TABLE a (x DECIMAL(10,2))",
        "CREATE TABLE a (x DECIMAL(10,4))",
        {("type_narrowed", "a", "x", "risky")},
    ),
    "time zone": (
        "CREATE TABLE a (x TIMESTAMP)",
        "CREATE TABLE a (x TIMESTAMPTZ)",
        {("type_changed", "a", "x", "risky")},
    ),
    "view over a table that got a column": (
        "CREATE TABLE a (x INT); CREATE VIEW v AS SELECT x FROM a",
        "CREATE TABLE a (x INT, y INT); CREATE VIEW v AS SELECT x FROM a",
        {("column_added", "a", "y", "safe")},
    ),
    "moved to another schema": (
        "CREATE TABLE customer_order (id INT, placed DATE, total DOUBLE)",
        "CREATE SCHEMA sales; CREATE TABLE sales.customer_order (id INT, placed DATE, total DOUBLE)",
        {("table_renamed", "customer_order", "", "breaking")},
    ),
}
POSTGRES: dict[str, Case] = {
    "aliases": (
        "CREATE TABLE a (x int4 DEFAULT 0, y varchar(5) DEFAULT 'a', z decimal(8,2), t timestamptz DEFAULT now())",
        "CREATE TABLE a (x integer DEFAULT '0', y character varying(5) DEFAULT 'a'::text, z numeric(8,2),"
        " t timestamp with time zone DEFAULT CURRENT_TIMESTAMP)",
        set(),
    ),
    "names of constraints": (
        "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (f int REFERENCES p, CHECK (f > 0), UNIQUE (f))",
        "CREATE TABLE p (id int CONSTRAINT k PRIMARY KEY); CREATE TABLE c (f int CONSTRAINT r REFERENCES p,"
        " CONSTRAINT h CHECK (f > 0), CONSTRAINT u UNIQUE (f))",
        set(),
    ),
    "enum": (
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE a (m mood)",
        "CREATE TYPE mood AS ENUM ('ok', 'happy'); CREATE TABLE a (m mood)",
        {("enum_value_removed", "a", "m", "breaking"), ("enum_value_added", "a", "m", "risky")},
    ),
    "altered column that a view reads": (
        "CREATE TABLE shop (id int PRIMARY KEY, city text); CREATE VIEW v AS SELECT id, city FROM shop",
        "CREATE TABLE shop (id int PRIMARY KEY, city text); CREATE VIEW v AS SELECT id, city FROM shop;"
        " ALTER TABLE shop RENAME COLUMN city TO city_name",
        {("column_renamed", "shop", "city", "breaking"), ("view_definition_changed", "v", "", "cosmetic")},
    ),
    "numeric without limits": (
        "CREATE TABLE a (x numeric(10,2), y real, z varchar(10))",
        "CREATE TABLE a (x numeric, y double precision, z text)",
        {
            ("type_widened", "a", "x", "safe"),
            ("type_widened", "a", "y", "safe"),
            ("type_widened", "a", "z", "safe"),
        },
    ),
    "case of a quoted name": (
        'CREATE TABLE a ("Name" text, x int)',
        "CREATE TABLE a (name text, x int)",
        {("identifier_case_changed", "a", "Name", "breaking")},
    ),
    "domain": (
        "CREATE DOMAIN pct AS int CHECK (VALUE <= 100); CREATE TABLE a (x pct)",
        "CREATE DOMAIN pct AS int CHECK (VALUE <= 200); CREATE TABLE a (x pct)",
        {("check_changed", "a", "x", "risky")},
    ),
    "materialized": (
        "CREATE TABLE a (x int); CREATE VIEW v AS SELECT x FROM a",
        "CREATE TABLE a (x int); CREATE MATERIALIZED VIEW v AS SELECT x FROM a",
        {("object_type_changed", "v", "", "risky")},
    ),
    "comments": (
        "CREATE TABLE a (x int); COMMENT ON TABLE a IS 'one'",
        "CREATE TABLE a (x int)",
        {("comment_changed", "a", "", "cosmetic")},
    ),
    "primary key dropped": (
        "CREATE TABLE a (x int PRIMARY KEY)",
        "CREATE TABLE a (x int)",
        {("pk_removed", "a", "x", "risky")},
    ),
}


def introspected(spec: ConnectionSpec) -> Catalog:
    engine = create_engine(spec)
    with engine.open() as session:
        return take_snapshot(engine, session, Selection())


def sqlite_catalog(path: Path, ddl: str) -> Catalog:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(ddl)
    return introspected(ConnectionSpec("sqlite", {"path": str(path)}, {}, "test"))


def duckdb_catalog(path: Path, ddl: str) -> Catalog:
    with duckdb.connect(str(path)) as connection:
        connection.execute(ddl)
    return introspected(ConnectionSpec("duckdb", {"path": str(path)}, {}, "test"))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


def changes(make: Callable[[str, str], Catalog], case: Case) -> Expected:
    before, after, _ = case
    found = diff_catalogs(make("before", before), make("after", after))
    return {(change.kind, change.table, change.column, change.severity) for change in found}


@pytest.mark.parametrize("name", SQLITE)
def test_sqlite_drift_is_classified(name: str, tmp_path: Path) -> None:
    case = SQLITE[name]
    assert changes(lambda side, ddl: sqlite_catalog(tmp_path / f"{side}.sqlite", ddl), case) == case[2]


@pytest.mark.parametrize("name", DUCKDB)
def test_duckdb_drift_is_classified(name: str, tmp_path: Path) -> None:
    case = DUCKDB[name]
    assert changes(lambda side, ddl: duckdb_catalog(tmp_path / f"{side}.duckdb", ddl), case) == case[2]


@pytest.mark.parametrize("name", POSTGRES)
def test_postgres_drift_is_classified(name: str, server: PostgresServer) -> None:
    def make(side: str, ddl: str) -> Catalog:
        url = server.create_database(f"drift_{side}")
        execute(url, ddl)
        return introspected(spec_from_url(url, origin="test", folder=Path.cwd()))

    assert changes(make, POSTGRES[name]) == POSTGRES[name][2]


def test_a_revoked_privilege_is_no_drift(server: PostgresServer) -> None:
    ddl = "CREATE TABLE a (x int); CREATE TABLE b (y int); GRANT SELECT ON ALL TABLES IN SCHEMA public TO drift_reader"
    url = server.create_database("drift_revoked", f"CREATE ROLE drift_reader LOGIN; {ddl}")
    try:
        spec = spec_from_url(server.url("drift_revoked", user="drift_reader"), origin="test", folder=Path.cwd())
        before = introspected(spec)
        execute(url, "REVOKE SELECT ON b FROM drift_reader")
        after = introspected(spec)
        assert after.problems
        assert diff_catalogs(before, after) == ()
    finally:
        execute(url, "DROP OWNED BY drift_reader; DROP ROLE drift_reader")
