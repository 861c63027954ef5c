"""The whole pipeline over Snowflake's real connector: bundles, faults while sampling, the limit on cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from integration.warehouses import entries, manifest, run, shop
from servers.snowflake import PASSWORD, USER, SnowflakeServer, running_snowflake
from servers.warehouse_model import Fault

from dictionary_pipeline.cli import main
from dictionary_pipeline.config.predecessor import predecessor_connection
from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.config.targets import resolve_target

FAST = {"retry_max_attempts": 2, "retry_backoff_base_ms": 10, "retry_backoff_cap_ms": 20}


@pytest.fixture
def server() -> Iterator[SnowflakeServer]:
    with running_snowflake([shop("SHOP", integer="NUMBER(38,0)", text="VARCHAR(80)")]) as server:
        yield server


def spec(server: SnowflakeServer) -> ConnectionSpec:
    options = {"account": "acc", "user": USER, "database": "SHOP", "warehouse": "WH", "connect_args": FAST}
    place = {"host": "127.0.0.1", "port": server.port, "protocol": "http"}
    return ConnectionSpec("snowflake", {**options, **place}, {"password": Secret.literal(PASSWORD)})


def url(server: SnowflakeServer, account: str = "acc") -> str:
    place = f"host=127.0.0.1&port={server.port}&protocol=http"
    return f"snowflake://{USER}:{quote(PASSWORD)}@{account}/SHOP/SALES?warehouse=WH&{place}"


def test_build_by_url_publishes_keys_of_the_contract(
    server: SnowflakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["build", url(server), "-o", str(tmp_path)])
    assert ended.value.code == 0, capsys.readouterr().err
    found = entries(tmp_path)
    line = found["line"]
    assert list(line) == [
        *("Entity", "Definition", "Schema", "EntityName", "Warehouse", "Database", "EntityRelationships"),
        *("CompleteEntityRelationshipsGraph", "Columns", "FQN"),
    ]
    assert (line["FQN"], line["Warehouse"], line["Database"]) == ("WH.SHOP.SALES.LINE", "WH", "SHOP")
    (key,) = [item for item in line["EntityRelationships"] if item["ForeignEntity"] == "ORDERS"]
    assert key["ForeignKeys"] == [
        {"Column": "ORDER_NO", "ForeignColumn": "NO"},
        {"Column": "ORDER_TENANT", "ForeignColumn": "TENANT"},
    ]
    assert (key["ForeignWarehouse"], key["ForeignDatabase"]) == ("WH", "SHOP")
    names = {column["Name"]: column for column in found["customer"]["Columns"]}
    assert names["NAME"]["DataType"] == "VARCHAR(80)" and names["NAME"]["Definition"] == "What to call them."
    assert names["ID"]["SampleValues"] == [1, 2]
    assert PASSWORD not in capsys.readouterr().out


def test_the_predecessors_variables_lead_to_the_same_bundle(
    server: SnowflakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part, value in {
        "Account": "acc",
        "User": USER,
        "Password": PASSWORD,
        "Warehouse": "WH",
        "Database": "SHOP",
    }.items():
        monkeypatch.setenv(f"Text2Sql__Snowflake__{part}", value)
    given = predecessor_connection("snowflake", folder=tmp_path)
    # An account's address cannot lead to this machine, so only the address is replaced.
    place = {"host": "127.0.0.1", "port": server.port, "protocol": "http"}
    assert run(replace(given, options={**given.options, **place}), tmp_path / "a").exit_code == 0
    assert run(resolve_target(url(server), folder=None)[0], tmp_path / "b").exit_code == 0
    assert entries(tmp_path / "a") == entries(tmp_path / "b")
    assert {entry["Warehouse"] for entry in entries(tmp_path / "a").values()} == {"WH"}


def test_a_wrong_password_fails_at_once_and_publishes_nothing(server: SnowflakeServer, tmp_path: Path) -> None:
    summary = run(replace(spec(server), secrets={"password": Secret.literal("wrong")}), tmp_path / "out")
    assert summary.exit_code == 1 and server.faults.logins == 1
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_table_dropped_between_listing_and_sampling_is_named(server: SnowflakeServer, tmp_path: Path) -> None:
    server.backend.databases["SHOP"].dropped.add(("SALES", "ORDERS"))
    summary = run(spec(server), tmp_path)
    assert summary.exit_code == 3
    assert [(problem.object, problem.code) for problem in summary.problems] == [("SALES.ORDERS", "002003")]
    found = entries(tmp_path)
    assert found["orders"]["Columns"][0]["SampleValues"] is None
    assert found["customer"]["Columns"][0]["SampleValues"] == [1, 2]


def test_a_table_that_may_not_be_read_is_named(server: SnowflakeServer, tmp_path: Path) -> None:
    server.backend.databases["SHOP"].unreadable.add(("SALES", "LINE"))
    summary = run(spec(server), tmp_path)
    assert [(problem.object, problem.code) for problem in summary.problems] == [("SALES.LINE", "003001")]


def test_privileges_revoked_before_a_run_make_rows_vanish_from_all_facts(
    server: SnowflakeServer, tmp_path: Path
) -> None:
    server.backend.databases["SHOP"].hidden.add(("SALES", "CUSTOMER"))
    summary = run(spec(server), tmp_path)
    assert summary.exit_code in (0, 3)
    found = entries(tmp_path)
    assert "customer" not in found
    # The key that is still shown keeps its item; its parent gets no file.
    assert [item["ForeignEntity"] for item in found["orders"]["EntityRelationships"]].count("CUSTOMER") == 1


def test_a_connection_lost_while_sampling_is_replaced(server: SnowflakeServer, tmp_path: Path) -> None:
    server.faults.add(Fault('FROM "SALES"."ORDERS"', "drop"))
    summary = run(spec(server), tmp_path)
    assert summary.exit_code == 0, summary.problems
    assert server.faults.logins == 4  # sessions of the catalog and the change marks, the lost one, its replacement


def test_a_connection_lost_while_reading_the_catalog_publishes_nothing(server: SnowflakeServer, tmp_path: Path) -> None:
    server.faults.add(Fault("SHOW PRIMARY KEYS", "drop", times=-1))
    summary = run(spec(server), tmp_path)
    assert summary.exit_code == 1 and summary.error is not None and summary.error.retryable
    assert not (tmp_path / "manifest.json").exists()


def test_a_slow_table_is_named_and_the_others_are_sampled(server: SnowflakeServer, tmp_path: Path) -> None:
    server.faults.add(Fault('FROM "SALES"."LINE"', "slow", seconds=30))
    summary = run(spec(server), tmp_path, table_seconds=1)
    assert [(problem.object, problem.code) for problem in summary.problems] == [("SALES.LINE", "000630")]


def test_the_warehouse_budget_stops_sampling_and_keeps_the_catalog(server: SnowflakeServer, tmp_path: Path) -> None:
    server.faults.add(Fault('FROM "SALES"."CUSTOMER"', "slow", seconds=1.5))
    summary = run(spec(server), tmp_path, max_warehouse_seconds=1.5)
    (problem,) = summary.problems
    assert summary.exit_code == 3 and problem.object == "shop" and problem.message.startswith("3 tables were not")
    assert len(entries(tmp_path)) == 4
    assert entries(tmp_path)["customer"]["Columns"][0]["SampleValues"] == [1, 2]
    assert len(manifest(tmp_path)["problems"]) == 1
    metrics = {report.stage: report.metrics for report in summary.reports}
    assert metrics["schema_snapshot"]["warehouse_statements"] == 11
    assert 1.5 <= float(metrics["column_samples"]["warehouse_seconds"]) < 5


def test_statements_do_not_grow_but_for_one_sample_per_table(server: SnowflakeServer, tmp_path: Path) -> None:
    run(spec(server), tmp_path)
    statements = server.faults.statements
    samples = [statement for statement in statements if ' FROM "SALES".' in statement]
    settings = [statement for statement in statements if statement.startswith("ALTER SESSION")]
    assert len(samples) == 4 and len(settings) == 1
    assert len(statements) - len(samples) - len(settings) <= 12


def test_a_second_run_changes_no_file(server: SnowflakeServer, tmp_path: Path) -> None:
    run(spec(server), tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()
    run(spec(server), tmp_path)
    assert (tmp_path / "manifest.json").read_bytes() == before
