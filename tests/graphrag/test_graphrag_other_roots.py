"""GraphRAG 3.3 on graphs that the demo does not show: several databases in one, and business entities with columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from graphrag_command import index, name_model, only_communities, query, table
from model_stub import ANSWER, ModelStub, running_model
from unit.extraction.graphs import make_graph
from unit.extraction.test_exact import shop
from unit.extraction.test_report import with_business

from dictionary_pipeline.cli import main
from dictionary_pipeline.extraction.graphrag import graph_keys, graphrag_frames
from dictionary_pipeline.extraction.ids import extend_ids
from dictionary_pipeline.extraction.settings import graphrag_settings

_SCRIPT = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, town TEXT);
CREATE TABLE placed_order (id INTEGER PRIMARY KEY, customer_id INT REFERENCES customer (id));
"""


@pytest.fixture(scope="module")
def model() -> Iterator[ModelStub]:
    with running_model() as stub:
        yield stub


def call(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    assert ended.value.code == 0


def test_a_merged_graph_of_two_databases_is_clustered(model: ModelStub, tmp_path: Path) -> None:
    for name in ("north", "south"):
        with closing(sqlite3.connect(tmp_path / f"{name}.sqlite")) as database:
            database.executescript(_SCRIPT)
        call("build", str(tmp_path / f"{name}.sqlite"), "-o", str(tmp_path / name))
    root = tmp_path / "merged"
    call("merge-graph", str(tmp_path / "north"), str(tmp_path / "south"), "-o", str(root))
    only_communities(root)

    index(root)

    clustered = set(table(root, "communities")["entity_ids"].explode())
    assert clustered == set(table(root, "entities")["id"])
    assert table(root, "entities").height == 4


def test_a_graph_with_columns_and_business_entities_is_reported_on_and_answers(
    model: ModelStub, tmp_path: Path
) -> None:
    graph = with_business(make_graph(shop()))
    ids = extend_ids(graph.ids, graph_keys(graph.entities, graph.edges))
    rag = graphrag_frames(graph.entities, graph.edges, ids, granularity="column")
    (tmp_path / "output").mkdir()
    (tmp_path / "input").mkdir()
    for name in rag.__dataclass_fields__:
        frame: pl.DataFrame = getattr(rag, name)
        frame.write_parquet(tmp_path / "output" / f"{name}.parquet")
    (tmp_path / "settings.yaml").write_text(graphrag_settings())
    name_model(tmp_path, model)

    index(tmp_path)
    contexts = "".join(text for kind, text in model.prompts if kind == "report")
    printed = query(tmp_path, "local")

    assert table(tmp_path, "community_reports").height == table(tmp_path, "communities").height > 0
    assert "Acme IS_RECORDED_IN it." in contexts
    assert ANSWER in printed
