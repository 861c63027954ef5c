"""A live `dagster dev` over a project folder, asked through GraphQL as the UI does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

_START_SECONDS = 180
_Seen = TypeVar("_Seen")


@dataclass(frozen=True)
class DagsterDev:
    """A running webserver and daemon."""

    url: str
    log: Path
    session: int
    """Of all its processes, as the system numbers sessions."""

    def query(self, text: str, **variables: Any) -> dict[str, Any]:
        """Run a GraphQL query and return its data."""
        body = json.dumps({"query": text, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            result = json.load(answer)
        assert "errors" not in result, result["errors"]
        data: dict[str, Any] = result["data"]
        return data

    def partitions(self) -> list[str]:
        """Keys of the `databases` partitions definition."""
        data = self.query(
            """{ repositoryOrError(repositorySelector: {repositoryName: "__repository__",
                 repositoryLocationName: "dictionary_pipeline"}) { ... on Repository { assetNodes {
                 assetKey { path } partitionKeys } } } }"""
        )
        nodes = data["repositoryOrError"]["assetNodes"]
        return sorted({key for node in nodes for key in node["partitionKeys"]})

    def runs(self, database: str) -> list[dict[str, Any]]:
        """Runs tagged with a database, newest first."""
        data = self.query(
            """query($tags: [ExecutionTag!]) { runsOrError(filter: {tags: $tags}) { ... on Runs { results {
                 runId status startTime endTime tags { key value } } } } }""",
            tags=[{"key": "database", "value": database}],
        )
        results: list[dict[str, Any]] = data["runsOrError"]["results"]
        return results


def wait_until(look: Callable[[], _Seen], what: str, seconds: float = 120.0) -> _Seen:
    """Look every half second until something truthy is seen."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        seen = look()
        if seen:
            return seen
        time.sleep(0.5)
    raise AssertionError(f"not within {seconds:.0f} s: {what}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def dagster_dev(project: Path, workspace: Path) -> Iterator[DagsterDev]:
    """Run `dagster dev` in its own process group and end the whole group afterwards."""
    home = project / ".dagster_home"
    environment = os.environ | {"DAGSTER_HOME": str(home), "DICTIONARY_PIPELINE_PROJECT": str(project)}
    subprocess.run([sys.executable, "-m", "dictionary_pipeline.orchestration.instance"], env=environment, check=True)
    port, log = _free_port(), project / "dagster_dev.log"
    command = [str(Path(sys.executable).with_name("dagster")), "dev", "-w", str(workspace)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "-h", "127.0.0.1", "-p", str(port)],
            cwd=project,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    dev = DagsterDev(f"http://127.0.0.1:{port}", log, process.pid)
    try:
        wait_until(lambda: _answers(dev, process), "dagster dev answers", _START_SECONDS)
        yield dev
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(dev: DagsterDev, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, dev.log.read_text()[-3000:]
    try:
        with urllib.request.urlopen(f"{dev.url}/server_info", timeout=5):
            return True
    except OSError:
        return False
