"""Snowflake's catalog through the real connector, with the vendor's limits, on a protocol double."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from integration.engine_probes import read, request, rows
from servers import snowflake_catalog as double
from servers.snowflake import PASSWORD, USER, SnowflakeServer, running_snowflake
from servers.warehouse_model import Column, Database, Fault, ForeignKey, Key, Relation

from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.engines import snowflake_catalog
from dictionary_pipeline.engines.snowflake import SnowflakeEngine

ID = Column("ID", "NUMBER(38,0)", nullable=False)


def table(schema: str, name: str, *columns: Column, **facts: object) -> Relation:
    keys = (Key(f"PK_{name}", "primary", ("ID",)),)
    return Relation(schema, name, (ID, *columns), **{"keys": keys, **facts})  # type: ignore[arg-type]


PARENT = ForeignKey("FK_PARENT", ("B", "A"), "HUB", "PLACE", ("Y", "X"), database="OTHER")
DECLARED = Database(
    "SHOP",
    (
        table("A", "T1", Column("B", "NUMBER(12,2)"), Column("A", "VARCHAR(20)"), foreign_keys=(PARENT,)),
        table("A", "T2", Column("B", "BINARY(16)"), Column("A", "ARRAY"), foreign_keys=(PARENT,)),
        table("B", "T1", Column("odd Name.x", "TIMESTAMP_TZ", comment="When")),
        table("B", "T3", kind="external", comment="Files"),
        Relation("B", "V", (ID,), kind="view", text="create view V as select ID from B.T1"),
        Relation("B", "HIDDEN", (ID,), kind="materialized_view", text=None),
        table("B", "SCRATCH", kind="temporary"),
    ),
)


@pytest.fixture(scope="module")
def running() -> Iterator[SnowflakeServer]:
    with running_snowflake([DECLARED]) as server:
        yield server


@pytest.fixture
def server(running: SnowflakeServer) -> SnowflakeServer:
    running.faults.clear()
    return running


def engine(server: SnowflakeServer) -> SnowflakeEngine:
    options = {"account": "acc", "user": USER, "database": "shop", "warehouse": "wh"}
    place = {"host": "127.0.0.1", "port": server.port, "protocol": "http"}
    return SnowflakeEngine(ConnectionSpec("snowflake", {**options, **place}, {"password": Secret.literal(PASSWORD)}))


def too_much(match: str, times: int = 1) -> Fault:
    return Fault(match, "error", code="090030", state="22000", times=times)


def test_kinds_types_comments_and_view_text_are_read(server: SnowflakeServer) -> None:
    catalog = read(engine(server))
    assert rows(catalog.tables, "schema", "table", "kind", "view_sql", schema="B") == [
        ("B", "HIDDEN", "materialized_view", None),
        ("B", "T1", "table", None),
        ("B", "T3", "external", None),
        ("B", "V", "view", "create view V as select ID from B.T1"),
    ]
    assert rows(catalog.columns, "data_type", "type_class", schema="A") == [
        ("NUMBER(38,0)", "integer"),
        ("NUMBER(12,2)", "decimal"),
        ("VARCHAR(20)", "string"),
        ("NUMBER(38,0)", "integer"),
        ("BINARY(16)", "binary"),
        ("ARRAY", "array"),
    ]
    assert rows(catalog.columns, "column", "comment", table="T1", schema="B")[1] == ("odd Name.x", "When")
    assert rows(catalog.tables, "row_estimate", "size_bytes", table="T2") == [(0, 1024)]


def test_two_keys_of_one_name_to_another_database_stay_apart_and_in_order(server: SnowflakeServer) -> None:
    catalog = read(engine(server))
    key = (["B", "A"], "OTHER", "HUB", "PLACE", ["Y", "X"], "FK_PARENT", False)
    found = rows(
        catalog.foreign_keys,
        *("from_table", "from_columns", "to_database", "to_schema", "to_table", "to_columns", "name", "is_validated"),
    )
    assert found == [("T1", *key), ("T2", *key)]


def test_columns_are_read_per_schema_when_all_are_too_many(server: SnowflakeServer) -> None:
    whole = read(engine(server))
    server.faults.clear()
    server.faults.add(too_much(r"COLUMNS\nWHERE table_schema <> 'INFORMATION_SCHEMA'$"))
    catalog = read(engine(server))
    assert catalog.columns.equals(whole.columns) and catalog.complete and not catalog.problems
    assert sum("table_schema = '" in statement for statement in server.faults.statements) == 2


def test_columns_of_a_schema_are_read_by_ranges_of_tables(server: SnowflakeServer) -> None:
    whole = read(engine(server))
    server.faults.add(too_much(r"(?s)INFORMATION_SCHEMA\.COLUMNS(?!.*BETWEEN)", times=-1))
    catalog = read(engine(server))
    assert catalog.columns.equals(whole.columns) and not catalog.problems


def test_a_table_that_is_too_much_by_itself_is_named_and_the_others_are_read(server: SnowflakeServer) -> None:
    server.faults.add(too_much(r"(?s)COLUMNS(?!.*BETWEEN 'T3' AND 'V')(?!.*table_schema = 'A')", times=-1))
    catalog = read(engine(server))
    assert [problem.object for problem in catalog.problems] == ["B.HIDDEN", "B.T1"]
    assert {problem.code for problem in catalog.problems} == {"090030"} and not catalog.complete
    assert rows(catalog.columns, "table", schema="B") == [("T3",), ("V",)]
    assert catalog.tables.height == 6


def test_tables_are_read_per_schema_when_all_are_too_many(server: SnowflakeServer) -> None:
    server.faults.add(too_much(r"TABLES\nWHERE table_schema <> 'INFORMATION_SCHEMA'$"))
    catalog = read(engine(server))
    assert catalog.tables.height == 6 and catalog.complete


def test_keys_beyond_the_limit_of_show_are_read_per_schema(
    server: SnowflakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(engine(server))
    monkeypatch.setattr(double, "SHOW_ROWS", 4)
    monkeypatch.setattr(snowflake_catalog, "SHOW_LIMIT", 4)
    catalog = read(engine(server))
    assert catalog.keys.equals(whole.keys)
    assert not [problem for problem in catalog.problems if "primary" in problem.message]


def test_a_schema_beyond_the_limit_of_show_is_named_and_makes_the_catalog_incomplete(
    server: SnowflakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(double, "SHOW_ROWS", 3)
    monkeypatch.setattr(snowflake_catalog, "SHOW_LIMIT", 3)
    catalog = read(engine(server))
    assert [(problem.object, problem.code) for problem in catalog.problems] == [("A", "090153"), ("B", "090153")]
    assert not catalog.complete and catalog.tables.height == 6


def test_keys_that_the_role_may_not_see_are_a_problem_not_an_absence(server: SnowflakeServer) -> None:
    server.faults.add(Fault("SHOW IMPORTED KEYS", "error", code="003001", state="42501"))
    catalog = read(engine(server))
    (problem,) = catalog.problems
    assert problem.code == "003001" and "imported keys" in problem.message and not catalog.complete
    assert "hunter2" not in str(catalog.problems)


def test_the_probe_uses_no_warehouse_and_moves_with_the_structure_only(server: SnowflakeServer) -> None:
    snowflake = engine(server)

    def probe() -> str | None:
        with snowflake.open() as session:
            server.faults.clear()
            return snowflake.probe(session)

    before = probe()
    assert before and all(statement.startswith("SHOW ") for statement in server.faults.statements)
    database = server.backend.databases["SHOP"]
    declared = database.relations
    try:
        database.relations = (replace(declared[0], rows=((1, 2, "x"),), row_count=9), *declared[1:])
        assert probe() == before
        wider = replace(declared[0], columns=(*declared[0].columns, Column("NEW", "DATE")))
        database.relations = (wider, *declared[1:])
        assert probe() != before
    finally:
        database.relations = declared


def test_a_probe_that_would_miss_columns_is_none(server: SnowflakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(double, "SHOW_ROWS", 2)
    monkeypatch.setattr(snowflake_catalog, "SHOW_LIMIT", 2)
    snowflake = engine(server)
    with snowflake.open() as session:
        assert snowflake.probe(session) is None


def test_large_tables_are_sampled_by_rows_or_blocks_and_views_by_limit(server: SnowflakeServer) -> None:
    snowflake = engine(server)
    catalog = read(snowflake)
    wanted = request(catalog, "A", "T1")

    def sql(**facts: object) -> str:
        return snowflake.sample_sql(replace(wanted, **facts)).partition(' FROM "A"."T1"')[2]

    assert sql(row_estimate=20_000) == " LIMIT 20000"
    assert sql(row_estimate=2_000_000, size_bytes=10**7) == " SAMPLE BERNOULLI (1.000000) SEED (42) LIMIT 20000"
    assert sql(row_estimate=10**10, size_bytes=10**12) == " SAMPLE SYSTEM (0.013422) SEED (42) LIMIT 20000"
    assert sql(row_estimate=2_000_000, kind="view") == " LIMIT 20000"
