"""Types are compared by what they hold."""

from __future__ import annotations

import pytest

from dictionary_pipeline.drift.types import compare_types, parse_type

CASES = [
    ("postgres", "int4", "integer", "same"),
    ("postgres", "character varying(20)", "VARCHAR( 20 )", "same"),
    ("postgres", "timestamp without time zone", "timestamp", "same"),
    ("postgres", "timestamp with time zone", "timestamptz", "same"),
    ("postgres", "double precision", "float8", "same"),
    ("postgres", "numeric(10,2)", "decimal(10, 2)", "same"),
    ("postgres", "integer[]", "int4[]", "same"),
    ("postgres", "bpchar", "text", "same"),
    ("mysql", "int(11)", "int", "same"),
    ("mysql", "bigint(20) unsigned", "bigint unsigned", "same"),
    ("mysql", "tinyint(1)", "tinyint(4)", "changed"),
    ("mysql", "varchar(20) collate utf8mb4_bin", "varchar(20)", "same"),
    ("mysql", "text", "longtext", "widened"),
    ("mysql", "int", "int unsigned", "narrowed"),
    ("mysql", "int unsigned", "bigint", "widened"),
    ("sqlserver", "nvarchar(max)", "ntext", "same"),
    ("sqlserver", "varchar(20)", "varchar(max)", "widened"),
    ("sqlserver", "datetime2(7)", "datetime2(3)", "narrowed"),
    ("sqlserver", "datetime", "datetimeoffset", "related"),
    ("snowflake", "NUMBER(38,0)", "NUMBER", "same"),
    ("snowflake", "VARCHAR(16777216)", "VARCHAR(10)", "narrowed"),
    ("snowflake", "TIMESTAMP_NTZ(9)", "TIMESTAMP_TZ(9)", "related"),
    ("duckdb", "VARCHAR", "TEXT", "same"),
    ("duckdb", "INTEGER", "HUGEINT", "widened"),
    ("duckdb", "UINTEGER", "INTEGER", "narrowed"),
    ("duckdb", "ENUM('a', 'b')", "ENUM('a', 'c')", "same"),
    ("duckdb", "STRUCT(a INTEGER)", "STRUCT(a BIGINT)", "widened"),
    ("duckdb", "STRUCT(a INTEGER, b DECIMAL(10,2))[]", "STRUCT(a INTEGER, b DECIMAL(10,2), c DATE)[]", "widened"),
    ("duckdb", "STRUCT(a INTEGER, b DATE)", "STRUCT(a INTEGER)", "changed"),
    ("duckdb", "STRUCT(a BIGINT, b DATE)", "STRUCT(a INTEGER, b DATE, c DATE)", "narrowed"),
    ("duckdb", "STRUCT(a INTEGER)", "STRUCT(a INTEGER)[]", "changed"),
    ("duckdb", "INTEGER[]", "BIGINT[]", "widened"),
    ("duckdb", "MAP(VARCHAR, INTEGER)", "MAP(VARCHAR, VARCHAR)", "changed"),
    ("databricks", "struct<a:int,b:array<string>>", "STRUCT<a: INT, b: ARRAY<STRING>>", "same"),
    ("databricks", "array<struct<a:int>>", "array<struct<a:int,b:map<string,int>>>", "widened"),
    ("postgres", "character varying(10)[]", "character varying(20)[]", "widened"),
    ("postgres", "integer[]", "bigint[]", "changed"),
    ("sqlite", "INT", "INTEGER", "same"),
    ("sqlite", "REAL", "DOUBLE", "same"),
    ("", "smallint", "bigint", "widened"),
    ("", "bigint", "smallint", "narrowed"),
    ("", "varchar(10)", "varchar(20)", "widened"),
    ("", "varchar(20)", "varchar(10)", "narrowed"),
    ("", "varchar(20)", "text", "widened"),
    ("", "char(5)", "varchar(5)", "widened"),
    ("", "varchar(5)", "char(5)", "related"),
    ("", "decimal(10,2)", "decimal(12,2)", "widened"),
    ("", "decimal(10,2)", "decimal(10,4)", "narrowed"),
    ("", "decimal(10,2)", "decimal(8,2)", "narrowed"),
    ("", "integer", "decimal(12,2)", "widened"),
    ("", "integer", "decimal(8,2)", "narrowed"),
    ("", "decimal(12,2)", "integer", "narrowed"),
    ("", "integer", "double precision", "widened"),
    ("", "bigint", "double precision", "related"),
    ("", "real", "double precision", "widened"),
    ("", "decimal(10,2)", "double precision", "related"),
    ("", "date", "timestamp", "related"),
    ("", "json", "jsonb", "related"),
    ("", "integer", "varchar(10)", "changed"),
    ("", "boolean", "integer", "changed"),
    ("", "integer", "integer[]", "changed"),
    ("", "uuid", "text", "changed"),
]


@pytest.mark.parametrize(("engine", "before", "after", "verdict"), CASES)
def test_types_compare_by_what_they_hold(engine: str, before: str, after: str, verdict: str) -> None:
    assert compare_types(parse_type(before, engine), parse_type(after, engine)) == verdict


@pytest.mark.parametrize(
    "text", ["", "(", "struct<a:int, b:array<string>>", "geometry(Point,4326)", "a b c (1) d", "[]"]
)
def test_strange_types_equal_themselves_and_nothing_else(text: str) -> None:
    assert compare_types(parse_type(text), parse_type(text)) == "same"
    assert compare_types(parse_type(text), parse_type("integer")) == "changed"
