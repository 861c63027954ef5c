"""Unity Catalog, legacy and foreign catalogs through the real Databricks connector, on a protocol double."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from integration.engine_probes import read, rows
from servers.databricks import HTTP_PATH, TOKEN, DatabricksServer, running_databricks
from servers.warehouse_model import Column, Database, Fault, ForeignKey, Key, Relation

from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.engines import databricks_describe
from dictionary_pipeline.engines.databricks import DatabricksEngine

ID = Column("id", "BIGINT", nullable=False)


def child(schema: str, key: ForeignKey) -> Relation:
    columns = (ID, Column("a", "INT"), Column("b", "DECIMAL(12,2)"))
    return Relation(schema, "child", columns, foreign_keys=(key,), keys=(Key("pk_child", "primary", ("id",)),))


HUB = Database(
    "hub",
    (Relation("geo", "place", (Column("x", "INT"), Column("y", "INT")), keys=(Key("pk", "primary", ("x", "y")),)),),
)
SHOP = Database(
    "shop",
    (
        Relation("s1", "parent", (Column("p", "INT"), Column("q", "INT")), keys=(Key("pk", "primary", ("p", "q")),)),
        Relation("s2", "parent", (ID, Column("p", "INT")), keys=(Key("pk", "primary", ("id",)),)),
        child("s1", ForeignKey("fk", ("a", "b"), "s1", "parent", ("q", "p"), None, "pk", ("p", "q"))),
        child("s2", ForeignKey("fk", ("a",), "s2", "parent", ("id",), None, "pk")),
        child("s3", ForeignKey("fk", ("b", "a"), "geo", "place", ("y", "x"), "hub", "pk", ("x", "y"))),
        Relation(
            "s3",
            "odd`name-ü",
            (
                Column("deep", "STRUCT<a: INT, b: ARRAY<MAP<STRING, DECIMAL(10,2)>>>"),
                Column("v", "VARIANT"),
                Column("i", "INTERVAL DAY TO SECOND"),
                Column("n", "VOID"),
                Column("g", "GEOGRAPHY(4326)"),
                Column("t", "TIMESTAMP_LTZ", comment="When"),
            ),
            comment="Odd.",
        ),
        Relation("s3", "v", (ID,), kind="view", text="SELECT id FROM shop.s2.parent"),
        Relation("s3", "secret_v", (ID,), kind="view", text=None),
    ),
)
LEGACY = Database(
    "hive_metastore",
    (
        Relation("default", "old", (ID, Column("note", "STRING", comment="Free text")), comment="Before Unity."),
        Relation("default", "old_v", (ID,), kind="view", text="SELECT id FROM default.old"),
        Relation("my-schema", "t", (ID,), kind="external"),
    ),
    has_information_schema=False,
)
FOREIGN = Database(
    "lake",
    (
        Relation("s", "far", (ID, Column("x", "STRING")), kind="foreign", described=False),
        child("s", SHOP.relations[3].foreign_keys[0]),
    ),
)


@pytest.fixture(scope="module")
def running() -> Iterator[DatabricksServer]:
    with running_databricks([HUB, SHOP, LEGACY, FOREIGN]) as server:
        yield server


@pytest.fixture
def server(running: DatabricksServer) -> DatabricksServer:
    running.faults.clear()
    return running


def engine(server: DatabricksServer, catalog: str = "shop") -> DatabricksEngine:
    uri = f"http://127.0.0.1:{server.port}{HTTP_PATH}"
    options = {
        "host": "127.0.0.1",
        "http_path": HTTP_PATH,
        "catalog": catalog,
        "connect_args": {"_connection_uri": uri},
    }
    return DatabricksEngine(ConnectionSpec("databricks", options, {"token": Secret.literal(TOKEN)}))


KEY = ("from_schema", "from_columns", "to_database", "to_schema", "to_table", "to_columns")


def test_keys_are_paired_by_position_and_by_schema_also_into_another_catalog(server: DatabricksServer) -> None:
    catalog = read(engine(server))
    assert rows(catalog.foreign_keys, *KEY) == [
        ("s1", ["a", "b"], None, "s1", "parent", ["q", "p"]),
        ("s2", ["a"], None, "s2", "parent", ["id"]),
        ("s3", ["b", "a"], "hub", "geo", "place", ["y", "x"]),
    ]
    assert rows(catalog.keys, "schema", "columns", table="parent") == [("s1", ["p", "q"]), ("s2", ["id"])]
    assert not catalog.problems


def test_a_parent_in_a_catalog_that_is_not_visible_is_a_problem(server: DatabricksServer) -> None:
    server.faults.add(Fault("`system`", "error", code="INSUFFICIENT_PERMISSIONS", state="42501"))
    catalog = read(engine(server))
    assert rows(catalog.foreign_keys, "from_schema") == [("s1",), ("s2",)]
    assert ("s3.child", None) in [(problem.object, problem.code) for problem in catalog.problems]
    assert not catalog.complete and "hunter2" not in str(catalog.problems)


def test_types_are_kept_verbatim_and_none_fails_its_schema(server: DatabricksServer) -> None:
    catalog = read(engine(server))
    assert rows(catalog.columns, "data_type", "type_class", table="odd`name-ü") == [
        ("STRUCT<a: INT, b: ARRAY<MAP<STRING, DECIMAL(10,2)>>>", "array"),
        ("VARIANT", "json"),
        ("INTERVAL DAY TO SECOND", "interval"),
        ("VOID", "other"),
        ("GEOGRAPHY(4326)", "other"),
        ("TIMESTAMP_LTZ", "timestamp"),
    ]
    assert rows(catalog.tables, "kind", "view_sql", schema="s3")[-2:] == [
        ("view", None),
        ("view", "SELECT id FROM shop.s2.parent"),
    ]


def test_a_legacy_catalog_is_described_table_by_table(server: DatabricksServer) -> None:
    catalog = read(engine(server, "hive_metastore"))
    assert rows(catalog.tables, "schema", "table", "kind", "comment", "view_sql") == [
        ("default", "old", "table", "Before Unity.", None),
        ("default", "old_v", "view", None, "SELECT id FROM default.old"),
        ("my-schema", "t", "external", None, None),
    ]
    assert rows(catalog.columns, "column", "data_type", "comment", table="old") == [
        ("id", "BIGINT", None),
        ("note", "STRING", "Free text"),
    ]
    assert not [statement for statement in server.faults.statements if "information_schema" in statement]


def test_a_legacy_table_that_cannot_be_described_keeps_its_entry(server: DatabricksServer) -> None:
    server.faults.add(Fault("EXTENDED .*`old`$", "error", code="INSUFFICIENT_PERMISSIONS", state="42501"))
    catalog = read(engine(server, "hive_metastore"))
    assert [(problem.object, problem.code) for problem in catalog.problems] == [("default.old", "42501")]
    assert rows(catalog.tables, "readable", table="old") == [(False,)] and not catalog.complete


def test_tables_beyond_the_bound_are_named(server: DatabricksServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databricks_describe, "MAX_DESCRIBED", 2)
    catalog = read(engine(server, "hive_metastore"))
    assert catalog.tables.height == 2
    assert [problem.object for problem in catalog.problems] == ["my-schema.t"] and not catalog.complete


def test_foreign_tables_without_columns_in_information_schema_are_described(server: DatabricksServer) -> None:
    catalog = read(engine(server, "lake"))
    assert rows(catalog.tables, "table", "kind") == [("child", "table"), ("far", "foreign_table")]
    assert rows(catalog.columns, "column", table="far") == [("id",), ("x",)]
    assert sum(statement.startswith("DESCRIBE") for statement in server.faults.statements) == 1


def test_keys_that_cannot_be_read_are_a_problem_not_an_absence(server: DatabricksServer) -> None:
    server.faults.add(Fault("referential_constraints", "error", code="INTERNAL_ERROR", state="XX000"))
    catalog = read(engine(server))
    (problem,) = catalog.problems
    assert (problem.object, problem.code) == ("shop", "XX000") and "foreign keys" in problem.message
    assert not catalog.complete and catalog.columns.height > 0


def test_the_probe_moves_with_definitions_only(server: DatabricksServer) -> None:
    databricks = engine(server)
    database = server.backend.databases["shop"]
    declared = database.relations

    def probe() -> str | None:
        with databricks.open() as session:
            return databricks.probe(session)

    before = probe()
    try:
        database.relations = (replace(declared[0], row_count=5), *declared[1:])
        assert probe() == before
        database.relations = (replace(declared[0], schema_changed="2026-03-01 00:00:00"), *declared[1:])
        assert probe() != before
    finally:
        database.relations = declared


def test_a_catalog_without_information_schema_has_no_probe(server: DatabricksServer) -> None:
    databricks = engine(server, "hive_metastore")
    with databricks.open() as session:
        assert databricks.probe(session) is None
