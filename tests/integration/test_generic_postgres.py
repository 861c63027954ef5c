"""The SQLAlchemy fall-back on a real server: PostgreSQL reached as any other SQLAlchemy URL."""

from __future__ import annotations

import traceback

import psycopg
import pytest
from engine_probes import read, rows, sample
from servers.postgres import PASSWORD, PASSWORD_ROLE, PostgresServer

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.engines.generic import GenericEngine
from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

SCRIPT = r"""
CREATE SCHEMA sales;
CREATE TYPE mood AS ENUM ('sad', 'o''k');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE "Odd" (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, feeling mood NOT NULL DEFAULT 'sad',
    "100% x" text CHECK ("100% x" <> '%'), "a:b" numeric(10,2), list int[], j jsonb, at timestamptz, d date,
    span interval, u uuid, raw bytea, place point, few positive, f float8, yes boolean,
    twice int GENERATED ALWAYS AS (1 + 1) STORED);
INSERT INTO "Odd" (feeling, "100% x", "a:b", list, j, at, d, span, u, raw, place, few, f, yes) VALUES
    ('o''k', '50% :x', 1.50, '{1,2}', '{"a":"é"}', '2020-01-01 00:00+02', '2020-01-01', '1 day',
     '00000000-0000-0000-0000-000000000001', '\x0102', '(1,2)', 5, 1.5, true);
CREATE TABLE sales.parent (other int PRIMARY KEY);
CREATE TABLE sales.line (
    a int, b int, p int REFERENCES public.parent ON DELETE CASCADE, q int REFERENCES sales.parent, sa int, sb int,
    PRIMARY KEY (b, a), FOREIGN KEY (sb, sa) REFERENCES sales.line, UNIQUE (p, a));
ALTER TABLE sales.line ADD CONSTRAINT later CHECK (a > 0) NOT VALID;
CREATE VIEW sales.seen AS SELECT a, b FROM sales.line;
CREATE MATERIALIZED VIEW sales.kept AS SELECT 1 AS one;
CREATE INDEX plain ON sales.line (p, (a + 1));
CREATE UNIQUE INDEX part ON sales.line (q) WHERE q > 0;
COMMENT ON TABLE sales.line IS 'Lines';
COMMENT ON COLUMN sales.line.a IS 'First';
"""


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    return postgres.create_database("generic_engine", SCRIPT).replace("postgresql://", "postgresql+psycopg://")


@pytest.fixture(scope="module")
def engine(url: str) -> GenericEngine:
    return GenericEngine(ConnectionSpec("generic", {"url": url}))


@pytest.fixture(scope="module")
def catalog(engine: GenericEngine) -> Catalog:
    return read(engine)


def test_all_schemas_but_the_systems_are_listed(catalog: Catalog) -> None:
    assert rows(catalog.tables, "schema", "table", "kind", "comment") == [
        ("public", "Odd", "table", None),
        ("public", "parent", "table", None),
        ("sales", "kept", "materialized_view", None),
        ("sales", "line", "table", "Lines"),
        ("sales", "parent", "table", None),
        ("sales", "seen", "view", None),
    ]
    assert catalog.problems == () and catalog.complete
    assert "FROM sales.line" in rows(catalog.tables, "view_sql", table="seen")[0][0]


def test_columns_carry_types_identity_generation_and_enum_labels(catalog: Catalog) -> None:
    classes = dict(rows(catalog.columns, "column", "type_class", table="Odd"))
    assert list(classes.values()) == [
        *("integer", "string", "string", "decimal", "array", "json", "timestamp", "date", "interval", "uuid"),
        *("binary", "other", "integer", "float", "boolean", "integer"),
    ]
    assert rows(catalog.columns, "column", is_identity=True) == [("id",)]
    assert rows(catalog.columns, "column", "default", is_generated=True) == [("twice", "(1 + 1)")]
    assert rows(catalog.columns, "data_type", "enum_values", column="feeling") == [("mood", ["sad", "o'k"])]
    assert rows(catalog.columns, "column", "comment", table="line")[0] == ("a", "First")


def test_foreign_keys_name_the_schema_of_their_parent(catalog: Catalog) -> None:
    facts = ("from_columns", "to_schema", "to_table", "to_columns", "on_delete")
    assert sorted(rows(catalog.foreign_keys, *facts)) == [
        (["p"], "public", "parent", ["id"], "CASCADE"),
        (["q"], "sales", "parent", ["other"], None),
        (["sb", "sa"], "sales", "line", ["b", "a"], None),
    ]


def test_keys_indexes_and_checks_are_read(catalog: Catalog) -> None:
    assert rows(catalog.keys, "kind", "columns", table="line") == [("unique", ["p", "a"]), ("primary", ["b", "a"])]
    assert rows(catalog.indexes, "name", "columns", "is_unique") == [
        ("part", ["q"], False),
        ("plain", ["p", "<expression>"], False),
    ]
    assert rows(catalog.checks, "table", "name", "is_validated") == [
        ("Odd", "Odd_100% x_check", True),
        ("line", "later", False),
    ]


def test_values_arrive_as_native_cells_or_text(engine: GenericEngine) -> None:
    ((*cells,),) = sample(engine, "public", "Odd")
    assert cells == [
        *(1, "o'k", "50% :x", "1.50", "[1, 2]", '{"a": "é"}', "2019-12-31 22:00:00+00:00", "2020-01-01", "1 day"),
        *("00000000-0000-0000-0000-000000000001", 2, "(1,2)", 5, 1.5, True, 2),
    ]


def test_a_session_only_reads_and_survives_failures(engine: GenericEngine) -> None:
    with engine.open() as session:
        for sql, code in (("CREATE TABLE more (a int)", "25006"), ("SELECT 1/0", "22012")):
            with pytest.raises(QueryFailed) as caught:
                session.rows(sql)
            assert caught.value.code == code
        with pytest.raises(QueryTimeout):
            session.rows("SELECT pg_sleep(20)", timeout_s=0.2)
        assert session.rows("SELECT 1") == [(1,)]


def test_an_object_that_may_not_be_read_is_a_permission_error(postgres: PostgresServer, url: str) -> None:
    with psycopg.connect(postgres.url("generic_engine"), autocommit=True) as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA sales TO {PASSWORD_ROLE}")
    login = postgres.url("generic_engine", user=PASSWORD_ROLE).replace("postgresql://", "postgresql+psycopg://")
    spec = ConnectionSpec("generic", {"url": login}, {"password": Secret.literal(PASSWORD)})
    with GenericEngine(spec).open() as session, pytest.raises(PermissionDenied) as caught:
        session.rows("SELECT * FROM sales.line")
    assert caught.value.code == "42501"


def test_a_wrong_password_is_not_retried_and_not_shown(postgres: PostgresServer) -> None:
    if not postgres.is_own:
        pytest.skip("the password role exists only on a server that these tests started")
    login = postgres.url("generic_engine", user=PASSWORD_ROLE).replace("postgresql://", "postgresql+psycopg://")
    spec = ConnectionSpec("generic", {"url": login}, {"password": Secret.literal("canary-4711")})
    with pytest.raises(AuthenticationFailed) as caught:
        GenericEngine(spec).connect()
    assert not caught.value.retryable
    assert "canary-4711" not in "".join(traceback.format_exception(caught.value))


def test_an_unreachable_server_is_retryable() -> None:
    spec = ConnectionSpec("generic", {"url": "postgresql+psycopg://u@127.0.0.1:1/x"})
    with pytest.raises(ConnectionFailed) as caught:
        GenericEngine(spec).connect()
    assert caught.value.retryable and "127.0.0.1:1" in str(caught.value)
