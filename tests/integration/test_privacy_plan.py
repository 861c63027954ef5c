"""`data_dictionary plan`: what a run would do, before any value is read."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from system.projects import write_project

from dictionary_pipeline.cli import main
from dictionary_pipeline.engines.sqlite import _SQLiteSession as SqliteSession

SCRIPT = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, label TEXT, email TEXT, password TEXT);
CREATE TABLE event (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer, what TEXT);
CREATE VIEW v AS SELECT id FROM event;
INSERT INTO customer VALUES (1, 'red', 'a@shop.example', 'x'), (2, 'blue', 'b@shop.example', 'y');
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(tmp_path)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(SCRIPT)
    connection.close()
    write(tmp_path, "")
    return tmp_path


def write(project: Path, privacy: str) -> None:
    text = "connection: {type: sqlite, path: shop.db}\n" + privacy
    (project / "dbt_like_configs" / "databases" / "shop.yml").write_text(text)


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as leave:
        main(list(words))
    captured = capsys.readouterr()
    return int(leave.value.code or 0), captured.out, captured.err


def plan(project: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    code, out, _ = call(capsys, "plan", "shop", "--json", "--project", str(project))
    assert code == 0
    found: dict[str, object] = json.loads(out)
    return found


def test_a_plan_reads_no_table_and_writes_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    rows = SqliteSession.rows
    monkeypatch.setattr(
        SqliteSession, "rows", lambda self, sql, **options: (sent.append(sql), rows(self, sql, **options))[1]
    )
    found = plan(project, capsys)
    assert (found["tables"], found["views"], found["sampling_statements"]) == (2, 1, 3)
    assert (found["definitions_to_renew"], found["model_requests"]) == (3, 0)
    assert not [sql for sql in sent if '"customer"' in sql]
    assert not (project / "published").exists()


def test_a_plan_tells_sensitive_columns_by_name_policy_and_last_verdict(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def treatments() -> dict[str, str]:
        rows = plan(project, capsys)["sensitive_columns"]
        assert isinstance(rows, list)
        return {row["column"]: row["treatment"] for row in rows}

    assert treatments() == {"email": "withhold", "password": "deny"}
    write(project, "privacy: {columns: [{match: label, treat: mask}, {match: email, treat: allow}]}\n")
    assert treatments() == {"label": "mask", "email": "allow", "password": "deny"}
    write(project, "")
    code, out, _ = call(capsys, "run", "shop", "--project", str(project))
    assert code == 0
    assert "2 columns withheld" in out
    assert treatments() == {"email": "withhold", "password": "deny"}
    assert plan(project, capsys)["definitions_to_renew"] == 0


def test_a_plan_for_people_is_the_same_every_time(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = call(capsys, "plan", "shop", "--project", str(project))
    assert first == call(capsys, "plan", "shop", "--project", str(project))
    assert "sampling: 3 statements" in first[1]
    assert "main.customer.password: deny, PASSWORD" in first[1]
    assert "the role of its table is not known yet" in first[1]


def test_an_unknown_name_is_a_configuration_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "plan", "shopp", "--project", str(project))
    assert code == 2
    assert "shop" in err
