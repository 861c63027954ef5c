"""What an SQLite session returns: samples, odd values, time-outs, snapshots."""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from engine_probes import engine_on, read, request, sample

from dictionary_pipeline.errors import QueryFailed, QueryTimeout

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {last}) "


def build(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    numbers = NUMBERS.format(last=49_999)
    return build(
        tmp_path_factory.mktemp("sqlite") / "big.db",
        f"""CREATE TABLE dense (id INTEGER PRIMARY KEY, batch INT);
        {numbers} INSERT INTO dense SELECT i, i / 500 FROM n;
        CREATE TABLE sparse (id INTEGER PRIMARY KEY, v INT);
        {numbers} INSERT INTO sparse SELECT i, i FROM n;
        INSERT INTO sparse VALUES (9223372036854775807, -1), (-9223372036854775808, -2);
        CREATE TABLE keyed (k TEXT PRIMARY KEY, rowid INT) WITHOUT ROWID;
        {numbers} INSERT INTO keyed SELECT 'k' || i, i FROM n;
        CREATE TABLE taken (rowid TEXT, oid TEXT, _rowid_ TEXT);
        {numbers} INSERT INTO taken SELECT 'a', 'b', 'c' FROM n;
        CREATE TABLE named (rowid TEXT, v INT);
        {numbers} INSERT INTO named SELECT 'x', i / 500 FROM n;
        CREATE VIEW seen AS SELECT * FROM dense;
        CREATE VIRTUAL TABLE search USING fts5 (title);
        INSERT INTO search VALUES ('one'), ('two');""",
    )


def test_a_sample_of_a_large_table_has_exactly_the_limit_and_reaches_all_of_it(big: Path) -> None:
    cells = sample(engine_on("sqlite", big), "main", "dense", row_limit=3200)
    assert len(set(cells)) == len(cells) == 3200
    assert len({batch for _, batch in cells}) == 100


@pytest.mark.parametrize("limit", [50_002, 60_000])
def test_a_table_within_the_limit_is_read_whole_however_its_row_ids_lie(big: Path, limit: int) -> None:
    cells = sample(engine_on("sqlite", big), "main", "sparse", row_limit=limit)
    assert len(set(cells)) == len(cells) == 50_002


def test_a_sample_of_sparse_row_ids_is_filled_up(big: Path) -> None:
    cells = sample(engine_on("sqlite", big), "main", "sparse", row_limit=3200)
    assert len(set(cells)) == len(cells) == 3200
    assert {-1, -2} <= {value for _, value in cells}


@pytest.mark.parametrize("table", ["keyed", "taken", "seen"])
def test_what_has_no_row_id_gives_its_first_rows(big: Path, table: str) -> None:
    assert len(sample(engine_on("sqlite", big), "main", table, row_limit=3200)) == 3200


def test_a_column_named_rowid_does_not_stand_for_the_row_id(big: Path) -> None:
    cells = sample(engine_on("sqlite", big), "main", "named", row_limit=3200)
    assert len(cells) == 3200 and len({batch for _, batch in cells}) == 100


def test_a_virtual_table_is_sampled(big: Path) -> None:
    assert sample(engine_on("sqlite", big), "main", "search") == [("one",), ("two",)]


def test_without_page_sampling_the_first_rows_are_read(big: Path) -> None:
    cells = sample(engine_on("sqlite", big), "main", "dense", row_limit=50, page_sample=False)
    assert [cell[0] for cell in cells] == list(range(50))


def test_samples_are_equal_from_engine_to_engine(big: Path) -> None:
    first, second = (sample(engine_on("sqlite", big), "main", "dense", row_limit=999) for _ in range(2))
    assert first == second


def test_values_of_any_kind_in_any_column_arrive(tmp_path: Path) -> None:
    path = build(
        tmp_path / "odd.db",
        """CREATE TABLE odd (a, n INTEGER, b BLOB, d DATE);
        INSERT INTO odd VALUES
          (9007199254740993, 'text', x'0102', '0044-03-15 BC'), (9e999, NULL, 'é', 2460000.5),
          (x'00ff00', 1.5, 7, '2024-01-01'), (CAST(x'66ff6f' AS TEXT), -9223372036854775808, NULL, NULL);""",
    )
    cells = sample(engine_on("sqlite", path), "main", "odd")
    assert cells[0] == (9007199254740993, "text", 2, "0044-03-15 BC")
    assert cells[1] == (math.inf, None, 2, 2460000.5)
    assert cells[2] == ("<3 bytes>", 1.5, 1, "2024-01-01")
    assert cells[3] == ("f\ufffdo", -(2**63), None, None)


def test_long_text_is_cut_by_characters(tmp_path: Path) -> None:
    path = build(tmp_path / "long.db", f"CREATE TABLE t (s TEXT); INSERT INTO t VALUES ('{'é😀' * 500}')")
    ((text,),) = sample(engine_on("sqlite", path), "main", "t", char_limit=201)
    assert len(text) == 201 and text.startswith("é😀")


def test_quoted_names_are_sampled(tmp_path: Path) -> None:
    path = build(
        tmp_path / "quoted.db",
        'CREATE TABLE "or""der/in" ("se lect" INT, "100%" TEXT); INSERT INTO "or""der/in" VALUES (1, \'?\');',
    )
    assert sample(engine_on("sqlite", path), "main", 'or"der/in') == [(1, "?")]


def test_a_slow_statement_is_stopped_and_the_session_lives_on(big: Path) -> None:
    with engine_on("sqlite", big).open() as session:
        started = time.monotonic()
        with pytest.raises(QueryTimeout) as caught:
            session.rows("SELECT count(*) FROM dense a, dense b WHERE a.batch + b.batch = -1", timeout_s=0.3)
        assert time.monotonic() - started < 10
        assert caught.value.retryable and "0.3 s" in str(caught.value)
        assert session.rows("SELECT 1") == [(1,)]


@pytest.mark.parametrize("sql", ["INSERT INTO dense VALUES (-1, 1)", "DROP TABLE dense"])
def test_a_session_changes_nothing(big: Path, sql: str) -> None:
    with engine_on("sqlite", big).open() as session, pytest.raises(QueryFailed) as caught:
        session.rows(sql)
    assert caught.value.code == "8"


def test_a_snapshot_sees_one_state_and_survives_a_broken_statement(tmp_path: Path) -> None:
    path = build(tmp_path / "s.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1);")
    with engine_on("sqlite", path).open() as session:
        with session.snapshot():
            assert session.rows("SELECT count(*) FROM t") == [(1,)]
            with closing(sqlite3.connect(path)) as writer:
                writer.execute("INSERT INTO t VALUES (2)")
                writer.commit()
            with pytest.raises(QueryFailed):
                session.rows("SELECT * FROM missing")
            assert session.rows("SELECT count(*) FROM t") == [(1,)]
        assert session.rows("SELECT count(*) FROM t") == [(2,)]


def test_a_small_analysed_table_is_read_plainly(tmp_path: Path) -> None:
    path = build(tmp_path / "a.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2); ANALYZE;")
    engine = engine_on("sqlite", path)
    assert engine.sample_sql(request(read(engine), "main", "t")).endswith('FROM "main"."t" LIMIT 20000')
