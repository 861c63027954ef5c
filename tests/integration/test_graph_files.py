from __future__ import annotations

import sqlite3
import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest

from dictionary_pipeline.cli import main
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.store import Content

_SCRIPT = """
create table customers (id integer primary key, email text, city text);
create table orders (id integer primary key, customer_id integer not null references customers(id));
create view placed as select o.id as order_id, c.city from orders o join customers c on c.id = o.customer_id;
"""
_PEOPLE = [(number, f"someone{number}@example.org", "Oslo") for number in range(30)]


def published(folder: Path) -> Path:
    """Build a small SQLite database and its dictionary; the folder `graph` of the bundle."""
    folder.mkdir()
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.executescript(_SCRIPT)
    connection.executemany("insert into customers values (?, ?, ?)", _PEOPLE)
    connection.commit()
    connection.close()
    assert run("build", str(folder / "shop.sqlite"), "-o", str(folder / "out")) == 0
    return folder / "out" / "graph"


def run(*arguments: str) -> object:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    return ended.value.code


def texts_of(graph: Path) -> dict[str, str]:
    paths = [path for path in graph.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    return {path.relative_to(graph).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_a_bundle_holds_all_forms_of_the_graph_the_same_every_time_and_no_withheld_value(tmp_path: Path) -> None:
    graph = published(tmp_path / "one")
    texts = texts_of(graph)

    assert sorted(texts) == [
        "README.md",
        "graph.graphml",
        "input/main.customers.txt",
        "input/main.orders.txt",
        "input/main.placed.txt",
        "neo4j/entities.csv",
        "neo4j/relationships.csv",
        "prompts/extract_graph.txt",
        "settings.yaml",
    ]
    assert texts_of(published(tmp_path / "two")) == texts
    assert not any("@example.org" in text for text in texts.values())
    edges = pl.read_parquet(graph / "edges.parquet")
    assert edges.filter(pl.col("type") == "IS_DERIVED_FROM").select("source", "target").rows() == [
        ("MAIN.PLACED.CITY COLUMN", "MAIN.CUSTOMERS.CITY COLUMN"),
        ("MAIN.PLACED.ORDER_ID COLUMN", "MAIN.ORDERS.ID COLUMN"),
    ]
    assert len(list(ET.fromstring(texts["graph.graphml"]).iter("{http://graphml.graphdrawing.org/xmlns}edge"))) == len(
        edges
    )
    assert 'FOREIGN KEY ("customer_id") REFERENCES "main"."customers" ("id")' in texts["input/main.orders.txt"]


def test_published_graphs_are_merged_into_one_valid_root_whose_ids_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = (str(published(tmp_path / name).parent) for name in ("one", "two"))
    merged = tmp_path / "merged"
    for folder in (one, two):  # both were built under the name of their file
        manifest = Path(folder) / "manifest.json"
        manifest.write_text(
            manifest.read_text().replace('"database": "shop"', f'"database": "{Path(folder).parent.name}"')
        )

    assert run("merge-graph", one, "-o", str(merged)) == 0
    first = pl.read_parquet(merged / "ids.parquet")
    assert run("merge-graph", one, two, "-o", str(merged)) == 0

    both = pl.read_parquet(merged / "ids.parquet")
    assert first.join(both, on=first.columns, how="anti").is_empty()
    entities = pl.read_parquet(merged / "output" / "entities.parquet")
    assert sorted(entities["title"]) == [
        "MAIN.CUSTOMERS TABLE",
        "MAIN.ORDERS TABLE",
        "MAIN.PLACED VIEW",
        "TWO.MAIN.CUSTOMERS TABLE",
        "TWO.MAIN.ORDERS TABLE",
        "TWO.MAIN.PLACED VIEW",
    ]
    edges = pl.read_parquet(merged / "output" / "relationships.parquet")
    assert set(edges["source"]) | set(edges["target"]) == set(entities["title"])
    assert len(list((merged / "input").iterdir())) == 6
    assert "reports" in capsys.readouterr().out


def test_a_folder_with_other_files_is_not_written_to(tmp_path: Path) -> None:
    one = published(tmp_path / "one").parent

    assert run("merge-graph", str(one), "-o", str(tmp_path / "one")) == 2
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["out", "shop.sqlite"]


def test_the_graph_of_a_published_bundle_is_not_written_to(tmp_path: Path) -> None:
    graph = published(tmp_path / "one")
    before = texts_of(graph)

    assert run("merge-graph", str(graph.parent), "-o", str(graph)) == 2
    assert texts_of(graph) == before


def test_a_merge_that_died_goes_on_with_the_same_ids_and_a_damaged_id_map_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, merged = str(published(tmp_path / "one").parent), tmp_path / "merged"
    write = LocalStore.write

    def dying(store: LocalStore, key: str, content: Content) -> None:
        if key == "graph.graphml":
            raise KeyboardInterrupt
        write(store, key, content)

    with monkeypatch.context() as patched:
        patched.setattr(LocalStore, "write", dying)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            main(["merge-graph", bundle, "-o", str(merged)])
    ids = pl.read_parquet(merged / "ids.parquet")

    assert run("merge-graph", bundle, "-o", str(merged)) == 0
    assert pl.read_parquet(merged / "ids.parquet").equals(ids)
    (merged / "ids.parquet").write_bytes(b"PAR1")
    assert run("merge-graph", bundle, "-o", str(merged)) == 2
    assert "the id map of the merged graph is damaged" in capsys.readouterr().err
