"""Catalog facts of an SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from engine_probes import engine_on, read, rows

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.engines.types import sqlite_type_class

SCRIPT = '''
CREATE TABLE Artist (
    Id INTEGER PRIMARY KEY, Name NVARCHAR(120) NOT NULL DEFAULT 'x', Born DATE, Active BOOLEAN, Price DECIMAL(10,2),
    Note, "order" my_type, mentor INTEGER REFERENCES artist);
CREATE TABLE "Track ""No""" (album INT, position INT, part INT, PRIMARY KEY (position, album), UNIQUE (part, album));
CREATE TABLE play (
    pos INT, alb INT, artist INT, second INT,
    double INT GENERATED ALWAYS AS (pos * 2) VIRTUAL,
    text_ TEXT AS (pos || 'x') STORED,
    CONSTRAINT known CHECK (pos IN (1, 2, 3)),
    FOREIGN KEY (pos, alb) REFERENCES "Track ""No""" ON DELETE CASCADE,
    FOREIGN KEY (artist) REFERENCES ARTIST (ID) ON UPDATE SET NULL,
    FOREIGN KEY (second) REFERENCES artist (Id));
CREATE TABLE egg (id INTEGER PRIMARY KEY, hen INT REFERENCES hen (id));
CREATE TABLE hen (id INTEGER PRIMARY KEY AUTOINCREMENT, egg INT REFERENCES egg (id));
CREATE TABLE lost (a INT REFERENCES nowhere (x), b INT REFERENCES nowhere);
CREATE TABLE pairs (k TEXT, v TEXT, PRIMARY KEY (k)) WITHOUT ROWID;
CREATE TABLE strict_ (a ANY, b INTEGER NOT NULL CHECK (b > 0), [c "c] TEXT CHECK ("c ""c" LIKE '%)')) STRICT;
CREATE TABLE descending (id INTEGER PRIMARY KEY DESC);
CREATE INDEX by_name ON Artist (Name COLLATE NOCASE, lower(Born));
CREATE UNIQUE INDEX one_active ON Artist (Active) WHERE Active = 1;
CREATE UNIQUE INDEX one_price ON Artist (Price DESC);
CREATE VIEW active AS SELECT Id, Name || '!' AS shout FROM Artist WHERE Active;
CREATE VIEW active_ids AS SELECT Id FROM active;
CREATE VIRTUAL TABLE search USING fts5 (title, body);
'''


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    path = tmp_path_factory.mktemp("sqlite") / "music.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCRIPT)
    return read(engine_on("sqlite", path))


def test_tables_views_and_virtual_tables_are_listed_without_their_shadow_tables(catalog: Catalog) -> None:
    names = {name for (name,) in rows(catalog.tables, "table", kind="table")}
    assert names == {
        *("Artist", 'Track "No"', "play", "egg", "hen", "lost", "pairs", "strict_", "descending", "search"),
    }
    views = rows(catalog.tables, "schema", "table", "view_sql", kind="view")
    assert [view[:2] for view in views] == [("main", "active"), ("main", "active_ids")]
    assert views[1][2] == "CREATE VIEW active_ids AS SELECT Id FROM active"


def test_columns_keep_the_declared_type_and_get_a_class_from_name_or_affinity(catalog: Catalog) -> None:
    assert rows(catalog.columns, "column", "data_type", "type_class", "is_nullable", "default", table="Artist") == [
        ("Id", "INTEGER", "integer", False, None),
        ("Name", "NVARCHAR(120)", "string", False, "'x'"),
        ("Born", "DATE", "date", True, None),
        ("Active", "BOOLEAN", "integer", True, None),
        ("Price", "DECIMAL(10,2)", "decimal", True, None),
        ("Note", "ANY", "other", True, None),
        ("order", "my_type", "decimal", True, None),
        ("mentor", "INTEGER", "integer", True, None),
    ]
    assert rows(catalog.columns, "column", "data_type", table="search") == [("title", "ANY"), ("body", "ANY")]
    assert rows(catalog.columns, "column", "data_type", table="active") == [("Id", "INTEGER"), ("shout", "ANY")]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("UNSIGNED BIG INT", "integer"),
        ("VARYING CHARACTER(255)", "string"),
        ("DOUBLE PRECISION", "float"),
        ("FLOATING POINT", "integer"),
        ("DATETIME", "timestamp"),
        ("JSON", "json"),
        ("UUID", "uuid"),
        ("blob", "binary"),
        ("VARBINARY_BLOB", "binary"),
        ("STRING", "string"),
        ("ANY", "other"),
    ],
)
def test_declared_types_are_classed_by_name_then_by_affinity(declared: str, expected: str) -> None:
    assert sqlite_type_class(declared) == expected


def test_only_other_names_of_the_row_id_are_identities_and_not_nullable(catalog: Catalog) -> None:
    assert set(rows(catalog.columns, "table", "column", is_identity=True)) == {
        ("Artist", "Id"),
        ("egg", "id"),
        ("hen", "id"),
    }
    assert rows(catalog.columns, "is_nullable", table="descending") == [(True,)]
    assert rows(catalog.columns, "column", "is_nullable", table="pairs") == [("k", False), ("v", True)]


def test_generated_columns_are_listed_with_their_expressions(catalog: Catalog) -> None:
    assert rows(catalog.columns, "column", "ordinal", "default", table="play", is_generated=True) == [
        ("double", 5, "pos * 2"),
        ("text_", 6, "pos || 'x'"),
    ]


def test_keys_keep_the_order_of_the_key(catalog: Catalog) -> None:
    keys = rows(catalog.keys, "table", "kind", "columns", "name")
    assert ('Track "No"', "primary", ["position", "album"], None) in keys
    assert ('Track "No"', "unique", ["part", "album"], None) in keys
    assert ("pairs", "primary", ["k"], None) in keys
    assert [key[:2] for key in keys] == sorted(key[:2] for key in keys)


def test_foreign_keys_pair_columns_and_name_the_parent_as_it_is_declared(catalog: Catalog) -> None:
    facts = ("from_columns", "to_schema", "to_table", "to_columns", "on_update", "on_delete")
    assert rows(catalog.foreign_keys, *facts, from_table="play") == [
        (["artist"], "main", "Artist", ["Id"], "SET NULL", "NO ACTION"),
        (["pos", "alb"], "main", 'Track "No"', ["position", "album"], "NO ACTION", "CASCADE"),
        (["second"], "main", "Artist", ["Id"], "NO ACTION", "NO ACTION"),
    ]
    assert rows(catalog.foreign_keys, *facts[:4], from_table="Artist") == [(["mentor"], "main", "Artist", ["Id"])]


def test_circular_foreign_keys_are_both_there(catalog: Catalog) -> None:
    pairs = set(rows(catalog.foreign_keys, "from_table", "to_table"))
    assert {("egg", "hen"), ("hen", "egg")} <= pairs


def test_a_foreign_key_to_a_missing_table_stays_unless_its_columns_are_unknown(catalog: Catalog) -> None:
    assert rows(catalog.foreign_keys, "from_columns", "to_table", "to_columns", from_table="lost") == [
        (["a"], "nowhere", ["x"])
    ]
    assert [problem.object for problem in catalog.problems] == ["main.lost"]


def test_check_constraints_are_cut_from_the_table_definition(catalog: Catalog) -> None:
    assert sorted(rows(catalog.checks, "table", "name", "expression"), key=str) == [
        ("play", "known", "pos IN (1, 2, 3)"),
        ("strict_", None, '"c ""c" LIKE \'%)\''),
        ("strict_", None, "b > 0"),
    ]


def test_a_partial_index_is_not_unique_and_an_expression_has_no_column(catalog: Catalog) -> None:
    assert rows(catalog.indexes, "table", "name", "columns", "is_unique") == [
        ("Artist", "by_name", ["Name", "<expression>"], False),
        ("Artist", "one_active", ["Active"], False),
        ("Artist", "one_price", ["Price"], True),
    ]


def test_broken_views_and_unknown_modules_keep_their_entry_and_are_problems(tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """CREATE TABLE kept (a INT); CREATE TABLE dropped (a INT);
            CREATE VIEW "it's fine" AS SELECT a FROM kept; CREATE VIEW broken AS SELECT a FROM dropped;
            CREATE VIEW strange AS SELECT no_such_function(a) AS x FROM kept;
            DROP TABLE dropped;
            PRAGMA writable_schema = ON;
            INSERT INTO sqlite_schema VALUES ('table', 'map', 'map', 0, 'CREATE VIRTUAL TABLE map USING no_module (a)');
            """
        )
    catalog = read(engine_on("sqlite", path))
    assert rows(catalog.tables, "table", "readable") == [
        ("broken", False),
        ("it's fine", True),
        ("kept", True),
        ("map", False),
        ("strange", False),
    ]
    assert [problem.object for problem in catalog.problems] == ["main.broken", "main.map", "main.strange"]
    assert rows(catalog.columns, "table", "column") == [("it's fine", "a"), ("kept", "a")]
    assert "no_such_function" not in str(catalog.problems)


def test_row_estimates_come_from_analyze_and_are_null_without_it(tmp_path: Path) -> None:
    path = tmp_path / "stat.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (a INT); CREATE INDEX i ON t (a); CREATE TABLE u (a INT);")
        connection.executemany("INSERT INTO t VALUES (?)", [(number % 3,) for number in range(500)])
        connection.commit()
        assert rows(read(engine_on("sqlite", path)).tables, "row_estimate") == [(None,), (None,)]
        connection.execute("ANALYZE")
        connection.commit()
    assert rows(read(engine_on("sqlite", path)).tables, "table", "row_estimate") == [("t", 500), ("u", None)]


def test_an_empty_database_gives_empty_frames(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (a); DROP TABLE t;")
    catalog = read(engine_on("sqlite", path))
    assert catalog.tables.is_empty() and catalog.columns.is_empty() and catalog.problems == ()


def test_names_have_no_database_part(catalog: Catalog) -> None:
    assert catalog.identity.fqn("main", "Artist") == "main.Artist"


def test_the_number_of_statements_does_not_grow_with_the_number_of_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(tables: int) -> int:
        path = tmp_path / f"{tables}.db"
        with closing(sqlite3.connect(path)) as connection:
            for number in range(tables):
                connection.execute(f"CREATE TABLE t{number} (a INTEGER PRIMARY KEY, b INT REFERENCES t0 CHECK (b > 0))")
                connection.execute(f"CREATE VIEW v{number} AS SELECT * FROM t{number}")
        statements: list[str] = []
        engine = engine_on("sqlite", path)
        with engine.open() as session:
            run = session.rows

            def counted(sql: str, *, timeout_s: float | None = None) -> list[tuple[object, ...]]:
                statements.append(sql)
                return run(sql, timeout_s=timeout_s)

            monkeypatch.setattr(session, "rows", counted)
            engine.read_catalog(session)
        return len(statements)

    assert count(2) == count(60) == 7


def test_the_probe_moves_with_structure_but_not_with_data(tmp_path: Path) -> None:
    path = tmp_path / "probe.db"
    engine = engine_on("sqlite", path)

    def after(sql: str) -> str | None:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(sql)
        with engine.open() as session:
            return engine.probe(session)

    first = after("CREATE TABLE t (a)")
    assert after("INSERT INTO t VALUES (1), (2)") == first
    assert after("ALTER TABLE t ADD COLUMN b") != first


def test_the_probe_tells_a_rebuilt_file_and_is_not_moved_by_maintenance(tmp_path: Path) -> None:
    probes = []
    for script in (
        "CREATE TABLE t (a)",
        "CREATE TABLE t (a); INSERT INTO t VALUES (1); ANALYZE; VACUUM",
        "CREATE TABLE t (b)",
    ):
        path = tmp_path / f"{len(probes)}.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
        engine = engine_on("sqlite", path)
        with engine.open() as session:
            probes.append(engine.probe(session))
    assert probes[0] == probes[1] != probes[2]
