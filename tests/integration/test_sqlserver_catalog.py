"""What the SQL Server module makes of catalog rows beyond the conformance suite.

The rows are declared on the test double; they say how the module reads them, not that SQL Server has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest
from conformance.shop import SHOP
from servers.probing import columns_of, engine_for, read, sample_request
from servers.tds import PASSWORD, USER, TdsServer, running_tds
from servers.tds_backend import Backend

from dictionary_pipeline.engines.base import DistinctRequest, Engine, SampleColumn, TypeClass
from dictionary_pipeline.engines.sqlserver_catalog import synonym_target
from dictionary_pipeline.engines.sqlserver_types import cell, type_text

_LEFT_OUT = dict.fromkeys(("enums", "type:interval", "type:json", "type:array"), "not in SQL Server")
_OBJECT = "(SELECT object_id FROM sys.objects WHERE name = '{}' LIMIT 1)"
CUSTOMER, VIEW = _OBJECT.format("address"), _OBJECT.format("v_customer")


@pytest.fixture(scope="module")
def server() -> Iterator[TdsServer]:
    with running_tds() as server:
        yield server


@pytest.fixture
def shop(server: TdsServer) -> Backend:
    return server.declare("shop", SHOP.adapted(_LEFT_OUT))


@pytest.fixture
def engine(server: TdsServer, shop: Backend) -> Engine:
    return engine_for(f"mssql+pymssql://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{server.port}/shop")


def test_an_alias_type_shows_as_its_base_type(shop: Backend, engine: Engine) -> None:
    shop.change_catalog(
        "INSERT INTO sys.types (name, system_type_id, user_type_id, is_user_defined) VALUES ('Street', 231, 900, 1)"
    )
    shop.change_catalog(f"UPDATE sys.columns SET user_type_id = 900 WHERE object_id = {CUSTOMER} AND name = 'street'")
    column = columns_of(read(engine), "sales", "address")["street"]
    assert (column["data_type"], column["type_class"]) == ("nvarchar(80)", "string")


def test_period_columns_of_a_temporal_table_are_generated_and_hidden_ones_of_others_left_out(
    shop: Backend, engine: Engine
) -> None:
    for name, always in (("valid_from", 1), ("graph_id", 0)):
        shop.change_catalog(
            "INSERT INTO sys.columns BY NAME SELECT * REPLACE"
            f" ('{name}' AS name, column_id + 7 AS column_id, 1 AS is_hidden, {always} AS generated_always_type)"
            f" FROM sys.columns WHERE object_id = {CUSTOMER} AND name = 'street'"
        )
    found = columns_of(read(engine), "sales", "address")
    assert "graph_id" not in found
    assert found["valid_from"]["is_generated"]
    assert found["valid_from"]["ordinal"] == 3  # numbers of dropped columns leave no gap


def test_a_disabled_or_distrusted_key_is_not_validated(shop: Backend, engine: Engine) -> None:
    shop.change_catalog("UPDATE sys.foreign_keys SET is_disabled = 1 WHERE name = 'fk_boss'")
    shop.change_catalog(
        "UPDATE sys.foreign_keys SET is_not_trusted = 1, delete_referential_action = 2 WHERE name = 'fk_department'"
    )
    keys = {row["name"]: row for row in read(engine).foreign_keys.iter_rows(named=True)}
    assert not keys["fk_boss"]["is_validated"]
    assert not keys["fk_department"]["is_validated"]
    assert keys["fk_department"]["on_delete"] == "SET NULL"
    assert keys["fk_own"]["is_validated"]


def test_a_view_on_a_synonym_reads_what_the_synonym_stands_for(shop: Backend, engine: Engine) -> None:
    shop.change_catalog(
        "INSERT INTO sys.synonyms SELECT 'buyers', 777, schema_id, '[shop].[sales].[address]' FROM sys.schemas"
        " WHERE name = 'sales'"
    )
    shop.change_catalog(
        f"UPDATE sys.sql_expression_dependencies SET referenced_id = 777, referenced_entity_name = 'buyers'"
        f" WHERE referencing_id = {VIEW}"
    )
    lineage = set(read(engine).lineage.select("view", "source_schema", "source_table").rows())
    assert ("v_customer", "sales", "address") in lineage


def test_hidden_definitions_are_a_warning(shop: Backend, engine: Engine) -> None:
    shop.change_catalog("UPDATE sys.sql_modules SET definition = NULL")
    shop.change_catalog("UPDATE sys.check_constraints SET definition = NULL")
    catalog = read(engine)
    assert catalog.checks.is_empty()
    [warning] = engine.warnings
    assert "VIEW DEFINITION" in warning


def test_row_counts_come_from_the_catalog_without_the_permission_for_the_statistics(
    shop: Backend, engine: Engine
) -> None:
    shop.no_state_permission = True
    catalog = read(engine)
    assert catalog.problems == ()
    assert dict(catalog.tables.select("table", "row_estimate").rows())["country"] == 2


def test_a_key_to_a_table_out_of_sight_is_named(shop: Backend, engine: Engine) -> None:
    shop.revoke("sales", "address")
    catalog = read(engine)
    assert "address" not in set(catalog.tables["table"])
    assert {problem.object for problem in catalog.problems} == {"sales.orders"}


def test_a_failed_statement_leaves_the_rest_and_says_that_the_catalog_is_incomplete(
    server: TdsServer, shop: Backend, engine: Engine
) -> None:
    server.faults.errors = {"sys.foreign_keys": (1222, "Lock request time out period exceeded.")}
    try:
        catalog = read(engine)
    finally:
        server.faults.errors = {}
    assert not catalog.complete
    assert [problem.code for problem in catalog.problems] == ["1222"]
    assert catalog.foreign_keys.is_empty()
    assert not catalog.keys.is_empty()


def test_the_change_signal_moves_with_objects_and_comments(shop: Backend, engine: Engine) -> None:
    with engine.open() as session:
        first = engine.probe(session)
        assert engine.probe(session) == first
        shop.change_catalog("UPDATE sys.extended_properties SET value = 'new' WHERE value = 'People who buy.'")
        second = engine.probe(session)
        shop.change_catalog("UPDATE sys.objects SET modify_date = '2025-01-01' WHERE name = 'customer'")
        assert len({first, second, engine.probe(session)}) == 3


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("[shop].[sales].[a.b]", ("sales", "a.b")),
        ("sales.customer", ("sales", "customer")),
        ("[customer]", ("dbo", "customer")),
        ("[x]]y].[z]", ("x]y", "z")),
        ("[other].[sales].[customer]", None),
        ("[server].[shop].[sales].[customer]", None),
    ],
)
def test_the_target_of_a_synonym_is_taken_apart(base: str, target: tuple[str, str] | None) -> None:
    assert synonym_target(base, "Shop") == target


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (("nvarchar", 40, 0, 0), "nvarchar(20)"),
        (("varchar", -1, 0, 0), "varchar(max)"),
        (("decimal", 9, 12, 2), "decimal(12,2)"),
        (("datetime2", 8, 27, 7), "datetime2(7)"),
        (("int", 4, 10, 0), "int"),
    ],
)
def test_types_are_written_as_in_a_create_table(facts: tuple[str, int, int, int], text: str) -> None:
    assert type_text(*facts) == text


def test_a_large_table_is_sampled_by_pages_and_a_small_one_or_a_view_from_its_start(
    shop: Backend, engine: Engine
) -> None:
    shop.change_catalog(f"UPDATE sys.dm_db_partition_stats SET row_count = 5000000 WHERE object_id = {CUSTOMER}")
    catalog = read(engine)
    request = sample_request(catalog, "sales", "address")
    large = engine.sample_sql(request)
    assert large.endswith("FROM [sales].[address] TABLESAMPLE SYSTEM (0.390625 PERCENT) REPEATABLE (42)")
    assert large.startswith("SELECT TOP (20000) [id], CONVERT(NVARCHAR(201), [street])")
    for plain in (replace(request, page_sample=False), replace(request, kind="view"), replace(request, row_estimate=9)):
        assert "TABLESAMPLE" not in engine.sample_sql(plain)


@pytest.mark.parametrize(
    ("data_type", "type_class", "expression"),
    [
        ("money", "decimal", "CONVERT(NVARCHAR(60), [c], 2)"),
        ("datetimeoffset(7)", "timestamp", "CONVERT(NVARCHAR(40), [c], 121)"),
        ("nchar(5)", "string", "RTRIM(CONVERT(NVARCHAR(9), [c]))"),
        ("xml", "xml", "LEFT(CONVERT(NVARCHAR(MAX), [c]), 9)"),
        ("geography", "other", "LEFT([c].ToString(), 9)"),
        ("sql_variant", "other", "LEFT(CONVERT(NVARCHAR(MAX), [c]), 9)"),
        ("timestamp", "binary", "DATALENGTH([c])"),
    ],
)
def test_a_value_is_read_by_its_type(data_type: str, type_class: TypeClass, expression: str) -> None:
    assert cell(SampleColumn("c", type_class, data_type), "[c]", 9) == expression


def test_distinct_values_of_several_columns_come_with_their_place(shop: Backend, engine: Engine) -> None:
    columns = (SampleColumn("code", "string", "nvarchar(2)"), SampleColumn("name", "string", "nvarchar(80)"))
    with engine.open() as session:
        found = session.rows(engine.distinct_sql(DistinctRequest("sales", "country", columns, 10, 200)))
    assert sorted(found) == [(0, "DE"), (0, "FR"), (1, "France"), (1, "Germany")]
