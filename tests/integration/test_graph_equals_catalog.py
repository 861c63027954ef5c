"""The SQL part of the graph against what the databases say of themselves, on schemas with everything odd."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from benchmarks.graph_sources import Truth, duckdb_truth, postgres_truth, published_edges, sqlite_truth
from servers.postgres import PostgresServer

from dictionary_pipeline.cli import main

POSTGRES = """
CREATE SCHEMA g1; CREATE SCHEMA "G.2";
CREATE TABLE g1.place (a int, b int, c text UNIQUE, PRIMARY KEY (b, a));
CREATE TABLE "G.2"."T.x" (id int PRIMARY KEY, "a.b" int, b int, c text REFERENCES g1.place (c),
    FOREIGN KEY ("a.b", b) REFERENCES g1.place (a, b));
CREATE TABLE g1.part (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE g1.part_2020 PARTITION OF g1.part FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE "G.2".child (id int PRIMARY KEY, part_id int, day date, self int REFERENCES "G.2".child (id),
    FOREIGN KEY (part_id, day) REFERENCES g1.part (id, day),
    CONSTRAINT again FOREIGN KEY (part_id, day) REFERENCES g1.part_2020 (id, day));
CREATE TABLE g1."Child" (id int, "ID" int, PRIMARY KEY ("ID", id));
CREATE VIEW g1.v1 AS WITH RECURSIVE r AS (SELECT id, self FROM "G.2".child
    UNION ALL SELECT c.id, c.self FROM "G.2".child c JOIN r ON r.id = c.self)
    SELECT r.id, x."a.b", upper(x.c) AS up FROM r JOIN "G.2"."T.x" x ON x.id = r.id;
CREATE VIEW "G.2".v2 AS SELECT id, "a.b" AS ab FROM g1.v1 WHERE EXISTS (SELECT 1 FROM g1.place p WHERE p.a = v1.id);
CREATE MATERIALIZED VIEW g1.kept AS SELECT ab, (SELECT max(c) FROM g1.place) AS most FROM "G.2".v2;
CREATE VIEW g1.both AS SELECT id FROM "G.2".child UNION SELECT id FROM g1.part;
CREATE VIEW g1.beside AS SELECT p.a, l.n FROM g1.place p
    CROSS JOIN LATERAL (SELECT count(*) AS n FROM "G.2"."T.x" t WHERE t.b = p.b) l;
CREATE VIEW g1.series AS SELECT g.n FROM generate_series(1, 3) AS g (n);
CREATE VIEW g1.every AS SELECT * FROM g1.place NATURAL JOIN (SELECT a, 1 AS k FROM g1.place) q;
"""
DUCKDB = """
CREATE SCHEMA "S.1";
CREATE TABLE "S.1".a (x int, y int, PRIMARY KEY (y, x));
CREATE TABLE "S.1".b (id int PRIMARY KEY, ax int, ay int, self int REFERENCES "S.1".b (id),
    FOREIGN KEY (ay, ax) REFERENCES "S.1".a (y, x));
CREATE TABLE "Odd ""name"" x" ("select" int UNIQUE, "a.b" text);
CREATE TABLE child (odd int REFERENCES "Odd ""name"" x" ("select"));
CREATE VIEW "S.1".v AS SELECT b.id, a.x + b.ax AS both FROM "S.1".b AS b JOIN "S.1".a AS a ON a.y = b.ay;
CREATE VIEW w AS WITH a AS (SELECT v.both FROM "S.1".v AS v) SELECT a.both FROM a;
"""
SQLITE = """
CREATE TABLE Parent (Id INTEGER PRIMARY KEY, Code TEXT UNIQUE);
CREATE TABLE pair (one INT, two INT, "three.four" TEXT, PRIMARY KEY (two, one)) WITHOUT ROWID;
CREATE TABLE child (p INT REFERENCES parent, code TEXT REFERENCES PARENT (code), a INT, b INT, self INT,
    FOREIGN KEY (b, a) REFERENCES pair (two, one));
CREATE VIEW v AS SELECT c.p, p.Code AS code FROM child c JOIN parent p ON p.id = c.p;
CREATE VIEW w AS WITH child AS (SELECT p FROM v) SELECT p FROM child;
"""


def differences(target: str, truth: Truth, out: Path) -> tuple[set[object], set[object]]:
    """Edges that the graph lacks, and edges that it has without the database."""
    with pytest.raises(SystemExit) as ended:
        main(["build", target, "-o", str(out)])
    assert ended.value.code == 0
    found, _ = published_edges(out / "graph")
    expected, judged = truth.named(), truth.judgeable(found)
    assert expected
    return set(expected - judged), set(judged - expected)


def test_postgres(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.create_database("graph_truth", POSTGRES)

    assert differences(url, postgres_truth(url), tmp_path / "out") == (set(), set())


def test_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(DUCKDB)

    assert differences(str(path), duckdb_truth(path), tmp_path / "out") == (set(), set())


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SQLITE)

    assert differences(str(path), sqlite_truth(path), tmp_path / "out") == (set(), set())
