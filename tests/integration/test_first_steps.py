"""What somebody is told who uses the command line for the first time, and mistypes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.commands import add_database, run_configured, show_differences, validate_configuration
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.run import NO_OPTIONS, RunOptions

SECRET_URL = "postgresql://reader:s3cr3t@db.example/shop"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(tmp_path)
    add_sqlite_database(tmp_path, "shop", 2)
    return tmp_path


def database_file(project: Path) -> Path:
    return next(project.rglob("shop.db"))


def test_a_pattern_that_fits_no_table_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_configured([], NO_OPTIONS, as_json=False, project=project) == 0
    assert capsys.readouterr().err == ""
    assert run_configured([], RunOptions(("main.*", "ordrs")), as_json=False, project=project) == 0
    warnings = capsys.readouterr().err.splitlines()
    assert [line.partition(". ")[0] for line in warnings] == ["warning: --entity 'ordrs' fits no table or view"]


def test_a_run_tells_how_much_the_schema_changed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_configured([], NO_OPTIONS, as_json=False, project=project)
    assert "drift" not in capsys.readouterr().out
    with closing(sqlite3.connect(database_file(project))) as connection:
        (table,) = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1").fetchone()
        connection.execute(f'DROP TABLE "{table}"')
        connection.commit()
    run_configured([], NO_OPTIONS, as_json=False, project=project)
    told = capsys.readouterr().out
    assert "1 table, 0 views, " in told
    assert "; drift: 1 change, 1 breaking, 0 risky; published at " in told


@pytest.mark.parametrize("as_json", [False, True])
def test_validate_warns_of_a_secret_that_is_written_in_a_file(
    project: Path, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    file = project / "dbt_like_configs/databases/open.yml"
    file.write_text(f'connection: {{url: "{SECRET_URL}"}}\n', encoding="utf-8")
    assert validate_configuration(project, as_json=as_json) == 0
    printed = capsys.readouterr()
    assert "databases/open.yml:1: url: a secret is written in the file" in printed.err
    assert "s3cr3t" not in printed.out + printed.err
    if as_json:
        body = json.loads(printed.out)
        assert (body["errors"], len(body["warnings"])) == ([], 1)


def test_diff_offers_the_configured_name_that_was_meant(project: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"under the name 'shp'.*Did you mean 'shop'"):
        show_differences("shp", "shop", project, as_json=False, as_markdown=False)


def test_add_tells_how_a_file_is_given(project: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"SHOP_URL=sqlite:////folder/shop\.db, and pass --url env:SHOP_URL"):
        add_database("other", "shop.sqlite", None, project)


def test_an_add_that_fails_leaves_no_file_and_says_so(project: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^other was not added, and its file is removed.*NO_SUCH_URL is not set"
    ):
        add_database("other", "env:NO_SUCH_URL", None, project)
    assert not (project / "dbt_like_configs/databases/other.yml").exists()


def test_validate_warns_of_an_alert_channel_without_its_secret(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "dbt_like_configs/project.yml"
    file.write_text(file.read_text() + "alerts: {channels: {ops: {type: slack, url_env: HOOK_URL}}}\n")
    assert validate_configuration(project, as_json=False) == 0
    assert "alert channel ops: the environment variable HOOK_URL is not set" in capsys.readouterr().err
    monkeypatch.setenv("HOOK_URL", "https://hooks.example/1")
    assert validate_configuration(project, as_json=False) == 0
    assert capsys.readouterr().err == ""
