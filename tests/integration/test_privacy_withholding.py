"""Sensitive values over the whole pipeline: withheld, masked, released, purged, and looked for by the gate."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from privacy_probes import detect_by_look, holders

from dictionary_pipeline.config.resolved import ColumnRule, DatabaseConfig, HumanKnowledge, HumanTable, PrivacyPolicy
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.engines.sqlite import _SQLiteSession as SqliteSession
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.sealed import KEY
from dictionary_pipeline.run import RunOptions
from dictionary_pipeline.sampling import collect

EMAILS = r"cust\d+@shop\.example"
SCRIPT = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, nick TEXT, email TEXT, phone TEXT, password TEXT,
    kind TEXT DEFAULT 'new' CHECK (kind IN ('new', 'old')));
CREATE TABLE event (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer, what TEXT);
CREATE VIEW vip AS SELECT id, kind FROM customer WHERE email = 'cust1@shop.example';
CREATE VIEW quoted AS SELECT id FROM event WHERE what <> 'cust2@shop.example';
"""


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dictionary_pipeline.sampling.verdicts.detect", detect_by_look)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCRIPT)
        connection.executemany(
            "INSERT INTO customer VALUES (?, ?, ?, ?, ?, ?)",
            [
                (n, f"nick{n}", f"cust{n}@shop.example", f"555-{n:04}", f"hunter{n}", "old" if n % 2 else "new")
                for n in range(1, 41)
            ],
        )
        connection.execute("INSERT INTO event VALUES (1, 1, 'login'), (2, 2, 'logout')")
    connection.close()
    return path


class Shop:
    """Runs the pipeline over the database and reads what it published."""

    def __init__(self, database: Path, out: Path) -> None:
        self.connection, _ = resolve_target(str(database), folder=None)
        self.out = out

    def run(
        self, *, options: RunOptions | None = None, human: HumanKnowledge | None = None, **changes: Any
    ) -> RunSummary:
        config = DatabaseConfig("shop", self.connection, human=human or HumanKnowledge())
        store = LocalStore(self.out)
        return run_database(replace(config, **changes), store, options=options or RunOptions())

    def column(self, name: str, table: str = "customer") -> dict[str, Any]:
        entry = json.loads((self.out / "schema_store" / f"main.{table}.json").read_text(encoding="utf-8"))
        found: dict[str, Any] = next(column for column in entry["Columns"] if column["Name"] == name)
        return found

    def values(self, column: str) -> list[str]:
        path = self.out / "column_value_store" / f"main.customer.{column}.jsonl"
        return [json.loads(line)["Value"] for line in path.read_text(encoding="utf-8").splitlines()]

    def state(self) -> dict[str, bytes]:
        folder = self.out / ".state"
        return {path.name: path.read_bytes() for path in [self.out / KEY, *(folder / "stages").glob("*/*")]}

    def bundle(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.out).as_posix(): path.read_bytes()
            for path in self.out.rglob("*")
            if path.is_file() and ".state" not in path.parts
        }


@pytest.fixture
def shop(database: Path, tmp_path: Path) -> Iterator[Shop]:
    yield Shop(database, tmp_path / "out")


def ok(summary: RunSummary) -> RunSummary:
    assert summary.exit_code == 0, (summary.error, summary.problems)
    return summary


def policy(*rules: tuple[str, str], **other: Any) -> PrivacyPolicy:
    return PrivacyPolicy(columns=tuple(ColumnRule(match, treat) for match, treat in rules), **other)  # type: ignore[arg-type]


def test_values_found_sensitive_are_nowhere_and_the_rest_is_published(shop: Shop) -> None:
    summary = ok(shop.run())
    assert holders(shop.out, EMAILS) == []
    assert holders(shop.out, r"555-\d{4}") == []
    assert holders(shop.out, r"hunter\d") == []
    assert shop.column("email")["SampleValues"] is None
    assert shop.column("nick")["SampleValues"] is not None
    assert shop.column("kind")["AllowedValues"] == ["new", "old"]
    metrics = summary.reports[1].metrics
    assert metrics["columns_withheld"] == 3
    table = summary.reports[1].tables["withheld_columns"]
    assert table.select("column", "category", "treatment").rows() == [
        ("email", "EMAIL_ADDRESS", "withhold"),
        ("phone", "PHONE_NUMBER", "withhold"),
        ("password", "PASSWORD", "deny"),
    ]


def test_a_second_run_changes_no_byte_with_any_treatment(shop: Shop) -> None:
    for privacy in (policy(), policy(("kind", "mask"), ("customer.id", "mask"), default="mask")):
        ok(shop.run(privacy=privacy))
        before, state = shop.bundle(), shop.state()
        ok(shop.run(privacy=privacy))
        assert shop.bundle() == before
        assert shop.state() == state


def test_masked_columns_show_shapes_everywhere(shop: Shop) -> None:
    ok(shop.run(privacy=policy(("phone", "withhold"), ("kind", "mask"), default="mask")))
    assert holders(shop.out, EMAILS) == []
    assert shop.column("email")["SampleValues"] == ["aaaa99@aaaa.aaaaaaa"]
    assert set(shop.values("email")) == {"aaaa9@aaaa.aaaaaaa", "aaaa99@aaaa.aaaaaaa"}
    assert shop.column("phone")["SampleValues"] is None
    assert shop.column("kind")["AllowedValues"] == ["aaa"]


def test_categories_and_patterns_decide_and_deny_wins(shop: Shop) -> None:
    rules = policy(("customer.email", "allow"), ("*mail", "deny"), categories={"PHONE_NUMBER": "allow"})
    ok(shop.run(privacy=rules))
    assert shop.column("email")["SampleValues"] is None
    assert shop.column("phone")["SampleValues"] is not None


def test_a_released_password_is_read_and_shown(shop: Shop) -> None:
    ok(shop.run(allow=("customer.password",)))
    assert shop.column("password")["SampleValues"] == ["hunter1", "hunter10", "hunter11", "hunter12", "hunter13"]


def test_a_denied_column_is_in_no_statement(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    rows = SqliteSession.rows

    def recorded(self: SqliteSession, sql: str, **options: Any) -> list[tuple[Any, ...]]:
        sent.append(sql)
        return rows(self, sql, **options)

    monkeypatch.setattr(SqliteSession, "rows", recorded)
    ok(shop.run(privacy=policy(("email", "deny"))))
    sampling = [sql for sql in sent if "FROM" in sql and '"customer"' in sql]
    assert sampling
    assert not [sql for sql in sampling if '"email"' in sql or '"password"' in sql]


def test_the_gate_refuses_a_bundle_when_withholding_is_switched_off(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "treat", lambda profile, treatment: profile)
    monkeypatch.setattr("dictionary_pipeline.publishing.bundle.without_withheld", lambda inputs: inputs)
    summary = shop.run()
    assert summary.exit_code == 1
    assert not (shop.out / "manifest.json").exists()
    text = str(summary.error)
    assert "main.customer.email" in text or "main.customer.phone" in text or "withheld column" in text


def test_a_person_who_quotes_a_withheld_value_is_told_where_and_how_to_release_it(shop: Shop) -> None:
    human = HumanKnowledge(
        tables=(HumanTable("main", "event", description="What they did, e.g. of cust7@shop.example."),)
    )
    summary = shop.run(human=human)
    assert summary.exit_code == 1
    text = str(summary.error)
    assert "event.json" in text
    assert "main.customer.email" in text
    assert "privacy: {allow: [main.customer.email]}" in text
    assert "cust7" not in text
    assert not (shop.out / "manifest.json").exists()
    ok(shop.run(human=human, allow=("main.customer.email",)))


def test_a_value_that_another_column_shows_as_its_own_does_not_block(shop: Shop, database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE event SET what = 'call 555-0001'")
        connection.execute("UPDATE customer SET phone = 'call 555-0001' WHERE id = 1")
    connection.close()
    ok(shop.run())
    assert shop.column("what", "event")["SampleValues"] == ["call 555-0001"]


def test_a_list_of_allowed_values_that_names_a_withheld_one_is_not_told(shop: Shop, database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.executescript("""
            CREATE TABLE route (target TEXT CHECK (target IN ('cust3@shop.example', 'desk')),
                way TEXT CHECK (way IN ('road', 'rail')));
            INSERT INTO route VALUES ('desk', 'road');
        """)
    connection.close()
    for _ in range(2):  # the second run starts from what the first one kept
        ok(shop.run())
        assert "AllowedValues" not in shop.column("target", "route")
        assert shop.column("way", "route")["AllowedValues"] == ["rail", "road"]
        assert holders(shop.out, EMAILS) == []


@pytest.mark.parametrize("treat", ["withhold", "mask", "deny"])
def test_a_column_newly_hidden_is_purged_from_the_whole_store(shop: Shop, treat: str) -> None:
    ok(shop.run(allow=("email",)))
    ok(shop.run(allow=("email", "phone")))
    assert list((shop.out / ".manifests").iterdir())
    assert {"schema_store/main.customer.json", "column_value_store/main.customer.email.jsonl"} <= set(
        holders(shop.out, EMAILS)
    )
    summary = ok(shop.run(privacy=policy(("email", treat)), allow=("phone",)))
    assert summary.reports[-1].metrics["objects_purged"]
    assert holders(shop.out, EMAILS) == []
    assert not list((shop.out / ".manifests").iterdir())
    manifest = json.loads((shop.out / "manifest.json").read_text())
    for path, info in manifest["files"].items():
        assert (shop.out / ".objects" / info["sha256"][:2] / info["sha256"]).exists(), path
    assert ok(shop.run(privacy=policy(("email", treat)), allow=("phone",))).reports[-1].metrics["objects_purged"] == 0


def test_a_column_that_a_work_on_other_tables_leaves_alone_keeps_its_verdict(shop: Shop) -> None:
    ok(shop.run())
    before = shop.bundle()
    ok(shop.run(options=RunOptions(entities=("event",))))
    assert shop.bundle() == before
    assert holders(shop.out, EMAILS) == []


def test_a_released_column_is_read_again_though_other_tables_are_worked_on(shop: Shop) -> None:
    ok(shop.run())
    ok(shop.run(options=RunOptions(entities=("event",)), allow=("email",)))
    assert shop.column("email")["SampleValues"] is not None


def test_new_values_change_the_verdict(shop: Shop, database: Path) -> None:
    ok(shop.run())
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE customer SET email = 'none'")
        connection.execute("UPDATE customer SET nick = nick || '@new.example'")
    connection.close()
    ok(shop.run())
    assert shop.column("email")["SampleValues"] == ["none"]
    assert shop.column("nick")["SampleValues"] is None


def test_a_table_that_cannot_be_read_keeps_its_verdicts(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from dictionary_pipeline.errors import QueryFailed

    ok(shop.run())
    rows = SqliteSession.rows

    def failing(self: SqliteSession, sql: str, **options: Any) -> list[tuple[Any, ...]]:
        if '"nick"' in sql:
            raise QueryFailed("the engine refused the statement")
        return rows(self, sql, **options)

    monkeypatch.setattr(SqliteSession, "rows", failing)
    summary = shop.run()
    assert summary.exit_code == 3
    treatments = summary.reports[1].tables["withheld_columns"]
    assert treatments["column"].to_list() == ["email", "phone", "password"]
    assert holders(shop.out, EMAILS) == []


def test_lost_seals_are_no_licence_to_publish(shop: Shop) -> None:
    ok(shop.run())
    (shop.out / KEY).unlink()
    ok(shop.run())
    assert (shop.out / KEY).exists()
