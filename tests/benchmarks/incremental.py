"""Measure what one changed table costs: `python tests/benchmarks/incremental.py DSN DATABASE`.

DSN is a superuser's URL of a PostgreSQL server with `pg_stat_statements` in its
`shared_preload_libraries`. Works on a copy of DATABASE, which is dropped at the end, with a stub of
a language model. Prints one JSON line for each of: a whole run, `run --changed-only` of the unchanged
database, the same after a column was added to one table, and after its rows were changed.

- statements: top-level calls as the server counted them, as of `workload.py`
- tables_read, requests: tables sampled, and requests that the model got
- files: names of published files that were written, the manifest apart; only their number when there
  are many
- wall_s, cpu_s: of the whole process, start-up included
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

_TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(_TESTS), str(_TESTS / "benchmarks")]

from servers.openai_stub import KEY, KEY_VARIABLE, OpenAIStub, running_stub  # noqa: E402
from workload import PARTIAL, URL_VARIABLE, counted_calls  # noqa: E402

NAME = "bench"
MOST_FILES = 40
"""File names that a line shows at most."""


def configure(folder: Path, stub: OpenAIStub) -> None:
    """Write the configuration of a project with one database and the stub as its model."""
    configs = folder / "dbt_like_configs"
    (configs / "databases").mkdir(parents=True)
    model = {"provider": "compatible", "model": "stub", "base_url": stub.url, "api_key_env": KEY_VARIABLE}
    (configs / "project.yml").write_text(json.dumps({"model": {**model, "concurrency": 8}}))
    connection = {"url": f"{{{{ env_var('{URL_VARIABLE}') }}}}"}
    (configs / "databases" / f"{NAME}.yml").write_text(json.dumps({"connection": connection}))


def run(folder: Path, admin: psycopg.Connection[tuple[object, ...]], url: str, stub: OpenAIStub, *options: str) -> str:
    """Run once and tell what it took, as one JSON line."""
    command = [sys.executable, "-m", "dictionary_pipeline", "run", NAME, "--json", "--project", str(folder), *options]
    before = _files(folder)
    stub.forget()
    admin.execute("SELECT pg_stat_statements_reset()")
    started = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, env={**os.environ, URL_VARIABLE: url, KEY_VARIABLE: KEY})
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, PARTIAL):
            raise SystemExit(f"the run ended with exit code {process.returncode}")
        out.seek(0)
        summary = json.load(out)
    after = _files(folder)
    files = sorted(path for path, stamp in after.items() if before.get(path) != stamp)
    line = {
        "run": " ".join(options) or "whole",
        "statements": counted_calls(admin, urlsplit(url).path.strip("/")),
        "tables_read": summary["stages"]["column_samples"]["tables_read"],
        "requests": len(stub.asked),
        "files": files if len(files) <= MOST_FILES else len(files),
        "wall_s": round(wall_s, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
    }
    return json.dumps(line)


def _files(folder: Path) -> dict[str, int]:
    """Published path -> when it was written."""
    root = folder / "published" / NAME
    paths = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    shown = [path for path in paths if path.parts[0] != "manifest.json" and not path.parts[0].startswith(".")]
    return {str(path): (root / path).stat().st_mtime_ns for path in shown}


def main(dsn: str, database: str) -> None:
    """Measure the four runs."""
    copy = f"{database}_incremental"
    url = urlsplit(dsn)._replace(path=f"/{copy}").geturl()
    with psycopg.connect(dsn, autocommit=True) as admin, running_stub() as stub:
        admin.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(copy))
        admin.execute(drop)
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(copy), sql.Identifier(database)))
        try:
            with tempfile.TemporaryDirectory() as scratch:
                _measure(Path(scratch), admin, url, stub)
        finally:
            admin.execute(drop)


def _measure(folder: Path, admin: psycopg.Connection[tuple[object, ...]], url: str, stub: OpenAIStub) -> None:
    configure(folder, stub)
    table = _middle_table(url)
    for options, change in (
        ((), None),
        (("--changed-only",), None),
        (("--changed-only",), sql.SQL("ALTER TABLE {} ADD COLUMN added_by_benchmark integer").format(table)),
        (("--changed-only",), sql.SQL("UPDATE {} SET added_by_benchmark = 1").format(table)),
    ):
        if change is not None:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(change)
        sys.stdout.write(run(folder, admin, url, stub, *options) + "\n")
        sys.stdout.flush()


def _middle_table(url: str) -> sql.Identifier:
    """One table of the database, neither its first nor its last."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
        ).fetchall()
    if not tables:
        raise SystemExit("the database has no table")
    return sql.Identifier(*tables[len(tables) // 2])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
