"""The sensor and the schedule on a real instance: what a tick adds, removes, runs and reports."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.config.resolved import AutomationConfig
from dictionary_pipeline.definitions import defs
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE
from dictionary_pipeline.orchestration.schedules import build_nightly_schedule
from dictionary_pipeline.orchestration.sensors import build_registry_sensor


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


class Registry:
    """Ticks of `database_registry`, each with the cursor that the last one left."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self._cursor: str | None = None

    def tick(self) -> dg.SensorResult | dg.SkipReason:
        context = dg.build_sensor_context(instance=self.instance, cursor=self._cursor, definitions=defs)
        result = build_registry_sensor(AutomationConfig())(context)
        assert isinstance(result, dg.SensorResult | dg.SkipReason)
        if isinstance(result, dg.SensorResult):
            self._cursor = result.cursor
            for change in result.dynamic_partitions_requests or ():
                if isinstance(change, dg.AddDynamicPartitionsRequest):
                    self.instance.add_dynamic_partitions("databases", list(change.partition_keys))
                else:
                    for key in change.partition_keys:
                        self.instance.delete_dynamic_partition("databases", key)
        return result

    def requested(self) -> list[dg.RunRequest]:
        result = self.tick()
        assert isinstance(result, dg.SensorResult)
        return list(result.run_requests or ())

    def forget(self) -> None:
        """Lose the cursor, as its reset in Dagster's UI does."""
        self._cursor = None

    @property
    def partitions(self) -> list[str]:
        return sorted(self.instance.get_dynamic_partitions("databases"))


@pytest.fixture
def registry() -> Iterator[Registry]:
    with dg.DagsterInstance.local_temp() as instance:
        yield Registry(instance)


def test_a_new_file_becomes_a_partition_and_runs_once(project: Path, registry: Registry) -> None:
    add_sqlite_database(project, "x", 1)
    [request] = registry.requested()
    assert (request.partition_key, registry.partitions) == ("x", ["x"])
    assert registry.requested() == []


def test_a_deleted_file_removes_the_partition_at_the_second_tick(project: Path, registry: Registry) -> None:
    file = add_sqlite_database(project, "x", 1)
    registry.tick()
    file.unlink()
    registry.tick()
    assert registry.partitions == ["x"]
    registry.tick()
    assert registry.partitions == []


def test_a_database_that_comes_back_runs_again(project: Path, registry: Registry) -> None:
    file = add_sqlite_database(project, "x", 1)
    [first] = registry.requested()
    text = file.read_text()
    file.unlink()
    registry.tick()
    registry.tick()
    file.write_text(text)
    [second] = registry.requested()
    assert second.run_key != first.run_key
    assert registry.partitions == ["x"]


def test_a_cursor_that_was_reset_repeats_no_key(project: Path, registry: Registry) -> None:
    add_sqlite_database(project, "x", 1)
    [first] = registry.requested()
    registry.instance.delete_dynamic_partition("databases", "x")
    registry.forget()
    [second] = registry.requested()
    assert second.run_key != first.run_key


def test_an_invalid_file_keeps_its_partition_and_is_named(project: Path, registry: Registry) -> None:
    file = add_sqlite_database(project, "x", 1)
    registry.tick()
    file.write_text("conection: {}\n")
    for _ in range(3):
        result = registry.tick()
        assert isinstance(result, dg.SensorResult)
        assert "x.yml:1" in str(result.skip_reason)
    assert registry.partitions == ["x"]


def test_an_invalid_project_file_changes_nothing_and_is_named(project: Path, registry: Registry) -> None:
    add_sqlite_database(project, "x", 1)
    registry.tick()
    (project / "dbt_like_configs/project.yml").write_text("publish: {rot: a}\n")
    for _ in range(3):
        result = registry.tick()
        assert isinstance(result, dg.SkipReason)
        assert "project.yml:1" in str(result.skip_message)
    assert registry.partitions == ["x"]


def test_a_cursor_of_another_version_is_started_anew(project: Path) -> None:
    add_sqlite_database(project, "x", 1)
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_sensor_context(instance=instance, cursor='{"unknown": 1}', definitions=defs)
        result = build_registry_sensor(AutomationConfig())(context)
    assert isinstance(result, dg.SensorResult)
    assert [request.partition_key for request in result.run_requests or ()] == ["x"]


def nightly(instance: dg.DagsterInstance) -> list[dg.RunRequest | dg.SkipReason]:
    context = dg.build_schedule_context(
        instance=instance,
        scheduled_execution_time=datetime(2026, 1, 1, 2, tzinfo=UTC),
        repository_def=defs.get_repository_def(),
    )
    schedule = build_nightly_schedule(AutomationConfig())
    data = schedule.evaluate_tick(context)
    return [*(data.run_requests or ()), *([dg.SkipReason(data.skip_message)] if data.skip_message else ())]


def test_the_schedule_runs_every_database_that_has_a_partition(project: Path, registry: Registry) -> None:
    for name in ("a", "b", "broken"):
        add_sqlite_database(project, name, 1)
    registry.tick()
    add_sqlite_database(project, "too_new", 1)
    (project / "dbt_like_configs/databases/broken.yml").write_text("x: [\n")
    requests = nightly(registry.instance)
    assert [request.partition_key for request in requests if isinstance(request, dg.RunRequest)] == ["a", "b"]
    assert all(request.run_key for request in requests if isinstance(request, dg.RunRequest))


def test_the_schedule_names_a_broken_project_file(project: Path, registry: Registry) -> None:
    (project / "dbt_like_configs/project.yml").write_text("x: [\n")
    [skip] = nightly(registry.instance)
    assert isinstance(skip, dg.SkipReason)
    assert "project.yml" in str(skip.skip_message)


def test_the_schedule_follows_project_yml() -> None:
    off = build_nightly_schedule(AutomationConfig(nightly_enabled=False))
    assert off.default_status is dg.DefaultScheduleStatus.STOPPED
    sensor = build_registry_sensor(AutomationConfig(registry_sensor_enabled=False))
    assert sensor.default_status is dg.DefaultSensorStatus.STOPPED
