"""Bounded, repeatable samples of MariaDB tables, and values that no driver may misread."""

from __future__ import annotations

import time

import pytest
from servers.mariadb import MariaDBServer
from servers.probing import engine_for, read, sample_request

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.engines import mysql
from dictionary_pipeline.engines.base import DistinctRequest, Engine, SampleColumn
from dictionary_pipeline.errors import ConnectionFailed, QueryTimeout

ROWS = 120_000
STATEMENTS = (
    "CREATE TABLE big (id bigint PRIMARY KEY AUTO_INCREMENT, label varchar(20))",
    f"INSERT INTO big SELECT seq, CONCAT('label ', seq) FROM seq_1_to_{ROWS}",
    "CREATE TABLE sparse (id int PRIMARY KEY, label varchar(20))",
    f"INSERT INTO sparse SELECT seq * 1000, 'x' FROM seq_1_to_{ROWS}",
    "CREATE TABLE keyless (n int, label varchar(20))",
    f"INSERT INTO keyless SELECT seq, 'y' FROM seq_1_to_{ROWS}",
    "CREATE TABLE odd (d date, ts timestamp NULL, t time, f double, b blob, g point, c char(6), n decimal(8,2),"
    " bits bit(4), e varchar(10) COLLATE utf8mb4_general_ci)",
    "SET time_zone = '+02:00', sql_mode = ''",
    "INSERT INTO odd VALUES ('0000-00-00', '2024-01-01 12:00:00', '-800:00:01', 1e300, x'00ff', POINT(1, 2), 'ab', 1.1,"
    " b'1010', 'a'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'A')",
    "ANALYZE TABLE big, sparse, keyless",
)


@pytest.fixture(scope="module")
def engine(mariadb: MariaDBServer) -> Engine:
    return engine_for(mariadb.create_database("dd_sampling", *STATEMENTS))


@pytest.fixture(scope="module")
def catalog(engine: Engine) -> Catalog:
    return read(engine)


def sampled(engine: Engine, catalog: Catalog, table: str, **changes: object) -> list[tuple[object, ...]]:
    with engine.open() as session:
        return session.rows(engine.sample_sql(sample_request(catalog, "dd_sampling", table, **changes)), timeout_s=10)


@pytest.mark.parametrize("table", ["big", "sparse", "keyless"])
def test_a_large_table_is_read_from_all_over_and_the_same_each_time(
    engine: Engine, catalog: Catalog, table: str
) -> None:
    rows = sampled(engine, catalog, table)
    assert 1_000 < len(rows) <= 20_000
    numbers = sorted(int(str(row[0])) for row in rows)
    last = ROWS * (1000 if table == "sparse" else 1)
    assert numbers[0] < last / 10
    assert numbers[-1] > last * 9 / 10
    assert len(set(numbers)) == len(numbers)
    assert sampled(engine, catalog, table) == rows


def test_a_sample_by_key_takes_seeks_and_no_scan(engine: Engine, catalog: Catalog) -> None:
    request = sample_request(catalog, "dd_sampling", "big", row_limit=2_025)
    with engine.open() as session:
        session.rows("FLUSH STATUS")
        session.rows(engine.sample_sql(request))
        reads = dict(session.rows("SHOW STATUS LIKE 'Handler_read%'"))
    scanned = int(reads["Handler_read_rnd_next"]) + int(reads["Handler_read_next"])
    assert scanned < ROWS / 2


def test_a_small_row_limit_still_gives_that_many_rows_at_most(engine: Engine, catalog: Catalog) -> None:
    assert len(sampled(engine, catalog, "big", row_limit=100)) == 100


def test_values_arrive_as_text_that_nothing_misreads(engine: Engine, catalog: Catalog) -> None:
    first = next(row for row in sampled(engine, catalog, "odd") if row[0] is not None)
    assert first == (
        *("0000-00-00", "2024-01-01 10:00:00", "-800:00:01", 1e300, 2, "POINT(1 2)", "ab", "1.10", 10, "a"),
    )


def test_distinct_values_differ_in_case(engine: Engine, catalog: Catalog) -> None:
    columns = (SampleColumn("e", "string", "varchar(10)"), SampleColumn("bits", "integer", "bit(4)"))
    with engine.open() as session:
        found = session.rows(engine.distinct_sql(DistinctRequest("dd_sampling", "odd", columns[:1], 5, 200)))
    assert sorted(value for _, value in found) == ["A", "a"]


def test_a_statement_ends_at_its_time_limit_and_the_session_lives_on(engine: Engine) -> None:
    with engine.open() as session:
        start = time.monotonic()
        with pytest.raises(QueryTimeout) as raised:
            session.rows("SELECT COUNT(*) FROM seq_1_to_10000000000 WHERE seq % 7 = 3", timeout_s=1)
        assert time.monotonic() - start < 15
        assert raised.value.code == "1969"
        assert session.rows("SELECT 1") == [(1,)]


def test_a_server_that_does_not_answer_is_hung_up_on(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine.open() as session:
        monkeypatch.setattr(mysql, "_GRACE_SECONDS", 0.5 - mysql._STATEMENT_SECONDS)
        start = time.monotonic()
        with pytest.raises(QueryTimeout, match="did not answer"):
            session.rows("SELECT SLEEP(60)")
        assert time.monotonic() - start < 30
        monkeypatch.undo()
        with pytest.raises(ConnectionFailed):
            session.rows("SELECT 1")
