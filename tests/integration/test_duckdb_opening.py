"""Opening DuckDB files: what is refused and how, and that nothing stays locked."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pytest
from engine_probes import engine_on, read

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.errors import ConfigurationError, ConnectionFailed, NotADatabase

HOLD = "import duckdb, sys, time\nc = duckdb.connect(sys.argv[1])\nprint('held', flush=True)\ntime.sleep(60)"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    return path


def refused(path: Path) -> ConnectionFailed:
    with pytest.raises(ConnectionFailed) as caught:
        engine_on("duckdb", path).connect()
    assert "Error:" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert str(path) in str(caught.value) and caught.value.fix
    return caught.value


def test_a_missing_file_is_not_a_database_and_is_not_created(tmp_path: Path) -> None:
    error = refused(tmp_path / "missing.duckdb")
    assert isinstance(error, NotADatabase) and "no such file" in error.what
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_a_database(tmp_path: Path) -> None:
    assert isinstance(refused(tmp_path), NotADatabase)


@pytest.mark.parametrize("content", [b"", b"x", b"hello world\n" * 1000])
def test_another_file_is_not_a_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text.duckdb"
    path.write_bytes(content)
    assert isinstance(refused(path), NotADatabase)


def test_an_sqlite_file_names_its_own_type(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    error = refused(path)
    assert isinstance(error, NotADatabase) and "`sqlite`" in str(error)


def test_a_cut_off_file_is_damaged(database: Path) -> None:
    database.write_bytes(database.read_bytes()[:6000])
    error = refused(database)
    assert isinstance(error, NotADatabase) and "damaged" in error.what


def test_a_file_of_a_newer_version_says_what_to_upgrade(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[12:20] = struct.pack("<Q", 2000)  # storage version, in the header that a checksum leads
    checksum = 5381
    for (word,) in struct.iter_unpack("<Q", content[8:4096]):
        checksum ^= word * 0xBF58476D1CE4E5B9 % 2**64
    content[:8] = struct.pack("<Q", checksum)
    database.write_bytes(content)
    error = refused(database)
    assert isinstance(error, NotADatabase) and "version" in error.what and "pip install -U duckdb" in str(error)


def test_a_locked_file_is_retryable_and_names_the_process(database: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(database)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        error = refused(database)
    finally:
        holder.kill()
        holder.communicate()
    assert error.retryable and f"process {holder.pid}" in error.what
    assert read(engine_on("duckdb", database)).tables.height == 1


def test_the_log_of_a_killed_writer_is_read(database: Path) -> None:
    script = (
        "import duckdb, os, sys\nc = duckdb.connect(sys.argv[1])\n"
        "c.execute('CREATE TABLE late (a INTEGER)')\nos._exit(1)"
    )
    subprocess.run([sys.executable, "-c", script, str(database)], check=False)
    assert Path(f"{database}.wal").exists()
    assert read(engine_on("duckdb", database)).tables["table"].to_list() == ["late", "t"]


def test_sessions_work_side_by_side_and_closing_all_frees_the_file(database: Path) -> None:
    engine, other = engine_on("duckdb", database), engine_on("duckdb", database)
    first, second, third = engine.connect(), engine.connect(), other.connect()
    first.close()
    assert second.rows("SELECT count(*) FROM t") == third.rows("SELECT count(*) FROM t") == [(0,)]
    second.close()
    third.close()
    third.close()
    with duckdb.connect(str(database)) as writer:
        writer.execute("INSERT INTO t VALUES (1)")


def test_a_file_open_for_writing_in_this_process_is_refused(database: Path) -> None:
    with duckdb.connect(str(database)):
        assert "in this process" in refused(database).what


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_an_unreadable_file_says_so(database: Path, closed: str) -> None:
    if os.geteuid() != 0:
        owner = database if closed == "file" else database.parent
        owner.chmod(0)
        assert "cannot be read" in refused(database).what
        owner.chmod(0o700)
        return
    # Root may read everything, so another account has to try.
    script = (
        "import os, sys; from pathlib import Path; from engine_probes import engine_on\n"
        "import dictionary_pipeline.engines.duckdb; from dictionary_pipeline.config.targets import resolve_target\n"
        "os.chdir(Path(sys.argv[1]).anchor); os.setuid(65534)\n"
        "for attempt in (lambda: engine_on('duckdb', Path(sys.argv[1])).connect(),\n"
        "                lambda: resolve_target(sys.argv[1], folder=None)):\n"
        "    try: attempt()\n"
        "    except Exception as error: print(type(error).__name__, error.what)"
    )
    root = Path(os.environ.get("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir()))
    for parent in database.parents:
        if parent.is_relative_to(root) and parent != root:
            parent.chmod(0o755)
    (database if closed == "file" else database.parent).chmod(0o600)
    run = subprocess.run(
        [sys.executable, "-c", script, str(database)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == [
        "ConnectionFailed the database file cannot be read",
        "ConnectionFailed the file cannot be read",
    ]


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_a_connection_without_a_file_is_a_configuration_error(path: str) -> None:
    with pytest.raises(ConfigurationError, match=r"profiles\.yml:3"):
        create_engine(ConnectionSpec("duckdb", {"path": path}, origin="profiles.yml:3"))
