"""`model_batch` on a real instance: a run is requested when the provider has answered, and only then."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest
from servers.openai_stub import KEY, KEY_VARIABLE, OpenAIStub, running_stub
from system.projects import write_project

from dictionary_pipeline.definitions import defs
from dictionary_pipeline.orchestration.batch_sensor import build_batch_sensor
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE, current_project
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.run import database_store

COLUMNS = ", ".join(f"c{number} TEXT" for number in range(9))


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with running_stub() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: OpenAIStub) -> Path:
    """One database of 20 tables whose definitions are ordered as a batch."""
    write_project(tmp_path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        for number in range(20):
            connection.execute(f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY, {COLUMNS})")
    config = tmp_path / "dbt_like_configs"
    (config / "databases" / "shop.yml").write_text(f"connection: {{type: sqlite, path: {tmp_path / 'shop.db'}}}\n")
    with (config / "project.yml").open("a") as file:
        file.write(
            f"\nmodel: {{provider: compatible, model: m, base_url: '{stub.url}', api_key_env: {KEY_VARIABLE}, "
            "batch: true, max_retries: 0}\n"
        )
    return tmp_path


def publish() -> None:
    project = current_project()
    config = project.databases["shop"]
    assert run_database(config, database_store(config, project.folder)).error is None


@pytest.fixture
def tick() -> Iterator[Callable[[], list[tuple[str | None, str | None]]]]:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("databases", ["shop"])

        def once() -> list[tuple[str | None, str | None]]:
            context = dg.build_sensor_context(instance=instance, definitions=defs)
            result = build_batch_sensor(current_project().databases.values())(context)
            assert isinstance(result, dg.SensorResult)
            return [(request.partition_key, request.run_key) for request in result.run_requests or ()]

        yield once


def test_a_run_is_requested_when_the_batch_is_answered_and_takes_it_in(
    project: Path, stub: OpenAIStub, tick: Callable[[], list[tuple[str | None, str | None]]]
) -> None:
    assert tick() == []
    publish()
    assert tick() == []
    stub.batches.status = "completed"
    assert tick() == [("shop", "shop:batch-1")] == tick()
    publish()
    assert (tick(), stub.asked) == ([], [])


def test_a_provider_that_does_not_answer_stops_no_tick(
    project: Path, monkeypatch: pytest.MonkeyPatch, tick: Callable[[], list[tuple[str | None, str | None]]]
) -> None:
    publish()
    monkeypatch.delenv(KEY_VARIABLE)
    assert tick() == []


def test_it_is_on_only_where_batches_are_sent(project: Path) -> None:
    assert build_batch_sensor(current_project().databases.values()).default_status is dg.DefaultSensorStatus.RUNNING
    assert build_batch_sensor([]).default_status is dg.DefaultSensorStatus.STOPPED
