"""The asset `search_index`: there only where search is configured, and part of the refresh then."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest
from servers.search_stub import KEY, KEY_VARIABLE, Answer, Call, SearchStub, running_search
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline import definitions
from dictionary_pipeline.orchestration.assets import asset_key
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE
from dictionary_pipeline.publishing.search import service
from dictionary_pipeline.stages import STAGES

Location = Callable[[], dg.Definitions]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    write_project(folder)
    add_sqlite_database(folder, "x", 3)
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    return folder


@pytest.fixture
def stub(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchStub]:
    with running_search(tmp_path) as stub:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(stub.certificate))
        monkeypatch.setenv(KEY_VARIABLE, KEY)
        monkeypatch.setattr(service, "_PATIENCE", (0.0,) * 5)
        (project / "dbt_like_configs/project.yml").write_text(
            f"search: {{endpoint: '{stub.endpoint}', api_key_env: {KEY_VARIABLE}}}\n"
        )
        yield stub


@pytest.fixture
def location(project: Path) -> Iterator[Location]:
    """Loads the code location as it would be loaded now, and puts back the one that other tests use."""
    before = dict(vars(definitions))
    yield lambda: importlib.reload(definitions).defs
    vars(definitions).update(before)


def refresh(load: Location, **options: bool) -> dg.ExecuteInProcessResult:
    """Run the job of a code location that is loaded now."""
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("databases", ["x"])
        job = load().resolve_job_def("refresh_dictionary")
        return job.execute_in_process(
            instance=instance,
            partition_key="x",
            raise_on_error=False,
            run_config={
                "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
                **({"resources": {"refresh_options": {"config": options}}} if options else {}),
            },
        )


def test_without_search_there_are_the_six_assets_only(location: Location) -> None:
    assert [event.asset_key for event in refresh(location).get_asset_materialization_events()] == [
        asset_key(stage.name) for stage in STAGES
    ]


def test_a_refresh_pushes_what_it_published_and_a_second_sends_no_document(
    stub: SearchStub, location: Location
) -> None:
    result = refresh(location)
    assert result.success
    *_, event = result.get_asset_materialization_events()
    assert event.asset_key == asset_key("search_index")
    metadata = event.materialization.metadata
    assert (metadata["status"].value, metadata["documents_pushed"].value) == ("pushed", 5)
    assert [check.passed for check in result.get_asset_check_evaluations() if check.asset_key == event.asset_key] == [
        True
    ]
    stub.forget_calls()
    *_, again = refresh(location).get_asset_materialization_events()
    assert again.materialization.metadata["status"].value == "unchanged"
    assert stub.sent == []


def test_a_dry_run_and_a_database_that_opted_out_push_nothing(
    project: Path, stub: SearchStub, location: Location
) -> None:
    assert refresh(location).success
    stub.forget_calls()
    assert refresh(location, dry_run=True).success
    file = project / "dbt_like_configs/databases/x.yml"
    file.write_text(f"{file.read_text()}search: {{enabled: false}}\n")
    assert refresh(location).success
    assert stub.calls == []


def test_a_refused_key_fails_the_push_once_and_a_refused_document_is_a_warning(
    stub: SearchStub, location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refresh(location).success
    monkeypatch.setenv(KEY_VARIABLE, "canary-wrong-key")
    result = refresh(location)
    assert not result.success
    [failed] = [event for event in result.all_events if event.is_step_failure]
    told = failed.step_failure_data.user_failure_data
    assert told is not None and told.description is not None
    assert f"the key in {KEY_VARIABLE} was refused" in told.description and "canary" not in told.description
    assert not [event for event in result.all_events if event.is_step_up_for_retry]

    monkeypatch.setenv(KEY_VARIABLE, KEY)
    stub.documents.clear()
    stub.indexes.clear()
    stub.script = _refusing_one(stub)
    result = refresh(location)
    assert result.success
    failing = [check.check_name for check in result.get_asset_check_evaluations() if not check.passed]
    assert failing == ["everything_was_pushed"]


def _refusing_one(stub: SearchStub) -> Callable[[Call], Answer | None]:
    """Let the service refuse the first document of the first batch."""

    def script(call: Call) -> Answer | None:
        if call.documents and not stub.document_faults:
            stub.document_faults[call.documents[0]["Id"]] = [400]
        return None

    return script
