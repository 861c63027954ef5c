"""Column lineage: `a.x` is a source, `=a.x` one that the view shows unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from dictionary_pipeline.catalog import Identity
from dictionary_pipeline.relationships.lineage import view_lineage
from dictionary_pipeline.relationships.names import Names
from unit.builders import make_catalog

TABLES = {
    "s.a": ["id integer", "x integer", "y integer", "doc json"],
    "s.b": ["id integer", "a_id integer", "v numeric", "k text"],
    "other.a": ["id integer", "z text"],
    "s.Cap": ["Id integer", "Name text"],
}


def lineage(
    views: Mapping[str, str], engine: str = "postgres", columns: Mapping[str, Sequence[str]] | None = None
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """View -> column -> its sources, tables of schema `s` without it; and what is not certain."""
    known = {view: [f"{column} text" for column in names] for view, names in (columns or {}).items()}
    catalog = make_catalog(tables={**TABLES, **known}, views=views, identity=Identity(engine, database="db"))
    frame, unresolved = view_lineage(catalog, Names(catalog))
    found: dict[str, dict[str, list[str]]] = {}
    for row in frame.filter(pl.col("view_column").is_not_null()).iter_rows(named=True):
        schema = "" if row["source_schema"] == "s" else f"{row['source_schema']}."
        text = f"{'=' if row['is_plain'] else ''}{schema}{row['source_table']}.{row['source_column']}"
        found.setdefault(row["view"], {}).setdefault(row["view_column"], []).append(text)
    return {view: {c: " ".join(sources) for c, sources in own.items()} for view, own in found.items()}, [*unresolved]


def view(sql: str, engine: str = "postgres", columns: Sequence[str] = ()) -> dict[str, str]:
    """Column lineage of one view that is resolved completely."""
    found, unresolved = lineage({"s.w": sql}, engine, {"s.w": columns} if columns else {})
    assert unresolved == []
    return found.get("w", {})


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT x, a.y AS why, (x) AS p FROM a", {"x": "=a.x", "why": "=a.y", "p": "=a.x"}),
        ("SELECT x + y AS t, x::text AS c, 1 AS one, now() AS n FROM a", {"t": "a.x a.y", "c": "a.x"}),
        ("SELECT * FROM other.a", {"id": "=other.a.id", "z": "=other.a.z"}),
        ("SELECT l.x, r.x AS rx FROM a l JOIN a r ON r.y = l.id", {"x": "=a.x", "rx": "=a.x"}),
        ("SELECT s.a.x, other.a.z FROM s.a JOIN other.a ON s.a.id = other.a.id", {"x": "=a.x", "z": "=other.a.z"}),
        ("SELECT id, v FROM a JOIN b USING (id)", {"id": "a.id b.id", "v": "=b.v"}),
        ("SELECT id, z FROM b NATURAL JOIN other.a", {"id": "other.a.id b.id", "z": "=other.a.z"}),
        ("SELECT j.n, j.k FROM (a JOIN b ON a.id = b.a_id) j(n, x, y, d, i, f, v, k)", {"n": "=a.id", "k": "=b.k"}),
        ("SELECT o.p FROM a AS o(n, p)", {"p": "=a.x"}),
        ("SELECT count(*) AS n, count(a.*) AS m, sum(x) AS s FROM a", {"s": "a.x"}),
        ("SELECT sum(v) FILTER (WHERE k = 'z') AS s FROM b", {"s": "b.k b.v"}),
        ("SELECT rank() OVER (PARTITION BY x ORDER BY y) AS r FROM a", {"r": "a.x a.y"}),
        ("SELECT rank() OVER w AS r FROM a WINDOW w AS (ORDER BY y)", {"r": "a.y"}),
        ("SELECT CASE WHEN x > 0 THEN y ELSE id END AS c FROM a", {"c": "a.id a.x a.y"}),
        ("SELECT x FROM a WHERE y IN (SELECT a_id FROM b) ORDER BY id", {"x": "=a.x"}),
        ("SELECT x IN (SELECT a_id FROM b) AS i, EXISTS (SELECT k FROM b) AS e FROM a", {"i": "a.x b.a_id"}),
        ("SELECT (SELECT a.x || max(b.k) FROM b WHERE b.a_id = a.y) AS m FROM a", {"m": "a.x b.k"}),
        ("SELECT row_to_json(o) AS j, (o).y AS f FROM a o", {"j": "a.doc a.id a.x a.y", "f": "a.y"}),
        ("SELECT o.j FROM (SELECT x AS j FROM a) o", {"j": "=a.x"}),
        ("SELECT i, kk FROM (SELECT id, k FROM b) q(i, kk)", {"i": "=b.id", "kk": "=b.k"}),
        ("TABLE other.a", {"id": "=other.a.id", "z": "=other.a.z"}),
    ],
)
def test_values_come_from_the_columns_of_the_expression(sql: str, expected: dict[str, str]) -> None:
    assert view(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT x, y FROM a UNION ALL SELECT v, id FROM b", {"x": "a.x b.v", "y": "a.y b.id"}),
        ("(SELECT x FROM a) UNION (SELECT v FROM b) ORDER BY 1", {"x": "a.x b.v"}),
        ("SELECT x FROM a EXCEPT SELECT v FROM b", {"x": "a.x"}),
        ("SELECT x FROM a INTERSECT SELECT v FROM b", {"x": "a.x b.v"}),
        (
            "WITH t AS (SELECT id, x FROM a), u AS (SELECT t.*, k FROM t, b) SELECT k, x FROM u",
            {"k": "=b.k", "x": "=a.x"},
        ),
        ("WITH c(p, q) AS (SELECT id, x FROM a) SELECT q, p FROM c", {"q": "=a.x", "p": "=a.id"}),
        ("WITH b AS (SELECT x AS v FROM a) SELECT v FROM b", {"v": "=a.x"}),
        ("WITH a AS (SELECT y AS id FROM a) SELECT id FROM a", {"id": "=a.y"}),
        (
            "WITH RECURSIVE t(p, q) AS (SELECT x, y FROM a UNION ALL SELECT q, p FROM t) SELECT * FROM t",
            {"p": "a.x a.y", "q": "a.x a.y"},
        ),
    ],
)
def test_set_operations_and_common_table_expressions_are_followed(sql: str, expected: dict[str, str]) -> None:
    assert view(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT l.n FROM a, LATERAL (SELECT a.x || b.k AS n FROM b WHERE b.a_id = a.id) l", {"n": "a.x b.k"}),
        ("SELECT l.q FROM a, LATERAL (SELECT a.y AS n) l(q)", {"q": "=a.y"}),
        ("SELECT l.p, l.q FROM a, LATERAL (VALUES (x, y), (y, id)) l(p, q)", {"p": "a.x a.y", "q": "a.id a.y"}),
        ("SELECT t.e FROM a, LATERAL unnest(a.doc) AS t(e)", {"e": "a.doc"}),
        ("SELECT e.value FROM a, jsonb_each(a.doc) e", {"value": "a.doc"}),
        ("SELECT e AS item FROM a, jsonb_array_elements(a.doc) e", {"item": "a.doc"}),
        ("SELECT f.c FROM json_to_recordset((SELECT doc FROM a)) AS f(c int)", {"c": "a.doc"}),
        ("SELECT v.p, g FROM (VALUES (1, 2)) v(p, q), generate_series(1, 3) g", {}),
    ],
)
def test_lateral_queries_and_functions_are_followed(sql: str, expected: dict[str, str]) -> None:
    assert view(sql) == expected


@pytest.mark.parametrize(
    ("engine", "sql", "expected"),
    [
        ("postgres", 'SELECT "Name" AS n FROM "Cap"', {"n": "=Cap.Name"}),
        ("sqlserver", "SELECT NAME, c.[id] FROM CAP c", {"name": "=Cap.Name", "id": "=Cap.Id"}),
        ("sqlserver", "CREATE VIEW w WITH SCHEMABINDING AS SELECT t = x FROM s.a WITH (NOLOCK)", {"t": "=a.x"}),
        ("sqlserver", "SELECT o.n FROM s.a CROSS APPLY (SELECT TOP 1 k AS n FROM s.b) o", {"n": "=b.k"}),
        (
            "sqlserver",
            "SELECT R.ref.value(N'(N)[1]', 'int') AS n, doc.value('x', 'int') AS d "
            "FROM s.a p CROSS APPLY p.[doc].nodes(N'/R') AS R(ref)",
            {"n": "a.doc", "d": "a.doc"},
        ),
        (
            "sqlserver",
            "WITH c AS (SELECT id, x FROM s.a UNION ALL SELECT c.x, a.y FROM s.a JOIN c ON a.x = c.id) "
            "SELECT id FROM c",
            {"id": "a.id a.x a.y"},
        ),
        (
            "sqlserver",
            "SELECT p.id, p.[1], p.[2] FROM (SELECT id, x, y FROM s.a) q PIVOT (SUM(x) FOR y IN ([1], [2])) AS p",
            {"id": "=a.id", "1": "a.x", "2": "a.x"},
        ),
        (
            "duckdb",
            "SELECT * FROM (SELECT id, x, y FROM a) PIVOT (sum(x) AS s, max(id) AS m FOR y IN (1 AS one))",
            {"one_s": "a.x", "one_m": "a.id"},
        ),
        (
            "duckdb",
            "SELECT id, val, label FROM a UNPIVOT (val FOR label IN (x, y)) AS p",
            {"id": "=a.id", "val": "a.x a.y"},
        ),
        ("duckdb", "SELECT * EXCLUDE (x, doc) REPLACE (y + 1 AS y) FROM a", {"id": "=a.id", "y": "a.y"}),
        ("duckdb", "FROM other.a", {"id": "=other.a.id", "z": "=other.a.z"}),
        (
            "duckdb",
            "SELECT list_transform(doc, t -> t || x) AS l, doc.p.q AS q FROM a",
            {"l": "a.doc a.x", "q": "a.doc"},
        ),
        (
            "duckdb",
            "SELECT x, y FROM a UNION BY NAME SELECT v AS y, k FROM b",
            {"x": "a.x", "y": "a.y b.v", "k": "b.k"},
        ),
        ("snowflake", 'SELECT "x" + 1 AS p, p * "y" AS q FROM "s"."a"', {"P": "a.x", "Q": "a.x a.y"}),
        ("snowflake", 'SELECT f.value AS v FROM "s"."a" t, LATERAL FLATTEN(input => t."doc") f', {"V": "a.doc"}),
        ("databricks", "SELECT item FROM s.a LATERAL VIEW explode(doc) e AS item", {"item": "a.doc"}),
        (
            "mysql",
            "select `T`.`X` AS `P` from (`s`.`a` `T` join `s`.`b` `u` on((`T`.`id` = `u`.`a_id`)))",
            {"p": "=a.x"},
        ),
        ("some engine", "SELECT X FROM A", {"x": "=a.x"}),
    ],
)
def test_each_dialect_is_read_as_its_engine_reads_it(engine: str, sql: str, expected: dict[str, str]) -> None:
    assert view(sql, engine) == expected


def test_columns_of_the_catalog_take_the_place_of_the_names_in_the_sql() -> None:
    sql = "CREATE VIEW w(p, Q) AS SELECT x, y FROM a"
    assert view(sql, "duckdb", ["p", "Q"]) == {"p": "=a.x", "Q": "=a.y"}
    assert view(sql, "duckdb") == {"p": "=a.x", "q": "=a.y"}


def test_the_position_tells_where_the_engine_made_up_the_name() -> None:
    sql = "SELECT count(*), max(x), a.id, b.id FROM a, b"
    expected = {"max(x)": "a.x", "id": "=a.id", "id_1": "=b.id"}
    assert view(sql, "duckdb", ["count_star()", "max(x)", "id", "id_1"]) == expected


def test_only_names_count_when_a_star_has_changed_since_the_view_was_made() -> None:
    found, unresolved = lineage({"s.w": "SELECT * FROM other.a"}, "duckdb", {"s.w": ["gone", "id"]})
    assert found == {"w": {"id": "=other.a.id"}}
    assert unresolved == ["s.w: the sources of 1 of its 2 columns are not certain: gone"]


def test_views_on_views_refer_to_the_view_itself() -> None:
    views = {"s.top": "SELECT n FROM s.under", "s.under": "SELECT x AS n FROM s.a"}
    expected = {"top": {"n": "=under.n"}, "under": {"n": "=a.x"}}
    assert lineage(views, columns={"s.under": ["n"], "s.top": ["n"]}) == (expected, [])
    assert lineage(views) == (expected, [])  # the catalog does not know the columns of the views


@pytest.mark.parametrize(
    ("sql", "found", "uncertain"),
    [
        ("SELECT a.x, g.* FROM a, gone g", {"x": "=a.x"}, []),
        ("SELECT a.x, g.y FROM a, gone g", {"x": "=a.x"}, ["y"]),
        ("SELECT x, f.q FROM a, my_function(a.id) f(q)", {"x": "=a.x"}, ["q"]),
        ("SELECT nosuch, a.nosuch2, x FROM a, b", {"x": "=a.x"}, ["nosuch", "nosuch2"]),
        ("SELECT id AS which, x FROM a, b", {"x": "=a.x"}, ["which"]),
        ("SELECT doc, DOC AS d, Name AS n FROM a, Cap", {"doc": "=a.doc", "d": "=a.doc"}, ["n"]),
        ("SELECT x FROM a UNION ALL SELECT * FROM gone", {}, ["x"]),
    ],
)
def test_what_is_not_certain_is_named_and_not_guessed(sql: str, found: dict[str, str], uncertain: list[str]) -> None:
    columns, unresolved = lineage({"s.w": sql})
    assert columns.get("w", {}) == found
    named = [sentence.split(": ")[2].split(", ") for sentence in unresolved if "not certain" in sentence]
    assert named == ([uncertain] if uncertain else [])


def test_many_uncertain_columns_are_counted() -> None:
    _, unresolved = lineage({"s.w": "SELECT * FROM gone"}, columns={"s.w": ["p", "q", "r", "t", "u"]})
    assert "s.w: the sources of 5 of its 5 columns are not certain: p, q, r and 2 more" in unresolved


def test_stars_that_expand_without_end_are_left_alone() -> None:
    sql = "SELECT * FROM " + "(SELECT * FROM " * 40 + "wide" + ") q" * 40
    catalog = make_catalog(tables={"s.wide": [f"c{i} integer" for i in range(1_000)]}, views={"s.w": sql})
    frame, unresolved = view_lineage(catalog, Names(catalog))
    assert frame["source_table"].to_list() == ["wide"]
    assert unresolved == ("s.w: the sources of its columns are not understood",)


def test_deeply_nested_parentheses_are_read() -> None:
    sql = f"SELECT {'(' * 100}k{' || k)' * 100} AS t FROM b"
    assert view(sql) == {"t": "b.k"}
