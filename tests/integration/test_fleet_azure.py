"""Holding, retiring and deleting a dictionary that is published to Azure Blob Storage (an emulator)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from integration.azure_stores import KEY_VARIABLE, open_on, plain_paths, read_back
from servers.azurite import AzuriteServer, running_azurite
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.cli import main


@pytest.fixture(scope="module")
def azurite() -> Iterator[AzuriteServer]:
    with running_azurite() as server:
        yield server


def call(project: Path, *words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main([*words, "--project", str(project)])
    return int(left.value.code or 0)


def test_a_held_retired_and_deleted_dictionary_on_azure(
    azurite: AzuriteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    container = azurite.create_container()
    monkeypatch.setenv(KEY_VARIABLE, azurite.connection_string)
    write_project(tmp_path)
    file = add_sqlite_database(tmp_path, "x", 3)
    (tmp_path / "dbt_like_configs/project.yml").write_text(
        "drift: {on_breaking: hold}\n"
        f"publish:\n  azure:\n    connection_string_env: {KEY_VARIABLE}\n    container: {container}\n    prefix: dd\n"
    )
    assert call(tmp_path, "run") == 0
    store = open_on(azurite, container, "dd/x")
    before, shown = read_back(store), plain_paths(store)

    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("ALTER TABLE t0 DROP COLUMN name")
    assert call(tmp_path, "run") == 3
    assert (read_back(store), plain_paths(store)) == (before, shown)
    held = store.read("manifest.json")
    assert json.loads(held or b"")["pending"]["changes"][0]["kind"] == "column_removed"
    assert call(tmp_path, "run") == 3
    assert store.read("manifest.json") == held
    assert call(tmp_path, "drift", "x") == 6
    assert call(tmp_path, "drift", "ack", "x", "--all", "--reason", "planned", "--author", "ann") == 0
    assert call(tmp_path, "run") == 0
    assert read_back(store) != before
    assert call(tmp_path, "status") == 0

    file.unlink()
    capsys.readouterr()
    assert call(tmp_path, "retire", "x") == 0
    assert json.loads(store.read("manifest.json") or b"")["retired"]
    assert call(tmp_path, "status", "--json") == 0
    assert [item["state"] for item in json.loads(capsys.readouterr().out.partition("\n")[2])["databases"]] == [
        "retired"
    ]
    assert call(tmp_path, "retire", "x", "--delete", "--yes") == 0
    assert list(store.list("")) == []
    assert json.loads(open_on(azurite, container, "dd").read("index.json") or b"") == {"databases": []}
