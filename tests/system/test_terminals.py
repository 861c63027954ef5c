"""The command line on terminals, pipes and descriptors as they come, and what a failure leaves behind."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from system.projects import add_sqlite_database, write_project, write_sqlite

COMMAND = [sys.executable, "-m", "dictionary_pipeline"]


def run(*arguments: str, cwd: Path, shell_after: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command, with a shell redirection after it if given."""
    command = ["sh", "-c", f'"$@" {shell_after}', "sh", *COMMAND, *arguments] if shell_after else [*COMMAND, *arguments]
    return subprocess.run(command, cwd=cwd, env=os.environ | variables, capture_output=True, timeout=120, check=False)


@pytest.fixture
def umlaut(tmp_path: Path) -> Path:
    path = tmp_path / "Öl.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            'CREATE TABLE "größe" (id INTEGER PRIMARY KEY); CREATE VIEW "kaputt_é" AS SELECT * FROM nowhere;'
        )
    connection.close()
    return path


def test_names_that_the_terminal_cannot_show_do_not_end_a_run(umlaut: Path, tmp_path: Path) -> None:
    done = run("build", umlaut.name, "-o", "äus", cwd=tmp_path, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 3, done.stderr
    assert b"kaputt_\\xe9" in done.stderr
    assert done.stdout.endswith(b"published at \\xe4us\n")
    asked = run("build", umlaut.name, "-o", "äus", "--json", cwd=tmp_path, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert json.loads(asked.stdout)["location"] == "äus"
    assert run("build", "--help", cwd=tmp_path, PYTHONIOENCODING="ascii").returncode == 0


@pytest.mark.parametrize("shell_after", [">&-", "2>&-", ">&- 2>&-", "> /dev/full"])
def test_a_closed_or_full_output_does_not_change_what_was_done(tmp_path: Path, shell_after: str) -> None:
    if "full" in shell_after and not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    write_sqlite(tmp_path / "shop.db", 2)
    done = run("build", "shop.db", "-o", "out", cwd=tmp_path, shell_after=shell_after)
    assert done.returncode == 0
    assert b"unexpected" not in done.stderr
    assert b"Exception" not in done.stderr
    assert (tmp_path / "out/manifest.json").exists()


def test_a_reader_that_has_gone_does_not_change_what_was_done(tmp_path: Path) -> None:
    write_sqlite(tmp_path / "shop.db", 2)
    reading, writing = os.pipe()
    os.close(reading)
    command = [*COMMAND, "build", "shop.db", "-o", "out", "--json"]
    done = subprocess.run(command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, timeout=120, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "out/manifest.json").exists()


def test_an_interrupt_is_one_line_and_gives_the_lease_back(tmp_path: Path) -> None:
    write_sqlite(tmp_path / "shop.db", 400)
    process = subprocess.Popen(
        [*COMMAND, "build", "shop.db", "-o", "out"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    lease = tmp_path / "out/.state/lease.json"
    at_work = tmp_path / "out/.state/stages/schema_snapshot.json"
    deadline = time.monotonic() + 60
    while not at_work.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=60)
    assert process.returncode == 1, complaints
    assert complaints.endswith(b"error: interrupted; nothing half-written was published\n")
    assert json.loads(lease.read_text())["owner"] is None


@pytest.mark.parametrize("target", ["empty.db", "postgresql://u@127.0.0.1:1/x", "torn.db"])
def test_a_build_that_could_not_start_leaves_no_folder(tmp_path: Path, target: str) -> None:
    sqlite3.connect(tmp_path / "empty.db").executescript("CREATE TABLE t (a); DROP TABLE t;").connection.close()
    write_sqlite(tmp_path / "whole.db", 5)
    (tmp_path / "torn.db").write_bytes((tmp_path / "whole.db").read_bytes()[:1500])
    done = run("build", target, "-o", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert not (tmp_path / "out").exists()


def test_an_add_that_names_no_profile_can_be_repeated(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "dbt_like_configs/profiles.yml").write_text(
        "shop:\n  target: dev\n  outputs:\n    dev: {type: sqlite, path: shop.db}\n"
    )
    write_sqlite(tmp_path / "shop.db", 1)
    wrong = run("add", "shop", "--profile", "shpo", cwd=tmp_path)
    assert wrong.returncode == 2
    assert b"'shop'" in wrong.stderr
    assert run("add", "shop", "--profile", "shop", cwd=tmp_path).returncode == 0


def test_every_mistake_of_a_file_is_a_line_of_its_own(tmp_path: Path) -> None:
    write_project(tmp_path)
    add_sqlite_database(tmp_path, "x", 1).write_text("profil: a\nlimits:\n  row_limit: many\n")
    done = run("run", "x", cwd=tmp_path)
    assert done.returncode == 2
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 2
    assert all(line.startswith("error: x: dbt_like_configs/databases/x.yml:") for line in lines)
    assert not any(line.endswith("?.") for line in lines)
