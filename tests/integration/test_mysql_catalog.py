"""What the MySQL module reads of a real MariaDB's catalog beyond the conformance suite."""

from __future__ import annotations

from typing import Any

import pytest
from servers.mariadb import MariaDBServer
from servers.probing import columns_of, engine_for, read

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.engines.mysql_catalog import _plain_check, enum_labels

STATEMENTS = (
    """CREATE TABLE everything (
        id int unsigned AUTO_INCREMENT PRIMARY KEY,
        mood enum('sad','it''s','b\\\\c') NOT NULL DEFAULT 'sad',
        tags set('a','b'),
        doc json,
        flag tinyint(1) DEFAULT NULL,
        bits bit(3),
        place point,
        born year,
        doubled int GENERATED ALWAYS AS (id_copy * 2) VIRTUAL,
        id_copy int DEFAULT 7,
        status varchar(10) CHECK (status IN ('new', 'paid')),
        UNIQUE KEY uq_status (status),
        KEY ix_copy (id_copy, born)) COMMENT 'All sorts'""",
    "CREATE TABLE parent (a int, b int, PRIMARY KEY (a, b))",
    "CREATE TABLE child (x int, y int, KEY (x, y),"
    " CONSTRAINT fk FOREIGN KEY (x, y) REFERENCES parent (a, b) ON DELETE CASCADE)",
    "CREATE TABLE gone (id int)",
    "CREATE VIEW good AS SELECT id AS number FROM everything",
    "CREATE VIEW broken AS SELECT id FROM gone",
    "DROP TABLE gone",
    "CREATE SEQUENCE counter",
)


@pytest.fixture(scope="module")
def url(mariadb: MariaDBServer) -> str:
    mariadb.create_database("dd_other", "CREATE TABLE far (id int PRIMARY KEY)")
    url = mariadb.create_database("dd_catalog", *STATEMENTS)
    mariadb.execute(
        "CREATE TABLE near (far_id int, CONSTRAINT fk_far FOREIGN KEY (far_id) REFERENCES dd_other.far (id))",
        database="dd_catalog",
    )
    return url


@pytest.fixture(scope="module")
def catalog(url: str) -> Catalog:
    return read(engine_for(url))


@pytest.fixture(scope="module")
def everything(catalog: Catalog) -> dict[str, dict[str, Any]]:
    return columns_of(catalog, "dd_catalog", "everything")


def test_a_broken_view_is_kept_as_broken_without_invented_columns(catalog: Catalog) -> None:
    kinds = {
        name: (kind, readable) for name, kind, readable in catalog.tables.select("table", "kind", "readable").rows()
    }
    assert kinds["broken"] == ("view", False)
    assert kinds["good"] == ("view", True)
    assert columns_of(catalog, "dd_catalog", "broken") == {}
    [problem] = catalog.problems
    assert (problem.object, problem.code) == ("dd_catalog.broken", "1356")


def test_only_the_named_database_is_read_and_a_sequence_is_no_table(catalog: Catalog) -> None:
    assert set(catalog.tables["schema"]) == {"dd_catalog"}
    assert set(catalog.tables["table"]) == {"everything", "parent", "child", "good", "broken", "near"}


def test_a_key_into_another_database_keeps_its_parent(catalog: Catalog) -> None:
    keys = {row["name"]: row for row in catalog.foreign_keys.iter_rows(named=True)}
    assert (keys["fk_far"]["to_schema"], keys["fk_far"]["to_table"]) == ("dd_other", "far")
    assert keys["fk"]["from_columns"] == ["x", "y"]
    assert keys["fk"]["to_columns"] == ["a", "b"]
    assert keys["fk"]["on_delete"] == "CASCADE"


def test_native_types_and_their_classes(everything: dict[str, dict[str, Any]]) -> None:
    found = {name: (column["data_type"], column["type_class"]) for name, column in everything.items()}
    assert found["id"] == ("int(10) unsigned", "integer")
    assert found["doc"] == ("json", "json")
    assert found["flag"] == ("tinyint(1)", "integer")
    assert found["bits"] == ("bit(3)", "integer")
    assert found["place"] == ("point", "other")
    assert found["born"][1] == "integer"
    assert found["tags"] == ("set('a','b')", "string")


def test_enum_labels_flags_and_defaults(everything: dict[str, dict[str, Any]]) -> None:
    assert everything["mood"]["enum_values"] == ["sad", "it's", "b\\c"]
    assert everything["tags"]["enum_values"] is None
    assert everything["id"]["is_identity"]
    assert everything["doubled"]["is_generated"]
    assert everything["flag"]["default"] is None
    assert everything["id_copy"]["default"] == "7"


def test_keys_and_indexes_stay_apart(catalog: Catalog) -> None:
    keys = {tuple(row) for row in catalog.keys.select("table", "name", "kind").rows()}
    assert ("everything", "uq_status", "unique") in keys
    assert ("everything", "PRIMARY", "primary") in keys
    indexes = {
        (table, name): columns for table, name, columns in catalog.indexes.select("table", "name", "columns").rows()
    }
    assert indexes["everything", "ix_copy"] == ["id_copy", "born"]


def test_the_check_that_makes_a_text_json_is_no_rule_of_the_data(catalog: Catalog) -> None:
    assert [row for row in catalog.checks["expression"] if "json_valid" in row] == []
    assert catalog.checks.height == 1


def test_the_change_signal_moves_with_the_structure_and_not_with_rows(mariadb: MariaDBServer) -> None:
    engine = engine_for(mariadb.create_database("dd_probe", "CREATE TABLE t (id int PRIMARY KEY)"))
    with engine.open() as session:
        before = engine.probe(session)
        mariadb.execute("INSERT INTO t VALUES (1)", database="dd_probe")
        assert engine.probe(session) == before
        mariadb.execute("ALTER TABLE t MODIFY id int COMMENT 'new'", database="dd_probe")
        assert engine.probe(session) != before


def test_the_standard_catalog_stands_for_a_server_without_a_named_database(mariadb: MariaDBServer) -> None:
    assert engine_for(mariadb.url()).identity.fqn("sales", "t") == "def.sales.t"
    assert engine_for(mariadb.url("shop")).identity.fqn("shop", "t") == "shop.shop.t"


@pytest.mark.parametrize(
    ("native", "labels"),
    [("enum('a','b')", ["a", "b"]), ("enum('it''s')", ["it's"]), ("enum('x,y',')')", ["x,y", ")"]), ("int(11)", None)],
)
def test_labels_are_taken_out_of_the_type(native: str, labels: list[str] | None) -> None:
    assert enum_labels(native) == labels


def test_mysqls_own_spelling_of_a_check_is_made_plain() -> None:
    assert _plain_check(r"(`s` in (_utf8mb4\'a\',_utf8mb4\'b\'))") == "(`s` in ('a','b'))"
