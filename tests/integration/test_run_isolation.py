"""Runs beside other runs, and databases beside a database with a defect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.commands import run_configured
from dictionary_pipeline.config.loader import load_project
from dictionary_pipeline.errors import LeaseHeld
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.publishing.lease import LEASE_KEY
from dictionary_pipeline.report import StageReport
from dictionary_pipeline.run import NO_OPTIONS, database_store
from dictionary_pipeline.stages import snapshot


def test_a_run_whose_lease_was_taken_over_writes_no_further_stage(tmp_path: Path) -> None:
    write_project(tmp_path)
    add_sqlite_database(tmp_path, "x", 2)
    config = load_project(tmp_path).databases["x"]
    store = database_store(config, tmp_path)

    def take_over(report: StageReport) -> None:
        lease = json.loads(store.read(LEASE_KEY) or b"")
        store.write(LEASE_KEY, json.dumps({**lease, "owner": "the other"}).encode())

    summary = run_database(config, store, on_stage=take_over)
    assert isinstance(summary.error, LeaseHeld)
    assert "the other" in str(summary.error)
    assert [item.key for item in store.list(".state/stages/") if item.key.endswith(".json")] == [
        ".state/stages/schema_snapshot.json"
    ]


def test_a_defect_met_in_one_database_does_not_cost_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path)
    for name in ("a", "b"):
        add_sqlite_database(tmp_path, name, 2)
    whole = snapshot.take_snapshot

    def broken(engine: Any, *arguments: Any) -> Any:
        if engine.server == "a.db":
            raise ValueError("value of a customer")
        return whole(engine, *arguments)

    monkeypatch.setattr(snapshot, "take_snapshot", broken)
    assert run_configured([], NO_OPTIONS, as_json=False, project=tmp_path) == 1
    printed = capsys.readouterr()
    assert "b: complete" in printed.out
    assert "error: a: unexpected ValueError at" in printed.err
    assert "value of a customer" not in printed.err
    assert (tmp_path / "published/b/manifest.json").exists()
    assert not (tmp_path / "published/a").exists()
