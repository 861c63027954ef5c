"""A hidden column is in no output, the keys that use it included; the value store follows its patterns."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest

from dictionary_pipeline.config.resolved import ColumnPatterns, ConnectionSpec, DatabaseConfig, Selection
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.publishing.local import LocalStore

SCRIPT = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, codename VARCHAR UNIQUE, city VARCHAR, CHECK (codename <> ''));
CREATE TABLE sale (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id),
    buyer VARCHAR REFERENCES customer (codename), channel VARCHAR, amount DECIMAL(8, 2), sold DATE);
CREATE INDEX by_codename ON customer (codename);
CREATE VIEW named AS SELECT id, city FROM customer WHERE codename LIKE 'a%';
INSERT INTO customer SELECT n, 'agent ' || n, 'city ' || n % 3 FROM range(60) r(n);
INSERT INTO sale SELECT n, n % 60, 'agent ' || n % 60, ['web', 'shop'][1 + n % 2], n, DATE '2024-01-01'
    FROM range(200) r(n);
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ConnectionSpec:
    file = tmp_path_factory.mktemp("data") / "shop.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(SCRIPT)
    return ConnectionSpec("duckdb", {"path": str(file)})


def readable(path: Path) -> str:
    if path.suffix == ".parquet" or path.read_bytes()[:4] == b"PAR1":
        return pl.read_parquet(path).write_json()
    return path.read_text(encoding="utf-8")


def test_no_file_names_a_hidden_column_but_the_problem(spec: ConnectionSpec, tmp_path: Path) -> None:
    selection = Selection(columns=ColumnPatterns(exclude=("Customer.CodeName",)))
    summary = run_database(DatabaseConfig("shop", spec, selection), LocalStore(tmp_path))
    assert summary.exit_code == 3
    naming = {
        path.relative_to(tmp_path).parts[0]
        for path in tmp_path.rglob("*")
        if path.is_file() and "codename" in readable(path).lower()
    }
    # The problem itself is in the manifest and in the state that it was made from.
    assert naming <= {"manifest.json", ".state"}
    problems = json.loads((tmp_path / "manifest.json").read_text())["problems"]
    assert {problem["object"] for problem in problems} == {"main.customer", "main.sale"}
    assert all("uses the hidden column main.customer.codename" in problem["message"] for problem in problems)
    [relationship] = json.loads((tmp_path / "schema_store" / "shop.main.sale.json").read_text())["EntityRelationships"]
    assert relationship["ForeignKeys"] == [{"Column": "customer_id", "ForeignColumn": "id"}]


def test_the_value_store_follows_its_patterns(spec: ConnectionSpec, tmp_path: Path) -> None:
    patterns = ColumnPatterns(include=("named.city", "sale.channel"), exclude=("customer.city",))
    run_database(DatabaseConfig("shop", spec, value_store=patterns), LocalStore(tmp_path))
    stored = {path.name for path in (tmp_path / "column_value_store").iterdir()}
    assert {"shop.main.named.city.jsonl", "shop.main.sale.channel.jsonl"} <= stored
    assert "shop.main.customer.city.jsonl" not in stored
