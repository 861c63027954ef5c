"""Several databases added at once to a live `dagster dev`, and a nightly pass over them; large: benchmarks/fleet.py."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fleet import FirstLoad, file_marks, first_load, locked, prepare
from servers.dagster_dev import DagsterDev, dagster_dev, wait_until

from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.verified import last_verified

pytestmark = pytest.mark.system

WORKSPACE = Path(__file__).parents[2] / "workspace.yaml"
DATABASES = 3
AT_ONCE = 2
TICK = """
mutation($selector: ScheduleSelector!, $timestamp: Float!) {
  scheduleDryRun(selectorData: $selector, timestamp: $timestamp) {
    ... on DryRunInstigationTick { evaluationResult {
      runRequests { runKey } skipReason error { message } } }
    ... on PythonError { message } } }
"""
FRESHNESS = """
{ assetNodes(assetKeys: [{path: ["dictionary", "published_dictionary"]}]) {
    freshnessStatusInfo { freshnessStatus } } }
"""
SELECTOR = {
    "repositoryName": "__repository__",
    "repositoryLocationName": "dictionary_pipeline",
    "scheduleName": "nightly_refresh",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fleet")


@pytest.fixture(scope="module")
def dev(folder: Path) -> Iterator[tuple[DagsterDev, FirstLoad]]:
    files = prepare(folder, DATABASES, 4)
    with (folder / "dbt_like_configs" / "project.yml").open("a") as file:
        file.write(f"automation: {{max_concurrent_runs: {AT_ONCE}}}\n")
    with dagster_dev(folder, WORKSPACE) as running:
        yield running, first_load(running, files, 180)


def tick(dev: DagsterDev, moment: datetime) -> dict[str, Any]:
    """A tick of the schedule in the code server, without launching what it requests."""
    data = dev.query(TICK, selector=SELECTOR, timestamp=moment.timestamp())
    result: dict[str, Any] = data["scheduleDryRun"]["evaluationResult"]
    assert result["error"] is None, result
    return result


def test_databases_added_at_once_are_all_run_within_the_limits(dev: tuple[DagsterDev, FirstLoad], folder: Path) -> None:
    _, load = dev
    assert (load.runs, load.succeeded, load.overlaps) == (DATABASES, DATABASES, 0)
    assert load.most_at_once <= AT_ONCE
    assert locked(folder) == 0


def test_the_published_dictionary_is_shown_as_fresh_though_it_has_partitions(
    dev: tuple[DagsterDev, FirstLoad],
) -> None:
    running, _ = dev

    def judged() -> str | None:
        [node] = running.query(FRESHNESS)["assetNodes"]
        status: str = node["freshnessStatusInfo"]["freshnessStatus"]
        return None if status == "UNKNOWN" else status

    assert wait_until(judged, "the freshness daemon has judged the asset", 90) == "HEALTHY"


def test_a_nightly_pass_runs_only_what_changed(dev: tuple[DagsterDev, FirstLoad], folder: Path) -> None:
    running, _ = dev
    two = datetime.now(UTC).replace(hour=2, minute=0, second=0, microsecond=0) + timedelta(days=1)
    before, loaded = file_marks(folder / "published"), datetime.now(UTC) - timedelta(seconds=1)
    assert "fleet000, fleet001, fleet002." in tick(running, two)["skipReason"]
    assert file_marks(folder / "published") == before
    assert all(at > loaded for at in last_verified(LocalStore(folder / "published")).values())
    with sqlite3.connect(folder / "fleet002.db") as connection:
        connection.execute("ALTER TABLE t0 ADD COLUMN extra TEXT")
    connection.close()
    [request] = tick(running, two + timedelta(days=1))["runRequests"]
    assert request["runKey"].startswith("fleet002:due:")
