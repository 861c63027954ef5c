"""GraphRAG 3.3 on the demo's published graph: clustering offline, reports, queries, re-runs, its own extraction.

The model is the protocol double of `model_stub.py`. Commands and settings are those of the published
`graph/README.md` and `settings.yaml`, with only the address of the model added.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest
from graphrag_command import index, name_model, only_communities, query, table
from model_stub import ANSWER, ModelStub, running_model

from dictionary_pipeline.cli import main
from dictionary_pipeline.demo.build import build_demo
from dictionary_pipeline.extraction.delimited import EntityRecord, Record, RelationshipRecord, format_records

CONFIGS = Path(__file__).parents[2] / "dbt_like_configs"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelStub]:
    with running_model() as stub:
        yield stub


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the demo database, described once."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(CONFIGS, folder / "dbt_like_configs")
    build_demo(folder / "demo.duckdb")
    describe(folder)
    return folder


def describe(project: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(project)
        with pytest.raises(SystemExit) as ended:
            main(["run", "demo"])
    assert ended.value.code == 0


def take(project: Path, root: Path, model: ModelStub) -> Path:
    """Copy the published graph over a working folder, as its README says, and name the model's address."""
    shutil.copytree(project / "published" / "demo" / "graph", root, dirs_exist_ok=True)
    name_model(root, model)
    return root


def expected_calls(root: Path) -> tuple[int, int]:
    """Fewest and most report calls that the README announces."""
    words = (root / "README.md").read_text().replace("\n", " ").partition("Expect ")[2].split()
    return int(words[0]), int(words[3])


def test_communities_are_found_offline_and_hold_every_connected_table(
    project: Path, model: ModelStub, tmp_path: Path
) -> None:
    root = take(project, tmp_path / "root", model)
    only_communities(root)
    model.forget()

    index(root)

    assert not model.asked
    communities = table(root, "communities")
    clustered = set(communities["entity_ids"].explode())
    connected = set(table(root, "entities").filter(pl.col("degree") > 0)["id"])
    assert clustered == connected
    fewest, most = expected_calls(root)
    assert fewest <= communities.height <= most


@pytest.fixture(scope="module")
def indexed(project: Path, model: ModelStub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with reports and vectors."""
    root = take(project, tmp_path_factory.mktemp("indexed") / "root", model)
    model.forget()
    index(root)
    print(f"first index: {dict(model.asked)}")  # noqa: T201
    return root


def test_every_community_gets_a_report_with_foreign_keys_in_its_context(indexed: Path, model: ModelStub) -> None:
    communities, reports = table(indexed, "communities"), table(indexed, "community_reports")
    contexts = "".join(text for kind, text in model.prompts if kind == "report")

    assert reports.height == communities.height == model.asked["report"]
    assert model.asked["embedding"] > 0
    assert "Table demo.sales.sales_order REFERENCES table demo." in contexts
    assert "DDL: CREATE TABLE" in contexts


@pytest.mark.parametrize("method", ["global", "local", "basic"])
def test_queries_are_answered(indexed: Path, model: ModelStub, method: str) -> None:
    model.forget()

    printed = query(indexed, method)

    assert ANSWER in printed
    contexts = "".join(text for _, text in model.prompts)
    told = {"global": "Orders and customers", "local": "REFERENCES table demo.", "basic": "Table demo.sales."}
    assert told[method] in contexts


def test_an_unchanged_graph_costs_no_report_call_and_an_added_table_few(
    indexed: Path, project: Path, model: ModelStub
) -> None:
    every = table(indexed, "communities").height
    describe(project)
    model.forget()
    index(take(project, indexed, model))
    unchanged = dict(model.asked)

    with duckdb.connect(str(project / "demo.duckdb")) as database:
        database.execute(
            "CREATE TABLE sales.gift_note (note_id INTEGER PRIMARY KEY, order_id INTEGER "
            "REFERENCES sales.sales_order (order_id), words VARCHAR)"
        )
    describe(project)
    model.forget()
    index(take(project, indexed, model))

    print(f"reports: {every} at first, unchanged {unchanged}, one table added {dict(model.asked)}")  # noqa: T201
    assert unchanged.get("report", 0) == 0
    assert "DEMO.SALES.GIFT_NOTE TABLE" in set(table(indexed, "entities")["title"])
    assert 1 <= model.asked["report"] <= every // 2


def extracting(root: Path) -> None:
    """Take the lines for GraphRAG's own extraction in `settings.yaml` into use, as its comment says."""
    lines = (root / "settings.yaml").read_text().splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("# workflows: [load_input_documents"))
    end = next(place for place, line in enumerate(lines) if line.startswith("#   overlap:"))
    kept = [line for line in lines[:start] if not line.startswith("workflows:")]
    taken = [line.removeprefix("# ") for line in lines[start : end + 1]]
    (root / "settings.yaml").write_text("\n".join([*kept, *taken, *lines[end + 1 :]]))


def test_graphrags_own_extraction_reads_every_record_that_the_model_sends(
    project: Path, model: ModelStub, tmp_path: Path
) -> None:
    root = take(project, tmp_path / "root", model)
    extracting(root)
    for old in (root / "output").iterdir():
        old.unlink()
    records = records_by_document(root)
    sent: list[Record] = []

    def reply(text: str) -> str:
        found = records[text.split("\n", 1)[0].removeprefix("Name: ")]
        sent.extend(found)
        return format_records(found)

    model.extract = reply
    model.forget()
    index(root)

    documents = len(list((root / "input").iterdir()))
    print(f"own extraction: {dict(model.asked)}, {len(sent)} records sent")  # noqa: T201
    assert model.asked["extract"] == documents == len(records)
    entities = {record.name: record.type for record in sent if isinstance(record, EntityRecord)}
    assert dict(table(root, "entities").select("title", "type").iter_rows()) == entities
    weights: dict[tuple[str, str], float] = {}
    for record in sent:
        if isinstance(record, RelationshipRecord):
            weights[record[:2]] = weights.get(record[:2], 0.0) + record.weight
    found = table(root, "relationships").select("source", "target", "weight")
    assert {(one, two): weight for one, two, weight in found.iter_rows()} == weights


def records_by_document(root: Path) -> dict[str, list[Record]]:
    """What a perfect model would answer to each text: entities and edges of its table, from the published graph."""
    entities = pl.read_csv(root / "neo4j" / "entities.csv", infer_schema=False)
    edges = pl.read_parquet(root / "edges.parquet")
    owners = dict(edges.filter(pl.col("type") == "HAS_COLUMN").select("target", "source").iter_rows())
    records: dict[str, list[Record]] = {}
    labels: dict[str, str] = {}
    for title, kind, name, text in entities.select("title:ID", ":LABEL", "qualified_name", "description").iter_rows():
        owner = owners.get(title, title)
        if owner == title:
            labels[title] = f"{title.rsplit(' ', 1)[1].lower()} {name}"
        records.setdefault(labels[owner], []).append(EntityRecord(title, kind, text))
    for source, target, text, weight in edges.select("source", "target", "description", "weight").iter_rows():
        records[labels[owners.get(source, source)]].append(RelationshipRecord(source, target, text, weight))
    return records
