"""`review` and `approve`: from a real database to its YAML file and back into the dictionary."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from servers.openai_stub import KEY, KEY_VARIABLE, OpenAIStub, Reply, answer, running_stub

from dictionary_pipeline.cli import main
from dictionary_pipeline.people_commands import review

SHOP = """
CREATE TABLE region (region_id INTEGER PRIMARY KEY, zone TEXT NOT NULL);
CREATE TABLE shop (shop_id INTEGER PRIMARY KEY, city TEXT, region_id INT REFERENCES region (region_id));
CREATE TABLE visit (visit_id INTEGER PRIMARY KEY, shop_id INT REFERENCES shop (shop_id));
INSERT INTO region VALUES (1, 'north'), (2, 'south');
INSERT INTO shop VALUES (1, 'Aa', 1), (2, 'Bb', 2);
"""
HEAD = "# Shops.\nconnection: {type: sqlite, path: shop.db}\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(words))
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The YAML file of a project with one database."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.executescript(SHOP)
    path = tmp_path / "dbt_like_configs" / "databases" / "shop.yml"
    path.parent.mkdir(parents=True)
    path.write_text(HEAD)
    (tmp_path / "dbt_like_configs" / "profiles.yml").write_text("{}\n")
    return path


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, file: Path) -> Iterator[OpenAIStub]:
    """A model that is sure of nothing about shops."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with running_stub() as server:
        server.script = lambda asked: Reply(
            content=answer(asked, confidence="low" if asked.table == "main.shop" else "high")
        )
        settings = server.settings()
        (file.parent.parent / "project.yml").write_text(
            f"model:\n  provider: compatible\n  model: {settings.model}\n  base_url: {settings.base_url}\n"
            f"  api_key_env: {KEY_VARIABLE}\n"
        )
        yield server


def drafts(run: Run) -> list[dict[str, Any]]:
    code, out, err = run("review", "shop", "--json")
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)
    return found


def published(folder: Path, name: str = "tables") -> dict[str, tuple[str, str]]:
    frame = pl.read_parquet(folder / "published" / "shop" / "catalog" / f"{name}.parquet")
    key = "table" if name == "tables" else pl.concat_str("table", "column", separator=".")
    return {row[0]: row[1:] for row in frame.select(key, "definition", "definition_source").iter_rows()}


def test_drafts_of_the_model_come_by_importance_with_their_facts(run: Run, file: Path, stub: OpenAIStub) -> None:
    assert run("run")[0] == 0
    found = drafts(run)
    assert {draft["origin"] for draft in found} == {"model"}
    assert found[0]["table"] == "shop", "two relationships, the others one"
    assert found[0]["confidence"] == "low"
    assert [draft["kind"] for draft in found[:3]] == ["definition", "entity_name", "column"]
    region = next(draft for draft in found if (draft["table"], draft["column"]) == ("shop", "region_id"))
    assert region["facts"]["refers_to"] == "main.region(region_id)"


def test_approved_text_is_human_marked_and_not_proposed_again(
    run: Run, file: Path, stub: OpenAIStub, tmp_path: Path
) -> None:
    run("run")
    assert run("approve", "shop", "shop")[0] == 0
    text = file.read_text()
    assert text.startswith(HEAD)
    assert "description: Written about main.shop.\n        meta:\n          approved_from: model\n" in text
    assert "shop" not in {draft["table"] for draft in drafts(run)}
    assert run("run")[0] == 0
    assert published(tmp_path)["shop"] == ("Written about main.shop.", "human")
    assert published(tmp_path)["region"][1] == "model"
    assert run("validate")[0] == 0


def test_approving_all_leaves_nothing_to_review(run: Run, file: Path, stub: OpenAIStub) -> None:
    run("run")
    assert run("approve", "shop")[0] == 0
    assert drafts(run) == []
    before = file.read_text()
    assert "0 texts approved" in run("approve", "shop")[1]
    assert file.read_text() == before


def test_a_person_accepts_edits_rejects_and_skips(run: Run, file: Path, stub: OpenAIStub, tmp_path: Path) -> None:
    run("run")
    before = drafts(run)
    said = iter(["a", "what?", "e", "Branch", "r", "s", "q"])
    assert review("shop", None, as_json=False, ask=lambda _question: next(said)) == 0
    after = drafts(run)
    assert after == before[3:], "the fourth was skipped"
    assert run("run")[0] == 0
    tables = pl.read_parquet(tmp_path / "published/shop/catalog/tables.parquet").filter(table="shop")
    assert tables.select("entity_name", "entity_name_source").row(0) == ("Branch", "human")
    rejected = before[2]
    text, source = published(tmp_path, "columns")[f"shop.{rejected['column']}"]
    assert (text != rejected["text"], source) == (True, "derived"), "a rejected text is not published either"
    assert [draft["hash"] for draft in drafts(run)] == [draft["hash"] for draft in after]


def test_another_text_of_the_model_is_proposed_after_a_rejection(run: Run, file: Path, stub: OpenAIStub) -> None:
    run("run")
    first = drafts(run)[0]
    answers = iter(["r", "q"])
    review("shop", None, as_json=False, ask=lambda _question: next(answers))
    stub.script = lambda asked: Reply(content=answer(asked, definition="Places where we sell."))
    run("run", "--force", "definitions")
    again = next(draft for draft in drafts(run) if (draft["table"], draft["kind"]) == ("shop", "definition"))
    assert again["text"] == "Places where we sell." != first["text"]


def test_without_a_model_derived_texts_are_reviewed_and_approved_by_table_only(run: Run, file: Path) -> None:
    run("run")
    found = drafts(run)
    assert {draft["origin"] for draft in found} == {"derived"}
    code, _, err = run("approve", "shop")
    assert (code, "ENTITY" in err) == (2, True)
    assert file.read_text() == HEAD
    assert run("approve", "shop", "main.region")[0] == 0
    assert "approved_from: derived" in file.read_text()
    assert {draft["table"] for draft in drafts(run)} == {"shop", "visit"}


def test_a_description_that_only_dbt_knows_is_not_written_over(run: Run, file: Path) -> None:
    described = (
        "sources:\n  - name: main\n    tables:\n      - name: region\n        description: '{{ doc(\"region\") }}'\n"
        "        columns:\n          - name: region_id\n            description: '{{ doc(\"region_id\") }}'\n"
    )
    file.write_text(HEAD + described)
    run("run")
    assert [draft["column"] for draft in drafts(run) if draft["table"] == "region"] == ["zone"]
    assert run("approve", "shop", "main.region")[0] == 0
    assert file.read_text().startswith(HEAD + described)


def test_without_a_terminal_review_lists(run: Run, file: Path) -> None:
    run("run")
    code, out, _ = run("review", "shop")
    assert code == 0
    assert "main.shop definition (derived)" in out
    assert file.read_text() == HEAD


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("review", "shop"), "data_dictionary run shop"),
        (("review", "shpo"), "shop"),
        (("approve", "shop"), "data_dictionary run shop"),
    ],
)
def test_what_is_missing_is_said(run: Run, file: Path, words: tuple[str, ...], says: str) -> None:
    code, _, err = run(*words)
    assert (code, says in err, "Traceback" in err) == (2, True, False)


def test_a_misspelled_entity_is_named_with_a_near_one(run: Run, file: Path) -> None:
    run("run")
    code, _, err = run("approve", "shop", "regoin")
    assert (code, "Did you mean `region`?" in err) == (2, True)
