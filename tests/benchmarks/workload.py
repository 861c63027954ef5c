"""Measure `data_dictionary build` on one PostgreSQL database, from outside.

    python tests/benchmarks/workload.py DSN DATABASE [--repeat N]

DSN is a superuser's URL of any database of the server, DATABASE the one to describe. Prints one
JSON line:

- wall_s, cpu_s: of the whole process, start-up included; the median of N runs into empty folders
- peak_rss_mb: largest resident size, the greatest of N runs, as are the next two
- statements: top-level calls as the server counted them, without BEGIN, COMMIT, ROLLBACK,
  SAVEPOINT, SET and SHOW
- max_connections: most connections to DATABASE seen at once, looked at every 20 ms
- files, bytes: what was published, without `.objects` and the other private folders

The server needs `shared_preload_libraries = 'pg_stat_statements'` and, for large databases,
`pg_stat_statements.max = 50000`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

URL_VARIABLE = "DD_BENCHMARK_URL"
"""Hands the URL to the measured process, so that no password shows in the process list."""
BUILD = (sys.executable, "-m", "dictionary_pipeline", "build", f"env:{URL_VARIABLE}", "-o")
NOT_COUNTED = frozenset({"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "SET", "SHOW"})
SAMPLING_INTERVAL_S = 0.02
PARTIAL = 3
"""Exit code of a build that published but could not read everything."""

_LEADING_NOISE = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*", re.DOTALL)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Measurement:
    """One run, or the summary of several."""

    wall_s: float
    cpu_s: float
    peak_rss_mb: float
    statements: int
    max_connections: int
    files: int
    bytes: int


def is_counted(sql: str) -> bool:
    """Whether a statement is work, as opposed to transaction control and session settings."""
    start = _LEADING_NOISE.match(sql)
    word = _WORD.match(sql, start.end() if start else 0)
    return word is None or word[0].upper() not in NOT_COUNTED


def count_statements(calls: Iterable[tuple[str, int]]) -> int:
    """Sum the calls of the statements that count."""
    return sum(number for sql, number in calls if is_counted(sql))


def published_size(folder: Path) -> tuple[int, int]:
    """Number and bytes of the files of a bundle outside its private (dotted) folders."""
    sizes = [
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    return len(sizes), sum(sizes)


def summarise(runs: list[Measurement]) -> Measurement:
    """Median of the times, greatest of everything else."""
    return Measurement(
        wall_s=round(statistics.median(run.wall_s for run in runs), 3),
        cpu_s=round(statistics.median(run.cpu_s for run in runs), 3),
        peak_rss_mb=round(max(run.peak_rss_mb for run in runs), 1),
        statements=max(run.statements for run in runs),
        max_connections=max(run.max_connections for run in runs),
        files=max(run.files for run in runs),
        bytes=max(run.bytes for run in runs),
    )


class ConnectionWatch(threading.Thread):
    """Looks at the server's connections to one database until it is stopped."""

    def __init__(self, dsn: str, database: str) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self._dsn = dsn
        self._database = database
        self._stop_asked = threading.Event()

    def run(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            while not self._stop_asked.wait(SAMPLING_INTERVAL_S):
                row = connection.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE datname = %s AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
                    [self._database],
                ).fetchone()
                self.most = max(self.most, row[0] if row else 0)

    def stop(self) -> int:
        """End the watch; the most connections seen at once."""
        self._stop_asked.set()
        self.join()
        return self.most


def measure(dsn: str, database: str, command: tuple[str, ...] = BUILD) -> Measurement:
    """Run `command` with an empty folder as its last argument and measure it."""
    url = urlsplit(dsn)._replace(path=f"/{database}").geturl()
    with tempfile.TemporaryDirectory() as folder, psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        admin.execute("SELECT pg_stat_statements_reset()")
        watch = ConnectionWatch(dsn, database)
        watch.start()
        started = time.perf_counter()
        process = subprocess.Popen(
            [*command, folder], stdout=subprocess.DEVNULL, stderr=sys.stderr, env={**os.environ, URL_VARIABLE: url}
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        most = watch.stop()
        if process.returncode not in (0, PARTIAL):
            raise SystemExit(f"the build ended with exit code {process.returncode}")
        files, size = published_size(Path(folder))
        return Measurement(
            wall_s=wall_s,
            cpu_s=usage.ru_utime + usage.ru_stime,
            peak_rss_mb=usage.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2),
            statements=counted_calls(admin, database),
            max_connections=most,
            files=files,
            bytes=size,
        )


def counted_calls(admin: psycopg.Connection[tuple[object, ...]], database: str) -> int:
    """Statements that count, which the server counted in one database since its counts were reset."""
    dropped = admin.execute("SELECT dealloc FROM pg_stat_statements_info").fetchone()
    if dropped and dropped[0]:
        raise SystemExit("the server forgot statements: raise pg_stat_statements.max to 50000")
    rows = admin.execute(
        "SELECT s.query, s.calls FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid"
        " WHERE d.datname = %s AND s.toplevel",
        [database],
    ).fetchall()
    return count_statements((str(query), int(str(calls))) for query, calls in rows)


def main() -> None:
    """Measure as the command line says and print one JSON line."""
    parser = argparse.ArgumentParser(description="Measure data_dictionary build on one PostgreSQL database.")
    parser.add_argument("dsn", help="superuser's URL of any database of the server")
    parser.add_argument("database", help="database to describe")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs (default: 1)")
    options = parser.parse_args()
    runs = [measure(options.dsn, options.database) for _ in range(max(1, options.repeat))]
    sys.stdout.write(json.dumps(asdict(summarise(runs))) + "\n")


if __name__ == "__main__":
    main()
