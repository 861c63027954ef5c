"""dbt profiles: every engine, environment variables, and files written for dbt alone."""

from __future__ import annotations

import os
from unittest import mock

import pytest
from config_project import ProjectFolder
from sqlalchemy import make_url

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.errors import ConfigurationError


def connect(project: ProjectFolder, output: str) -> ConnectionSpec:
    project.write("profiles.yml", f"p:\n  target: t\n  outputs:\n    t: {output}\n")
    return project.config("profile: p\n").connection


def refuse(project: ProjectFolder, output: str) -> str:
    project.write("profiles.yml", f"p:\n  target: t\n  outputs:\n    t: {output}\n")
    return project.error("profile: p\n")


def test_a_profiles_file_written_for_dbt_works_as_it_is(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(
        "profiles.yml",
        """
        config:
          send_anonymous_usage_stats: false
        jaffle:
          target: "{{ env_var('DBT_TARGET', 'prod') }}"
          outputs:
            dev:
              type: bigquery
              keyfile: "{{ env_var('NOT_SET') }}"
            prod:
              type: postgres
              threads: 8
              host: "db.{{ env_var('DOMAIN') }}"
              port: "{{ env_var('PORT', '6432') | as_number }}"
              user: reader
              pass: "{{ env_var('DBT_ENV_SECRET_PW') }}"
              dbname: shop
              schema: dbt
              keepalives_idle: 0
              search_path: a,b
              retries: 1
              sslmode: require
              role: reporting
        """,
    )
    monkeypatch.setenv("DOMAIN", "example.com")
    config = project.config("profile: jaffle\n")
    assert config.connection.type == "postgres"
    assert config.connection.options == {
        "host": "db.example.com",
        "port": 6432,
        "user": "reader",
        "dbname": "shop",
        "sslmode": "require",
        "role": "reporting",
        "keepalives_idle": 0,
    }
    assert config.warnings == ()
    monkeypatch.setenv("DBT_ENV_SECRET_PW", "s3")
    assert config.connection.secrets["password"].reveal() == "s3"


@pytest.mark.parametrize(
    ("output", "kind", "url"),
    [
        (
            "{type: snowflake, account: org-a, user: u, password: x, database: D, warehouse: W, query_tag: q}",
            "snowflake",
            "snowflake://u@org-a/D?warehouse=W",
        ),
        (
            "{type: databricks, host: h, http_path: /sql/1, token: x, catalog: main, schema: s}",
            "databricks",
            "databricks://token@h?http_path=%2Fsql%2F1&catalog=main",
        ),
        (
            "{type: sqlserver, driver: D, server: h, port: 1433, database: d, user: 'a@b', password: x, encrypt: no}",
            "sqlserver",
            "mssql+mssqlpython://a%40b@h:1433/d",
        ),
        ("{type: mariadb, server: h, username: u, password: x, schema: shop}", "mysql", "mysql+pymysql://u@h/shop"),
    ],
)
def test_server_engines_get_their_options_and_a_url_without_password(
    project: ProjectFolder, output: str, kind: str, url: str
) -> None:
    spec = connect(project, output)
    assert (spec.type, spec.options["url"]) == (kind, url)
    assert make_url(spec.options["url"]).password is None
    assert [secret.reveal() for secret in spec.secrets.values()] == ["x"]


def test_redshift_is_read_like_postgres(project: ProjectFolder) -> None:
    spec = connect(project, "{type: redshift, host: h, user: u, password: x, dbname: d, ra3_node: true}")
    assert spec.type == "postgres"


def test_dbt_sqlite_names_its_file_in_its_own_way(project: ProjectFolder) -> None:
    spec = connect(project, "{type: sqlite, schemas_and_paths: {main: a.db}, schema_directory: /x, database: d}")
    assert spec.options == {"path": str(project.root / "a.db")}


def test_what_duckdb_needs_only_in_dbt_is_not_evaluated(project: ProjectFolder) -> None:
    spec = connect(
        project,
        "{type: duckdb, path: /a.duckdb, extensions: [httpfs], settings: {s3_key: \"{{ env_var('NOT_SET') }}\"}}",
    )
    assert spec.options == {"path": "/a.duckdb"}


def test_a_url_alone_says_everything(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_URL", "postgresql://u:p%40w@h:5433/shop?sslmode=require")
    config = project.config("connection: {url: \"{{ env_var('SHOP_URL') }}\"}\n")
    spec = config.connection
    assert spec.type == "postgres"
    assert spec.options == {
        "host": "h",
        "port": 5433,
        "user": "u",
        "dbname": "shop",
        "sslmode": "require",
        "query": {"sslmode": "require"},
    }
    assert spec.secrets["password"].reveal() == "p@w"
    assert config.warnings == ()


def test_a_sqlalchemy_url_may_have_its_password_beside_it(project: ProjectFolder) -> None:
    spec = connect(project, "{type: sqlalchemy, url: 'oracle+oracledb://u@h/x', password: pw}")
    assert (spec.type, spec.options["url"]) == ("generic", "oracle+oracledb://u@h/x")
    assert spec.secrets["password"].reveal() == "pw"


def test_a_missing_variable_is_named_with_file_line_and_repair(project: ProjectFolder) -> None:
    assert refuse(project, "{type: duckdb, path: \"{{ env_var('SHOP_FILE') }}\"}") == (
        "dbt_like_configs/profiles.yml:4: path: the environment variable SHOP_FILE is not set."
        " Add the line SHOP_FILE=... to the file .env in the project folder, or export it."
    )


def test_a_missing_secret_is_an_error_only_when_it_is_used(project: ProjectFolder) -> None:
    spec = connect(project, "{type: mysql, host: h, user: u, database: d, password: \"{{ env_var('NO_PW') }}\"}")
    with pytest.raises(ConfigurationError) as caught:
        spec.secrets["password"].reveal()
    assert str(caught.value).startswith("dbt_like_configs/profiles.yml:4: password: the environment variable NO_PW")
    assert ".env" in str(caught.value)


def test_a_literal_secret_works_and_is_warned_about_with_its_place(project: ProjectFolder) -> None:
    project.write(
        "profiles.yml",
        """
        p:
          outputs:
            default:
              type: mysql
              host: h
              user: u
              password: hunter2
              database: d
        """,
    )
    config = project.config("profile: p\n")
    assert config.connection.secrets["password"].reveal() == "hunter2"
    (warning,) = config.warnings
    assert warning.startswith("dbt_like_configs/profiles.yml:8: password: a secret is written in the file.")


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("{type: postgres, host: h, user: u}", ["postgres needs 'dbname' or 'database'", "Add dbname"]),
        ("{host: h}", ["has no 'type'", "postgres"]),
        ("{type: postgrs}", ["'postgrs'", "Did you mean 'postgres'?"]),
        ("{type: postgres, hots: h, user: u, dbname: d}", ["hots: unknown key", "Did you mean 'host'?"]),
        ("{type: postgres, host: h, user: u, dbname: d, pasword: x}", ["pasword: unknown key", "'password'"]),
        ("{type: postgres, host: h, user: u, dbname: d, port: x}", ["port: must be a whole number"]),
        ("{type: postgres, host: [h], user: u, dbname: d}", ["host: must be one value"]),
        ("{type: postgres, host: h, user: u, dbname: d, database: e}", ["database: contradicts 'dbname'"]),
        ("{type: sqlserver, server: h, database: d, encrypt: maybe}", ["encrypt: must be true or false"]),
        ("{type: duckdb, path: ':memory:'}", ["in-memory"]),
        ("{type: duckdb, path: 'md:cloud'}", ["not a local file"]),
        (
            "{type: snowflake, account: a, database: d, connect_args: {password: x}}",
            ["connect_args.password", "Move it up"],
        ),
        ("{type: mysql, url: 'postgresql://h/d'}", ["type is 'mysql' but the URL is for 'postgres'"]),
        ("{type: postgres, url: 'postgresql://h/d', dbname: d}", ["'dbname' cannot stand beside 'url'"]),
        ("{url: 'postgress://h/d'}", ["'postgress://'", "Did you mean 'postgres'?"]),
        ("{type: duckdb, path: \"{{ var('x') }}\"}", ["only {{ env_var('NAME') }}"]),
        ('{type: duckdb, path: "{% if x %}"}', ["only {{ env_var('NAME') }}"]),
        ("{type: duckdb, path: \"{{ env_var('HOME') | upcase }}\"}", ["filter 'upcase'"]),
        ("{type: duckdb, path: \"{{ env_var('A', 'x') | int }}\"}", ["does not fit the filter '| int'"]),
        ("nothing", ["must be 'key: value' lines"]),
    ],
)
def test_a_broken_output_is_told_with_its_line_and_repair(
    project: ProjectFolder, output: str, words: list[str]
) -> None:
    error = refuse(project, output)
    assert error.startswith("dbt_like_configs/profiles.yml:4: p.outputs.t") or "profiles.yml:4: " in error
    for word in words:
        assert word in error


def test_a_key_that_some_adapter_may_know_is_ignored_with_a_word_in_profiles_and_refused_inline(
    project: ProjectFolder,
) -> None:
    project.write("profiles.yml", "p: {outputs: {default: {type: sqlite, path: /a, frobnicate: 1}}}\n")
    (warning,) = project.config("profile: p\n").warnings
    assert "frobnicate: not used for type sqlite" in warning
    assert "unknown key" in project.error("connection: {type: sqlite, path: /a, frobnicate: 1}\n")


def test_an_unknown_own_target_is_told_at_the_profile(project: ProjectFolder) -> None:
    project.write("profiles.yml", "p:\n  target: prd\n  outputs:\n    prod: {type: sqlite, path: /a}\n")
    assert project.error("profile: p\n") == (
        "dbt_like_configs/profiles.yml:2: p.target: the profile 'p' has no target 'prd'. Did you mean 'prod'?"
    )


def test_the_env_file_is_read_but_does_not_win_over_the_environment(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAL", "/real.db")
    (project.root / ".env").write_text("REAL=/file.db\nONLY_FILE=/file.db\n")
    output = "connection: {{type: sqlite, path: \"{{{{ env_var('{}') }}}}\"}}\n"
    assert project.config(output.format("REAL")).connection.options == {"path": "/real.db"}
    assert project.config(output.format("ONLY_FILE")).connection.options == {"path": "/file.db"}
    (project.root / ".env").write_text("ONLY_FILE=/corrected.db\n")
    assert project.config(output.format("ONLY_FILE")).connection.options == {"path": "/corrected.db"}


def test_an_edited_env_file_is_followed_where_dagster_read_it_first(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_FILE", "/old.db")  # as `dagster dev` does when it starts in the project folder
    monkeypatch.setenv("REAL", "/real.db")
    (project.root / ".env").write_text("SHOP_FILE=/old.db\nREAL=/file.db\n")
    output = "connection: {type: sqlite, path: \"{{ env_var('SHOP_FILE') }}{{ env_var('REAL') }}\"}\n"
    assert project.config(output).connection.options == {"path": "/old.db/real.db"}
    inherited = dict(os.environ)
    (project.root / ".env").write_text("SHOP_FILE=/new.db\nREAL=/newer.db\n")
    assert project.config(output).connection.options == {"path": "/new.db/real.db"}
    # A run started meanwhile got the environment of before.
    with mock.patch.dict(os.environ, inherited):
        assert project.config(output).connection.options == {"path": "/new.db/real.db"}
