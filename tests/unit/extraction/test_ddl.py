from __future__ import annotations

import pytest

from dictionary_pipeline.extraction.ddl import squeezed, statements, view_query
from unit.builders import make_catalog


def test_a_statement_holds_all_keys_of_its_table_and_neither_defaults_nor_checks() -> None:
    catalog = make_catalog(
        tables={"s.a": ["id int not null", 'odd "name" text'], "s.b": ["id int"]},
        primary_keys={"s.a": ["id"]},
        unique=[("s.a", ["id"])],
        foreign_keys=["fk: s.b(id) -> s.a(id)"],
        checks=[("s.a", "id > 41")],
    )
    found = statements(catalog)

    assert found["s", "b"].full() == (
        'CREATE TABLE "s"."b" (\n    "id" int,\n    FOREIGN KEY ("id") REFERENCES "s"."a" ("id")\n);'
    )
    assert found["s", "b"].short() == 'CREATE TABLE "s"."b" ("id" int, FOREIGN KEY ("id") REFERENCES "s"."a" ("id"))'
    assert found["s", "a"].keys == ('PRIMARY KEY ("id")', 'UNIQUE ("id")')
    assert "41" not in found["s", "a"].full()


def test_the_short_form_cuts_columns_types_and_queries_but_keeps_keys() -> None:
    catalog = make_catalog(
        tables={"s.wide": [f"c{number} {'x' * 200 if number == 1 else 'int'}" for number in range(1, 41)]},
        views={"s.v": "SELECT " + ", ".join(f"c{number}" for number in range(500)) + " FROM s.wide"},
        primary_keys={"s.wide": ["c39", "c40"]},
    )
    found = statements(catalog)
    wide, view = found["s", "wide"].short(), found["s", "v"].short()

    assert wide.endswith('"c30" int, /* and 10 more columns */, PRIMARY KEY ("c39", "c40"))')
    assert "x" * 70 in wide
    assert "x" * 80 not in wide
    assert view.startswith('CREATE VIEW "s"."v" AS SELECT c0, c1,')
    assert len(view) < 850
    assert view.endswith("…")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a AS b FROM t;",
        "create or replace view s.v (b) as\nSELECT a AS b FROM t",
        'CREATE MATERIALIZED VIEW "as" AS SELECT a AS b FROM t ;\n',
        "CREATE ALGORITHM=UNDEFINED SQL SECURITY DEFINER VIEW v AS SELECT a AS b FROM t",
    ],
)
def test_the_query_of_a_view_is_found_whether_or_not_the_database_keeps_the_whole_statement(sql: str) -> None:
    assert view_query(sql) == "SELECT a AS b FROM t"


def test_a_view_whose_statement_is_not_understood_shows_it_whole() -> None:
    assert view_query("CREATE VIEW v AS EXEC p") == "CREATE VIEW v AS EXEC p"


def test_one_line_keeps_quoted_text_and_drops_comments() -> None:
    sql = "SELECT 'a  -- b' AS \"c  d\", -- note\n  [e  f] /* long\n note */ FROM  `g  h`"

    assert squeezed(sql) == "SELECT 'a  -- b' AS \"c  d\", [e  f] FROM `g  h`"
