"""Runs that nobody watches: invalid files, hostile names, defects, and what dry runs leave behind."""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._serdes import serialize_value
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.definitions import defs
from dictionary_pipeline.orchestration.assets import CONFIGURATION_CHECK
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE, LAST_GOOD_KEY
from dictionary_pipeline.unexpected import DEBUG_VARIABLE

PICTURE = re.compile(r"!\[\w+\]\(data:image/svg\+xml;base64,[A-Za-z0-9+/=]+\)")
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


def refresh(instance: dg.DagsterInstance, **config: object) -> dg.ExecuteInProcessResult:
    instance.add_dynamic_partitions("databases", ["x"])
    return defs.resolve_job_def("refresh_dictionary").execute_in_process(
        instance=instance,
        partition_key="x",
        raise_on_error=False,
        run_config={"resources": {"refresh_options": {"config": config}}} if config else {},
    )


def failure_texts(result: dg.ExecuteInProcessResult) -> list[str]:
    return [
        str(event.step_failure_data.user_failure_data.description)
        for event in result.all_events
        if event.is_step_failure and event.step_failure_data.user_failure_data
    ]


def configuration_check(result: dg.ExecuteInProcessResult) -> dg.AssetCheckEvaluation:
    [check] = [item for item in result.get_asset_check_evaluations() if item.check_name == CONFIGURATION_CHECK]
    return check


def test_an_invalid_file_runs_with_its_last_good_content_and_says_so(
    project: Path, instance: dg.DagsterInstance
) -> None:
    file = add_sqlite_database(project, "x", 2)
    file.write_text(file.read_text() + "entities: {exclude: [t1]}\n")
    first = refresh(instance)
    assert first.success
    assert configuration_check(first).passed
    file.write_text("conection: {}\n")
    second = refresh(instance)
    assert second.success
    check = configuration_check(second)
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "x.yml:1" in str(check.description)
    manifest = json.loads((project / "published/x/manifest.json").read_text())
    assert manifest["counts"]["tables"] == 1


def test_an_invalid_file_without_last_good_content_fails(project: Path, instance: dg.DagsterInstance) -> None:
    add_sqlite_database(project, "x", 1).write_text("conection: {}\n")
    [text] = failure_texts(refresh(instance))
    assert "x.yml:1" in text


def test_last_good_content_does_not_outlive_what_it_needs(project: Path, instance: dg.DagsterInstance) -> None:
    configs = project / "dbt_like_configs"
    (configs / "profiles.yml").write_text("p:\n  target: a\n  outputs:\n    a: {type: sqlite, path: x.db}\n")
    file = add_sqlite_database(project, "x", 1)
    file.write_text("profile: p\n")
    assert refresh(instance).success
    (configs / "profiles.yml").write_text("{}\n")
    [text] = failure_texts(refresh(instance))
    assert "x.yml:1: profile" in text


def test_damaged_last_good_content_fails_with_what_is_wrong_in_the_file(
    project: Path, instance: dg.DagsterInstance
) -> None:
    file = add_sqlite_database(project, "x", 1)
    assert refresh(instance).success
    (project / "published/x" / LAST_GOOD_KEY).write_text("junk")
    file.write_text("conection: {}\n")
    [text] = failure_texts(refresh(instance))
    assert "x.yml:1" in text


def test_a_dry_run_keeps_no_configuration_and_leaves_no_samples_behind(
    project: Path, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    add_sqlite_database(project, "x", 2)
    assert refresh(instance, dry_run=True).success
    assert list(scratch.glob("dictionary*")) == []
    assert not (project / "published").exists()
    (project / "x.db").write_bytes(b"no database any more" * 10)
    assert not refresh(instance, dry_run=True).success
    assert list(scratch.glob("dictionary*")) == []


@pytest.mark.parametrize("dry_run", [False, True])
def test_events_stay_small_whatever_the_names(project: Path, instance: dg.DagsterInstance, dry_run: bool) -> None:
    add_sqlite_database(project, "x", 1)
    with sqlite3.connect(project / "x.db") as connection:
        for number in range(60):
            name = f"<script>alert({number})</script> ![x](http://h/{number}) | `a` 🙂" + "ü" * 3_000
            connection.execute(f'CREATE TABLE "{name}" (id INTEGER PRIMARY KEY, "{"é" * 3_000}" TEXT)')
        connection.execute(f'CREATE VIEW "{"v" * 60_000}" AS SELECT * FROM nowhere')
    connection.close()
    result = refresh(instance, dry_run=dry_run)
    assert result.success, failure_texts(result)
    for event in result.all_events:
        assert len(serialize_value(event)) < MOST_EVENT_BYTES, (event.event_type_value, event.step_key)
    for event in result.get_asset_materialization_events():
        told = [
            value for value in event.materialization.metadata.values() if isinstance(value, dg.MarkdownMetadataValue)
        ]
        assert [value for value in told if not PICTURE.fullmatch(value.value or "")] == [], "names are never Markdown"


def test_a_defect_is_told_by_kind_and_place_only(
    project: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)

    def broken(*_: object) -> None:
        raise ValueError("value of a customer")

    add_sqlite_database(project, "x", 1)
    monkeypatch.setattr("dictionary_pipeline.stages.snapshot.take_snapshot", broken)
    result = refresh(instance)
    [text] = failure_texts(result)
    assert "unexpected ValueError at dictionary_pipeline/stages/snapshot.py:" in text
    assert not [event for event in result.all_events if "value of a customer" in serialize_value(event)]
    assert not [event for event in result.all_events if event.is_step_up_for_retry]
