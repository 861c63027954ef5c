"""Published files that people edit: kept before they are written anew, and offered for import."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dictionary_pipeline.cli import main
from dictionary_pipeline.config.loader import load_project
from dictionary_pipeline.config.resolved import HumanTable

SCHEMA = """
CREATE TABLE region (region_id INTEGER PRIMARY KEY, zone TEXT NOT NULL);
CREATE TABLE shop (shop_id INTEGER PRIMARY KEY, city TEXT, region_id INT REFERENCES region (region_id));
INSERT INTO region VALUES (1, 'north'), (2, 'south');
INSERT INTO shop VALUES (1, 'Aa', 1), (2, 'Bb', 2);
"""
KEPT = ".state/hand_edits/schema_store/main.shop.json"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """A published project."""
    monkeypatch.chdir(tmp_path)
    change(SCHEMA)
    (tmp_path / "dbt_like_configs" / "databases").mkdir(parents=True)
    (tmp_path / "dbt_like_configs" / "databases" / "shop.yml").write_text("connection: {type: sqlite, path: shop.db}\n")
    (tmp_path / "dbt_like_configs" / "profiles.yml").write_text("{}\n")

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(words))
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, " ".join(err.split())

    assert call("run")[0] == 0
    return call


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "published" / "shop"


def change(sql: str) -> None:
    with closing(sqlite3.connect("shop.db")) as connection:
        connection.executescript(sql)


def edit(file: Path, old: str, new: str) -> bytes:
    """Edit a published file as a person with an editor does."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    return file.read_bytes()


def define(file: Path, text: str) -> None:
    entry = json.loads(file.read_text())
    entry["Definition"] = text
    file.write_text(json.dumps(entry, indent=4))


def people(folder: Path) -> dict[str, HumanTable]:
    return {table.table: table for table in load_project(folder).databases["shop"].human.tables}


def plain(bundle: Path) -> dict[str, bytes]:
    files = json.loads((bundle / "manifest.json").read_text())["files"]
    return {path: (bundle / path).read_bytes() for path in files}


def test_an_unchanged_republish_keeps_the_edit_restores_the_file_and_names_the_command(run: Run, bundle: Path) -> None:
    before = plain(bundle)
    define(bundle / "schema_store/main.shop.json", "Where we sell.")
    edited = (bundle / "schema_store/main.shop.json").read_bytes()
    code, _, err = run("run")
    assert code == 0
    assert "schema_store/main.shop.json was edited by hand" in err
    assert f"data_dictionary import {KEPT} shop" in err
    assert (bundle / KEPT).read_bytes() == edited
    assert plain(bundle) == before
    assert "edited by hand" not in run("run")[2], "said once"


def test_an_edit_of_the_same_length_is_noticed(run: Run, bundle: Path) -> None:
    before = plain(bundle)
    edit(bundle / "schema_store/main.shop.json", '"EntityName": "Shop"', '"EntityName": "Post"')
    assert "edited by hand" in run("run")[2]
    assert plain(bundle) == before


@pytest.mark.parametrize("path", [Path(KEPT), Path("published/shop") / KEPT, Path(".state/hand_edits")])
def test_the_named_command_makes_the_edit_a_persons_word(run: Run, bundle: Path, tmp_path: Path, path: Path) -> None:
    define(bundle / "schema_store/main.shop.json", "Where we sell.")
    run("run")
    code, out, err = run("import", str(path), "shop")
    assert (code, "1 Definition taken over" in out) == (0, True), err
    assert people(tmp_path)["shop"].description == "Where we sell."
    assert run("run")[0] == 0
    assert json.loads((bundle / "schema_store/main.shop.json").read_text())["Definition"] == "Where we sell."


def test_only_what_was_edited_is_taken_over_when_the_run_changed_other_texts(
    run: Run, bundle: Path, tmp_path: Path
) -> None:
    entry = json.loads((bundle / "schema_store/main.shop.json").read_text())
    entry["Columns"][1]["Definition"] = "Where it stands."
    (bundle / "schema_store/main.shop.json").write_text(json.dumps(entry, indent=4))
    change("ALTER TABLE shop ADD COLUMN opened_on DATE; ALTER TABLE shop ADD COLUMN manager_id INT")
    assert "edited by hand" in run("run")[2]
    after = json.loads((bundle / "schema_store/main.shop.json").read_text())
    assert after["Definition"] != entry["Definition"], "the run has another text than the edited file"
    assert "1 Definition taken over" in run("import", KEPT, "shop")[1]
    shop = people(tmp_path)["shop"]
    assert (shop.description, [(c.name, c.description) for c in shop.columns]) == (None, [("city", "Where it stands.")])


def test_an_edit_of_peoples_own_words_replaces_them_unless_they_changed_meanwhile(
    run: Run, bundle: Path, tmp_path: Path
) -> None:
    assert run("approve", "shop", "shop")[0] == 0
    assert run("run")[0] == 0
    entry = json.loads((bundle / "schema_store/main.shop.json").read_text())
    entry["Columns"][0]["Definition"], entry["Columns"][1]["Definition"] = "Its number.", "Its town."
    (bundle / "schema_store/main.shop.json").write_text(json.dumps(entry, indent=4))
    run("run")
    file = tmp_path / "dbt_like_configs/databases/shop.yml"
    city = next(column for column in people(tmp_path)["shop"].columns if column.name == "city")
    file.write_text(file.read_text().replace(city.description or "?", "Said otherwise meanwhile."))
    _, out, err = run("import", KEPT, "shop")
    assert ("1 Definition taken over" in out, "kept: main.shop.city: its Definition" in err) == (True, True)
    columns = {column.name: column for column in people(tmp_path)["shop"].columns}
    assert (columns["shop_id"].description, columns["shop_id"].approval) == ("Its number.", None)
    assert columns["city"].description == "Said otherwise meanwhile."


def test_synonyms_of_an_edited_value_file_are_taken_over(run: Run, bundle: Path, tmp_path: Path) -> None:
    file = bundle / "column_value_store/main.region.zone.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["Synonyms"] = ["up"]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "column_value_store/main.region.zone.jsonl" in run("run")[2]
    code, out, _ = run("import", ".state/hand_edits/column_value_store/main.region.zone.jsonl", "shop")
    assert (code, "1 Synonyms" in out) == (0, True)
    assert people(tmp_path)["region"].columns[0].value_synonyms == {lines[0]["Value"]: ("up",)}


def test_a_single_file_of_all_entries_is_watched_too(run: Run, bundle: Path, tmp_path: Path) -> None:
    target = tmp_path / "built"
    words = ("build", "shop.db", "-o", str(target), "--single-file", "--name", "shop")
    assert run(*words)[0] == 0
    entries = json.loads((target / "schema_store/entities.json").read_text())
    entries[1]["EntityName"] = "Branch"
    (target / "schema_store/entities.json").write_text(json.dumps(entries, indent=4))
    assert "schema_store/entities.json was edited by hand" in run(*words)[2]
    kept = target / ".state/hand_edits/schema_store/entities.json"
    assert "1 EntityName taken over" in run("import", str(kept), "shop")[1]
    assert people(tmp_path)["shop"].entity_name == "Branch"


def test_files_of_a_predecessor_are_kept_before_a_first_publish_replaces_them(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "old"
    (target / "schema_store").mkdir(parents=True)
    shutil.copy(tmp_path / "published/shop/schema_store/main.shop.json", target / "schema_store")
    define(target / "schema_store/main.shop.json", "Their words.")
    (target / "schema_store/notes.json").write_text("mine")
    assert "edited by hand" in run("build", "shop.db", "-o", str(target), "--name", "shop")[2]
    assert "Their words." in (target / KEPT).read_text()
    assert (target / "schema_store/notes.json").read_text() == "mine"


def test_a_file_of_a_dropped_table_is_kept_before_it_is_deleted(run: Run, bundle: Path) -> None:
    define(bundle / "schema_store/main.shop.json", "Where we sell.")
    change("DROP TABLE shop")
    assert "schema_store/main.shop.json was edited by hand" in run("run")[2]
    assert not (bundle / "schema_store/main.shop.json").exists()
    assert "Where we sell." in (bundle / KEPT).read_text()


def test_the_newest_edit_of_a_file_is_kept(run: Run, bundle: Path) -> None:
    for text in ("First.", "Second."):
        define(bundle / "schema_store/main.shop.json", text)
        run("run")
    assert "Second." in (bundle / KEPT).read_text()


def assert_no_edit(run: Run, bundle: Path) -> None:
    """A run neither warns nor keeps anything, and leaves the plain paths right."""
    assert "edited by hand" not in run("run")[2]
    assert not (bundle / ".state/hand_edits").exists()
    files = json.loads((bundle / "manifest.json").read_text())["files"]
    assert {path: len(data) for path, data in plain(bundle).items()} == {p: info["bytes"] for p, info in files.items()}


def test_our_own_files_are_no_edits_whatever_their_times(run: Run, bundle: Path) -> None:
    for file in (bundle / "schema_store").iterdir():
        os.utime(file, (time.time() + 60, time.time() + 60))
    change("ALTER TABLE shop ADD COLUMN opened_on DATE")
    assert_no_edit(run, bundle)


def test_lost_state_makes_no_edits(run: Run, bundle: Path) -> None:
    change("ALTER TABLE shop ADD COLUMN opened_on DATE")
    (bundle / ".state/mirrored").unlink()
    assert_no_edit(run, bundle)


def test_an_older_published_file_put_back_is_no_edit(run: Run, bundle: Path) -> None:
    file = bundle / "schema_store/main.shop.json"
    old = file.read_bytes()
    change("ALTER TABLE shop ADD COLUMN opened_on DATE")
    run("run")
    file.write_bytes(old)
    assert_no_edit(run, bundle)


def test_a_cut_or_deleted_file_is_damage_and_no_edit(run: Run, bundle: Path) -> None:
    file = bundle / "schema_store/main.shop.json"
    file.write_bytes(file.read_bytes()[:100])
    (bundle / "schema_store/main.region.json").unlink()
    assert_no_edit(run, bundle)


def test_a_purge_of_withheld_values_takes_kept_edits_along_and_says_so(run: Run, bundle: Path, tmp_path: Path) -> None:
    define(bundle / "schema_store/main.shop.json", "Where we sell, e.g. in Aa.")
    with (tmp_path / "dbt_like_configs/databases/shop.yml").open("a") as file:
        file.write("privacy: {columns: [{match: city, treat: withhold}]}\n")
    code, _, err = run("run")
    assert (code, "the edited file is not kept" in err) == (0, True)
    assert not list(bundle.glob(".state/hand_edits*/**/*.json"))


def test_a_kept_file_that_is_not_json_is_named_by_import(run: Run, bundle: Path) -> None:
    edit(bundle / "schema_store/main.shop.json", "{", "")
    run("run")
    code, _, err = run("import", KEPT, "shop")
    assert (code, "not valid JSON" in err, "main.shop.json" in err) == (2, True, True)


def test_a_hand_edit_that_is_not_kept_is_named_by_import(run: Run, bundle: Path) -> None:
    code, _, err = run("import", ".state/hand_edits/schema_store/main.none.json", "shop")
    assert (code, "no hand edit is kept there" in err) == (2, True)


def test_a_restored_bundle_keeps_edits_too(run: Run, bundle: Path) -> None:
    change("ALTER TABLE shop ADD COLUMN opened_on DATE")
    run("run")
    archived = next((bundle / ".manifests").iterdir()).name
    define(bundle / "schema_store/main.shop.json", "Where we sell.")
    code, _, err = run("restore", "shop", archived)
    assert (code, "was edited by hand" in err) == (0, True)
    assert "Where we sell." in (bundle / KEPT).read_text()
