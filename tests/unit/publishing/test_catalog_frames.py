from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from dictionary_pipeline.catalog import Identity
from dictionary_pipeline.publishing.bundle import build_bundle
from dictionary_pipeline.publishing.catalog_frames import build_catalog_frames, coarse
from dictionary_pipeline.publishing.inputs import without_withheld
from dictionary_pipeline.publishing.staging import parquet_bytes
from unit.builders import make_catalog
from unit.publishing.bundles import make_inputs, shop, staged_frame

CONTRACT = {
    "tables": "schema table kind fqn sql_name entity_name entity_name_source comment definition definition_source "
    "row_estimate size_bytes role role_reason view_sql fingerprint",
    "columns": "schema table column ordinal data_type is_nullable default is_identity is_generated comment definition "
    "definition_source sensitivity sensitivity_reason withheld",
    "keys": "schema table name kind columns origin confidence",
    "indexes": "schema table name columns is_unique",
    "relationships": "from_schema from_table from_columns to_schema to_table to_columns name origin confidence "
    "cardinality evidence accepted",
    "lineage": "view_schema view view_column source_schema source_table source_column origin",
    "value_profiles": "schema table column sampled_rows null_fraction distinct_estimate allowed_values "
    "allowed_values_origin complete min max",
}


@pytest.mark.parametrize("name", CONTRACT)
def test_frames_have_exactly_the_contracts_columns_in_order(name: str, tmp_path: Path) -> None:
    assert staged_frame(build_bundle(tmp_path, shop()), name).columns == CONTRACT[name].split()


def test_withheld_columns_show_why_and_nothing_of_their_values(tmp_path: Path) -> None:
    bundle = build_bundle(tmp_path, shop(allowed={"sales.customer.password": ['"hunter2"']}))
    secret = pl.col("column") == "password"
    column = staged_frame(bundle, "columns").filter(secret).row(0, named=True)
    profile = staged_frame(bundle, "value_profiles").filter(secret).row(0, named=True)
    assert (column["withheld"], column["sensitivity"], column["sensitivity_reason"]) == (True, "PASSWORD", "its name")
    assert column["comment"] == column["definition"] == "bcrypt, e.g. ***"
    assert {profile[name] for name in ("min", "max", "allowed_values", "allowed_values_origin")} == {None}
    assert not any(b"hunter2" in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("new", "old", "published"),
    [
        (12_345, None, 10_000),
        (11_900, 10_000, 10_000),
        (17_000, 10_000, 20_000),
        (8_100, 10_000, 10_000),
        (7_900, 10_000, 8_000),
        (0, 10_000, 0),
        (None, 10_000, None),
        (3, 0, 3),
    ],
)
def test_estimates_keep_the_published_value_within_twenty_percent(
    new: int | None, old: int | None, published: int | None
) -> None:
    frame = pl.DataFrame({"table": ["t"], "rows": [new]}, schema={"table": pl.String(), "rows": pl.Int64()})
    previous = None if old is None else pl.DataFrame({"table": ["t"], "rows": [old]})
    assert coarse(frame, "rows", 1, previous, ["table"])["rows"].to_list() == [published]


def test_fractions_are_rounded_and_distinct_estimates_have_two_digits(tmp_path: Path) -> None:
    profile = staged_frame(build_bundle(tmp_path, shop(distinct=12_345)), "value_profiles").row(0, named=True)
    assert (profile["null_fraction"], profile["distinct_estimate"]) == (0.12, 12_000)


def test_a_table_that_was_read_whole_shows_its_count_with_or_without_statistics(tmp_path: Path) -> None:
    inputs = shop(sampled_rows=42)
    analysed = inputs.catalog.tables.with_columns(pl.lit(900, pl.Int64()).alias("row_estimate"))
    for number, catalog in enumerate((inputs.catalog, replace(inputs.catalog, tables=analysed))):
        bundle = build_bundle(tmp_path / str(number), replace(inputs, catalog=catalog))
        assert set(staged_frame(bundle, "tables")["row_estimate"]) == {40}


@pytest.mark.parametrize(
    ("engine", "quoted"),
    [("postgres", '"my schema"."o""b"'), ("mysql", '`my schema`.`o"b`'), ("sqlserver", '[my schema].[o"b]')],
)
def test_sql_names_are_quoted_for_the_engine(engine: str, quoted: str) -> None:
    catalog = make_catalog(tables={'my schema.o"b': ["id int"]}, identity=Identity(engine, database="d"))
    frames = build_catalog_frames(without_withheld(make_inputs(catalog)))
    assert frames["tables"]["sql_name"].to_list() == [quoted]


def test_parquet_bytes_depend_on_content_only() -> None:
    frame = shop().catalog.columns
    in_chunks = pl.concat([frame.head(2), frame.tail(-2)], rechunk=False)
    assert parquet_bytes(frame) == parquet_bytes(in_chunks)


def test_parquet_bytes_are_the_same_in_another_process_with_other_threads(tmp_path: Path) -> None:
    script = (
        "import sys, polars as pl\n"
        "from dictionary_pipeline.publishing.staging import parquet_bytes\n"
        "rows = range(250_000)\n"
        "frame = pl.DataFrame({'n': rows, 's': [f'v{n % 977}' for n in rows], 'l': [[str(n)] for n in rows]})\n"
        "open(sys.argv[1], 'wb').write(parquet_bytes(frame))\n"
    )
    for threads in ("1", "4"):
        env = {**os.environ, "POLARS_MAX_THREADS": threads, "PYTHONHASHSEED": threads}
        subprocess.run([sys.executable, "-c", script, str(tmp_path / threads)], check=True, env=env)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "4").read_bytes()
