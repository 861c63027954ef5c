"""The assets in process: what an event holds, which errors are retried, and who may work at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._serdes import serialize_value
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.definitions import defs
from dictionary_pipeline.orchestration.assets import asset_key, stage_checks
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE
from dictionary_pipeline.publishing.lease import hold_lease
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.stages import STAGES

MOST_EVENT_BYTES = 100_000


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def refresh(instance: dg.DagsterInstance, name: str, **config: object) -> dg.ExecuteInProcessResult:
    instance.add_dynamic_partitions("databases", [name])
    return defs.resolve_job_def("refresh_dictionary").execute_in_process(
        instance=instance,
        partition_key=name,
        raise_on_error=False,
        run_config={
            "loggers": {"console": {"config": {"log_level": "ERROR"}}},
            **({"resources": {"refresh_options": {"config": config}}} if config else {}),
        },
    )


def failure_texts(result: dg.ExecuteInProcessResult) -> list[str]:
    return [
        str(event.step_failure_data.user_failure_data.description)
        for event in result.all_events
        if event.is_step_failure and event.step_failure_data.user_failure_data
    ]


def test_definitions_are_loadable() -> None:
    dg.Definitions.validate_loadable(defs)
    names = {key.path[-1] for key in defs.resolve_all_asset_keys()}
    assert names == {*(stage.name for stage in STAGES), "fleet_overview"}


@pytest.mark.parametrize("tables", [3, 1000])
def test_metadata_stays_small_whatever_the_size(project: Path, instance: dg.DagsterInstance, tables: int) -> None:
    add_sqlite_database(project, "x", tables)
    result = refresh(instance, "x")
    assert result.success
    events = result.get_asset_materialization_events()
    assert [event.asset_key for event in events] == [asset_key(stage.name) for stage in STAGES]
    for event in events:
        assert len(serialize_value(event)) < MOST_EVENT_BYTES
        for value in event.materialization.metadata.values():
            if isinstance(value, dg.TableMetadataValue):
                assert 0 < len(value.records) <= 200
            assert not isinstance(value, dg.MarkdownMetadataValue) or "<" not in str(value.value)
    snapshot = events[0].materialization.metadata
    assert snapshot["tables"].value == tables
    checks = {check.check_name: check.passed for check in result.get_asset_check_evaluations()}
    assert checks == {name: True for stage in STAGES for name in stage_checks(stage)}


def test_every_run_is_tagged_with_its_database_and_server(project: Path, instance: dg.DagsterInstance) -> None:
    add_sqlite_database(project, "x", 1)
    run = instance.get_run_by_id(refresh(instance, "x").run_id)
    assert run is not None
    assert run.tags["database"] == "x"
    assert run.tags["server"]


def test_a_run_from_the_asset_graph_is_tagged_too(project: Path, instance: dg.DagsterInstance) -> None:
    add_sqlite_database(project, "x", 1)
    instance.add_dynamic_partitions("databases", ["x"])
    job = defs.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=instance, partition_key="x", asset_selection=[asset_key("schema_snapshot")]
    )
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    assert run.tags["database"] == "x"


def test_a_configuration_error_is_not_retried_and_says_where(project: Path, instance: dg.DagsterInstance) -> None:
    file = add_sqlite_database(project, "x", 1)
    file.write_text("conection:\n  type: sqlite\n")
    result = refresh(instance, "x")
    assert not result.success
    [text] = failure_texts(result)
    assert "x.yml:1" in text
    assert "connection" in text
    assert not [event for event in result.all_events if event.is_step_up_for_retry]


def test_an_outage_is_retried(project: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    add_sqlite_database(project, "x", 1)
    slept = [0.0]
    clock = time.time
    monkeypatch.setattr("time.sleep", slept.append)
    monkeypatch.setattr("time.time", lambda: clock() + sum(slept))
    with hold_lease(LocalStore(project / "published" / "x"), owner="somebody else"):
        result = refresh(instance, "x")
    assert not result.success
    assert len([event for event in result.all_events if event.is_step_up_for_retry]) == 2
    assert "somebody else" in failure_texts(result)[-1]


def test_a_later_stage_names_the_asset_to_materialise_first(project: Path, instance: dg.DagsterInstance) -> None:
    add_sqlite_database(project, "x", 1)
    instance.add_dynamic_partitions("databases", ["x"])
    job = defs.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=instance, partition_key="x", asset_selection=[asset_key("knowledge_graph")], raise_on_error=False
    )
    [text] = failure_texts(result)
    assert "Materialise dictionary/schema_snapshot first" in text


def test_the_lease_is_given_back_after_a_run(project: Path, instance: dg.DagsterInstance) -> None:
    add_sqlite_database(project, "x", 1)
    assert refresh(instance, "x").success
    assert refresh(instance, "x").success
    lease = json.loads((project / "published/x/.state/lease.json").read_text())
    assert lease["owner"] is None


def test_a_dry_run_writes_nothing(project: Path, instance: dg.DagsterInstance) -> None:
    add_sqlite_database(project, "x", 2)
    result = refresh(instance, "x", dry_run=True)
    assert result.success
    assert not (project / "published").exists()
    last = result.get_asset_materialization_events()[-1].materialization.metadata
    assert last["files_would_change"].value == last["files"].value
