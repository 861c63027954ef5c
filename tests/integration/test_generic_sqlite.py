"""The SQLAlchemy fall-back on an SQLite file: whole path without a server."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from engine_probes import read, request, rows, sample

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.generic import GenericEngine
from dictionary_pipeline.errors import QueryFailed, QueryTimeout

SCRIPT = """
CREATE TABLE parent (id INTEGER PRIMARY KEY, "100% é" VARCHAR(20) DEFAULT 'x', flag BOOLEAN, price NUMERIC(8,2));
CREATE TABLE child (
    b INT, a INT, p INT REFERENCES parent, n BLOB, "any",
    CONSTRAINT few CHECK (a IN (1, 2)), PRIMARY KEY (a, b), UNIQUE (b, p), FOREIGN KEY (p) REFERENCES parent (id));
CREATE TABLE lost (a INT REFERENCES nowhere);
CREATE UNIQUE INDEX part ON child (p) WHERE p > 0;
CREATE INDEX plain ON child (p, b);
CREATE VIEW seen AS SELECT id FROM parent;
CREATE TABLE dropped (a INT);
CREATE VIEW broken AS SELECT a FROM dropped;
DROP TABLE dropped;
INSERT INTO parent VALUES (1, 'o''brien', 1, 12.5), (2, 'in/out %s :x', 0, NULL);
INSERT INTO child VALUES (9007199254740993, 1, 1, x'0102', 1.5);
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> GenericEngine:
    path = tmp_path_factory.mktemp("generic") / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCRIPT)
    return GenericEngine(ConnectionSpec("generic", {"url": f"sqlite+pysqlite:///{path}"}))


@pytest.fixture(scope="module")
def catalog(engine: GenericEngine) -> Catalog:
    return read(engine)


def test_tables_and_views_are_listed_and_a_broken_view_fails_alone(catalog: Catalog) -> None:
    assert rows(catalog.tables, "schema", "table", "kind", "readable") == [
        ("main", "broken", "view", False),
        ("main", "child", "table", True),
        ("main", "lost", "table", True),
        ("main", "parent", "table", True),
        ("main", "seen", "view", True),
    ]
    assert [problem.object for problem in catalog.problems] == ["main.broken", "main.lost"]
    assert catalog.complete
    assert "SELECT id FROM parent" in rows(catalog.tables, "view_sql", table="seen")[0][0]


def test_columns_carry_type_class_and_default(catalog: Catalog) -> None:
    assert rows(catalog.columns, "column", "data_type", "type_class", "default", table="parent") == [
        ("id", "INTEGER", "integer", None),
        ("100% é", "VARCHAR(20)", "string", "'x'"),
        ("flag", "BOOLEAN", "integer", None),
        ("price", "NUMERIC(8, 2)", "decimal", None),
    ]
    assert rows(catalog.columns, "data_type", "type_class", table="child", column="any") == [("unknown", "other")]


def test_keys_checks_and_indexes_are_read(catalog: Catalog) -> None:
    assert rows(catalog.keys, "table", "kind", "columns") == [
        ("child", "primary", ["a", "b"]),
        ("child", "unique", ["b", "p"]),
        ("parent", "primary", ["id"]),
    ]
    assert rows(catalog.checks, "table", "name", "expression") == [("child", "few", "a IN (1, 2)")]
    assert rows(catalog.indexes, "name", "columns", "is_unique") == [
        ("part", ["p"], False),
        ("plain", ["p", "b"], False),
    ]


def test_a_foreign_key_without_columns_means_the_primary_key(catalog: Catalog) -> None:
    assert set(map(str, rows(catalog.foreign_keys, "from_columns", "to_schema", "to_table", "to_columns"))) == {
        "(['p'], 'main', 'parent', ['id'])"
    }


def test_values_arrive_native_and_binary_as_its_length(engine: GenericEngine) -> None:
    assert sample(engine, "main", "parent") == [(1, "o'brien", 1, 12.5), (2, "in/out %s :x", 0, None)]
    assert sample(engine, "main", "child") == [(9007199254740993, 1, 1, 2, "1.5")]


def test_a_sample_is_limited(engine: GenericEngine) -> None:
    assert len(sample(engine, "main", "parent", row_limit=1)) == 1


def test_a_session_only_reads(engine: GenericEngine) -> None:
    with engine.open() as session, pytest.raises(QueryFailed) as caught:
        session.rows("CREATE TABLE more (a INT)")
    assert caught.value.code == "8"


def test_a_slow_statement_is_stopped_and_the_session_lives_on(engine: GenericEngine) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with engine.open() as session:
        with pytest.raises(QueryTimeout, match=r"0\.2 s"):
            session.rows(endless, timeout_s=0.2)
        assert session.rows("SELECT 1") == [(1,)]


def test_the_driver_text_is_not_passed_on(engine: GenericEngine) -> None:
    with engine.open() as session, pytest.raises(QueryFailed) as caught:
        session.rows("SELECT canary_4711 FROM parent")
    assert "4711" not in str(caught.value) and caught.value.__suppress_context__


def test_labels_come_from_the_url(engine: GenericEngine, catalog: Catalog) -> None:
    assert (engine.server, engine.sqlglot_dialect, catalog.identity.fqn("main", "t")) == ("shop.db", "sqlite", "main.t")


def test_the_dialect_writes_the_limit_and_quotes_names(catalog: Catalog) -> None:
    wanted = request(catalog, "main", "parent", row_limit=7)
    server = GenericEngine(ConnectionSpec("generic", {"url": "mssql+pymssql://u@host/shop"}))
    sql = server.sample_sql(wanted)
    assert sql.startswith("SELECT TOP 7 ") and "FROM [main].[parent]" in sql
    oracle = GenericEngine(ConnectionSpec("generic", {"url": "oracle+oracledb://u@host/shop"}))
    assert "FETCH FIRST 7 ROWS ONLY" in oracle.sample_sql(wanted)
    mysql = GenericEngine(ConnectionSpec("generic", {"url": "mysql+pymysql://u@host/shop"}))
    assert mysql.quote("or`der") == "`or``der`" and "LIMIT 7" in mysql.sample_sql(wanted)
