"""`python -m dictionary_pipeline.orchestration.materialize`, which `make demo` calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from system.projects import add_sqlite_database, write_project


def materialize(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    (folder / "home").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "dictionary_pipeline.orchestration.materialize", name],
        cwd=folder,
        env=os.environ | {"DAGSTER_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_failure_is_one_line_without_a_trace(tmp_path: Path) -> None:
    write_project(tmp_path)
    add_sqlite_database(tmp_path, "x", 1)
    (tmp_path / "x.db").write_text("this is no database")
    done = materialize(tmp_path, "x")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr + done.stdout
    assert "Stack Trace" not in done.stderr + done.stdout
    assert [line for line in done.stderr.splitlines() if line.startswith("error: dictionary__schema_snapshot: ")]
    assert "not an SQLite database" in done.stderr


def test_an_unknown_database_is_a_configuration_error(tmp_path: Path) -> None:
    write_project(tmp_path)
    done = materialize(tmp_path, "x")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "'x'" in done.stderr
