"""A run killed at any moment leaves a whole bundle behind, and the next run completes."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

MOMENTS = 10
TABLES = 25


def grow(path: Path, generation: int) -> None:
    """Change every table, so that each run has something to publish."""
    with sqlite3.connect(path) as connection:
        for number in range(TABLES):
            connection.execute(f"CREATE TABLE IF NOT EXISTS t{number} (id INTEGER PRIMARY KEY, name TEXT)")
            connection.execute(f"ALTER TABLE t{number} ADD COLUMN extra_{generation} TEXT DEFAULT 'x{generation}'")
            connection.execute(f"INSERT INTO t{number} (name) VALUES ('row {generation}')")
    connection.close()


def start(database: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dictionary_pipeline", "build", str(database), "-o", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def broken_files(out: Path) -> list[str]:
    """Files of the manifest whose object is missing or has other content."""
    manifest = out / "manifest.json"
    if not manifest.exists():
        return []
    wrong = []
    for path, info in json.loads(manifest.read_text())["files"].items():
        stored = out / ".objects" / info["sha256"][:2] / info["sha256"]
        if not stored.exists() or hashlib.sha256(stored.read_bytes()).hexdigest() != info["sha256"]:
            wrong.append(path)
    return wrong


def test_a_killed_run_leaves_no_broken_bundle_and_the_next_one_completes(tmp_path: Path) -> None:
    database, out = tmp_path / "shop.db", tmp_path / "out"
    grow(database, 0)
    began = time.monotonic()
    process = start(database, out)
    assert process.communicate(timeout=120)[1] == b""
    whole = time.monotonic() - began
    moments = random.Random(20240229)
    killed = 0
    for generation in range(1, MOMENTS + 1):
        grow(database, generation)
        process = start(database, out)
        time.sleep(whole * moments.uniform(0.3, 1.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        assert broken_files(out) == []
    assert killed >= MOMENTS // 2, "the runs ended before they could be killed"
    process = start(database, out)
    _, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints.decode()
    manifest = json.loads((out / "manifest.json").read_text())
    assert broken_files(out) == []
    for path, info in manifest["files"].items():
        assert hashlib.sha256((out / path).read_bytes()).hexdigest() == info["sha256"], path
    entry = json.loads((out / "schema_store/main.t0.json").read_text())
    assert [column["Name"] for column in entry["Columns"]][-1] == f"extra_{MOMENTS}"
