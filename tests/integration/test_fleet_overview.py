"""The fleet in Dagster: one table of all databases, and retirement by the registry."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.config.resolved import AutomationConfig
from dictionary_pipeline.definitions import defs
from dictionary_pipeline.orchestration.fleet_overview import FLEET_KEY, FRESH_CHECK
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE, current_project
from dictionary_pipeline.orchestration.sensors import build_registry_sensor
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.publishing.lease import hold_lease
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.run import database_store, shared_store


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def publish(folder: Path, name: str) -> None:
    config = current_project().databases[name]
    assert run_database(config, database_store(config, folder), shared=shared_store(config, folder)).exit_code == 0


def test_the_overview_shows_every_database_and_its_check_names_what_is_stale(project: Path) -> None:
    for name in ("fresh", "new"):
        add_sqlite_database(project, name, 2)
    publish(project, "fresh")
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("report_fleet").execute_in_process(instance=instance)
        (event,) = result.asset_materializations_for_node("dictionary__fleet_overview")
        (check,) = result.get_asset_check_evaluations()
    metadata = event.metadata
    assert isinstance(metadata["fleet"], dg.TableMetadataValue)
    assert [row.data["database"] for row in metadata["fleet"].records] == ["new", "fresh"]
    assert {name: metadata[name].value for name in ("databases", "fresh", "stale")} == {
        "databases": 2,
        "fresh": 1,
        "stale": 1,
    }
    assert (check.check_name, check.passed, check.description) == (FRESH_CHECK, False, "To look after: new")


def test_the_overview_is_no_part_of_a_database_run() -> None:
    job = defs.resolve_job_def("refresh_dictionary")
    assert FLEET_KEY not in job.asset_layer.selected_asset_keys
    assert job.partitions_def is not None
    report = defs.resolve_job_def("report_fleet")
    assert report.asset_layer.selected_asset_keys == {FLEET_KEY}
    assert report.partitions_def is None


def tick(instance: dg.DagsterInstance, cursor: str | None) -> tuple[list[str], str | None]:
    context = dg.build_sensor_context(instance=instance, cursor=cursor, definitions=defs)
    result = build_registry_sensor(AutomationConfig())(context)
    assert isinstance(result, dg.SensorResult)
    gone = []
    for change in result.dynamic_partitions_requests or ():
        if isinstance(change, dg.AddDynamicPartitionsRequest):
            instance.add_dynamic_partitions("databases", list(change.partition_keys))
        else:
            gone += list(change.partition_keys)
            for key in change.partition_keys:
                instance.delete_dynamic_partition("databases", key)
    return gone, result.cursor


def manifest(project: Path) -> dict[str, object]:
    document = json.loads((project / "published" / "x" / "manifest.json").read_bytes())
    assert isinstance(document, dict)
    return document


def test_the_registry_retires_a_database_whose_file_is_gone_and_a_new_one_starts_clean(project: Path) -> None:
    file = add_sqlite_database(project, "x", 2)
    with dg.DagsterInstance.local_temp() as instance:
        _, cursor = tick(instance, None)
        publish(project, "x")
        text = file.read_text()
        file.unlink()
        for expected in ([], ["x"]):
            gone, cursor = tick(instance, cursor)
            assert gone == expected
    assert manifest(project)["retired"]
    assert not [path for path in (project / "published/x/.state/stages").rglob("*") if path.is_file()]
    assert (project / "published/x/schema_store/main.t0.json").exists()
    file.write_text(text)
    (project / "x.db").unlink()
    add_sqlite_database(project, "x", 1)
    publish(project, "x")
    assert "retired" not in manifest(project)
    assert not (project / "published/x/drift").exists(), "the new database is no drift of the retired one"


def test_a_database_that_a_run_works_on_is_retired_when_that_ends(project: Path) -> None:
    file = add_sqlite_database(project, "x", 1)
    with dg.DagsterInstance.local_temp() as instance:
        _, cursor = tick(instance, None)
        publish(project, "x")
        file.unlink()
        with hold_lease(LocalStore(project / "published" / "x"), owner="a run"):
            for _ in range(3):
                gone, cursor = tick(instance, cursor)
                assert gone == []
        while not gone:  # at one of the next two ticks
            gone, cursor = tick(instance, cursor)
    assert gone == ["x"]
    assert manifest(project)["retired"]
