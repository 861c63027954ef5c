"""What `build TARGET` may be given."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.errors import ConfigurationError, NotADatabase


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, outside any project and without the developer's own variables."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    return folder


@pytest.mark.parametrize(
    ("url", "kind", "options", "name"),
    [
        (
            "postgresql://me:p%40ss@db.example.com:5433/Sales%20DB?sslmode=require",
            "postgres",
            {
                "host": "db.example.com",
                "port": 5433,
                "user": "me",
                "dbname": "Sales DB",
                "sslmode": "require",
                "query": {"sslmode": "require"},
            },
            "sales-db",
        ),
        (
            "postgresql+psycopg://me:p%40ss@/shop?host=/var/run/pg",
            "postgres",
            {"user": "me", "dbname": "shop", "host": "/var/run/pg", "query": {"host": "/var/run/pg"}},
            "shop",
        ),
        (
            "postgres://me:p%40ss@a:1,b:2/shop",
            "postgres",
            {"host": "a,b", "port": "1,2", "user": "me", "dbname": "shop", "query": {}},
            "shop",
        ),
        (
            "postgresql://me:p%40ss@[::1]:5432/shop",
            "postgres",
            {"host": "::1", "port": 5432, "user": "me", "dbname": "shop", "query": {}},
            "shop",
        ),
        (
            "mysql+pymysql://me:p%40ss@h:3306/Shop?charset=utf8mb4",
            "mysql",
            {
                "user": "me",
                "host": "h",
                "port": 3306,
                "database": "Shop",
                "url": "mysql+pymysql://me@h:3306/Shop?charset=utf8mb4",
                "query": {"charset": "utf8mb4"},
            },
            "shop",
        ),
        (
            "snowflake://me:p%40ss@org-acc/DB/PUBLIC?warehouse=WH&role=R",
            "snowflake",
            {
                "user": "me",
                "account": "org-acc",
                "database": "DB",
                "warehouse": "WH",
                "role": "R",
                "url": "snowflake://me@org-acc/DB/PUBLIC?warehouse=WH&role=R",
                "query": {"warehouse": "WH", "role": "R"},
            },
            "db",
        ),
        (
            "databricks://token:p%40ss@h?http_path=/sql/1&catalog=main",
            "databricks",
            {
                "host": "h",
                "http_path": "/sql/1",
                "catalog": "main",
                "url": "databricks://token@h/?http_path=%2Fsql%2F1&catalog=main",
                "query": {"http_path": "/sql/1", "catalog": "main"},
            },
            "main",
        ),
        (
            "mssql+pymssql://sa:p%40ss@h:1433/erp",
            "sqlserver",
            {
                "user": "sa",
                "server": "h",
                "port": 1433,
                "database": "erp",
                "url": "mssql+pymssql://sa@h:1433/erp",
                "query": {},
            },
            "erp",
        ),
        (
            "oracle+oracledb://me:p%40ss@h/svc",
            "generic",
            {"user": "me", "host": "h", "database": "svc", "url": "oracle+oracledb://me@h/svc", "query": {}},
            "svc",
        ),
    ],
)
def test_a_url_is_taken_apart_and_its_password_put_away(
    url: str, kind: str, options: dict[str, Any], name: str
) -> None:
    spec, default_name = resolve_target(url, folder=None)
    assert (spec.type, spec.options, default_name) == (kind, options, name)
    assert spec.secrets["password"].reveal() == "p@ss"
    assert "p@ss" not in repr(spec) and "p%40ss" not in repr(spec)


def test_an_odbc_string_inside_a_url_is_taken_apart_too() -> None:
    spec, name = resolve_target(
        "mssql+pyodbc:///?odbc_connect=DRIVER%3D%7BODBC+Driver+18%7D%3BSERVER%3Dh%2C1444%3BDATABASE%3DErp%3BUID%3Dsa%3BPWD%3Dx",
        folder=None,
    )
    assert (spec.type, name, spec.options["server"], spec.options["port"]) == ("sqlserver", "erp", "h", 1444)
    assert spec.secrets["password"].reveal() == "x"
    assert "PWD" not in repr(spec)


def test_files_are_recognised_by_their_content(elsewhere: Path) -> None:
    with sqlite3.connect("My Notes.duckdb") as connection:
        connection.execute("create table t (a int)")
    connection.close()
    duckdb.connect("shop.db").close()
    spec, name = resolve_target("My Notes.duckdb", folder=None)
    assert (spec.type, name) == ("sqlite", "my-notes")
    assert spec.options == {"path": str(elsewhere / "My Notes.duckdb")}
    assert resolve_target("./shop.db", folder=None)[0].type == "duckdb"
    assert resolve_target("duckdb:///shop.db", folder=None)[0].options == {"path": str(elsewhere / "shop.db")}
    assert resolve_target(f"duckdb:///{elsewhere}/shop.db", folder=None)[0].options == {
        "path": str(elsewhere / "shop.db")
    }
    with pytest.raises(NotADatabase, match="is a duckdb database, not a sqlite one"):
        resolve_target("sqlite:///shop.db", folder=None)


@pytest.mark.parametrize(("content", "words"), [(b"", "is empty"), (b"a,b\n1,2\n", "neither a SQLite nor a DuckDB")])
def test_a_file_of_something_else_is_not_a_database(content: bytes, words: str) -> None:
    Path("data.csv").write_bytes(content)
    with pytest.raises(NotADatabase, match=words) as caught:
        resolve_target("data.csv", folder=None)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("missing.db", ["there is no file 'missing.db'"]),
        ("sqlite:///missing.db", ["does not exist"]),
        ("sqlite://", ["in-memory"]),
        ("duckdb:///:memory:", ["in-memory"]),
        ("sqlite://host/file.db", ["names a host", "three or four slashes"]),
        ("postgress", ["neither an engine nor a file", "Did you mean 'postgres'?"]),
        ("postgrsql://h/d", ["'postgrsql://'", "Did you mean 'postgresql'?"]),
        ("jdbc:postgresql://h/d", ["Did you mean 'postgresql'?"]),
        ("env:NO_SUCH_URL", ["NO_SUCH_URL is not set", ".env"]),
        ("profile:none", ["profiles.yml", "cannot be read"]),
        (".", ["this is a folder"]),
        ("postgresql://u:pa/ss@h/d", ["cannot be taken apart", "%2F"]),
        ("tsql", ["Text2Sql__Tsql__ServerHostname", "Text2Sql__Tsql__ConnectionString", ".env"]),
    ],
)
def test_a_target_that_means_nothing_is_told_with_its_repair(target: str, words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve_target(target, folder=None)
    assert caught.value.exit_code == 2
    for word in words:
        assert word in str(caught.value)


def test_a_url_in_a_variable_is_read_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_URL", "postgresql://u:secret@h/shop")
    spec, name = resolve_target("env:SHOP_URL", folder=None)
    assert (spec.options["host"], name) == ("h", "shop")
    monkeypatch.setenv("SHOP_URL", "host=h password=secret")
    with pytest.raises(ConfigurationError) as caught:
        resolve_target("env:SHOP_URL", folder=None)
    assert "secret" not in str(caught.value)
    assert "SHOP_URL" in str(caught.value)


def test_the_env_file_of_the_project_or_of_the_working_directory_is_read(
    project: ProjectFolder, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.root / ".env").write_text("A_URL=postgresql://h/in_project\n")
    (elsewhere / ".env").write_text("B_URL=postgresql://h/in_cwd\n")
    assert resolve_target("env:A_URL", folder=project.root)[1] == "in_project"
    assert resolve_target("env:B_URL", folder=None)[1] == "in_cwd"


def test_profiles_come_from_the_project_or_else_from_dbt(
    project: ProjectFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(
        "profiles.yml",
        "a: {outputs: {default: {type: sqlite, path: a.db}, alt: {type: sqlite, path: alt.db}}}\n"
        "a.b: {outputs: {default: {type: sqlite, path: ab.db}}}\n",
    )
    assert resolve_target("profile:a", folder=project.root)[1] == "a"
    assert resolve_target("profile:a.alt", folder=project.root)[0].options == {"path": str(project.root / "alt.db")}
    assert resolve_target("profile:a.b", folder=project.root)[1] == "ab"
    with pytest.raises(ConfigurationError, match="Did you mean 'alt'"):
        resolve_target("profile:a.alta", folder=project.root)
    (tmp_path / "home/.dbt").mkdir(parents=True)
    (tmp_path / "home/.dbt/profiles.yml").write_text("h: {outputs: {default: {type: sqlite, path: /h.db}}}\n")
    assert resolve_target("profile:h", folder=None)[0].options == {"path": "/h.db"}
    monkeypatch.setenv("DBT_PROFILES_DIR", str(project.root / "dbt_like_configs"))
    assert resolve_target("profile:a", folder=None)[1] == "a"


def test_the_predecessors_variables_work_in_any_case_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"ServerHostname": "h", "Port": "5433", "User": "u", "Password": "p", "Database": "Shop"}
    for part, value in values.items():
        monkeypatch.setenv(f"Text2Sql__Postgres__{part}", value)
    spec, name = resolve_target("POSTGRES", folder=None)
    assert (spec.type, name) == ("postgres", "shop")
    assert spec.options == {"host": "h", "port": 5433, "user": "u", "dbname": "Shop"}
    assert spec.secrets["password"].reveal() == "p"


def test_the_predecessors_connection_string_keeps_options_and_decodes_the_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("Text2Sql__Postgres__ConnectionString", "postgresql://u:p%40w@h/shop?sslmode=require")
    monkeypatch.setenv("Text2Sql__Postgres__Database", "shop")
    spec, name = resolve_target("postgres", folder=None)
    assert (name, spec.options["sslmode"], spec.secrets["password"].reveal()) == ("shop", "require", "p@w")
    monkeypatch.setenv("Text2Sql__Postgres__Database", "other")
    with pytest.raises(ConfigurationError, match="names another database"):
        resolve_target("postgres", folder=None)


@pytest.mark.parametrize(
    ("engine", "variables", "kind", "options", "name"),
    [
        (
            "Snowflake",
            {"Account": "acc", "User": "u", "Password": "p", "Warehouse": "WH", "Database": "DB"},
            "snowflake",
            {"account": "acc", "user": "u", "warehouse": "WH", "database": "DB"},
            "db",
        ),
        (
            "Databricks",
            {"ServerHostname": "h", "HttpPath": "/sql", "AccessToken": "p", "Catalog": "main"},
            "databricks",
            {"host": "h", "http_path": "/sql", "catalog": "main"},
            "main",
        ),
        (
            "Tsql",
            {"ConnectionString": "Driver={ODBC {x}} 18};Server=tcp:h,1444;Database=Erp;Uid=sa;Pwd={p};Encrypt=yes"},
            "sqlserver",
            {"driver": "ODBC {x} 18", "server": "h", "port": 1444, "database": "Erp", "user": "sa", "encrypt": True},
            "erp",
        ),
    ],
)
def test_the_predecessors_warehouses_are_read_from_its_variables(
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    variables: dict[str, str],
    kind: str,
    options: dict[str, Any],
    name: str,
) -> None:
    for part, value in variables.items():
        monkeypatch.setenv(f"Text2Sql__{engine}__{part}", value)
    spec, default_name = resolve_target(engine.lower(), folder=None)
    assert {**options, "url": spec.options["url"]} == spec.options
    assert (spec.type, default_name, spec.secrets["password"].reveal()) == (kind, name, "p")


def test_the_predecessors_sqlite_file_must_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("notes.db").write_text("no database at all")
    monkeypatch.setenv("Text2Sql__Sqlite__Database", "notes.db")
    with pytest.raises(NotADatabase):
        resolve_target("sqlite", folder=None)


def test_a_missing_predecessor_password_is_told_before_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("Account", "User", "Warehouse", "Database"):
        monkeypatch.setenv(f"Text2Sql__Snowflake__{part}", "x")
    with pytest.raises(ConfigurationError, match="Text2Sql__Snowflake__Password is not set"):
        resolve_target("snowflake", folder=None)
