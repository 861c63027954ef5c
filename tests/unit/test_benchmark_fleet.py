"""What the fleet benchmark makes of runs and files."""

from __future__ import annotations

from pathlib import Path

from benchmarks.fleet import Run, file_marks, locked, most_at_once, overlaps


def run(database: str, start: float, end: float) -> Run:
    return Run(database, "SUCCESS", start, end)


def test_runs_at_the_same_time_are_counted_and_one_that_ends_makes_room() -> None:
    assert most_at_once([run("a", 0, 10), run("b", 5, 8), run("c", 8, 12), run("d", 9, 11)]) == 3
    assert most_at_once([]) == 0


def test_runs_of_one_database_that_overlap_are_found() -> None:
    assert overlaps([run("a", 0, 10), run("b", 5, 15), run("a", 10, 12)]) == 0
    assert overlaps([run("a", 0, 10), run("b", 5, 15), run("a", 9, 12)]) == 1


def test_files_are_compared_without_the_record_of_the_pass(tmp_path: Path) -> None:
    for name in (".state/verified.json", "a/manifest.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert list(file_marks(tmp_path)) == [str(tmp_path / "a/manifest.json")]


def test_every_log_of_the_project_is_searched_for_locks(tmp_path: Path) -> None:
    (tmp_path / "dagster_dev.log").write_text("fine\n")
    assert locked(tmp_path) == 0
    error = tmp_path / ".dagster_home" / "storage" / "run" / "step.err"
    error.parent.mkdir(parents=True)
    error.write_text("sqlite3.OperationalError: database is locked\n")
    assert locked(tmp_path) == 1
