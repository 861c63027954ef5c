"""The command line as a user meets it: real processes, exit codes, stdout and stderr."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

CLIENTS = ("dagster", "snowflake", "databricks", "openai", "azure")


def data_dictionary(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("Text2Sql")}
    return subprocess.run(
        [sys.executable, "-m", "dictionary_pipeline", *arguments],
        cwd=cwd,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "Shop.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE customer (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, status TEXT CHECK (status IN ('new', 'old')));
            CREATE TABLE purchase (
                id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id), at TEXT);
            INSERT INTO customer VALUES (1, 'Ada', 'new'), (2, 'Bob', 'old');
            INSERT INTO purchase VALUES (1, 1, '2024-01-01'), (2, 1, '2024-01-02');
            """
        )
    connection.close()
    return path


def test_help_imports_no_client_library(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from dictionary_pipeline.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit as leave:\n    assert not leave.code\n"
        f"print(sorted(set(sys.modules) & set({CLIENTS!r})), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "build" in done.stdout
    assert done.stderr.strip() == "[]"


def test_a_run_over_sqlite_imports_no_client_library(shop: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from dictionary_pipeline.cli import main\n"
        f"try:\n    main(['build', {str(shop)!r}, '-o', 'out'])\n"
        "except SystemExit as leave:\n    assert not leave.code, leave.code\n"
        f"print(sorted(set(sys.modules) & set({CLIENTS!r})), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().splitlines()[-1] == "[]"


def test_build_makes_the_folder_a_bundle_and_a_second_build_touches_nothing(shop: Path, tmp_path: Path) -> None:
    first = data_dictionary("build", str(shop), "-o", "out", "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    summary = json.loads(first.stdout)
    assert summary["database"] == "shop"
    assert summary["problems"] == []
    entry = json.loads((tmp_path / "out/schema_store/main.customer.json").read_text())
    assert entry["FQN"] == "main.customer"
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*") if p.is_file() and ".state" not in p.parts}
    second = data_dictionary("build", str(shop), "-o", "out", cwd=tmp_path)
    assert second.returncode == 0
    after = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*") if p.is_file() and ".state" not in p.parts}
    assert after == before


def test_single_file_and_predecessor_spelling(shop: Path, tmp_path: Path) -> None:
    variables = {"Text2Sql__Sqlite__Database": str(shop)}
    done = data_dictionary("SQLITE", "-o", "out", "--single_file", cwd=tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    entries = json.loads((tmp_path / "out/schema_store/entities.json").read_text())
    assert [entry["FQN"] for entry in entries] == ["main.customer", "main.purchase"]


def test_building_over_another_databases_bundle_is_refused(shop: Path, tmp_path: Path) -> None:
    assert data_dictionary("build", str(shop), "-o", "out", cwd=tmp_path).returncode == 0
    done = data_dictionary("build", str(shop), "-o", "out", "--name", "other", cwd=tmp_path)
    assert done.returncode == 2
    assert "shop" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["build", "missing.db"], 2, "missing.db"),
        (["build", "notes.txt"], 1, "neither"),
        (["build", "empty.db"], 1, "no table"),
        (["build", "oracel://host/x"], 2, "oracle"),
        (["build", "env:NOT_SET_ANYWHERE"], 2, "NOT_SET_ANYWHERE"),
        (["build", "postgresql://u:canary-7f3a@127.0.0.1:1/x"], 1, "127.0.0.1"),
        (["build", "shop.db", "-gen"], 2, "-gen"),
        (["run"], 2, "dbt_like_configs"),
        (["bulid"], 2, "build"),
    ],
)
def test_bad_input_is_one_clear_line_and_the_right_exit_code(
    arguments: list[str], code: int, says: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("these are notes, not a database\n")
    sqlite3.connect(tmp_path / "empty.db").executescript("CREATE TABLE t (a); DROP TABLE t;").connection.close()
    done = data_dictionary(*arguments, *(["-o", "out"] if arguments[0] == "build" else []), cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert says in done.stderr
    assert "canary-7f3a" not in done.stderr + done.stdout
    assert not list((tmp_path).glob("out/schema_store/*"))


def test_an_unwritable_output_folder_is_named(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = data_dictionary("build", str(shop), "-o", "file/out", cwd=tmp_path)
    assert done.returncode == 1
    assert "file/out" in done.stderr
    assert "Traceback" not in done.stderr
