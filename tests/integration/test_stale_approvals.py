"""Approved texts whose object changed since: kept, named by the run, shown again by `review`."""

from __future__ import annotations

import io
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dictionary_pipeline.cli import main
from dictionary_pipeline.people_commands import review

SHOP = """
CREATE TABLE region (region_id INTEGER PRIMARY KEY, zone TEXT NOT NULL);
CREATE TABLE shop (shop_id INTEGER PRIMARY KEY, city TEXT, region_id INT REFERENCES region (region_id));
CREATE TABLE visit (visit_id INTEGER PRIMARY KEY, shop_id INT REFERENCES shop (shop_id));
INSERT INTO region VALUES (1, 'north'), (2, 'south');
"""
STALE = "approved text of main.region: the table has changed since; run `data_dictionary review shop`"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """A project whose texts of the table region are approved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    change(SHOP)
    (tmp_path / "dbt_like_configs" / "databases").mkdir(parents=True)
    yaml(tmp_path).write_text("connection: {type: sqlite, path: shop.db}\n")
    (tmp_path / "dbt_like_configs" / "profiles.yml").write_text("{}\n")

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(words))
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, " ".join(err.split())

    assert call("run")[0] == 0
    assert call("approve", "shop", "region")[0] == 0
    return call


def yaml(folder: Path) -> Path:
    return folder / "dbt_like_configs" / "databases" / "shop.yml"


def change(sql: str) -> None:
    with closing(sqlite3.connect("shop.db")) as connection:
        connection.executescript(sql)


def drafts(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("review", "shop", "--json")[1])
    return found


def answer(*words: str) -> None:
    said = iter([*words, "q"])
    assert review("shop", None, as_json=False, ask=lambda _question: next(said)) == 0


def definition(folder: Path, table: str) -> tuple[str, str]:
    frame = pl.read_parquet(folder / "published/shop/catalog/tables.parquet").filter(table=table)
    text, source = frame.select("definition", "definition_source").row(0)
    return text, source


def test_an_unchanged_object_keeps_its_approval(run: Run) -> None:
    change("INSERT INTO region VALUES (3, 'west'); CREATE TABLE kiosk (kiosk_id INTEGER PRIMARY KEY);")
    code, _, err = run("run")
    assert (code, "approved text" in err) == (0, False)
    assert [draft for draft in drafts(run) if draft["stale"]] == []


def test_a_changed_table_keeps_its_text_and_is_named(run: Run, tmp_path: Path) -> None:
    run("run")
    approved = definition(tmp_path, "region")
    change("ALTER TABLE region ADD COLUMN altitude REAL")
    code, _, err = run("run")
    assert (code, STALE in err) == (0, True)
    assert definition(tmp_path, "region") == approved
    assert approved[1] == "human"


def test_review_lists_it_first_with_what_changed(run: Run) -> None:
    run("run")
    change("ALTER TABLE region ADD COLUMN altitude REAL")
    run("run")
    first, *others = drafts(run)
    assert (first["table"], first["stale"], first["origin"]) == ("region", True, "derived")
    assert "column_added altitude" in first["facts"]["last_changes"]
    assert not any(draft["stale"] for draft in others)
    assert "approved before the object changed" in run("review", "shop")[1]


def test_a_changed_type_makes_the_columns_text_stale(run: Run) -> None:
    change("PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(sql, 'zone TEXT', 'zone INT')")
    _, _, err = run("run")
    assert "approved text of main.region.zone: the column has changed since" in err
    assert "main.region.region_id" not in err


def test_accepting_it_again_renews_the_approval_and_only_that(run: Run, tmp_path: Path) -> None:
    before = yaml(tmp_path).read_text()
    change("ALTER TABLE region ADD COLUMN altitude REAL")
    run("run")
    answer("a")
    after = yaml(tmp_path).read_text()
    hashes = r"approved_for: s[0-9a-f]{11}"
    assert (re.sub(hashes, "", after), after == before) == (re.sub(hashes, "", before), False)
    assert "approved text" not in run("run")[2]


def test_an_edit_makes_it_a_persons_own_word(run: Run, tmp_path: Path) -> None:
    change("ALTER TABLE region ADD COLUMN altitude REAL")
    run("run")
    answer("e", "Areas in which we sell.")
    assert "approved text" not in run("run")[2]
    assert definition(tmp_path, "region") == ("Areas in which we sell.", "human")


def test_a_rejected_one_is_taken_back(run: Run, tmp_path: Path) -> None:
    change("ALTER TABLE region ADD COLUMN altitude REAL")
    run("run")
    answer("r")
    assert "approved text" not in run("run")[2]
    assert definition(tmp_path, "region")[1] == "derived"


def test_approving_everything_does_not_renew_it_unseen(run: Run, tmp_path: Path) -> None:
    change("ALTER TABLE region ADD COLUMN altitude REAL")
    run("run")
    before = yaml(tmp_path).read_text()
    err = run("approve", "shop")[2]
    assert "1 approved texts whose object has changed" in err
    assert yaml(tmp_path).read_text() == before
    assert run("approve", "shop", "main.region")[0] == 0
    assert "approved text" not in run("run")[2]


def test_review_works_on_what_a_run_left_that_died_behind_its_first_stage(run: Run, tmp_path: Path) -> None:
    run("run")
    stages = tmp_path / "published/shop/.state/stages"
    shutil.copytree(stages, tmp_path / "before", ignore=shutil.ignore_patterns("schema_snapshot*"))
    change("DROP TABLE visit; ALTER TABLE shop DROP COLUMN city")
    run("run")
    shutil.copytree(tmp_path / "before", stages, dirs_exist_ok=True)
    assert run("review", "shop")[0] == 0
    assert {(draft["table"], draft["column"]) for draft in drafts(run)} == {
        ("shop", None),
        ("shop", "shop_id"),
        ("shop", "region_id"),
    }


def test_an_approval_without_a_hash_is_left_alone(run: Run, tmp_path: Path) -> None:
    yaml(tmp_path).write_text(re.sub(r" *approved_for:.*\n", "", yaml(tmp_path).read_text()))
    change("ALTER TABLE region ADD COLUMN altitude REAL")
    assert "approved text" not in run("run")[2]
