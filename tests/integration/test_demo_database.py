"""The demo database: what it holds, and when it is built."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from ruamel.yaml import YAML

from dictionary_pipeline.demo.__main__ import main
from dictionary_pipeline.demo.build import build_demo, demo_version
from dictionary_pipeline.errors import ConfigurationError, ConnectionFailed, StoreError

DEMO_YML = Path(__file__).parents[2] / "dbt_like_configs" / "databases" / "demo.yml"

UNDECLARED = [
    ("sales.sales_order", ["promo_code"], "sales.promotion", ["promotion_code"]),
    ("merchandise.product_review", ["product_id"], "merchandise.product", ["product_id"]),
    ("merchandise.product_review", ["customer_id"], "sales.customer", ["customer_id"]),
    ("logistics.store", ["manager_id"], "hr.employee", ["employee_id"]),
    ("hr.absence", ["approved_by"], "hr.employee", ["employee_id"]),
]

Relationship = tuple[str, list[str], str, list[str]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "demo.duckdb"
    assert build_demo(path)
    return path


@pytest.fixture
def connection(demo: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo), read_only=True) as opened:
        yield opened


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def content(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables in the order in which they lie in the file."""
    with duckdb.connect(str(path), read_only=True) as connection:
        names = rows(connection, "SELECT schema_name || '.' || table_name FROM duckdb_tables() ORDER BY 1")
        return {name: rows(connection, f"FROM {name}") for (name,) in names}


def declared_in_yaml() -> list[Relationship]:
    configured = YAML(typ="safe").load(DEMO_YML)
    found = [(item["from"], item["columns"], item["to"], item["to_columns"]) for item in configured["relationships"]]
    for source in configured["sources"]:
        for table in source["tables"]:
            for column in table.get("columns", []):
                for test in column.get("data_tests", []):
                    if "relationships" in test:
                        schema, name = test["relationships"]["to"].removeprefix("source(").rstrip(")").split(", ")
                        target = f"{schema.strip(chr(39))}.{name.strip(chr(39))}"
                        from_table = f"{source['name']}.{table['name']}"
                        found.append((from_table, [column["name"]], target, [test["relationships"]["field"]]))
    return found


def test_has_four_schemas_26_tables_and_5_views(connection: duckdb.DuckDBPyConnection) -> None:
    tables = rows(connection, "SELECT schema_name, count(*) FROM duckdb_tables() GROUP BY ALL ORDER BY 1")
    assert tables == [("hr", 4), ("logistics", 7), ("merchandise", 7), ("sales", 8)]
    assert rows(connection, "SELECT count(*) FROM duckdb_views() WHERE NOT internal") == [(5,)]


def test_fact_table_has_100000_rows(connection: duckdb.DuckDBPyConnection) -> None:
    assert rows(connection, "SELECT count(*) FROM sales.order_line") == [(100_000,)]


def test_has_every_kind_of_key_and_constraint(connection: duckdb.DuckDBPyConnection) -> None:
    keys = rows(
        connection,
        "SELECT constraint_type, table_name, constraint_column_names, referenced_table FROM duckdb_constraints()",
    )
    assert ("PRIMARY KEY", "order_line", ["order_id", "line_no"], None) in keys
    assert ("FOREIGN KEY", "return_line", ["order_id", "line_no"], "order_line") in keys
    assert ("FOREIGN KEY", "employee", ["manager_id"], "employee") in keys
    assert ("FOREIGN KEY", "category", ["parent_id"], "category") in keys
    assert sum(kind == "CHECK" for kind, *_ in keys) >= 10
    enums = rows(connection, "SELECT type_name FROM duckdb_types() WHERE NOT internal AND logical_type = 'ENUM'")
    assert {"order_status", "return_reason", "shipment_status", "absence_kind"} <= {name for (name,) in enums}


def test_one_view_reads_another(connection: duckdb.DuckDBPyConnection) -> None:
    ((text,),) = rows(connection, "SELECT sql FROM duckdb_views() WHERE view_name = 'customer_revenue'")
    assert "sales.order_summary" in text


def test_every_view_returns_rows(connection: duckdb.DuckDBPyConnection) -> None:
    for schema, view in rows(connection, "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"):
        assert rows(connection, f"FROM {schema}.{view} LIMIT 1"), view


def test_most_but_not_all_objects_have_comments(connection: duckdb.DuckDBPyConnection) -> None:
    for catalog in ("duckdb_tables()", "duckdb_columns() WHERE NOT internal"):
        ((commented, total),) = rows(connection, f"SELECT count(comment), count(*) FROM {catalog}")
        assert total / 2 < commented < total


@pytest.mark.parametrize("relationship", [*declared_in_yaml(), *UNDECLARED], ids=lambda item: f"{item[0]}.{item[1]}")
def test_undeclared_and_yaml_relationships_hold_in_the_data(
    connection: duckdb.DuckDBPyConnection, relationship: Relationship
) -> None:
    child, columns, parent, parent_columns = relationship
    match = " AND ".join(f"p.{theirs} = c.{ours}" for ours, theirs in zip(columns, parent_columns, strict=True))
    filled = " AND ".join(f"c.{column} IS NOT NULL" for column in columns)
    orphans = f"SELECT count(*) FROM {child} c WHERE {filled} AND NOT EXISTS (FROM {parent} p WHERE {match})"
    assert rows(connection, orphans) == [(0,)]
    assert rows(connection, f"SELECT count(*) > 0 FROM {child} c WHERE {filled}") == [(True,)]


def test_yaml_names_only_tables_and_columns_that_exist(connection: duckdb.DuckDBPyConnection) -> None:
    known = set(rows(connection, "SELECT schema_name, table_name, column_name FROM duckdb_columns()"))
    for source in YAML(typ="safe").load(DEMO_YML)["sources"]:
        for table in source["tables"]:
            for column in table.get("columns", []):
                assert (source["name"], table["name"], column["name"]) in known


def test_money_adds_up(connection: duckdb.DuckDBPyConnection) -> None:
    wrong = (
        "SELECT count(*) FROM sales.payment p JOIN sales.order_summary s USING (order_id) WHERE amount <> order_total"
    )
    assert rows(connection, wrong) == [(0,)]


def test_card_numbers_pass_the_check_digit_test(connection: duckdb.DuckDBPyConnection) -> None:
    def valid(number: str) -> bool:
        doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(number))]
        return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0

    numbers = [number for (number,) in rows(connection, "SELECT card_number FROM sales.payment_card")]
    assert len(set(numbers)) == 1500
    assert all(valid(number) and len(number) in (15, 16) for number in numbers)


def test_every_build_holds_the_same_rows_in_the_same_order(demo: Path, tmp_path: Path) -> None:
    build_demo(tmp_path / "again.duckdb")
    assert content(demo) == content(tmp_path / "again.duckdb")


def test_second_build_keeps_the_file_and_what_was_changed_in_it(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "demo.duckdb"
    assert build_demo(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE sales.promotion ADD COLUMN budget INTEGER")
    assert len(content(path)["sales.promotion"][0]) == 6
    before = path.stat()
    assert not build_demo(path)
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert build_demo(path, force=True)
    assert len(content(path)["sales.promotion"][0]) == 5
    assert [item.name for item in path.parent.iterdir()] == ["demo.duckdb"]


def test_file_of_another_version_is_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "demo.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE MACRO main.demo_version() AS 'older'")
    assert build_demo(path)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert rows(connection, "SELECT main.demo_version()") == [(demo_version(),)]


def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE precious (id INTEGER)")
    with pytest.raises(ConfigurationError, match=r"not a demo database.*--force"):
        build_demo(path)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert rows(connection, "SELECT count(*) FROM precious") == [(0,)]


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database")
    with pytest.raises(ConfigurationError, match="not a demo database"):
        build_demo(path)
    assert path.read_text() == "not a database"


def test_locked_file_is_a_connection_error_that_may_be_retried(tmp_path: Path) -> None:
    path = tmp_path / "demo.duckdb"
    hold = f"import duckdb; c = duckdb.connect({str(path)!r}); print('held', flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(ConnectionFailed, match="open for writing") as caught:
            build_demo(path)
    assert caught.value.retryable


def test_unwritable_place_is_one_clear_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        build_demo(tmp_path / "file" / "demo.duckdb")
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_command_says_in_one_line_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "demo.duckdb"
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == f"Demo database {path}: built\n"
    assert main([str(path)]) == 0
    assert "up to date" in capsys.readouterr().out


def test_command_reports_errors_on_stderr_with_their_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert main([str(tmp_path / "notes.txt")]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
