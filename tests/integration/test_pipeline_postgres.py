"""The whole pipeline over a real PostgreSQL: no wrong value, stable bytes, bounded statements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from servers.postgres import PostgresServer, execute

from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
KEY_ORDER = [
    "Entity",
    "Definition",
    "Schema",
    "EntityName",
    "Database",
    "EntityRelationships",
    "CompleteEntityRelationshipsGraph",
    "Columns",
    "FQN",
]
SCRIPT = """
CREATE SCHEMA a; CREATE SCHEMA b;
CREATE TYPE a.mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN a.grade AS text CHECK (VALUE IN ('A', 'B'));
CREATE TABLE a.orders (tenant int, no int, note text, PRIMARY KEY (tenant, no));
CREATE TABLE a.lines (tenant int, no int, line int, sku text, PRIMARY KEY (tenant, no, line),
    FOREIGN KEY (tenant, no) REFERENCES a.orders);
CREATE TABLE b.person (id int PRIMARY KEY, ssn text, boss int REFERENCES b.person);
CREATE TABLE b.transfer (id int PRIMARY KEY, giver int REFERENCES b.person, taker int REFERENCES b.person);
CREATE TABLE a.t (id int PRIMARY KEY, v text); CREATE TABLE a."T" (id int PRIMARY KEY, v text);
CREATE TABLE a."o'brien" ("in/out" text, "select" text);
CREATE TABLE a.odd (id bigint PRIMARY KEY, f float8, d date, ts timestamptz, j jsonb, b bytea, m a.mood, g a.grade,
    status text CHECK (status IN ('new', 'paid')), c char(6), big bigint, n numeric(8,2), arr text[]);
CREATE TABLE a.metric (ts date NOT NULL, v int) PARTITION BY RANGE (ts);
CREATE TABLE a.metric_2024 PARTITION OF a.metric FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE MATERIALIZED VIEW a.mv AS SELECT v FROM a.metric;
CREATE VIEW b.v AS SELECT o.note FROM a.orders o;
INSERT INTO a.orders SELECT 1 + g % 3, g, 'note ' || g FROM generate_series(1, 30) g;
INSERT INTO a.lines SELECT 1 + g % 3, g, 1, 'sku' || g FROM generate_series(1, 30) g;
INSERT INTO b.person SELECT g, '123-45-' || g, NULL FROM generate_series(1000, 1010) g;
INSERT INTO a.t VALUES (1, 'lower'); INSERT INTO a."T" VALUES (1, 'UPPER');
INSERT INTO a."o'brien" VALUES (E'tab\\there', 'x');
INSERT INTO a.odd VALUES
 (1, 'NaN', 'infinity', '-infinity', '{"a": [1]}', '\\xdead', 'ok', 'A', 'new', 'ab', 9007199254740993, 1.1, '{x,y}'),
 (2, 'Infinity', '0044-03-15 BC', '2024-01-01 12:00+02', '[]', NULL, 'sad', 'B', 'paid', 'cd', 0, 2, NULL);
INSERT INTO a.metric VALUES ('2024-05-01', 1);
REFRESH MATERIALIZED VIEW a.mv;
"""


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    return postgres.create_database("pipeline", SCRIPT)


def run(url: str, out: Path) -> RunSummary:
    connection, _ = resolve_target(url, folder=None)
    return run_database(DatabaseConfig("pipeline", connection), LocalStore(out))


@pytest.fixture(scope="module")
def published(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    summary = run(url, out)
    assert summary.exit_code == 0, (summary.error, summary.problems)
    return out


@pytest.fixture(scope="module")
def entries(published: Path) -> dict[str, dict[str, Any]]:
    read = [json.loads(path.read_text(encoding="utf-8")) for path in (published / "schema_store").iterdir()]
    return {entry["FQN"].removeprefix("pipeline."): entry for entry in read}


def columns(entry: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {column["Name"]: column for column in entry["Columns"]}


def test_every_published_file_validates_against_its_schema(published: Path) -> None:
    def validator(name: str) -> Draft202012Validator:
        return Draft202012Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text()))

    entry = validator("schema_store_entry")
    files = list((published / "schema_store").iterdir())
    for path in files:
        document = json.loads(path.read_text(encoding="utf-8"))
        entry.validate(document)
        assert list(document) == KEY_ORDER
    assert len(files) == 11
    line = validator("value_store_line")
    for path in (published / "column_value_store").iterdir():
        for text in path.read_text(encoding="utf-8").splitlines():
            line.validate(json.loads(text))
    validator("manifest").validate(json.loads((published / "manifest.json").read_text()))


def test_keys_are_whole_and_stay_apart(entries: dict[str, dict[str, Any]]) -> None:
    [composite] = entries["a.lines"]["EntityRelationships"]
    assert composite["ForeignKeys"] == [
        {"Column": "tenant", "ForeignColumn": "tenant"},
        {"Column": "no", "ForeignColumn": "no"},
    ]
    two = [item["ForeignKeys"] for item in entries["b.transfer"]["EntityRelationships"]]
    assert two == [[{"Column": "giver", "ForeignColumn": "id"}], [{"Column": "taker", "ForeignColumn": "id"}]]
    assert "pipeline.b.person -> pipeline.b.person" in entries["b.person"]["CompleteEntityRelationshipsGraph"][0]


def test_names_that_differ_in_case_only_keep_their_own_values(entries: dict[str, dict[str, Any]]) -> None:
    assert columns(entries["a.t"])["v"]["SampleValues"] == ["lower"]
    assert columns(entries["a.T"])["v"]["SampleValues"] == ["UPPER"]


def test_odd_values_are_right_and_valid_json(entries: dict[str, dict[str, Any]]) -> None:
    odd = {name: column["SampleValues"] for name, column in columns(entries["a.odd"]).items()}
    assert odd["f"] == ["Infinity", "NaN"]
    assert odd["d"] == ["0044-03-15 BC", "infinity"]
    assert odd["ts"] == ["-infinity", "2024-01-01T10:00:00+00:00"]
    assert odd["j"] == [[], {"a": [1]}]
    assert odd["b"] == ["<2 bytes>"]
    assert odd["big"] == [0, 9007199254740993]
    assert odd["c"] == ["ab", "cd"]
    assert odd["n"] == ["1.10", "2.00"]
    assert odd["arr"] == [["x", "y"]]
    assert columns(entries["a.o'brien"])["in/out"]["SampleValues"] == ["tab\there"]


def test_allowed_values_come_from_enum_domain_and_check(entries: dict[str, dict[str, Any]]) -> None:
    odd = columns(entries["a.odd"])
    assert odd["m"]["AllowedValues"] == ["sad", "ok", "happy"]
    assert odd["g"]["AllowedValues"] == ["A", "B"]
    assert odd["status"]["AllowedValues"] == ["new", "paid"]
    assert "AllowedValues" not in odd["c"]


def test_partitions_are_folded_and_materialized_views_present(entries: dict[str, dict[str, Any]]) -> None:
    assert "a.metric_2024" not in entries
    assert columns(entries["a.metric"])["v"]["SampleValues"] == [1]
    assert columns(entries["a.mv"])["v"]["SampleValues"] == [1]


def test_withheld_values_are_nowhere_below_the_folder(published: Path) -> None:
    holders = [path for path in published.rglob("*") if path.is_file() and b"123-45-" in path.read_bytes()]
    assert holders == []


def test_vacuum_and_analyze_change_no_byte(url: str, published: Path) -> None:
    before = {path: path.read_bytes() for path in published.rglob("*") if path.is_file() and ".state" not in path.parts}
    execute(url, "VACUUM ANALYZE")
    assert run(url, published).exit_code == 0
    after = {path: path.read_bytes() for path in published.rglob("*") if path.is_file() and ".state" not in path.parts}
    assert after == before


def test_an_unreadable_table_is_named_and_the_rest_is_published(postgres: PostgresServer, tmp_path: Path) -> None:
    name = "pipeline_denied"
    script = "CREATE TABLE open (id int PRIMARY KEY); CREATE TABLE shut (id int PRIMARY KEY);"
    postgres.create_database(name, script)
    url = postgres.url(name, user="dd_limited")
    execute(postgres.url(name), "CREATE ROLE dd_limited LOGIN; GRANT SELECT ON open TO dd_limited")
    summary = run(url, tmp_path)
    assert summary.exit_code == 3
    [problem] = [p for p in summary.problems if p.stage == "schema_snapshot"]
    assert problem.object == "public.shut"
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["complete"] is False
    assert manifest["problems"][0]["object"] == "public.shut"
    entries = [json.loads(path.read_text()) for path in (tmp_path / "schema_store").iterdir()]
    assert {entry["Entity"] for entry in entries} == {"open", "shut"}
