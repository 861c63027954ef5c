"""`import`: what people edited in another dictionary's files becomes their word here."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dictionary_pipeline.cli import main
from dictionary_pipeline.config.loader import load_project
from dictionary_pipeline.config.resolved import HumanColumn, HumanTable

SCHEMA = """
CREATE TABLE region (region_id INTEGER PRIMARY KEY, zone TEXT NOT NULL);
CREATE TABLE shop (shop_id INTEGER PRIMARY KEY, city TEXT, region_id INT REFERENCES region (region_id), boss INT);
CREATE TABLE clerk (clerk_no INTEGER PRIMARY KEY, alias TEXT);
CREATE TABLE kiosk (kiosk_id INTEGER PRIMARY KEY);
INSERT INTO region VALUES (1, 'north'), (2, 'south');
"""
KEPT = "    tables:\n      - name: kiosk # mine\n        description: My own words.\n"
HEAD = f"connection: {{type: sqlite, path: shop.db}}\nsources:\n  - name: main\n{KEPT}"
Run = Callable[..., tuple[int, str, str]]


def entry(table: str, columns: dict[str, Any], *links: tuple[str, str, str], **said: Any) -> dict[str, Any]:
    """An entry as the predecessor documents it."""
    return {
        "Entity": table,
        "Definition": None,
        "Schema": "main",
        "EntityName": None,
        **said,
        "EntityRelationships": [
            {
                "ForeignEntity": other,
                "ForeignSchema": "main",
                "ForeignKeys": [{"Column": own_column, "ForeignColumn": other_column}],
                "FQN": f"main.{table}",
                "ForeignFQN": f"main.{other}",
            }
            for own_column, other, other_column in links
        ],
        "CompleteEntityRelationshipsGraph": [],
        "Columns": [
            {"Name": name, "DataType": "TEXT", "Definition": None, "SampleValues": [], **more}
            for name, more in columns.items()
        ],
        "FQN": f"main.{table}",
    }


ENTRIES = [
    entry(
        "Region",
        {"zone": {"Definition": "Part of the country.", "AllowedValues": ["north", "south", "west"]}, "gone": {}},
        ("region_id", "shop", "region_id"),
        Definition="Sales areas.\nSince 2001.",
        EntityName="Sales Area",
    ),
    entry("clerk", {"alias": {}}, ("clerk_no", "shop", "boss")),
    entry("shop", {"city": {}}, ("region_id", "region", "region_id"), ("boss", "clerk", "clerk_no")),
    entry("kiosk", {}, Definition="Their words."),
    entry("regions", {}, Definition="Dropped."),
]
VALUES = [
    {"Entity": "region", "Schema": "main", "FQN": f"main.region.{column}", "Column": column, **said}
    for column, said in (
        ("zone", {"Value": "north", "Synonyms": ["N", "up"]}),
        ("zone", {"Value": "south", "Synonyms": []}),
        ("lost", {"Value": "x", "Synonyms": ["y"]}),
    )
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.executescript(SCHEMA)
    (tmp_path / "dbt_like_configs" / "databases").mkdir(parents=True)
    (tmp_path / "dbt_like_configs" / "databases" / "shop.yml").write_text(HEAD)
    (tmp_path / "dbt_like_configs" / "profiles.yml").write_text("{}\n")
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(words))
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    assert call("run")[0] == 0
    return call


def old_store(folder: Path, *, single_file: bool) -> Path:
    """The other dictionary's files; returns what to import."""
    schema, values = folder / "schema_store", folder / "column_value_store"
    schema.mkdir(parents=True)
    values.mkdir()
    (values / "main.region.zone.jsonl").write_text("".join(json.dumps(line) + "\n" for line in VALUES))
    if single_file:
        (schema / "entities.json").write_text(json.dumps(ENTRIES, indent=4))
        return schema / "entities.json"
    for item in ENTRIES:
        (schema / f"{item['FQN']}.json").write_text(json.dumps(item, indent=4))
    return folder


@pytest.mark.parametrize("single_file", [False, True])
def test_every_human_field_becomes_a_human_entry(run: Run, tmp_path: Path, single_file: bool) -> None:
    code, out, err = run("import", str(old_store(tmp_path / "old", single_file=single_file)), "shop")
    assert code == 0, err
    human = load_project(tmp_path).databases["shop"].human
    tables = {table.table: table for table in human.tables}
    assert tables["region"] == HumanTable(
        "main",
        "region",
        "Sales areas.\nSince 2001.",
        "Sales Area",
        (HumanColumn("zone", "Part of the country.", ("north", "south", "west"), "human", {"north": ("N", "up")}),),
        tables["region"].origin,
    )
    (link,) = human.relationships  # the declared key and the turned copies are none
    assert (link.from_table, link.from_columns, link.to_table, link.to_columns) == (
        "shop", ("boss",), "clerk", ("clerk_no",),
    )  # fmt: skip
    assert "1 EntityRelationships" in out


def test_what_no_longer_matches_is_listed_and_own_words_stay(run: Run, tmp_path: Path) -> None:
    _, _, err = run("import", str(old_store(tmp_path / "old", single_file=False)), "shop")
    assert "main.regions: the database has no such table. Did you mean `main.region`?" in err
    assert "main.Region.gone: the table has no such column" in err
    assert "main.region.lost" in err
    assert "kept: main.kiosk: its Definition" in err
    assert KEPT in (tmp_path / "dbt_like_configs/databases/shop.yml").read_text()


def test_a_second_import_and_the_next_run_change_nothing(run: Run, tmp_path: Path) -> None:
    old = old_store(tmp_path / "old", single_file=False)
    run("import", str(old), "shop")
    file = tmp_path / "dbt_like_configs/databases/shop.yml"
    first = file.read_bytes()
    run("import", str(old), "shop")
    assert file.read_bytes() == first
    assert run("run")[0] == 0
    entry_now = json.loads((tmp_path / "published/shop/schema_store/main.region.json").read_text())
    assert (entry_now["EntityName"], entry_now["Definition"]) == ("Sales Area", "Sales areas.\nSince 2001.")
    run("import", str(old), "shop")
    assert file.read_bytes() == first


def test_an_own_bundle_gives_back_only_what_was_edited_in_it(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "published" / "shop" / "schema_store", copy)
    assert "nothing taken over" in run("import", str(copy), "shop")[1]
    edited = json.loads((copy / "main.shop.json").read_text())
    edited["Columns"][1]["Definition"] = "Where it stands."
    (copy / "main.shop.json").write_text(json.dumps(edited))
    assert "1 Definition taken over" in run("import", str(copy), "shop")[1]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not valid JSON"),
        ("[{}]", "Entity"),
        ('[{"Entity": "region", "Schema": "main", "Columns": [1]}]', "shape"),
        (None, "no schema store"),
    ],
)
def test_files_of_another_shape_are_named(run: Run, tmp_path: Path, content: str | None, says: str) -> None:
    path = tmp_path / "notes.json"
    if content is not None:
        path.write_text(content)
    code, _, err = run("import", str(path), "shop")
    assert (code, says in err, "notes.json" in err) == (2, True, True)
