"""Add many databases at once to a running `dagster dev`, then measure a nightly pass over them unchanged.

    python tests/benchmarks/fleet.py [--databases 40] [--tables 250] [--model] [--folder DIR]

Every database is a SQLite file of its own; with --model a stub of a language model writes definitions.
The instance is the default one, on SQLite. Prints one JSON line:

- runs, succeeded: of the first load; first_load_wall_s, first_load_cpu_s
- most_at_once, limit: runs at work at the same time, and how many may be
- overlaps: pairs of runs of one database that were at work at the same time
- locked: mentions of "database is locked" in all logs
- idle_cpu_s: of a minute before the pass
- pass_wall_s, pass_cpu_s: from the due time until the last database is verified
- pass_minute_cpu_s: of the minute that begins at the due time
- model_requests, pass_model_requests: to the stub, of the first load and of the pass
- pass_runs, pass_files_written: runs started and files of the published folder changed by the pass, the record
  of the pass itself aside
- load: average of the machine at the end

CPU seconds are those of all processes of `dagster dev`, runs included.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from servers import openai_stub
from servers.dagster_dev import DagsterDev, dagster_dev, wait_until
from system.projects import write_project, write_sqlite

from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.verified import KEY, last_verified

WORKSPACE = Path(__file__).parents[2] / "workspace.yaml"
TICK = timedelta(minutes=15)
MARGIN = timedelta(seconds=120)
"""Between writing the new due time and the due time: files are listed and an idle minute is measured in it."""
DONE = frozenset({"SUCCESS", "FAILURE", "CANCELED"})
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_RUNS = """{ runsOrError(limit: 5000) { ... on Runs { results {
             runId status startTime endTime tags { key value } } } } }"""


@dataclass(frozen=True)
class Run:
    """A run as Dagster recorded it."""

    database: str
    status: str
    start: float
    end: float


@dataclass(frozen=True)
class FirstLoad:
    """All databases added at once."""

    runs: int
    succeeded: int
    most_at_once: int
    overlaps: int
    first_load_wall_s: float
    first_load_cpu_s: float


@dataclass(frozen=True)
class NightlyPass:
    """A pass over databases that did not change."""

    idle_cpu_s: float
    pass_wall_s: float
    pass_cpu_s: float
    pass_minute_cpu_s: float
    pass_runs: int
    pass_files_written: int


def prepare(folder: Path, databases: int, tables: int) -> list[tuple[Path, str]]:
    """Write the project and the database files; path and text of each YAML file that is to be added."""
    write_project(folder)
    files: list[tuple[Path, str]] = []
    for number in range(databases):
        name = f"fleet{number:03}"
        write_sqlite(folder / f"{name}.db", tables)
        path = folder / "dbt_like_configs" / "databases" / f"{name}.yml"
        files.append((path, f"connection:\n  type: sqlite\n  path: {name}.db\n"))
    return files


def use_model(folder: Path, stub: openai_stub.OpenAIStub) -> None:
    """Configure the stub as the project's language model."""
    os.environ[openai_stub.KEY_VARIABLE] = "stub"
    settings = {
        "provider": "compatible",
        "model": "stub",
        "base_url": stub.url,
        "api_key_env": openai_stub.KEY_VARIABLE,
        "max_requests": 1_000_000,
    }
    project = folder / "dbt_like_configs" / "project.yml"
    project.write_text(f"{project.read_text()}model: {json.dumps(settings)}\n")


def first_load(dev: DagsterDev, files: Sequence[tuple[Path, str]], seconds: float) -> FirstLoad:
    """Add all files at once and wait until their runs have ended."""
    cpu, begin = cpu_seconds(dev), time.monotonic()
    for path, text in files:
        path.write_text(text)

    def ended() -> list[Run]:
        found = runs(dev)
        return found if len(found) >= len(files) and all(run.status in DONE for run in found) else []

    found = wait_until(ended, f"{len(files)} runs have ended", seconds)
    return FirstLoad(
        len(found),
        sum(run.status == "SUCCESS" for run in found),
        most_at_once(found),
        overlaps(found),
        round(time.monotonic() - begin, 1),
        round(cpu_seconds(dev) - cpu, 1),
    )


def nightly_pass(dev: DagsterDev, folder: Path, databases: int) -> NightlyPass:
    """Make every database due at the next tick of the schedule, and watch that tick."""
    due = _next_tick(datetime.now(UTC) + MARGIN)
    project = folder / "dbt_like_configs" / "project.yml"
    project.write_text(f'{project.read_text()}automation:\n  nightly_cron: "{due.minute} {due.hour} * * *"\n')
    published, earlier = folder / "published", len(runs(dev))
    before = file_marks(published)
    _sleep_until(due - timedelta(seconds=61))
    idle = _cpu_of(dev, lambda: _sleep_until(due - timedelta(seconds=1)))
    cpu = cpu_seconds(dev)

    def verified() -> bool:
        seen = last_verified(LocalStore(published))
        return sum(at >= due for at in seen.values()) == databases

    wait_until(verified, "every database is verified", 600)
    wall, used = (datetime.now(UTC) - due).total_seconds(), cpu_seconds(dev) - cpu
    _sleep_until(due + timedelta(seconds=59))
    minute = cpu_seconds(dev) - cpu
    after = file_marks(published)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return NightlyPass(
        round(idle, 1), round(wall, 1), round(used, 1), round(minute, 1), len(runs(dev)) - earlier, len(changed)
    )


def runs(dev: DagsterDev) -> list[Run]:
    """All runs of the instance."""
    results: list[dict[str, Any]] = dev.query(_RUNS)["runsOrError"]["results"]
    return [
        Run(
            next((tag["value"] for tag in run["tags"] if tag["key"] == "database"), ""),
            run["status"],
            run["startTime"] or 0.0,
            run["endTime"] or 0.0,
        )
        for run in results
    ]


def most_at_once(found: Iterable[Run]) -> int:
    """Most runs at work at the same time; one that ends when another begins makes room for it."""
    steps = sorted(step for run in found for step in ((run.start, 1), (run.end, -1)))
    return max(itertools.accumulate(change for _, change in steps), default=0)


def overlaps(found: Iterable[Run]) -> int:
    """Neighbouring runs of one database of which the later began before the earlier ended."""
    spans = sorted((run.database, run.start, run.end) for run in found)
    return sum(a[0] == b[0] and b[1] < a[2] for a, b in itertools.pairwise(spans))


def cpu_seconds(dev: DagsterDev) -> float:
    """User and system time of all processes of `dagster dev`, with those that have ended."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The program's name, in parentheses, can hold spaces.
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        if int(fields[3]) == dev.session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / _CLOCK_TICKS


def file_marks(published: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of every file but the record of verified databases and locks."""
    found: dict[str, tuple[int, int]] = {}
    for path in published.rglob("*"):
        if path.is_file() and path != published / KEY and path.name != "store.lock":
            status = path.stat()
            found[str(path)] = (status.st_size, status.st_mtime_ns)
    return found


def locked(folder: Path) -> int:
    """How often a log of the project says that a database is locked."""
    logs = [path for path in folder.rglob("*") if path.suffix in (".log", ".err", ".out")]
    return sum(log.read_text(errors="replace").count("database is locked") for log in logs)


def _next_tick(after: datetime) -> datetime:
    seconds = TICK.total_seconds()
    return datetime.fromtimestamp((after.timestamp() // seconds + 1) * seconds, UTC)


def _sleep_until(moment: datetime) -> None:
    time.sleep(max((moment - datetime.now(UTC)).total_seconds(), 0))


def _cpu_of(dev: DagsterDev, work: Callable[[], None]) -> float:
    before = cpu_seconds(dev)
    work()
    return cpu_seconds(dev) - before


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when something is not as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", type=int, default=40)
    parser.add_argument("--tables", type=int, default=250)
    parser.add_argument("--model", action="store_true", help="let a stub of a model write definitions")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds that the first load may take")
    parser.add_argument("--folder", type=Path, help="an empty folder to work in, which is kept")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="fleet-") as temporary, openai_stub.running_stub() as stub:
        folder = (options.folder or Path(temporary)).resolve()
        files = prepare(folder, options.databases, options.tables)
        if options.model:
            use_model(folder, stub)
        with dagster_dev(folder, WORKSPACE) as dev:
            load = first_load(dev, files, options.timeout)
            asked = len(stub.asked)
            night = nightly_pass(dev, folder, options.databases)
        limit = 4
        result = {
            "databases": options.databases,
            "tables": options.tables,
            **asdict(load),
            "limit": limit,
            "locked": locked(folder),
            **asdict(night),
            "model_requests": asked,
            "pass_model_requests": len(stub.asked) - asked,
            "load": round(os.getloadavg()[0], 1),
        }
    sys.stdout.write(json.dumps(result) + "\n")
    good = load.succeeded == load.runs == options.databases and load.most_at_once <= limit and not load.overlaps
    touched = (result["locked"], night.pass_runs, night.pass_files_written, result["pass_model_requests"])
    return 0 if good and not any(touched) else 1


if __name__ == "__main__":
    sys.exit(main())
