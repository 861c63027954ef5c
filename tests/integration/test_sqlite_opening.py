"""Opening SQLite files: what is refused and how."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from engine_probes import engine_on, read

from dictionary_pipeline.engines import sqlite as sqlite_engine
from dictionary_pipeline.errors import ConfigurationError, ConnectionFailed, NotADatabase, QueryTimeout


def refused(path: Path) -> ConnectionFailed:
    with pytest.raises(ConnectionFailed) as caught:
        engine_on("sqlite", path).connect()
    assert str(path) in str(caught.value) and caught.value.fix
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return caught.value


def test_a_missing_file_is_not_a_database_and_is_not_created(tmp_path: Path) -> None:
    error = refused(tmp_path / "missing.db")
    assert isinstance(error, NotADatabase) and "no such file" in error.what
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_a_database(tmp_path: Path) -> None:
    assert isinstance(refused(tmp_path), NotADatabase)


@pytest.mark.parametrize("content", [b"x", b"hello world\n" * 1000])
def test_a_text_or_encrypted_file_is_not_a_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text.db"
    path.write_bytes(content)
    error = refused(path)
    assert isinstance(error, NotADatabase) and "encrypted" in error.what


def test_a_duckdb_file_names_its_own_type(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "other.db"
    duckdb.connect(str(path)).close()
    assert "`duckdb`" in str(refused(path))


def test_a_damaged_schema_says_so(tmp_path: Path) -> None:
    path = tmp_path / "cut.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (a); CREATE TABLE u (a);")
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 4000)
    assert "damaged" in refused(path).what


def test_a_path_with_special_characters_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%41é.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    assert read(engine_on("sqlite", path)).tables["table"].to_list() == ["t"]


def test_a_locked_database_is_retryable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_engine, "_LOCK_SECONDS", 0.1)
    path = tmp_path / "busy.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("CREATE TABLE t (a)")
        engine = engine_on("sqlite", path)
        with engine.open() as session:
            writer.execute("BEGIN EXCLUSIVE")
            error = refused(path)
            assert error.retryable and not isinstance(error, NotADatabase) and "locked" in error.what
            with pytest.raises(QueryTimeout, match="locked"):
                session.rows("SELECT * FROM t")
            writer.execute("COMMIT")
            assert session.rows("SELECT * FROM t") == []


def test_a_wal_database_is_read_with_what_lies_in_its_log(tmp_path: Path) -> None:
    path = tmp_path / "wal.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1);")
        engine = engine_on("sqlite", path)
        with engine.open() as session:
            assert session.rows("SELECT a FROM t") == [(1,)]
    assert engine.warnings == ()  # type: ignore[attr-defined]


def test_an_old_sqlite_library_is_a_configuration_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(ConfigurationError, match=r"3\.37"):
        engine_on("sqlite", tmp_path / "any.db").connect()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another account can enter, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_wal_database_in_a_read_only_folder_is_read_with_a_warning(open_folder: Path) -> None:
    path = open_folder / "wal.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1);")
    path.chmod(0o644)
    open_folder.chmod(0o555)
    # Root may write everywhere, so another account has to try.
    script = (
        "import os, sys; from pathlib import Path; from engine_probes import engine_on\n"
        "engine = engine_on('sqlite', Path(sys.argv[1]))\n"
        "os.geteuid() or os.setuid(65534)\n"
        "with engine.open() as session: print(session.rows('SELECT a FROM t'), engine.warnings)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    open_folder.chmod(0o755)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("[(1,)]") and "read-only" in run.stdout
    assert [found.name for found in open_folder.iterdir()] == ["wal.db"]
