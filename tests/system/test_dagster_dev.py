"""The pipeline as it is operated: a live webserver and daemon, asked through GraphQL."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers.dagster_dev import DagsterDev, dagster_dev, wait_until
from system.projects import add_sqlite_database, write_project

pytestmark = pytest.mark.system

WORKSPACE = Path(__file__).parents[2] / "workspace.yaml"
SELECTOR = {"repositoryName": "__repository__", "repositoryLocationName": "dictionary_pipeline"}
DONE = {"SUCCESS", "FAILURE", "CANCELED"}
LAUNCH = """
mutation($tags: [ExecutionTag!]) {
  launchRun(executionParams: {
    selector: {repositoryName: "__repository__", repositoryLocationName: "dictionary_pipeline",
               pipelineName: "refresh_dictionary"},
    executionMetadata: {tags: $tags}
  }) { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } }
}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_project(folder)
    return folder


@pytest.fixture(scope="module")
def dev(project: Path) -> Iterator[DagsterDev]:
    with dagster_dev(project, WORKSPACE) as running:
        yield running


def last_ticks(dev: DagsterDev) -> list[dict[str, Any]]:
    data = dev.query(
        """query($selector: SensorSelector!) { sensorOrError(sensorSelector: $selector) { ... on Sensor {
             sensorState { status ticks(limit: 5) { status skipReason error { message } } } } } }""",
        selector=SELECTOR | {"sensorName": "database_registry"},
    )
    ticks: list[dict[str, Any]] = data["sensorOrError"]["sensorState"]["ticks"]
    return ticks


def launch(dev: DagsterDev, database: str) -> None:
    tags = [{"key": "dagster/partition", "value": database}, {"key": "database", "value": database}]
    answer = dev.query(LAUNCH, tags=tags)["launchRun"]
    assert answer["__typename"] == "LaunchRunSuccess", answer


def finished(dev: DagsterDev, database: str, count: int) -> list[dict[str, Any]]:
    runs = dev.runs(database)
    return runs if len(runs) >= count and all(run["status"] in DONE for run in runs) else []


def test_a_new_file_becomes_a_partition_and_is_run(dev: DagsterDev, project: Path) -> None:
    add_sqlite_database(project, "x", 3)
    wait_until(lambda: "x" in dev.partitions(), "partition x", 120)
    [run] = wait_until(lambda: finished(dev, "x", 1), "the first run of x", 120)
    assert run["status"] == "SUCCESS"
    tags = {tag["key"]: tag["value"] for tag in run["tags"]}
    assert tags["database"] == "x"
    assert tags["server"]
    manifest = json.loads((project / "published" / "x" / "manifest.json").read_text())
    assert manifest["counts"]["tables"] == 3


def test_runs_of_one_database_never_overlap(dev: DagsterDev, project: Path) -> None:
    before = len(dev.runs("x"))
    for _ in range(3):
        launch(dev, "x")
    runs = wait_until(lambda: finished(dev, "x", before + 3), "three more runs of x", 240)
    assert {run["status"] for run in runs} == {"SUCCESS"}
    spans = sorted((run["startTime"], run["endTime"]) for run in runs)
    assert all(later[0] >= earlier[1] for earlier, later in itertools.pairwise(spans))


def test_a_broken_file_keeps_its_partition_and_is_reported(dev: DagsterDev, project: Path) -> None:
    file = project / "dbt_like_configs" / "databases" / "x.yml"
    file.write_text("connection: [\n")
    reason = wait_until(
        lambda: next(
            (t["skipReason"] for t in last_ticks(dev) if t["skipReason"] and "x.yml" in t["skipReason"]), None
        ),
        "the registry reports x.yml",
        120,
    )
    assert "database x" in reason
    assert "x" in dev.partitions()
    assert (project / "published" / "x" / "manifest.json").exists()
