from __future__ import annotations

import logging

import polars as pl
import pytest

from dictionary_pipeline.catalog import Identity
from dictionary_pipeline.relationships.lineage import view_lineage
from dictionary_pipeline.relationships.names import Names
from unit.builders import make_catalog

TABLES = {
    "s.orders": ["id integer"],
    "s.customer": ["id integer"],
    "s.Mixed Case": ["id integer"],
    "other.orders": ["id integer"],
    "other.item": ["id integer"],
    "s.v": ["id integer"],
    "s.base": ["id integer"],
    "main.orders": ["id integer"],
    "main.rate": ["id integer"],
    "dbo.rate": ["id integer"],
}


def sources(sql: str | None, engine: str = "duckdb", database: str | None = "db") -> tuple[list[str], list[str]]:
    """Sources of view `s.v`, and what could not be resolved."""
    catalog = make_catalog(
        tables=TABLES, views={"s.v": sql, "s.base": "SELECT 1 AS id"}, identity=Identity(engine, database=database)
    )
    frame, unresolved = view_lineage(catalog, Names(catalog))
    assert set(frame["origin"]) <= {"parsed"}
    tables = frame.filter(pl.col("view_column").is_null()).select("source_schema", "source_table")
    return [f"{schema}.{table}" for schema, table in tables.rows()], [
        sentence for sentence in unresolved if "columns are not certain" not in sentence
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM orders", ["s.orders"]),
        ("CREATE VIEW s.v AS SELECT * FROM orders JOIN other.item USING (id);", ["other.item", "s.orders"]),
        ("CREATE VIEW v (id) AS SELECT id FROM s.base", ["s.base"]),
        ("SELECT * FROM orders a JOIN other.orders b USING (id), orders c", ["other.orders", "s.orders"]),
        ("SELECT * FROM s.orders JOIN other.orders USING (id)", ["other.orders", "s.orders"]),
        ("WITH c AS (SELECT * FROM customer) SELECT * FROM c", ["s.customer"]),
        ("WITH orders AS (SELECT * FROM other.item) SELECT * FROM orders", ["other.item"]),
        ("WITH orders AS (SELECT * FROM orders) SELECT * FROM orders", ["s.orders"]),
        ("WITH c AS (SELECT 1 AS id) SELECT * FROM (SELECT * FROM c JOIN orders USING (id))", ["s.orders"]),
        (
            "WITH RECURSIVE r AS (SELECT id FROM orders UNION ALL SELECT c.id FROM r JOIN customer c USING (id)) "
            "SELECT * FROM r",
            ["s.customer", "s.orders"],
        ),
        ("SELECT id FROM orders UNION SELECT id FROM customer", ["s.customer", "s.orders"]),
        (
            "SELECT (SELECT max(id) FROM customer) FROM orders o "
            "WHERE EXISTS (SELECT 1 FROM other.item i WHERE i.id = o.id)",
            ["other.item", "s.customer", "s.orders"],
        ),
        ('SELECT * FROM ORDERS, "mixed case"', ["s.Mixed Case", "s.orders"]),
        ("SELECT * FROM db.s.orders", ["s.orders"]),
        ("SELECT * FROM v", []),
        ("SELECT 1", []),
    ],
)
def test_sources_of_a_view_are_the_tables_it_reads_directly(sql: str, expected: list[str]) -> None:
    assert sources(sql) == (expected, [])


@pytest.mark.parametrize(
    ("sql", "engine", "expected"),
    [
        ("SELECT * FROM S.Orders", "postgres", ["s.orders"]),
        ('SELECT * FROM "Mixed Case"', "postgres", ["s.Mixed Case"]),
        ('SELECT * FROM "ORDERS"', "postgres", []),
        ("SELECT * FROM [Orders] JOIN [other].[ITEM] i ON 1 = 1", "sqlserver", ["other.item", "s.orders"]),
        ("SELECT * FROM `orders`", "mysql", ["s.orders"]),
        ("SELECT * FROM `ORDERS`", "mysql", []),
        ("SELECT * FROM orders, rate", "duckdb", ["main.rate", "s.orders"]),
        ("SELECT * FROM orders, rate", "sqlserver", ["dbo.rate", "s.orders"]),
        ("SELECT * FROM rate", "postgres", []),
        ("SELECT * FROM orders", "snowflake", []),
        ('SELECT * FROM "orders"', "snowflake", ["s.orders"]),
        ("SELECT * FROM Orders", "some engine", ["s.orders"]),
    ],
)
def test_names_are_matched_the_way_the_engine_does(sql: str, engine: str, expected: list[str]) -> None:
    assert sources(sql, engine)[0] == expected


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM item", "s.v: reads item, which is not in the catalog"),
        ("SELECT * FROM warehouse.s.orders", "s.v: reads warehouse.s.orders, which is not in the catalog"),
        ("SELECT * FROM read_parquet('secret.parquet')", "s.v: reads the table function READPARQUET"),
        ("SELECT * FROM my_function('secret')", "s.v: reads the table function my_function"),
        ("SELECT FROM WHERE 'secret'", "s.v: its SQL is not understood"),
        ("CREATE VIEW v AS PIVOT t ON x USING sum('secret')", "s.v: its SQL is not understood"),
        (None, "s.v: its SQL is not available"),
    ],
)
def test_what_is_not_found_is_named_and_never_guessed(
    sql: str | None, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert sources(sql) == ([], [reason])
    assert "secret" not in caplog.text


def test_what_the_catalog_records_is_not_parsed_again() -> None:
    catalog = make_catalog(
        tables=TABLES, views={"s.v": "SELECT * FROM orders"}, lineage=[("s.v", "elsewhere.gone"), ("s.v", "s.base")]
    )
    frame, unresolved = view_lineage(catalog, Names(catalog))
    tables = frame.filter(pl.col("view_column").is_null())
    assert tables.select("source_table", "origin").rows() == [("gone", "catalog"), ("base", "catalog")]
    assert unresolved == ()


@pytest.mark.parametrize("function", ["generate_series(1, 3)", "json_each('{}')", "unnest(ARRAY[1])"])
def test_a_function_that_makes_rows_of_its_arguments_reads_nothing(function: str) -> None:
    assert sources(f"SELECT 1 AS id FROM {function} AS f", "postgres") == ([], [])


def test_a_function_that_is_joined_sideways_is_named() -> None:
    found = sources("SELECT o.id FROM s.orders o CROSS APPLY dbo.prices(o.id) p", "sqlserver")
    assert found == (["s.orders"], ["s.v: reads the table function prices"])


@pytest.mark.parametrize(
    "sql", [f"SELECT 1 AS id -- {'x' * 100_000}", f"SELECT {'+'.join(['id'] * 20_000)} AS id FROM orders"]
)
def test_sql_beyond_the_budget_is_left_alone(sql: str) -> None:
    assert sources(sql) == ([], ["s.v: its SQL is not understood"])
