"""What a DuckDB session returns: samples, odd values, time-outs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from engine_probes import engine_on, read, request, sample

from dictionary_pipeline.engines.base import SampleColumn, SampleRequest
from dictionary_pipeline.errors import PermissionDenied, QueryFailed, QueryTimeout


def build(path: Path, script: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(script)
    return path


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100,000 rows whose `batch` follows their physical order, and a view that joins and aggregates."""
    return build(
        tmp_path_factory.mktemp("duckdb") / "big.duckdb",
        "CREATE TABLE t AS SELECT i AS id, i // 1000 AS batch, 'v' || i % 7 AS v FROM range(100000) r(i);"
        "CREATE VIEW sums AS SELECT id % 5000 AS k, sum(id * 0.1::DOUBLE) AS s FROM t GROUP BY ALL;"
        "CREATE TABLE shadowed AS SELECT 'r' || i AS rowid, i AS n FROM range(50000) r(i);"
        "CREATE TABLE small AS SELECT i FROM range(10) r(i)",
    )


def test_a_sample_of_a_large_table_is_bounded_and_reaches_all_of_it(big: Path) -> None:
    cells = sample(engine_on("duckdb", big), "main", "t", row_limit=6400)
    assert len(cells) == 6400
    assert len({batch for _, batch, _ in cells}) == 100


def test_a_table_just_above_the_limit_loses_only_a_few_rows(big: Path) -> None:
    ids = [cell[0] for cell in sample(engine_on("duckdb", big), "main", "t", row_limit=99_000)]
    assert 98_900 <= len(ids) <= 99_000 and max(ids) > 99_900


def test_a_table_within_the_limit_is_read_whole(big: Path) -> None:
    assert sample(engine_on("duckdb", big), "main", "small") == [(number,) for number in range(10)]


def test_without_page_sampling_the_first_rows_are_read(big: Path) -> None:
    cells = sample(engine_on("duckdb", big), "main", "t", row_limit=50, page_sample=False)
    assert [cell[0] for cell in cells] == list(range(50))


def test_a_column_named_rowid_does_not_break_sampling(big: Path) -> None:
    cells = sample(engine_on("duckdb", big), "main", "shadowed", row_limit=1000)
    assert 0 < len(cells) <= 1000 and cells[0][0].startswith("r")


def test_samples_are_equal_in_fresh_processes(big: Path) -> None:
    script = (
        "import sys, hashlib; from pathlib import Path; from engine_probes import engine_on, sample\n"
        "engine = engine_on('duckdb', Path(sys.argv[1]))\n"
        "found = [sample(engine, 'main', name, row_limit=2000) for name in ('t', 'shadowed', 'sums')]\n"
        "print(hashlib.sha256(repr(found).encode()).hexdigest())"
    )
    command = [sys.executable, "-c", script, str(big)]
    runs = [
        subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True) for _ in "12"
    ]
    assert runs[0].stdout == runs[1].stdout != ""


def test_odd_values_arrive_exactly(tmp_path: Path) -> None:
    path = build(
        tmp_path / "odd.duckdb",
        """CREATE TYPE mood AS ENUM ('sad', 'o''k');
        CREATE TABLE odd AS SELECT
            9007199254740993::BIGINT AS big, 170141183460469231731687303715884105727::HUGEINT AS huge, true AS flag,
            12.50::DECIMAL(12,2) AS price, 0.1::FLOAT AS small, 'nan'::DOUBLE AS nan, '-inf'::DOUBLE AS inf,
            DATE '0044-03-15 (BC)' AS ides, 'infinity'::TIMESTAMP AS ever, TIMESTAMPTZ '2024-07-01 00:30:00+02' AS at,
            TIME '01:02:03.5' AS clock, INTERVAL '1 month 2 days' AS span,
            UUID '00000000-0000-0000-0000-00000000000a' AS id, '101'::BIT AS bits, 'a\\x00b'::BLOB AS raw,
            'o''k'::mood AS mood, 12345678901234567890123::BIGNUM AS bignum, NULL::INTEGER AS nothing""",
    )
    ((*cells,),) = sample(engine_on("duckdb", path), "main", "odd")
    assert cells[:7] == [9007199254740993, 2**127 - 1, True, "12.50", "0.1", "nan", "-inf"]
    assert cells[7:12] == ["0044-03-15 (BC)", "infinity", "2024-06-30 22:30:00+00", "01:02:03.5", "1 month 2 days"]
    assert cells[12:] == [
        "00000000-0000-0000-0000-00000000000a",
        "101",
        3,
        "o'k",
        "12345678901234567890123",
        None,
    ]


def test_nested_values_arrive_as_json(tmp_path: Path) -> None:
    path = build(
        tmp_path / "nested.duckdb",
        """CREATE TABLE nested AS SELECT [1, NULL, 3] AS list, {'a': 1, 'b': 'é"x'} AS struct, MAP {'k': [1.5]} AS map,
            union_value(n := 7) AS u, '{"j": [true]}'::JSON AS j, [1, 2, 3]::INTEGER[3] AS arr""",
    )
    ((*cells,),) = sample(engine_on("duckdb", path), "main", "nested")
    assert [json.loads(cell) for cell in cells] == [
        [1, None, 3],
        {"a": 1, "b": 'é"x'},
        {"k": [1.5]},
        {"n": 7},
        {"j": [True]},
        [1, 2, 3],
    ]


def test_long_text_is_cut_by_characters(tmp_path: Path) -> None:
    path = build(tmp_path / "long.duckdb", "CREATE TABLE t AS SELECT repeat('é😀', 5000) AS s")
    ((text,),) = sample(engine_on("duckdb", path), "main", "t", char_limit=201)
    assert len(text) == 201 and text.startswith("é😀")


def test_quoted_names_are_sampled(tmp_path: Path) -> None:
    path = build(
        tmp_path / "quoted.duckdb",
        'CREATE SCHEMA "in/out"; CREATE TABLE "in/out"."or""der" ("se lect" INTEGER, "100%" VARCHAR);'
        'INSERT INTO "in/out"."or""der" VALUES (1, \'%s\')',
    )
    assert sample(engine_on("duckdb", path), "in/out", 'or"der') == [(1, "%s")]


def test_times_are_utc_whatever_the_time_zone_of_the_machine(tmp_path: Path) -> None:
    path = build(tmp_path / "tz.duckdb", "CREATE TABLE t AS SELECT TIMESTAMPTZ '2024-07-01 12:00:00+00' AS at")
    script = (
        "import sys; from pathlib import Path; from engine_probes import engine_on, sample\n"
        "print(sample(engine_on('duckdb', Path(sys.argv[1])), 'main', 't'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        cwd=Path(__file__).parent,
        env={"TZ": "America/New_York", "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[('2024-07-01 12:00:00+00',)]"


def test_a_slow_statement_is_stopped_and_the_session_lives_on(big: Path) -> None:
    with engine_on("duckdb", big).open() as session:
        started = time.monotonic()
        with pytest.raises(QueryTimeout) as caught:
            session.rows("SELECT count(*) FROM t a, t b WHERE hash(a.id, b.id) = 0", timeout_s=0.3)
        assert time.monotonic() - started < 10
        assert caught.value.retryable and "0.3 s" in str(caught.value)
        assert session.rows("SELECT 1") == [(1,)]


def test_a_view_beyond_the_memory_limit_fails_without_writing_beside_the_database(tmp_path: Path) -> None:
    path = build(
        tmp_path / "m.duckdb", "CREATE VIEW v AS SELECT string_agg(repeat(chr(120), 100000000)) AS x FROM range(20)"
    )
    with engine_on("duckdb", path).open() as session, pytest.raises(QueryFailed, match="memory"):
        session.rows("SELECT length(x) FROM v", timeout_s=60)
    assert [found.name for found in tmp_path.iterdir()] == ["m.duckdb"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO '/tmp/out.csv'",
        "ATTACH '/tmp/other.duckdb'",
    ],
)
def test_a_session_reaches_nothing_outside_its_file(big: Path, sql: str) -> None:
    with engine_on("duckdb", big).open() as session, pytest.raises(PermissionDenied):
        session.rows(sql)


@pytest.mark.parametrize("sql", ["INSERT INTO small VALUES (11)", "DROP TABLE small", "SET threads = 4"])
def test_a_session_changes_neither_data_nor_settings(big: Path, sql: str) -> None:
    with engine_on("duckdb", big).open() as session, pytest.raises(QueryFailed):
        session.rows(sql)


def test_the_driver_text_with_its_values_is_not_passed_on(tmp_path: Path) -> None:
    path = build(tmp_path / "v.duckdb", "CREATE TABLE t AS SELECT 'canary-4711' AS s")
    with engine_on("duckdb", path).open() as session, pytest.raises(QueryFailed) as caught:
        session.rows("SELECT s::INTEGER FROM t")
    assert "4711" not in str(caught.value) and caught.value.__cause__ is None and caught.value.__suppress_context__


def test_a_view_has_no_stride_and_keeps_its_limit(big: Path) -> None:
    engine = engine_on("duckdb", big)
    wanted = request(read(engine), "main", "sums", row_limit=100)
    assert engine.sample_sql(wanted).endswith('FROM "main"."sums" LIMIT 100')


def test_a_table_without_readable_columns_still_gives_its_rows(big: Path) -> None:
    engine = engine_on("duckdb", big)
    columns: tuple[SampleColumn, ...] = ()
    wanted = SampleRequest("main", "small", "table", columns, 10, None, 20_000, 201, True)
    with engine.open() as session:
        assert session.rows(engine.sample_sql(wanted)) == [(None,)] * 10
