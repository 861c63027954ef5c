"""Keys that a real database does not declare: probed within the budget, published as inferred, ruled by people."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest
from servers.postgres import PostgresServer

from dictionary_pipeline.config.resolved import (
    DatabaseConfig,
    HumanKnowledge,
    HumanRelationship,
    InferenceSettings,
    SamplingLimits,
)
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.report import StageReport

SCRIPT = """
CREATE TABLE customer (customer_id integer, name varchar(20));
CREATE TABLE country (code varchar(2), label varchar(20));
CREATE TABLE orders (order_id integer, customer_id varchar(10), ship_to_customer_id integer, country varchar(2));
CREATE TABLE note (note_id integer, order_id integer, customer_id integer);
"""
CUSTOMERS, ORDERS = 300, 900


def fill(execute: Callable[[str], object]) -> None:
    """Two tables larger than what is sampled of them, ids as text, 4 orphans of 900, and a column of strays."""
    for statement in SCRIPT.strip().split(";\n"):
        execute(statement.rstrip(";"))
    codes = [f"{a}{b}" for a in "ABCD" for b in "EFGH"]
    rows = {
        "country": [f"('{code}', 'land {code}')" for code in codes],
        "customer": [f"({at * 7}, 'c{at}')" for at in range(1, CUSTOMERS + 1)],
        "orders": [_order(at, codes[at % 16]) for at in range(1, ORDERS + 1)],
        "note": [f"({at}, {at % ORDERS + 1}, {at * 11})" for at in range(1, 401)],
    }
    for table, values in rows.items():
        execute(f"INSERT INTO {table} VALUES {', '.join(values)}")


def _order(number: int, country: str) -> str:
    customer = number % CUSTOMERS * 7 + 7
    ship_to = 99_999 if number % 225 == 0 else customer
    return f"({number}, '{customer}', {ship_to}, '{country}')"


@pytest.fixture(scope="module", params=["duckdb", "sqlite", "postgres"])
def config(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DatabaseConfig:
    path = tmp_path_factory.mktemp("inferred") / "shop.db"
    if request.param == "duckdb":
        with duckdb.connect(str(path)) as connection:
            fill(connection.execute)
        target = str(path)
    elif request.param == "sqlite":
        with sqlite3.connect(path) as base:
            fill(base.execute)
        target = str(path)
    else:
        statements: list[str] = []
        fill(statements.append)
        server: PostgresServer = request.getfixturevalue("postgres")
        target = server.create_database("inferred", ";\n".join(statements))
    connection_spec, _ = resolve_target(target, folder=None)
    return DatabaseConfig("shop", connection_spec, sampling=SamplingLimits(row_limit=200))


def relations(summary: RunSummary) -> StageReport:
    assert summary.error is None
    return next(report for report in summary.reports if report.stage == "relationship_graph")


def published(store: Path) -> pl.DataFrame:
    return pl.read_parquet(store / "catalog" / "relationships.parquet").filter(pl.col("origin") == "inferred")


def as_text(relationships: pl.DataFrame) -> set[str]:
    fields = ("from_table", "from_columns", "to_table", "to_columns")
    return {
        f"{child}({', '.join(columns)}) -> {parent}({', '.join(keys)})"
        for child, columns, parent, keys in relationships.select(fields).iter_rows()
    }


EXPECTED = {
    "orders(customer_id) -> customer(customer_id)",
    "orders(ship_to_customer_id) -> customer(customer_id)",
    "orders(country) -> country(code)",
    "note(order_id) -> orders(order_id)",
}


def test_undeclared_keys_are_inferred_with_one_statement_and_published_as_inferred(
    config: DatabaseConfig, tmp_path: Path
) -> None:
    report = relations(run_database(config, LocalStore(tmp_path)))
    found = published(tmp_path)
    assert as_text(found.filter("accepted")) == EXPECTED
    assert report.metrics["inferred_accepted"] == len(EXPECTED)
    assert report.metrics["probe_statements"] == 1
    entry = next(json.loads(path.read_text()) for path in (tmp_path / "schema_store").glob("*orders.json"))
    to_customer = [item for item in entry["EntityRelationships"] if item["ForeignEntity"] == "customer"]
    assert [list(item)[-2:] for item in to_customer] == [["Origin", "Confidence"]] * 2
    assert all(item["Origin"] == "inferred" and item["Confidence"] >= 0.9 for item in to_customer)
    evidence = dict(zip(found["from_columns"].list.first(), found["evidence"], strict=True))
    assert "rows refer to nothing" in evidence["ship_to_customer_id"]
    assert "types differ" in evidence["customer_id"]


def test_the_result_is_the_same_when_run_again(config: DatabaseConfig, tmp_path: Path) -> None:
    first, second = LocalStore(tmp_path / "first"), LocalStore(tmp_path / "second")
    outputs = [relations(run_database(config, store)).output for store in (first, second, first)]
    assert len(set(outputs)) == 1


def test_without_probes_partial_samples_only_propose(config: DatabaseConfig, tmp_path: Path) -> None:
    quiet = replace(config, inference=InferenceSettings(probe=False))
    report = relations(run_database(quiet, LocalStore(tmp_path)))
    assert report.metrics["probe_statements"] == 0
    unproven = published(tmp_path).filter(pl.col("evidence").str.contains("not checked against data"))
    assert unproven.height >= 3
    assert unproven["confidence"].max() <= 0.89


def test_people_confirm_and_reject_for_good(config: DatabaseConfig, tmp_path: Path) -> None:
    schema = relations_schema(config, tmp_path / "before")
    confirmed = HumanRelationship(schema, "orders", ("country",), schema, "country", ("code",))
    rejected = HumanRelationship(schema, "note", ("order_id",), schema, "orders", ("order_id",))
    ruled = replace(config, human=HumanKnowledge(relationships=(confirmed,), rejected=(rejected,)))
    report = relations(run_database(ruled, LocalStore(tmp_path / "after")))
    assert report.metrics["from_dbt"] == 1
    found = as_text(published(tmp_path / "after"))
    assert found == EXPECTED - {"orders(country) -> country(code)", "note(order_id) -> orders(order_id)"}
    assert report.warnings == ()


def relations_schema(config: DatabaseConfig, folder: Path) -> str:
    run_database(config, LocalStore(folder))
    return str(published(folder)["from_schema"][0])


def test_inference_can_be_switched_off(config: DatabaseConfig, tmp_path: Path) -> None:
    off = replace(config, inference=InferenceSettings(enabled=False))
    assert relations(run_database(off, LocalStore(tmp_path))).metrics["relationships"] == 0


def test_a_column_that_must_not_be_read_is_in_no_statement(config: DatabaseConfig, tmp_path: Path) -> None:
    secret = replace(config, withhold=("note.order_id", "customer.customer_id"))
    report = relations(run_database(secret, LocalStore(tmp_path)))
    found = published(tmp_path)
    unread = found.filter(pl.col("from_columns").list.first() != "country")
    assert unread["confidence"].max() <= 0.89
    assert report.metrics["inferred_accepted"] == 1


def test_a_declared_key_that_rows_break_is_told(tmp_path: Path) -> None:
    path = tmp_path / "loose.db"
    with sqlite3.connect(path) as base:  # SQLite declares keys without enforcing them
        base.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        base.execute("CREATE TABLE child (id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES parent (id))")
        base.executemany("INSERT INTO parent VALUES (?)", [(at,) for at in range(1, 11)])
        base.executemany("INSERT INTO child VALUES (?, ?)", [(at, at) for at in range(1, 14)])
    connection, _ = resolve_target(str(path), folder=None)
    report = relations(run_database(DatabaseConfig("loose", connection), LocalStore(tmp_path / "out")))
    checks = {check.name: check for check in report.checks}
    assert not checks["declared_keys_hold"].passed
    assert "main.child(parent_id) -> main.parent(id): 3 of 13 rows refer to nothing" in (
        checks["declared_keys_hold"].description
    )
    assert checks["key_types_match"].passed
    assert checks["tables_are_related"].passed
    assert checks["inferred_keys_are_confirmed"].passed
