"""The exact part of the graph of three small databases, compared with all that a person finds in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from graph_scenarios import FOLDER, SCENARIOS, make_project

from dictionary_pipeline.cli import main
from dictionary_pipeline.extraction.model import EDGE_TYPES


@pytest.fixture(params=SCENARIOS)
def scenario(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def graph(scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder `graph` of the published bundle."""
    monkeypatch.chdir(make_project(scenario, tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["run", scenario])
    assert ended.value.code == 0
    return tmp_path / "published" / scenario / "graph"


@pytest.fixture
def expected(scenario: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / scenario / "expected_exact.json").read_text(encoding="utf-8"))
    return found


def test_the_exact_part_says_all_that_a_person_finds_and_nothing_else(graph: Path, expected: dict[str, Any]) -> None:
    entities = pl.read_csv(graph / "neo4j" / "entities.csv")
    edges = pl.read_parquet(graph / "edges.parquet")

    assert dict(entities.select("title:ID", ":LABEL").iter_rows()) == expected["entities"]
    for kind in EDGE_TYPES:
        found = edges.filter(pl.col("type") == kind).select("source", "target").rows()
        assert sorted(found) == sorted(map(tuple, expected["edges"].get(kind, []))), kind
    assert set(edges["type"]) <= set(EDGE_TYPES)


def test_only_what_was_inferred_says_so_and_weighs_less(graph: Path, expected: dict[str, Any]) -> None:
    edges = pl.read_parquet(graph / "edges.parquet")
    inferred = edges.filter("is_inferred")

    assert inferred.select("type", "source", "target").rows() == [tuple(row) for row in expected["inferred"]]
    assert (inferred["confidence"] < 1).all()
    assert (inferred["weight"] < 10).all()
    assert (edges.filter(~pl.col("is_inferred"))["confidence"] == 1).all()


def test_descriptions_tell_what_people_wrote_the_statement_and_allowed_values(
    graph: Path, expected: dict[str, Any]
) -> None:
    entities = pl.read_csv(graph / "neo4j" / "entities.csv")
    texts = dict(entities.select("title:ID", "description").iter_rows())

    assert {title: texts[title] for title in expected["descriptions"]} == expected["descriptions"]
    assert set(expected["sentences"]) <= set(pl.read_parquet(graph / "edges.parquet")["description"])


def test_columns_come_into_the_graphrag_files_when_configured_and_cost_more_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(make_project("shifts", tmp_path))
    graph = tmp_path / "published" / "shifts" / "graph"
    calls, types = [], []
    for granularity in ("table", "column"):
        (tmp_path / "dbt_like_configs" / "project.yml").write_text(f"graph: {{granularity: {granularity}}}\n")
        with pytest.raises(SystemExit):
            main(["run", "shifts", "--json"])
        summary = json.loads(capsys.readouterr().out)
        calls.append(summary["stages"]["knowledge_graph"]["report_calls_at_most"])
        types.append(set(pl.read_parquet(graph / "output" / "entities.parquet")["type"]))
        assert f"Expect\n1 to about {calls[-1]} report calls" in (graph / "README.md").read_text()

    assert types == [{"SQLTABLE", "SQLVIEW"}, {"SQLTABLE", "SQLVIEW", "SQLCOLUMN"}]
    assert calls[0] < calls[1]
