"""What the benchmark counts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

_PATH = Path(__file__).parents[1] / "benchmarks" / "workload.py"
_spec = importlib.util.spec_from_file_location("benchmark_workload", _PATH)
assert _spec is not None and _spec.loader is not None
workload = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = workload
_spec.loader.exec_module(workload)


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN",
        "begin read only",
        "COMMIT",
        "ROLLBACK",
        "ROLLBACK TO SAVEPOINT a",
        "SAVEPOINT a",
        "SHOW timezone",
        "SET statement_timeout = 5",
        "set session x to y",
        "  -- why\n SET a = 1",
        "/* tag */ COMMIT",
        "SET\nLOCAL a = 1",
    ],
)
def test_transaction_control_and_settings_do_not_count(sql: str) -> None:
    assert not workload.is_counted(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT $1",
        "(SELECT 1) UNION SELECT 2",
        "WITH a AS (SELECT 1) TABLE a",
        "SELECT set_config($1, $2, $3)",
        "/* SET */ SELECT 1",
        "SETTLE()",
        "DECLARE c CURSOR FOR SELECT 1",
        "FETCH 5 FROM c",
        "RELEASE SAVEPOINT a",
        "",
    ],
)
def test_everything_else_counts(sql: str) -> None:
    assert workload.is_counted(sql)


def test_calls_are_summed_over_counted_statements() -> None:
    assert workload.count_statements([("BEGIN", 7), ("SELECT $1", 3), ("SELECT b", 2), ("SHOW x", 1)]) == 5


def test_published_size_leaves_private_folders_out(tmp_path: Path) -> None:
    for name in ("manifest.json", "schema_store/a.json", ".objects/ab/cd", ".state/lease.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    assert workload.published_size(tmp_path) == (2, 10)


def test_summary_takes_the_median_time_and_the_greatest_of_the_rest() -> None:
    runs = [
        workload.Measurement(3.0, 1.0, 90.0, 20, 3, 5, 100),
        workload.Measurement(1.0, 2.0, 110.0, 20, 4, 5, 100),
        workload.Measurement(2.0, 9.0, 100.0, 21, 2, 5, 100),
    ]
    assert workload.summarise(runs) == workload.Measurement(2.0, 2.0, 110.0, 21, 4, 5, 100)
