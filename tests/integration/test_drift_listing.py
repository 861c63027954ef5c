"""`data_dictionary drift` and `drift ack`, and `diff` with configured databases."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dictionary_pipeline.cli import main

DATABASE = """\
connection: {type: sqlite, path: shop.db}
sources:
  - name: main
    tables:
      - name: customer
        columns:
          - name: email  # by hand
            description: Where to write.
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "dbt_like_configs"
    (folder / "databases").mkdir(parents=True)
    (folder / "project.yml").write_text("drift:\n  severity: {'column_added:main.orders.*': risky}\n")
    (folder / "databases" / "shop.yml").write_text(DATABASE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("LOGNAME", "ann")
    change(
        tmp_path,
        "CREATE TABLE customer (id INTEGER PRIMARY KEY, email VARCHAR(77) UNIQUE NOT NULL, age INT);"
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)",
    )
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], project: Path) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(words))
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    assert call("run")[0] == 0
    return call


def change(project: Path, script: str) -> None:
    with closing(sqlite3.connect(project / "shop.db")) as connection:
        connection.executescript(script)


def listed(run: Run, *words: str) -> list[dict[str, object]]:
    document = json.loads(run("drift", "shop", "--json", *words)[1])
    changes = document["changes"]
    assert isinstance(changes, list)
    return changes


def test_without_drift_there_is_nothing_to_do(run: Run) -> None:
    assert run("drift", "shop") == (0, "shop: no drift recorded\n", "")


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("CREATE TABLE extra (id INTEGER)", 4),
        ("ALTER TABLE orders ADD COLUMN zip TEXT", 5),
        ("ALTER TABLE orders DROP COLUMN note", 6),
    ],
)
def test_the_exit_code_is_that_of_the_worst_change_that_nobody_acknowledged(
    run: Run, project: Path, script: str, code: int
) -> None:
    change(project, script)
    run("run")
    assert run("drift", "shop")[0] == code
    assert run("drift", "ack", "shop", "--all", "--reason", "planned")[:2] == (0, "shop: 1 change acknowledged.\n")
    assert run("drift", "shop")[0] == 0


def test_the_list_tells_severity_object_states_detection_and_who_acknowledged(run: Run, project: Path) -> None:
    change(project, "ALTER TABLE orders DROP COLUMN note; ALTER TABLE orders ADD COLUMN zip TEXT")
    run("run")
    first = listed(run)[0]
    run("drift", "ack", "shop", str(first["key"])[:8], "--reason", "planned", "--author", "bob")
    code, out, _ = run("drift", "shop")
    lines = out.splitlines()
    assert code in (5, 6)
    assert any("breaking" in line and "column_removed" in line and "main.orders.note: TEXT" in line for line in lines)
    assert any("risky" in line and "main.orders.zip: TEXT" in line for line in lines)
    assert "             configured" in lines
    (acknowledged,) = [item["acknowledged"] for item in listed(run) if item["acknowledged"]]
    assert isinstance(acknowledged, dict)
    assert (acknowledged["author"], acknowledged["reason"]) == ("bob", "planned")
    assert any(line.strip().startswith("acknowledged by bob at ") and line.endswith(": planned") for line in lines)


def test_the_author_is_the_login_unless_git_knows_a_name(run: Run, project: Path) -> None:
    change(project, "CREATE TABLE one (id INTEGER)")
    run("run")
    run("drift", "ack", "shop", "--all", "--reason", "planned")
    subprocess.run(["git", "init", "-q", "."], cwd=project, check=True)
    subprocess.run(["git", "config", "user.name", "Ann Example"], cwd=project, check=True)
    change(project, "CREATE TABLE two (id INTEGER)")
    run("run")
    run("drift", "ack", "shop", "--all", "--reason", "planned")
    acks = [item["acknowledged"] for item in listed(run)]
    assert [ack["author"] for ack in acks if isinstance(ack, dict)] == ["Ann Example", "ann"]


def test_since_leaves_out_what_was_detected_earlier(run: Run, project: Path) -> None:
    change(project, "ALTER TABLE orders DROP COLUMN note")
    run("run")
    assert len(listed(run, "--since", "2026-01-01")) == 1
    assert listed(run, "--since", "2999-12-31T23:00+02:00") == []
    assert run("drift", "shop", "--since", "2999-01-01")[0] == 0


def test_a_held_bundle_is_listed_first_and_released_by_acknowledging(run: Run, project: Path) -> None:
    (project / "dbt_like_configs" / "databases" / "shop.yml").write_text("drift: {on_breaking: hold}\n" + DATABASE)
    change(project, "ALTER TABLE orders DROP COLUMN note")
    code, out, err = run("run")
    assert (code, out.split(";")[0]) == (3, "shop: not published")
    assert "drift ack shop --all" in err
    code, out, _ = run("drift", "shop")
    assert code == 6
    assert "stays until its breaking changes are acknowledged" in out.splitlines()[0]
    assert " held " in out.splitlines()[1]
    assert [item["held"] for item in listed(run)] == [True]
    assert "publishes what was held" in run("drift", "ack", "shop", "--all", "--reason", "planned")[1]
    assert run("run")[0] == 0
    assert [item["held"] for item in listed(run)] == [False]
    assert run("drift", "shop")[0] == 0


def test_a_rename_proposes_an_edit_that_git_applies_and_that_settles_it(run: Run, project: Path) -> None:
    change(project, "ALTER TABLE customer RENAME COLUMN email TO email_address")
    (report,) = [line for line in run("diff", "published/shop", "shop")[1].splitlines() if line.startswith("+  ")]
    assert report == "+          - name: email_address  # by hand"
    run("run")
    document = json.loads(run("drift", "shop", "--json")[1])
    (project / "edit.patch").write_text(document["proposed_edit"])
    subprocess.run(["git", "init", "-q", "."], cwd=project, check=True)
    subprocess.run(["git", "apply", "edit.patch"], cwd=project, check=True)
    assert (project / "dbt_like_configs" / "databases" / "shop.yml").read_text() == DATABASE.replace(
        "email  #", "email_address  #"
    )
    assert "proposed edit" not in run("drift", "shop")[1]
    assert run("run")[0] == 0


def test_diff_rates_configured_databases_as_configured(run: Run, project: Path) -> None:
    change(project, "ALTER TABLE orders ADD COLUMN zip TEXT")
    assert run("diff", "published/shop", "shop")[0] == 5
    assert run("diff", "published/shop", "shop.db")[0] == 5, "the bundle belongs to the configured database"
    (project / "elsewhere").mkdir()
    run("build", "shop.db", "-o", "elsewhere/bundle")
    change(project, "ALTER TABLE orders ADD COLUMN town TEXT")
    assert run("diff", "elsewhere/bundle", "shop.db")[0] == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("drift", "shp"), "Did you mean `shop`?"),
        (("drift", "shop", "--since", "tomorrow"), "Write it like 2026-11-30"),
        (("drift", "shop", "--all"), "drift ack shop"),
        (("drift", "shop", "abcdef"), "drift ack shop"),
        (("drift", "ack", "shop", "--all"), "needs a reason"),
        (("drift", "ack", "shop", "--reason", "x"), "needs the keys of changes, or --all"),
        (("drift", "ack", "shop", "abcdef", "--all", "--reason", "x"), "needs the keys of changes, or --all"),
        (("drift", "ack", "shop", "abcdef", "--reason", "x"), "0 changes have a key that begins with 'abcdef'"),
        (("drift", "ack", "shop", "--all", "--reason", "x", "--json"), "neither --since nor --json"),
        (("drift", "ack", "--all", "--reason", "x"), "needs the name of a database"),
        (("drift", "ack"), "Choose one of: shop."),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(run: Run, words: tuple[str, ...], told: str) -> None:
    code, _, err = run(*words)
    assert code == 2
    assert told in err


def test_a_dictionary_of_a_newer_format_is_refused_with_the_fix(run: Run, project: Path) -> None:
    manifest = project / "published/shop/manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"format_version": "1.', b'"format_version": "2.'))
    for words in (("drift", "shop"), ("drift", "ack", "shop", "--all", "--reason", "seen")):
        code, _, err = run(*words)
        assert code == 1 and "this version reads up to 1.x. Upgrade dictionary-pipeline." in err
