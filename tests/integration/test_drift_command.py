"""`data_dictionary diff` over bundles and databases."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dictionary_pipeline.cli import main

SHOP = """
CREATE TABLE region (region_id INTEGER PRIMARY KEY, zone TEXT NOT NULL);
CREATE TABLE shop (shop_id INTEGER PRIMARY KEY, city VARCHAR(40), region_id INT REFERENCES region (region_id));
CREATE VIEW cities AS SELECT city FROM shop;
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(words))
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return call


def database(path: Path, ddl: str) -> str:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(ddl)
    return str(path)


CHANGES = [
    (SHOP, 0),
    (SHOP.replace("city VARCHAR(40)", "city VARCHAR(80)"), 4),
    (SHOP.replace("zone TEXT NOT NULL", "zone TEXT"), 5),
    (SHOP.replace("CREATE VIEW cities AS SELECT city FROM shop;", ""), 6),
]


@pytest.mark.parametrize(("ddl", "code"), CHANGES)
def test_the_exit_code_tells_the_worst_severity(run: Run, tmp_path: Path, ddl: str, code: int) -> None:
    before = database(tmp_path / "before.sqlite", SHOP)
    after = database(tmp_path / "after.sqlite", ddl)
    assert run("diff", before, after)[0] == code


@pytest.mark.parametrize(("ddl", "code"), CHANGES)
def test_bundles_compare_like_their_databases(run: Run, tmp_path: Path, ddl: str, code: int) -> None:
    source = tmp_path / "shop.sqlite"
    for folder, script in (("before", SHOP), ("after", ddl)):
        assert run("build", database(source, script), "-o", folder)[0] == 0
    between_bundles = run("diff", "before", "after", "--json")
    to_database = run("diff", "before", str(source), "--json")
    assert between_bundles[0] == to_database[0] == code
    assert json.loads(between_bundles[1])["changes"] == json.loads(to_database[1])["changes"]


def test_a_bundle_is_read_through_its_manifest_alone(run: Run, tmp_path: Path) -> None:
    run("build", database(tmp_path / "shop.sqlite", SHOP), "-o", "bundle")
    shutil.rmtree(tmp_path / "bundle" / "catalog")
    assert run("diff", "bundle", "shop.sqlite")[:2] == (0, "no difference\n")


def test_text_names_change_object_and_users(run: Run, tmp_path: Path) -> None:
    before = database(tmp_path / "before.sqlite", SHOP)
    after = database(tmp_path / "after.sqlite", SHOP.replace("city", "city_name"))
    _, out, err = run("diff", before, after)
    assert "breaking  column_renamed" in out
    assert "main.shop.city: city -> city_name (confidence" in out
    assert "used by view main.cities" in out
    assert err == ""


def test_json_holds_every_field(run: Run, tmp_path: Path) -> None:
    before = database(tmp_path / "before.sqlite", SHOP)
    after = database(tmp_path / "after.sqlite", SHOP.replace("zone TEXT NOT NULL", "zone TEXT"))
    _, out, _ = run("diff", before, after, "--json")
    document = json.loads(out)
    assert document["worst"] == "risky"
    assert document["counts"] == {"breaking": 0, "risky": 1, "safe": 0, "cosmetic": 0}
    (change,) = document["changes"]
    assert (change["kind"], change["schema"], change["table"], change["column"]) == (
        "nullability_relaxed",
        "main",
        "region",
        "zone",
    )


def test_markdown_is_a_table_that_no_name_can_break(run: Run, tmp_path: Path) -> None:
    before = database(tmp_path / "before.sqlite", 'CREATE TABLE t (x INT, "a|b\n<c>" INT)')
    after = database(tmp_path / "after.sqlite", "CREATE TABLE t (x INT)")
    _, out, _ = run("diff", before, after, "--markdown")
    rows = [line for line in out.splitlines() if line.startswith("| breaking")]
    assert rows == ["| breaking | column_removed | main.t.a\\|b &lt;c> | INT |  |  |"]


def test_no_name_makes_a_markdown_reader_load_a_picture(run: Run, tmp_path: Path) -> None:
    before = database(tmp_path / "before.sqlite", 'CREATE TABLE t (x INT, "![a](http://h/b.png)" INT)')
    after = database(tmp_path / "after.sqlite", "CREATE TABLE t (x INT)")
    assert "| main.t.!\\[a](http://h/b.png) |" in run("diff", before, after, "--markdown")[1]


def test_a_check_that_bundles_do_not_hold_is_hinted_at(run: Run, tmp_path: Path) -> None:
    run("build", database(tmp_path / "shop.sqlite", "CREATE TABLE t (x INT CHECK (x > 0))"), "-o", "bundle")
    after = database(tmp_path / "shop.sqlite", "CREATE TABLE t (x INT CHECK (x > 1))")
    code, out, err = run("diff", "bundle", after)
    assert (code, out) == (0, "no difference\n")
    assert "CHECK constraints" in err


@pytest.mark.parametrize("words", [("missing.sqlite", "also-missing"), ("empty", "empty")])
def test_a_target_that_means_nothing_is_a_usage_error(run: Run, tmp_path: Path, words: tuple[str, str]) -> None:
    (tmp_path / "empty").mkdir()
    code, out, err = run("diff", *words)
    assert (code, out) == (2, "")
    assert words[0] in err


def test_two_formats_at_once_are_refused(run: Run) -> None:
    assert run("diff", "a", "b", "--json", "--markdown")[0] == 2
