"""The benchmark's drift predictions run the product on DDL of each engine and never look at answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASES = [
    {
        "id": "renamed",
        "dialect": "sqlite",
        "before": ["CREATE TABLE t (id INTEGER PRIMARY KEY, dob DATE, note TEXT)"],
        "after": ["CREATE TABLE t (id INTEGER PRIMARY KEY, birth_date DATE, note TEXT)"],
        "rows": {side: {"t": [[1, "2001-01-01", "a"], [2, "2002-02-02", "b"]]} for side in ("before", "after")},
        "expected": "unreadable",
    },
    {
        "id": "dropped",
        "dialect": "duckdb",
        "before": ["CREATE TABLE t (x INT)"],
        "after": [],
        "rows": {},
        "expected": None,
    },
]


def test_predictions_hold_the_changes_of_each_case(tmp_path: Path) -> None:
    (tmp_path / "drift").mkdir()
    (tmp_path / "drift" / "own.json").write_text(json.dumps(CASES), encoding="utf-8")
    script = ROOT / "tests" / "benchmarks" / "predict.py"
    out = tmp_path / "out.json"
    subprocess.run([sys.executable, str(script), "drift", str(tmp_path), "own", str(out)], check=True, cwd=ROOT)
    assert json.loads(out.read_text(encoding="utf-8")) == {
        "renamed": [{"kind": "column_renamed", "table": "t", "column": "dob", "severity": "breaking"}],
        "dropped": [{"kind": "table_removed", "table": "t", "column": "", "severity": "breaking"}],
    }
