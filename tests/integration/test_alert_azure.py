"""Alerts of databases that publish to a container: what is read, and that the record lies there too."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from integration.azure_stores import KEY_VARIABLE, Wire, open_on
from servers.azurite import AzuriteServer, running_azurite
from servers.webhook_receiver import WebhookReceiver, running_receiver
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.alerts.drift import tell_drift
from dictionary_pipeline.alerts.reading import PublishedReader
from dictionary_pipeline.config.loader import load_project
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.run import database_store


@pytest.fixture(scope="module")
def azurite() -> Iterator[AzuriteServer]:
    with running_azurite() as server:
        yield server


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebhookReceiver]:
    with running_receiver() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        yield server


def test_drift_in_a_container_is_told_once_and_unchanged_manifests_are_not_read_again(
    azurite: AzuriteServer, receiver: WebhookReceiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, azurite.connection_string)
    container = azurite.create_container()
    write_project(tmp_path)
    add_sqlite_database(tmp_path, "x", 2)
    (tmp_path / "dbt_like_configs/project.yml").write_text(
        f"publish:\n  azure: {{connection_string_env: {KEY_VARIABLE}, container: {container}, prefix: dd}}\n"
        "alerts:\n  channels:\n    ops: {type: webhook, url_env: HOOK_URL}\n"
    )
    project = load_project(tmp_path)
    config = project.databases["x"]
    for statement in ("SELECT 1", "ALTER TABLE t1 DROP COLUMN name"):
        connection = sqlite3.connect(tmp_path / "x.db")
        connection.execute(statement)
        connection.commit()
        connection.close()
        assert run_database(config, database_store(config, tmp_path)).error is None
    shared, reader, wire = open_store(project.publish, tmp_path, ""), PublishedReader(network_seconds=0), Wire()
    watched = open_on(azurite, container, "dd/x", transport=wire)
    read = partial(reader.read_all, {"x": lambda: watched})
    for number, sent in enumerate((1, 0, 0)):
        came = tell_drift(project.alerts, shared, read, (), None, time.time())
        assert len(came.delivered) == sent, number
    first, wire.seen = wire.seen, type(wire.seen)()
    tell_drift(project.alerts, shared, read, (), None, time.time())
    assert wire.requests == 2 < first.total()
    patient = PublishedReader()
    read = partial(patient.read_all, {"x": lambda: watched})
    tell_drift(project.alerts, shared, read, (), None, time.time())
    wire.seen.clear()
    tell_drift(project.alerts, shared, read, (), None, time.time())
    assert wire.requests == 0
    assert [item.document["title"] for item in receiver.received] == ["x: 1 breaking schema change"]
    assert shared.exists(".state/alerts/drift.json")
