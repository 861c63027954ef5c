"""What runs record of the changes of a real SQLite database."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import dagster as dg
import pytest

from dictionary_pipeline import drifting
from dictionary_pipeline.config.resolved import ColumnRule, ConnectionSpec, DatabaseConfig, PrivacyPolicy, Selection
from dictionary_pipeline.errors import StoreError
from dictionary_pipeline.orchestration.metadata import stage_metadata
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.stages import publish as publish_stage

SCHEMA = """
CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, kind TEXT DEFAULT 'plain');
CREATE TABLE shop (id INTEGER PRIMARY KEY, city_id INTEGER REFERENCES city (id), note TEXT);
INSERT INTO city (name) VALUES ('Rome'), ('Oslo');
"""


class Database:
    """A SQLite file and the folder that its dictionary is published to."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "shop.db"
        self.out = folder / "out"
        self.execute(SCHEMA)

    def execute(self, script: str) -> None:
        connection = sqlite3.connect(self.path)
        connection.executescript(script)
        connection.close()

    def run(
        self,
        selection: Selection = Selection(),  # noqa: B008 - frozen
        privacy: PrivacyPolicy = PrivacyPolicy(),  # noqa: B008 - frozen
        file: Path | None = None,
    ) -> RunSummary:
        spec = ConnectionSpec("sqlite", {"path": str(self.path)})
        config = DatabaseConfig("shop", spec, selection=selection, privacy=privacy, file=file)
        return run_database(config, LocalStore(self.out))

    def lines(self) -> list[dict[str, object]]:
        logs = sorted((self.out / "drift").glob("log-*.jsonl")) if (self.out / "drift").is_dir() else []
        return [json.loads(line) for log in logs for line in log.read_text().splitlines()]

    def kinds(self) -> list[object]:
        return [line["kind"] for line in self.lines()]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path)


def passed(summary: RunSummary) -> bool:
    [check] = [check for check in summary.reports[-1].checks if check.name == "no_breaking_drift"]
    return check.passed


def test_the_first_publish_and_an_unchanged_run_record_no_drift(database: Database) -> None:
    assert passed(database.run())
    assert database.lines() == []
    summary = database.run()
    assert summary.reports[-1].metrics["status"] == "unchanged"
    assert database.lines() == []


def test_a_dropped_column_is_logged_once_and_fails_the_check(database: Database) -> None:
    first = database.run()
    database.execute("ALTER TABLE shop DROP COLUMN note")
    summary = database.run()
    [line] = database.lines()
    assert (line["kind"], line["severity"], line["table"], line["column"]) == (
        *("column_removed", "breaking"),
        *("shop", "note"),
    )
    assert line["run_id"] == summary.run_id
    assert line["previous"] == first.reports[0].metrics["schema_fingerprint"]
    assert line["new"] == summary.reports[0].metrics["schema_fingerprint"]
    assert summary.reports[-1].metrics["drift_breaking"] == 1
    assert not passed(summary)
    again = database.run()
    assert passed(again)
    assert again.reports[-1].metrics["status"] == "unchanged"
    assert len(database.lines()) == 1


def test_a_change_there_and_back_and_there_again_is_three_steps(database: Database) -> None:
    database.run()
    for script in ("CREATE TABLE extra (id INTEGER)", "DROP TABLE extra", "CREATE TABLE extra (id INTEGER)"):
        database.execute(script)
        database.run()
    assert database.kinds() == ["table_added", "table_removed", "table_added"]


@pytest.mark.parametrize("dies_in", ["build_bundle", "publish"])
def test_a_run_that_dies_loses_no_drift_and_its_retry_writes_the_first_detection(
    database: Database, monkeypatch: pytest.MonkeyPatch, dies_in: str
) -> None:
    database.run()
    database.execute("ALTER TABLE shop DROP COLUMN note")

    def die(*_args: object, **_options: object) -> None:
        raise StoreError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(publish_stage, dies_in, die)
        killed = database.run()
    assert killed.error is not None
    assert database.lines() == []
    database.run()
    [line] = database.lines()
    assert line["run_id"] == killed.run_id


def test_a_run_that_dies_after_the_swap_logs_nothing_twice(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.run()
    database.execute("ALTER TABLE shop DROP COLUMN note")

    def die(*_args: object) -> None:
        raise StoreError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(drifting, "keep_baseline", die)
        assert database.run().error is not None
    database.execute("CREATE TABLE extra (id INTEGER)")
    database.run()
    assert database.kinds() == ["column_removed", "table_added"]


def test_facts_that_only_the_kept_snapshot_holds_are_compared(database: Database) -> None:
    database.run()
    database.execute(
        "DROP TABLE shop; CREATE TABLE shop (id INTEGER PRIMARY KEY, city_id INTEGER, note TEXT, "
        "FOREIGN KEY (city_id) REFERENCES city (id) ON DELETE CASCADE)"
    )
    database.run()
    assert database.kinds() == ["fk_rule_changed"]


def test_a_table_that_is_no_longer_selected_is_not_removed(database: Database) -> None:
    database.run()
    database.run(Selection(exclude_entities=("shop",)))
    assert database.kinds() == []


def test_losing_the_state_costs_no_drift_and_invents_none(database: Database) -> None:
    database.run()
    for file in (database.out / ".state" / "stages").glob("*.json"):
        file.unlink()
    database.execute("ALTER TABLE shop DROP COLUMN note")
    database.run()
    assert database.kinds() == ["column_removed"]


def test_a_newly_withheld_column_disappears_from_the_log(database: Database) -> None:
    database.run()
    database.execute("DROP TABLE city; CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, kind TEXT DEFAULT 'odd')")
    database.run()
    assert database.kinds() == ["default_changed"]
    assert "'odd'" in json.dumps(database.lines())
    summary = database.run(privacy=PrivacyPolicy(columns=(ColumnRule("city.kind", "withhold"),)))
    assert summary.error is None
    [line] = database.lines()
    assert line["kind"] == "default_changed"
    assert "odd" not in str(line["before"]) + str(line["after"])


def test_the_drift_report_is_a_markdown_table_and_counts_are_there_when_nothing_changed(database: Database) -> None:
    summary = database.run()
    assert summary.reports[-1].texts == {}
    assert summary.reports[-1].metrics["drift_changes"] == 0
    database.execute("ALTER TABLE shop DROP COLUMN note")
    report = database.run().reports[-1].texts["drift_report"]
    assert "| severity | change | object | before | after | used by |\n| --- |" in report
    assert "| breaking | column_removed | main.shop.note | TEXT |" in report


def test_a_long_drift_report_is_cut_at_a_line(database: Database) -> None:
    database.run()
    database.execute(";".join(f"CREATE TABLE {'t' * 60}{number} (id INTEGER)" for number in range(400)))
    summary = database.run()
    report = summary.reports[-1].texts["drift_report"]
    assert len(report) < 13_000
    assert report.endswith("... cut; `data_dictionary drift` lists all 400 changes.")
    value = stage_metadata(summary.reports[-1])["drift_report"]
    assert isinstance(value, dg.MarkdownMetadataValue)
    assert value.value == report


@pytest.mark.parametrize(("described", "shown"), [("a town", True), ("like zeta-4711-omega", False)])
def test_the_report_proposes_an_edit_unless_its_lines_quote_a_withheld_value(
    database: Database, tmp_path: Path, described: str, shown: bool
) -> None:
    withheld = PrivacyPolicy(columns=(ColumnRule("person.town", "withhold"),))
    file = tmp_path / "shop.yml"
    columns = f"[{{name: town, description: {described}}}, {{name: email}}]"
    file.write_text(f"sources:\n- name: main\n  tables:\n  - name: person\n    columns: {columns}\n")
    database.execute(
        "CREATE TABLE person (id INTEGER PRIMARY KEY, email VARCHAR(77) UNIQUE NOT NULL, town TEXT);"
        "INSERT INTO person (email, town) VALUES ('a', 'zeta-4711-omega')"
    )
    database.run(privacy=withheld)
    database.execute("ALTER TABLE person RENAME COLUMN email TO email_address")
    report = database.run(privacy=withheld, file=file).reports[-1].texts["drift_report"]
    assert "column_renamed" in report
    assert ("~~~diff" in report) == shown
    assert "zeta-4711" not in report
