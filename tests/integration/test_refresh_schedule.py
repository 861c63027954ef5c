"""`nightly_refresh` on a real instance with real SQLite files."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline import verified
from dictionary_pipeline.config.resolved import AutomationConfig
from dictionary_pipeline.definitions import defs
from dictionary_pipeline.engines.sqlite import SQLiteEngine
from dictionary_pipeline.errors import AuthenticationFailed
from dictionary_pipeline.orchestration import schedules
from dictionary_pipeline.orchestration.probing import Budget, Outcome, ProbePool, Unchanged
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE, current_project
from dictionary_pipeline.orchestration.schedules import build_nightly_schedule
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.run import NO_OPTIONS, RunOptions, database_store, shared_store
from dictionary_pipeline.verified import Verification, last_verified

DAILY = "0 2 * * *"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


class Nights:
    """Ticks of `nightly_refresh` at chosen times, which the clock shows then."""

    def __init__(self, instance: dg.DagsterInstance, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.instance = instance
        self.now = datetime.now(UTC)
        for module in (schedules, verified):
            monkeypatch.setattr(module, "_clock", lambda: self.now)
        self.store = LocalStore(project / "published")
        self.pool = ProbePool()
        self.two = datetime.now(UTC).replace(hour=2, minute=0, second=0, microsecond=0) + timedelta(days=1)
        self.skipped = ""

    def tick(self, *, days: int = 0, minutes: int = 0) -> list[dg.RunRequest]:
        """A tick so long after the next two o'clock."""
        self.now = self.two + timedelta(days=days, minutes=minutes)
        return self.tested(self.now)

    def tested(self, moment: datetime) -> list[dg.RunRequest]:
        """A tick whatever the clock shows, as the UI can test it."""
        context = dg.build_schedule_context(
            instance=self.instance, scheduled_execution_time=moment, repository_def=defs.get_repository_def()
        )
        data = build_nightly_schedule(AutomationConfig(), self.pool).evaluate_tick(context)
        self.skipped = data.skip_message or ""
        return list(data.run_requests or ())

    def publish(self, name: str, options: RunOptions = NO_OPTIONS) -> None:
        self.instance.add_dynamic_partitions("databases", [name])
        project = current_project()
        config = project.databases[name]
        shared = shared_store(config, project.folder)
        summary = run_database(config, database_store(config, project.folder), options=options, shared=shared)
        assert summary.error is None

    def request(self, request: dg.RunRequest, status: dg.DagsterRunStatus) -> None:
        """A run of the instance, as the daemon makes of a request."""
        self.instance.create_run_for_job(
            defs.resolve_job_def("refresh_dictionary"),
            tags={**request.tags, "dagster/run_key": str(request.run_key)},
            status=status,
        )


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("instance"))) as found:
        yield found


@pytest.fixture
def nights(project: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nights]:
    yield Nights(instance, project, monkeypatch)
    for run in instance.get_runs():
        instance.delete_run(run.run_id)
    for name in instance.get_dynamic_partitions("databases"):
        instance.delete_dynamic_partition("databases", name)


def alter(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file)
    connection.execute(statement)
    connection.commit()
    connection.close()


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("verified.json", "lock")
    }


def test_an_unchanged_database_is_verified_without_a_run_or_a_write(project: Path, nights: Nights) -> None:
    for name in ("a", "b"):
        add_sqlite_database(project, name, 2)
        nights.publish(name)
    before = snapshot(project / "published")
    assert nights.tick() == []
    assert nights.skipped == "Verified, nothing to do: a, b."
    assert snapshot(project / "published") == before
    assert last_verified(nights.store) == {"a": nights.two, "b": nights.two}
    assert nights.tick(minutes=15) == []
    assert nights.skipped == "Nothing is due."


def test_a_changed_database_gets_one_incremental_run_per_due_time(project: Path, nights: Nights) -> None:
    for name in ("a", "b"):
        add_sqlite_database(project, name, 2)
        nights.publish(name)
    alter(project / "a.db", "ALTER TABLE t0 ADD COLUMN extra TEXT")
    [request] = nights.tick()
    assert request.partition_key == "a"
    assert request.run_config == {"resources": {"refresh_options": {"config": {"changed_only": True}}}}
    assert request.tags["database"] == "a" and request.tags["server"]
    nights.request(request, dg.DagsterRunStatus.STARTED)
    assert nights.tick(minutes=15) == []


def test_a_database_on_which_a_run_is_at_work_is_left_alone(project: Path, nights: Nights) -> None:
    add_sqlite_database(project, "a", 1)
    nights.publish("a")
    alter(project / "a.db", "ALTER TABLE t0 ADD COLUMN extra TEXT")
    [request] = nights.tick()
    nights.request(dg.RunRequest(run_key="by hand", tags=request.tags), dg.DagsterRunStatus.STARTED)
    assert nights.tick() == []


def test_a_failed_run_is_not_requested_again_before_the_next_due_time(project: Path, nights: Nights) -> None:
    add_sqlite_database(project, "a", 1)
    nights.publish("a")
    alter(project / "a.db", "ALTER TABLE t0 ADD COLUMN extra TEXT")
    [request] = nights.tick()
    nights.request(request, dg.DagsterRunStatus.FAILURE)
    assert nights.tick(minutes=15) == []
    [next_night] = nights.tick(days=1)
    assert next_night.run_key != request.run_key


def test_a_database_that_is_down_is_asked_again_at_each_tick_and_never_marked_verified(
    project: Path, nights: Nights
) -> None:
    add_sqlite_database(project, "a", 1)
    nights.publish("a")
    before = last_verified(nights.store)
    (project / "a.db").rename(project / "away.db")
    for minutes in (0, 15, 30):
        assert nights.tick(minutes=minutes) == []
        assert nights.skipped == "No answer, asked again at the next tick: a."
    assert last_verified(nights.store) == before
    (project / "away.db").rename(project / "a.db")
    assert nights.tick(minutes=45) == []
    assert last_verified(nights.store)["a"] == nights.two + timedelta(minutes=45)


def test_a_refused_login_is_tried_once_per_due_time(
    project: Path, nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_sqlite_database(project, "a", 1)
    nights.publish("a")

    def refused(self: SQLiteEngine) -> None:
        raise AuthenticationFailed("the server refused the password")

    monkeypatch.setattr(SQLiteEngine, "connect", refused)
    [request] = nights.tick()
    nights.request(request, dg.DagsterRunStatus.FAILURE)
    assert nights.tick(minutes=15) == []
    assert nights.skipped == "Nothing is due."


def test_an_edit_of_the_file_is_honoured_at_the_next_tick_without_a_reload(project: Path, nights: Nights) -> None:
    file = add_sqlite_database(project, "a", 1)
    file.write_text(file.read_text() + f"schedule: {{cron: '{DAILY}', timezone: UTC}}\n")
    nights.publish("a")
    nights.tick()
    file.write_text(file.read_text().replace(DAILY, "20 4 * * *"))
    assert nights.tick(minutes=120) == [] and nights.skipped == "Nothing is due."
    assert nights.tick(minutes=150) == [] and nights.skipped == "Verified, nothing to do: a."


@pytest.mark.parametrize(
    "edit", ["privacy: {withhold: name}\n", "sources: [{name: main, tables: [{name: t0, description: People.}]}]\n"]
)
def test_an_edit_that_changes_the_dictionary_starts_a_run(project: Path, nights: Nights, edit: str) -> None:
    file = add_sqlite_database(project, "a", 1)
    nights.publish("a")
    file.write_text(file.read_text() + edit)
    assert len(nights.tick()) == 1
    nights.publish("a")
    assert nights.tick() == []


def test_a_future_tick_that_is_tested_in_the_ui_leaves_its_due_time_due(project: Path, nights: Nights) -> None:
    add_sqlite_database(project, "a", 1)
    nights.publish("a")
    assert nights.tested(nights.two) == []
    assert last_verified(nights.store)["a"] < nights.two
    assert nights.tick() == []
    assert nights.skipped == "Verified, nothing to do: a."


def test_samples_that_are_too_old_start_a_run(project: Path, nights: Nights) -> None:
    add_sqlite_database(project, "a", 1)
    nights.publish("a")
    for day in range(6):
        assert nights.tick(days=day) == []
    assert [request.partition_key for request in nights.tick(days=7)] == ["a"]


def test_what_a_run_left_over_starts_a_run(project: Path, nights: Nights) -> None:
    add_sqlite_database(project, "a", 1)
    alter(project / "a.db", "CREATE VIEW broken AS SELECT * FROM t0")
    alter(project / "a.db", "DROP TABLE t0")
    alter(project / "a.db", "CREATE TABLE t9 (id INTEGER)")
    nights.publish("a")
    assert json.loads((project / "published/a/manifest.json").read_text())["complete"] is False
    assert len(nights.tick()) == 1


def test_a_database_that_is_not_probed_gets_its_run(project: Path, nights: Nights) -> None:
    file = add_sqlite_database(project, "a", 1)
    file.write_text(file.read_text() + "probe: {enabled: false}\n")
    nights.publish("a")
    assert len(nights.tick()) == 1


def test_a_run_that_finds_nothing_new_verifies_and_a_partial_one_does_not(project: Path, nights: Nights) -> None:
    add_sqlite_database(project, "a", 2)
    nights.publish("a")
    first = last_verified(nights.store)["a"]
    nights.publish("a", RunOptions(entities=("t0",)))
    nights.publish("a", RunOptions(dry_run=True))
    assert last_verified(nights.store)["a"] == first
    nights.publish("a", RunOptions(changed_only=True))
    assert last_verified(nights.store)["a"] > first


def test_a_lost_record_costs_one_run_per_database(project: Path, nights: Nights) -> None:
    add_sqlite_database(project, "a", 1)
    nights.publish("a")
    (project / "published/.state/verified.json").unlink()
    assert len(nights.tick()) == 1
    nights.publish("a", RunOptions(changed_only=True))
    assert nights.tick() == []


def test_two_hundred_databases_of_which_twenty_hang_are_verified_within_a_few_bounded_ticks(
    project: Path, nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_sqlite_database(project, "d000", 1)
    nights.publish("d000")
    source = (project / "dbt_like_configs/databases/d000.yml").read_text()
    names = [f"d{number:03}" for number in range(200)]
    hanging = set(names[40:60])
    for name in names:
        (project / f"dbt_like_configs/databases/{name}.yml").write_text(source)
    nights.instance.add_dynamic_partitions("databases", names)

    release = threading.Event()

    def look(config: object, store: object, last: object, now: datetime) -> Outcome:
        """Simulates the answer of a database; that of a real one is tested above."""
        if config.name in hanging:  # type: ignore[attr-defined]
            release.wait(60)
        return Unchanged(Verification(now, "1", "m", "c", True))

    monkeypatch.setattr(schedules, "look_for_work", look)
    nights.pool = ProbePool(Budget(workers=16, seconds_each=0.5, seconds=1.0))
    for tick in range(4):
        begin = time.monotonic()
        assert nights.tick(minutes=15 * tick) == []
        assert time.monotonic() - begin < 30
    release.set()
    seen = last_verified(nights.store)
    assert {name for name, at in seen.items() if at >= nights.two} == set(names) - hanging
