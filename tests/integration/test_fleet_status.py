"""`data_dictionary status` and `retire` over real bundles in a folder."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.alerts.state import FAILURES, AlertState, Record, RecordKey, save_state
from dictionary_pipeline.cli import main
from dictionary_pipeline.config.loader import load_project
from dictionary_pipeline.drift.acks import acknowledge
from dictionary_pipeline.drift.reading import published_entries
from dictionary_pipeline.enrichment.model.budget import LEDGER_KEY
from dictionary_pipeline.fleet import DatabaseStatus, Fleet, survey
from dictionary_pipeline.publishing.local import LocalStore

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], project: Path) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(words))
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return call


def fleet(project: Path, later: timedelta = timedelta()) -> Fleet:
    return survey(load_project(project), datetime.now(UTC) + later)


def only(found: Fleet) -> DatabaseStatus:
    (item,) = found.databases
    return item


def status(run: Run) -> dict[str, Any]:
    document = json.loads(run("status", "--json")[1])
    assert isinstance(document, dict)
    return document


def change(project: Path, script: str) -> None:
    with sqlite3.connect(project / "x.db") as connection:
        connection.executescript(script)
    connection.close()


def test_a_published_database_is_fresh_and_the_exit_code_says_so(project: Path, run: Run) -> None:
    add_sqlite_database(project, "x", 3)
    run("run")
    code, out, err = run("status")
    assert (code, err) == (0, "")
    assert "1 database, 1 fresh, 0 to look after" in out
    (item,) = status(run)["databases"]
    assert (item["state"], item["complete"], item["problems"], item["window_seconds"]) == ("fresh", True, 0, 48 * 3600)
    assert item["published_at"] and item["verified_at"] and item["run_id"]
    assert sum(item["definitions"].values()) == 3 + 8, "three tables and eight columns"


def test_a_dead_daemon_shows_as_stale_after_two_periods(project: Path, run: Run) -> None:
    add_sqlite_database(project, "x", 1)
    run("run")
    assert fleet(project, timedelta(hours=47)).exit_code == 0
    old = fleet(project, timedelta(hours=49))
    assert (old.exit_code, old.stale, only(old).state) == (1, ("x",), "stale")
    yaml = project / "dbt_like_configs/databases/x.yml"
    yaml.write_text(yaml.read_text() + 'schedule: {cron: "0 3 * * 0"}\n')
    assert fleet(project, timedelta(days=13)).exit_code == 0
    assert fleet(project, timedelta(days=15)).exit_code == 1


def test_an_unchanged_run_makes_it_fresh_again_although_nothing_is_published(project: Path, run: Run) -> None:
    add_sqlite_database(project, "x", 1)
    run("run")
    first = only(fleet(project))
    run("run")
    second = only(fleet(project))
    assert second.published_at == first.published_at
    assert first.verified_at is not None and second.verified_at is not None
    assert second.verified_at > first.verified_at


def test_what_was_never_published_or_cannot_be_read_is_to_be_looked_after(project: Path, run: Run) -> None:
    for name in ("broken", "damaged", "good", "new"):
        add_sqlite_database(project, name, 1)
    run("run", "good")
    run("run", "damaged")
    (project / "published/damaged/manifest.json").write_text("{")
    (project / "dbt_like_configs/databases/broken.yml").write_text("x: [\n")
    code, out, _ = run("status")
    assert code == 1
    assert "to look after: broken, damaged, new" in out
    states = {item["name"]: (item["state"], item["fault"]) for item in status(run)["databases"]}
    assert states["good"] == ("fresh", None)
    assert states["new"] == ("never published", None)
    assert states["broken"][0] == "never published"
    assert "broken.yml:" in str(states["broken"][1])
    assert states["damaged"][0] == "unreadable"
    assert "manifest" in str(states["damaged"][1])


def test_a_file_that_became_invalid_is_named_but_its_dictionary_is_still_fresh(project: Path, run: Run) -> None:
    file = add_sqlite_database(project, "x", 1)
    run("run")
    file.write_text("x: [\n")
    found = fleet(project)
    assert (only(found).state, found.exit_code) == ("fresh", 0)
    assert "x.yml:" in str(only(found).fault)


def test_drift_counts_until_somebody_acknowledges_it(project: Path, run: Run) -> None:
    add_sqlite_database(project, "x", 2)
    run("run")
    change(project, "ALTER TABLE t0 DROP COLUMN name")
    run("run")
    assert (only(fleet(project)).breaking, fleet(project).exit_code) == (1, 0)
    store = LocalStore(project / "published/x")
    acknowledge(store, [entry.key for entry in published_entries(store)], "ann", "planned", datetime.now(UTC))
    assert only(fleet(project)).breaking == 0


def test_a_held_dictionary_is_shown_as_held_and_grows_old(project: Path, run: Run) -> None:
    file = add_sqlite_database(project, "x", 2)
    file.write_text(file.read_text() + "drift: {on_breaking: hold}\n")
    run("run")
    verified = only(fleet(project)).verified_at
    change(project, "ALTER TABLE t0 DROP COLUMN name")
    run("run")
    item = only(fleet(project))
    assert (item.breaking, item.held_since is not None, item.verified_at) == (1, True, verified)
    assert "fresh, held" in fleet(project).frame()["state"].to_list()


def test_what_restore_brought_back_is_as_old_as_it_is(project: Path, run: Run) -> None:
    add_sqlite_database(project, "x", 2)
    run("run")
    first = only(fleet(project))
    change(project, "ALTER TABLE t0 ADD COLUMN more text")
    run("run")
    (archived,) = (project / "published/x/.manifests").iterdir()
    assert run("restore", "x", archived.name)[0] == 0
    back = only(fleet(project))
    assert (back.published_at, back.verified_at) == (first.published_at, None)
    assert only(fleet(project, timedelta(hours=49))).state == "stale"
    run("run")
    assert only(fleet(project)).verified_at is not None


def test_spending_of_the_month_is_told_as_far_as_runs_recorded_it(project: Path, run: Run) -> None:
    assert status(run)["cost_this_month"] is None
    now = datetime.now(UTC)
    before = (now.replace(day=1) - timedelta(days=1)).date().isoformat()
    days = {now.date().isoformat(): 1_250_000, before: 9_000_000}
    LocalStore(project / "published").write(LEDGER_KEY, json.dumps({"days": days}).encode())
    assert status(run)["cost_this_month"] == 1.25
    assert "all databases: 1.25" in run("status")[1]
    for damaged in (b"[]", b'{"days": []}', b'{"days": {"2026-11-01": "much"}}'):
        LocalStore(project / "published").write(LEDGER_KEY, damaged)
        assert fleet(project).cost_this_month is None


def test_a_channel_that_is_no_longer_configured_is_not_told_as_failing(project: Path, run: Run) -> None:
    store, key = LocalStore(project / "published"), RecordKey("topic", "ops")
    record = Record(*key, "failure", "x", ("x",), 1.0, attempts=3, error="HTTP 404")
    save_state(store, FAILURES, AlertState({key: record}), None)
    file = project / "dbt_like_configs" / "project.yml"
    before = file.read_text() if file.exists() else ""
    file.write_text(before + "alerts: {channels: {ops: {type: slack, url_env: HOOK_URL}}}\n")
    assert [failure.channel for failure in fleet(project).failing_alerts] == ["ops"]
    file.write_text(before)
    assert fleet(project).failing_alerts == ()


def test_two_hundred_databases_are_surveyed(project: Path, run: Run) -> None:
    file = add_sqlite_database(project, "x", 1)
    run("run")
    for number in range(200):
        (file.parent / f"n{number}.yml").write_text(file.read_text())
    assert len(fleet(project).databases) == 201


def test_a_retired_dictionary_stays_and_is_marked_for_readers(project: Path, run: Run) -> None:
    file = add_sqlite_database(project, "x", 2)
    run("run")
    bundle = project / "published/x"
    before = {path: path.read_bytes() for path in (bundle / "schema_store").iterdir()}
    file.unlink()
    code, out, _ = run("retire", "x")
    assert (code, out.split(" since ")[0]) == (0, "x: retired")
    assert {path: path.read_bytes() for path in (bundle / "schema_store").iterdir()} == before
    manifest = json.loads((bundle / "manifest.json").read_bytes())
    assert run("retire", "x")[1] == out, "done again, it changes nothing"
    assert json.loads((bundle / "manifest.json").read_bytes()) == manifest
    (item,) = status(run)["databases"]
    assert (item["state"], item["retired_at"]) == ("retired", manifest["retired"])
    assert run("status")[0] == 0
    code, out, _ = run("show", "x")
    assert (code, out.splitlines()[0].partition("; ")[2]) == (0, f"retired since {manifest['retired']}")
    assert run("show", "published/x")[1].splitlines()[0] == out.splitlines()[0]


def test_a_name_that_comes_back_starts_clean_and_keeps_its_ids(project: Path, run: Run) -> None:
    file = add_sqlite_database(project, "x", 2)
    run("run")
    text = file.read_text()
    file.unlink()
    run("retire", "x")
    kept = [path for path in (project / "published/x/.state").rglob("*") if path.is_file()]
    assert {path.name for path in kept} <= {"lease.json", "mirrored", "store.lock"}
    ids = (project / "published/x/graph/ids.parquet").read_bytes()
    file.write_text(text)
    assert run("run")[0] == 0
    assert (project / "published/x/graph/ids.parquet").read_bytes() == ids
    assert (status(run)["databases"][0]["state"], run("drift", "x")[1]) == ("fresh", "x: no drift recorded\n")


def test_deleting_takes_everything_of_the_pipeline_and_nothing_else(project: Path, run: Run) -> None:
    file = add_sqlite_database(project, "x", 2)
    run("run")
    change(project, "CREATE TABLE extra (id INTEGER)")
    run("run")
    (project / "published/x/notes.txt").write_text("mine")
    file.unlink()
    assert run("retire", "x", "--delete")[0] == 2
    assert (project / "published/x/manifest.json").exists()
    assert run("retire", "x", "--delete", "--yes")[0] == 0
    assert [path.name for path in (project / "published/x").rglob("*")] == ["notes.txt"]
    assert status(run)["databases"] == []
    assert run("retire", "x", "--delete", "--yes")[0] == 2


def test_a_delete_that_died_is_finished_by_the_next(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    file = add_sqlite_database(project, "x", 2)
    run("run")
    file.unlink()
    real = LocalStore.delete
    calls = 0

    def dies(self: LocalStore, keys: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        real(self, keys)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "delete", dies)
        run("retire", "x", "--delete", "--yes")
    assert (project / "published/x/schema_store").exists()
    assert not (project / "published/x/manifest.json").exists()
    assert run("retire", "x", "--delete", "--yes")[0] == 0
    assert not (project / "published/x").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("retire", "x"), "Remove x.yml first"),
        (("retire", "nope"), "no dictionary of nope"),
        (("retire", "../x"), "cannot name a database"),
    ],
)
def test_what_cannot_be_retired_is_named(project: Path, run: Run, words: tuple[str, ...], told: str) -> None:
    add_sqlite_database(project, "x", 1)
    run("run")
    code, _, err = run(*words)
    assert code == 2
    assert told in err
    assert not (project / "published/nope").exists()
