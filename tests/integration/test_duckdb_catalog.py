"""Catalog facts of a DuckDB file."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from engine_probes import engine_on, read, rows

from dictionary_pipeline.catalog import Catalog

SCRIPT = '''
CREATE SCHEMA hr;
CREATE SCHEMA "Sales Dept";
CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s, fine', 'Ünï');
CREATE SEQUENCE hr.ids;
CREATE TABLE hr.person (
    id INTEGER PRIMARY KEY DEFAULT nextval('hr.ids'),
    boss INTEGER REFERENCES hr.person (id),
    feeling mood NOT NULL,
    grade VARCHAR DEFAULT 'x' CHECK (grade IN ('a', 'b')),
    CHECK (id > 0),
    UNIQUE (grade, feeling));
CREATE TABLE "Sales Dept"."Order Line" (
    line_no INTEGER, order_no INTEGER, "qty ""net""" DECIMAL(12,2),
    twice INTEGER GENERATED ALWAYS AS (line_no * 2) VIRTUAL,
    PRIMARY KEY (order_no, line_no));
CREATE TABLE "Sales Dept".parcel (
    "Line" INTEGER, "Order" INTEGER, FOREIGN KEY ("Order", "Line") REFERENCES "Sales Dept"."Order Line");
CREATE INDEX by_boss ON hr.person (boss, (id + 1));
CREATE UNIQUE INDEX "one, each" ON "Sales Dept"."Order Line" ("qty ""net""");
CREATE VIEW hr.happy AS SELECT id, feeling FROM hr.person WHERE feeling = 'ok';
CREATE VIEW hr.happy_ids AS SELECT id FROM hr.happy;
CREATE TABLE hr.gone (a INTEGER);
CREATE VIEW hr.broken AS SELECT a FROM hr.gone;
DROP TABLE hr.gone;
CREATE VIEW hr.outside AS SELECT * FROM read_text('/etc/hostname');
COMMENT ON TABLE hr.person IS 'People''s table';
COMMENT ON COLUMN hr.person.grade IS 'Grade';
COMMENT ON VIEW hr.happy IS 'Those who are well';
COMMENT ON COLUMN hr.happy.id IS 'Whose';
CREATE MACRO hr.plus(a) AS a + 1;
CREATE TEMP TABLE passing (a INTEGER);
'''


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("duckdb") / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SCRIPT)
        connection.execute("INSERT INTO hr.person (feeling, grade) VALUES ('ok', 'a'), ('sad', 'b')")
    return path


@pytest.fixture(scope="module")
def catalog(database: Path) -> Catalog:
    return read(engine_on("duckdb", database))


def test_tables_and_views_of_all_schemas_are_listed_without_internal_and_temporary_ones(catalog: Catalog) -> None:
    assert rows(catalog.tables, "schema", "table", "kind") == [
        ("Sales Dept", "Order Line", "table"),
        ("Sales Dept", "parcel", "table"),
        ("hr", "broken", "view"),
        ("hr", "happy", "view"),
        ("hr", "happy_ids", "view"),
        ("hr", "outside", "view"),
        ("hr", "person", "table"),
    ]


def test_comments_row_counts_and_view_text_come_from_the_catalog(catalog: Catalog) -> None:
    assert rows(catalog.tables, "comment", "row_estimate", "size_bytes", table="person") == [
        ("People's table", 2, None)
    ]
    ((comment, estimate, view_sql),) = rows(catalog.tables, "comment", "row_estimate", "view_sql", table="happy")
    assert (comment, estimate) == ("Those who are well", None)
    assert "FROM hr.person" in view_sql
    assert rows(catalog.columns, "column", "comment", table="happy") == [("id", "Whose"), ("feeling", None)]


def test_columns_carry_native_type_nullability_default_and_generation(catalog: Catalog) -> None:
    facts = ("column", "ordinal", "data_type", "type_class", "is_nullable", "default", "is_generated", "comment")
    enum = "ENUM('sad', 'ok', 'it''s, fine', 'Ünï')"
    assert rows(catalog.columns, *facts, table="person") == [
        ("id", 1, "INTEGER", "integer", False, "nextval('hr.ids')", False, None),
        ("boss", 2, "INTEGER", "integer", True, None, False, None),
        ("feeling", 3, enum, "string", False, None, False, None),
        ("grade", 4, "VARCHAR", "string", True, "'x'", False, "Grade"),
    ]
    assert rows(catalog.columns, "column", "data_type", "is_generated", table="Order Line")[2:] == [
        ('qty "net"', "DECIMAL(12,2)", False),
        ("twice", "INTEGER", True),
    ]


def test_enum_labels_keep_their_declared_order_and_characters(catalog: Catalog) -> None:
    labels = ["sad", "ok", "it's, fine", "Ünï"]
    assert rows(catalog.columns, "table", "enum_values", column="feeling") == [("happy", labels), ("person", labels)]
    assert rows(catalog.columns, "enum_values", table="person", column="grade") == [(None,)]


def test_composite_keys_keep_the_order_of_the_key_not_of_the_table(catalog: Catalog) -> None:
    assert rows(catalog.keys, "table", "kind", "columns", "origin") == [
        ("Order Line", "primary", ["order_no", "line_no"], "declared"),
        ("person", "unique", ["grade", "feeling"], "declared"),
        ("person", "primary", ["id"], "declared"),
    ]


def test_foreign_keys_pair_their_columns_and_may_point_to_their_own_table(catalog: Catalog) -> None:
    facts = ("from_schema", "from_table", "from_columns", "to_database", "to_schema", "to_table", "to_columns")
    assert rows(catalog.foreign_keys, *facts) == [
        ("Sales Dept", "parcel", ["Order", "Line"], None, "Sales Dept", "Order Line", ["order_no", "line_no"]),
        ("hr", "person", ["boss"], None, "hr", "person", ["id"]),
    ]
    assert set(rows(catalog.foreign_keys, "is_validated", "on_update", "on_delete")) == {
        (True, "NO ACTION", "NO ACTION")
    }


def test_check_constraints_and_indexes_are_listed_with_expressions(catalog: Catalog) -> None:
    assert sorted(rows(catalog.checks, "table", "expression")) == [
        ("person", "(grade IN ('a', 'b'))"),
        ("person", "(id > 0)"),
    ]
    assert rows(catalog.indexes, "table", "name", "columns", "is_unique") == [
        ("Order Line", "one, each", ['qty "net"'], True),
        ("person", "by_boss", ["boss", "((id + 1))"], False),
    ]


def test_views_that_no_longer_work_or_read_files_keep_their_entry_and_are_problems(catalog: Catalog) -> None:
    assert rows(catalog.tables, "table", readable=False) == [("broken",), ("outside",)]
    assert rows(catalog.columns, "column", table="broken") == [("a",)]
    assert [(problem.object, problem.stage) for problem in catalog.problems] == [
        ("hr.broken", "schema_snapshot"),
        ("hr.outside", "schema_snapshot"),
    ]
    assert "files or extensions" in catalog.problems[1].message
    assert "/etc/hostname" not in str(catalog.problems)


def test_every_broken_view_among_many_is_found(tmp_path: Path) -> None:
    path = tmp_path / "views.duckdb"
    broken = {3, 77, 150, 151, 239}
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE kept (a INTEGER); CREATE TABLE dropped (a INTEGER)")
        for number in range(240):
            connection.execute(f"CREATE VIEW v{number} AS SELECT a FROM {'dropped' if number in broken else 'kept'}")
        connection.execute("DROP TABLE dropped")
    catalog = read(engine_on("duckdb", path))
    assert {name for (name,) in rows(catalog.tables, "table", readable=False)} == {f"v{number}" for number in broken}


def test_identity_is_the_name_of_the_file_unless_configured(database: Path) -> None:
    assert read(engine_on("duckdb", database)).identity.fqn("hr", "person") == "shop.hr.person"
    assert read(engine_on("duckdb", database, fqn_database="Retail")).identity.database == "Retail"


def test_an_empty_database_gives_empty_frames(tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    duckdb.connect(str(path)).close()
    catalog = read(engine_on("duckdb", path))
    assert catalog.tables.is_empty() and catalog.columns.is_empty() and catalog.problems == ()


def test_the_number_of_statements_does_not_grow_with_the_number_of_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(tables: int) -> int:
        path = tmp_path / f"{tables}.duckdb"
        with duckdb.connect(str(path)) as connection:
            for number in range(tables):
                connection.execute(f"CREATE TABLE t{number} (a INTEGER PRIMARY KEY)")
                connection.execute(f"CREATE VIEW v{number} AS FROM t{number}")
        statements: list[str] = []
        engine = engine_on("duckdb", path)
        with engine.open() as session:
            run = session.rows

            def counted(sql: str, *, timeout_s: float | None = None) -> list[tuple[object, ...]]:
                statements.append(sql)
                return run(sql, timeout_s=timeout_s)

            monkeypatch.setattr(session, "rows", counted)
            engine.read_catalog(session)
        return len(statements)

    assert count(2) == count(60) == 6


def test_the_probe_moves_with_structure_and_comments_but_not_with_data(tmp_path: Path) -> None:
    path = tmp_path / "probe.duckdb"
    engine = engine_on("duckdb", path)

    def after(sql: str) -> str | None:
        with duckdb.connect(str(path)) as connection:
            connection.execute(sql)
        with engine.open() as session:
            return engine.probe(session)

    first = after("CREATE TABLE t (a INTEGER); CREATE VIEW v AS SELECT a FROM t")
    assert after("INSERT INTO t SELECT * FROM range(5000)") == first
    seen = [first]
    for change in (
        "COMMENT ON COLUMN t.a IS 'x'",
        "COMMENT ON VIEW v IS 'x'",
        "CREATE INDEX i ON t (a)",
        "CREATE OR REPLACE VIEW v AS SELECT a + 1 AS a FROM t",
        "CREATE TABLE u (b VARCHAR)",
        "ALTER TABLE u ALTER b SET DATA TYPE INTEGER",
    ):
        seen.append(after(change))
    assert len(set(seen)) == len(seen)
