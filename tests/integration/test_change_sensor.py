"""`schema_change` on a real instance with real SQLite and DuckDB files."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb
import pytest
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.config.resolved import AutomationConfig
from dictionary_pipeline.definitions import defs
from dictionary_pipeline.engines.sqlite import SQLiteEngine
from dictionary_pipeline.orchestration.change_sensor import build_change_sensor
from dictionary_pipeline.orchestration.jobs import CHANGED_ONLY
from dictionary_pipeline.orchestration.probing import Budget, ProbePool
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE, current_project
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.run import database_store, shared_store


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


class Sensor:
    """Ticks of `schema_change`, each with the cursor that the last one left."""

    def __init__(self, instance: dg.DagsterInstance, budget: Budget | None = None) -> None:
        self.instance = instance
        self.pool = ProbePool(budget or Budget())
        self._cursor: str | None = None

    def tick(self) -> list[dg.RunRequest]:
        context = dg.build_sensor_context(instance=self.instance, cursor=self._cursor, definitions=defs)
        result = build_change_sensor(AutomationConfig(), self.pool)(context)
        assert isinstance(result, dg.SensorResult)
        self._cursor = result.cursor
        self.skipped = str(result.skip_reason)
        return list(result.run_requests or ())

    def publish(self, name: str) -> None:
        """A run of one database, as the request asks for."""
        self.instance.add_dynamic_partitions("databases", [name])
        project = current_project()
        config = project.databases[name]
        shared = shared_store(config, project.folder)
        assert run_database(config, database_store(config, project.folder), shared=shared).error is None

    def forget(self) -> None:
        """Lose the cursor."""
        self._cursor = None


@pytest.fixture
def sensor() -> Iterator[Sensor]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Sensor(instance)


def alter(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_only_a_changed_schema_is_requested_and_only_once(project: Path, sensor: Sensor) -> None:
    for name in ("one", "two"):
        add_sqlite_database(project, name, 2)
        sensor.publish(name)
    assert sensor.tick() == []
    assert "No schema changed" in sensor.skipped
    alter(project / "one.db", "ALTER TABLE t0 ADD COLUMN extra TEXT")
    [request] = sensor.tick()
    assert request.partition_key == "one"
    assert request.run_config == CHANGED_ONLY
    assert sensor.tick() == []
    sensor.publish("one")
    assert sensor.tick() == []
    alter(project / "one.db", "ALTER TABLE t0 DROP COLUMN extra")
    [again] = sensor.tick()
    assert again.run_key != request.run_key


def test_a_changed_duckdb_file_is_requested(project: Path, sensor: Sensor) -> None:
    with duckdb.connect(str(project / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER)")
    file = project / "dbt_like_configs" / "databases" / "d.yml"
    file.write_text("connection:\n  type: duckdb\n  path: d.duckdb\n")
    sensor.publish("d")
    assert sensor.tick() == []
    with duckdb.connect(str(project / "d.duckdb")) as connection:
        connection.execute("ALTER TABLE t ADD COLUMN name VARCHAR")
    assert [request.partition_key for request in sensor.tick()] == ["d"]


def test_new_rows_are_no_change(project: Path, sensor: Sensor) -> None:
    add_sqlite_database(project, "one", 1)
    sensor.publish("one")
    alter(project / "one.db", "INSERT INTO t0 (name) VALUES ('third')")
    assert sensor.tick() == []


def test_a_change_outside_the_selection_is_not_requested_again_after_its_run(project: Path, sensor: Sensor) -> None:
    file = add_sqlite_database(project, "one", 1)
    file.write_text(file.read_text() + "entities:\n  exclude: ['tmp*']\n")
    sensor.publish("one")
    alter(project / "one.db", "CREATE TABLE tmp1 (id INTEGER)")
    assert len(sensor.tick()) == 1
    sensor.publish("one")
    sensor.forget()
    assert sensor.tick() == []


def test_a_database_that_was_never_published_is_left_to_its_first_run(project: Path, sensor: Sensor) -> None:
    add_sqlite_database(project, "one", 1)
    sensor.instance.add_dynamic_partitions("databases", ["one"])
    assert sensor.tick() == []


def test_a_database_that_is_gone_starts_no_run_and_is_named_once(
    project: Path, sensor: Sensor, capfd: pytest.CaptureFixture[str]
) -> None:
    add_sqlite_database(project, "one", 1)
    sensor.publish("one")
    (project / "one.db").rename(project / "away.db")
    capfd.readouterr()
    for _ in range(3):
        assert sensor.tick() == []
        assert "No answer from: one" in sensor.skipped
    assert capfd.readouterr().err.count("database one cannot be asked for changes") == 1


def test_a_database_can_be_left_unwatched(project: Path, sensor: Sensor) -> None:
    file = add_sqlite_database(project, "one", 1)
    file.write_text(file.read_text() + "probe:\n  enabled: false\n")
    sensor.publish("one")
    alter(project / "one.db", "ALTER TABLE t0 ADD COLUMN extra TEXT")
    assert sensor.tick() == []


def test_a_hanging_database_does_not_stop_the_others(
    project: Path, sensor: Sensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("hangs", "one"):
        add_sqlite_database(project, name, 1)
        sensor.publish(name)
        alter(project / f"{name}.db", "ALTER TABLE t0 ADD COLUMN extra TEXT")
    release = threading.Event()
    probe = SQLiteEngine.probe

    def hanging(self: SQLiteEngine, session: object) -> str | None:
        if "hangs" in self.server + str(self.__dict__):
            release.wait()
        return probe(self, session)  # type: ignore[arg-type]

    monkeypatch.setattr(SQLiteEngine, "probe", hanging)
    sensor.pool = ProbePool(Budget(workers=2, seconds_each=1, seconds=2))
    try:
        assert [request.partition_key for request in sensor.tick()] == ["one"]
        assert "hangs" in str(sensor._cursor)
    finally:
        release.set()
