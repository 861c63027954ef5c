"""Business entities by a model, from a real database to the published graph, against a stub of the provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from graph_scenarios import FOLDER, SCENARIOS, make_project
from servers.openai_stub import KEY, KEY_VARIABLE, Asked, OpenAIStub, Reply, answer, running_stub

from dictionary_pipeline.config.loader import load_project
from dictionary_pipeline.enrichment.model.client import ModelUnavailable
from dictionary_pipeline.enrichment.model.paying import run_usage
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.extraction.model import SQL_TYPES
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.plan import plan_run
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.report import Check
from dictionary_pipeline.run import RunOptions, open_run
from dictionary_pipeline.stages import STAGES
from dictionary_pipeline.verified import verifications

Records = Mapping[str, Mapping[str, list[list[Any]]]]
EXTRAS = {
    "deliveries": {
        "model": {"glossary": {"PH": "Polar Haul, the haulier of the vans."}},
        "graph": {"documents": "documents/*.md", "aliases": {"Polar Haul": ["PH", "Polar Haul Oy"]}},
    }
}


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with running_stub() as server:
        yield server


class Project:
    """A project of one scenario with a model, and its bundle."""

    def __init__(self, name: str, folder: Path, stub: OpenAIStub) -> None:
        self.name, self.folder, self.stub = name, make_project(name, folder), stub
        self.out = folder / "published" / name

    def run(self, options: RunOptions | None = None, *, forget: bool = True, **sections: Any) -> RunSummary:
        if forget:
            self.stub.forget()
        self.configure(**sections)
        config = load_project(self.folder).databases[self.name]
        shared = LocalStore(self.out.parent)
        return run_database(config, LocalStore(self.out), options=options or RunOptions(), shared=shared)

    def configure(self, model: Mapping[str, Any] | None = None, graph: Mapping[str, Any] | None = None) -> None:
        extras: Mapping[str, Any] = EXTRAS.get(self.name, {})
        base = {"provider": "compatible", "model": "stub-model", "base_url": self.stub.url, "api_key_env": KEY_VARIABLE}
        base |= {"max_retries": 0, "concurrency": 1}
        project = {
            "model": {**base, **extras.get("model", {}), **(model or {})},
            "graph": {"entities": True, **extras.get("graph", {}), **(graph or {})},
        }
        # JSON is YAML.
        (self.folder / "dbt_like_configs" / "project.yml").write_text(json.dumps(project), encoding="utf-8")

    def frame(self, path: str) -> pl.DataFrame:
        return pl.read_parquet(self.out / "graph" / f"{path}.parquet")

    def entities(self) -> dict[str, str]:
        """Title -> type of business entities."""
        listed = pl.read_csv(self.out / "graph" / "neo4j" / "entities.csv")
        return dict(listed.filter(~pl.col(":LABEL").is_in(SQL_TYPES)).select("title:ID", ":LABEL").iter_rows())

    def edges(self) -> pl.DataFrame:
        return self.frame("edges").filter(pl.col("evidence").str.starts_with("llm:"))


def load(name: str, file: str) -> Any:
    return json.loads((FOLDER / name / file).read_text(encoding="utf-8"))


def name_of(unit: Mapping[str, Any]) -> str:
    return str(unit.get("name") or unit.get("document") or unit["kind"])


def unknown(asked: Asked) -> Reply:
    """A model that describes nothing, so that only what people wrote is text."""
    return Reply(content=answer(asked, definition="unknown", columns=dict.fromkeys(asked.columns, "unknown")))


def in_json(records: Records) -> Callable[[Asked], Reply]:
    """A model that finds these records, by the name of the text."""

    def script(asked: Asked) -> Reply:
        if not asked.units:
            return unknown(asked)
        found: dict[str, list[dict[str, Any]]] = {"entities": [], "relationships": []}
        for unit in asked.units:
            of_unit = records.get(name_of(unit), {})
            for name, kind, text in of_unit.get("entities", ()):
                found["entities"].append({"unit": unit["id"], "name": name, "type": kind, "description": text})
            for source, target, kind, text, weight in of_unit.get("relationships", ()):
                ends = {"unit": unit["id"], "source": source, "target": target}
                found["relationships"].append({**ends, "type": kind, "description": text, "weight": weight})
        return Reply(content=json.dumps(found))

    return script


def delimited(texts: Mapping[str, str]) -> Callable[[Asked], Reply]:
    """A model that answers these texts, by the name of the unit."""

    def script(asked: Asked) -> Reply:
        if not asked.units:
            return unknown(asked)
        (unit,) = asked.units
        return Reply(content=texts.get(name_of(unit), "<|COMPLETE|>"))

    return script


def report(summary: RunSummary) -> Any:
    return next(report for report in summary.reports if report.stage == "knowledge_graph")


def check(summary: RunSummary, name: str) -> Check:
    return next(found for found in report(summary).checks if found.name == name)


def extractions(stub: OpenAIStub) -> list[Asked]:
    return [asked for asked in stub.asked if asked.units]


def units_asked(stub: OpenAIStub) -> list[str]:
    return [name_of(unit) for asked in extractions(stub) for unit in asked.units]


def assert_expected(project: Project, summary: RunSummary) -> None:
    """The model's part says exactly what a person expects of it."""
    expected = load(project.name, "expected_model.json")
    assert project.entities() == {title: kind for title, (kind, _) in expected["entities"].items()}
    ids = project.frame("ids").filter(pl.col("kind") == "text_unit")
    keys = dict(ids.select("id", "key").iter_rows())
    rag = project.frame("output/entities").filter(~pl.col("type").is_in(SQL_TYPES))
    cited = {title: [keys[unit] for unit in units] for title, units in rag.select("title", "text_unit_ids").iter_rows()}
    assert cited == {title: units for title, (_, units) in expected["entities"].items()}
    found = project.edges().select("source", "type", "target", "weight").rows()
    assert [list(row) for row in found] == expected["edges"]
    assert dict(report(summary).tables["rejected_records"].iter_rows()) == expected["rejected"]
    conflicts = report(summary).tables["type_conflicts"]
    assert dict(conflicts.select("entity", "chosen").iter_rows()) == expected["conflicts"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_models_part_holds_what_is_right_and_refuses_the_rest(name: str, tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project(name, tmp_path, stub)
    stub.script = in_json(load(name, "replies.json"))
    summary = project.run()
    assert summary.exit_code == 0, summary
    assert_expected(project, summary)
    assert len(extractions(stub)) == 1, "small texts share a request"
    edges = project.edges()
    assert edges["is_inferred"].all() and (edges["confidence"] < 1).all() and (edges["text_units"].list.len() > 0).all()
    for source, kind, text in edges.select("source", "type", "description").iter_rows():
        assert kind in text and source.casefold() in text.casefold()


def test_the_delimiter_format_gives_the_same_graph(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("deliveries", tmp_path, stub)
    stub.script = delimited(load("deliveries", "replies_delimited.json"))
    summary = project.run(graph={"format": "delimited"})
    assert summary.exit_code == 0, summary
    assert_expected(project, summary)
    assert len(extractions(stub)) == len(units_asked(stub)) == 4, "a record cannot name its text in this format"
    assert all(asked.wants_text for asked in extractions(stub))


@pytest.mark.parametrize("granularity", ["table", "column"])
def test_texts_and_documents_are_published_and_hold_together(
    tmp_path: Path, stub: OpenAIStub, granularity: str
) -> None:
    project = Project("deliveries", tmp_path, stub)
    stub.script = in_json(load("deliveries", "replies.json"))
    assert project.run(graph={"granularity": granularity}).exit_code == 0
    units, documents = project.frame("output/text_units"), project.frame("output/documents")
    entities, relationships = project.frame("output/entities"), project.frame("output/relationships")
    assert set(documents["title"]) >= {"glossary", "documents/returns.md", "documents/vans.md"}
    assert units.join(documents, left_on="document_id", right_on="id", how="anti").is_empty()
    assert any(text.startswith("# Sent back\n\nA shop that refuses") for text in units["text"])
    for frame, listed in ((entities, "entity_ids"), (relationships, "relationship_ids")):
        assert (frame["text_unit_ids"].list.len() > 0).all()
        there = set(frame.select("text_unit_ids", "id").explode("text_unit_ids").rows())
        assert there == set(units.select("id", listed).explode(listed).drop_nulls().rows())
    ends = {*relationships["source"], *relationships["target"]}
    assert ends <= set(entities["title"])
    assert ("POLAR HAUL", "VAN") in relationships.select("source", "target").rows()
    assert (("TOUR", "DELIVERIES.MAIN.DELIVERY TABLE") in relationships.select("source", "target").rows()) == (
        granularity == "table"
    )


def test_an_unchanged_second_run_asks_nothing_and_writes_the_same_bytes(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("deliveries", tmp_path, stub)
    stub.script = in_json(load("deliveries", "replies.json"))
    project.run()
    before = (project.out / "manifest.json").read_bytes()
    summary = project.run()
    assert stub.asked == []
    assert report(summary).metrics["texts_kept"] == 4
    assert (project.out / "manifest.json").read_bytes() == before


def test_only_what_changed_is_read_again(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("deliveries", tmp_path, stub)
    stub.script = in_json(load("deliveries", "replies.json"))
    project.run()
    document = tmp_path / "documents" / "vans.md"
    document.write_text(document.read_text(encoding="utf-8") + "\nVans of the depot are green.\n", encoding="utf-8")
    project.run()
    assert units_asked(stub) == ["documents/vans.md"]
    document.unlink()
    project.run()
    assert stub.asked == []
    assert "VAN" in project.entities() and "documents/vans.md" not in set(project.frame("output/documents")["title"])


def test_force_reads_everything_again_and_a_selection_only_its_tables(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    project.run()
    project.run(RunOptions(force=frozenset(["graph"])))
    assert units_asked(stub) == ["main.customer", "main.sales_order"]
    project.run(RunOptions(entities=("customer",), force=frozenset(["graph"])))
    assert units_asked(stub) == ["main.customer"]


def test_a_dry_run_asks_nothing(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    summary = project.run(RunOptions(dry_run=True))
    assert stub.asked == [] and summary.error is None
    assert report(summary).metrics["texts_not_asked"] == 2


def test_a_plan_tells_what_reading_the_texts_would_take(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("deliveries", tmp_path, stub)
    project.configure()
    config = load_project(tmp_path).databases["deliveries"]
    store = LocalStore(project.out)
    before = plan_run(config, store).model
    stub.script = in_json(load("deliveries", "replies.json"))
    project.run()
    assert before is not None
    assert before.requests == len(stub.asked)
    used = sum(asked.characters for asked in stub.asked) // 4
    assert used < before.tokens < 4 * used
    after = plan_run(config, store).model
    assert after is not None and after.requests == 0


def test_without_the_switch_or_without_a_model_none_is_asked(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    assert project.run(graph={"entities": False}).exit_code == 0
    assert extractions(stub) == []
    file = tmp_path / "dbt_like_configs" / "databases" / "order.yml"
    file.write_text(file.read_text(encoding="utf-8") + "model: {enabled: false}\n", encoding="utf-8")
    summary = project.run()
    assert stub.asked == []
    assert [warning for warning in summary.warnings if "graph.entities" in warning]


def test_gleaning_asks_for_more_while_the_model_says_yes(tmp_path: Path, stub: OpenAIStub) -> None:
    replies = iter(
        [
            '("entity"<|>order<|>EVENT<|>A customer places it.)##',
            '("entity"<|>customer<|>GROUP<|>Places orders.)<|COMPLETE|>',
            "Yes.",
            '("relationship"<|>customer<|>order<|>RELATED_TO: Customers place orders.<|>8)',
            "n",
            "never asked",
        ]
    )

    def script(asked: Asked) -> Reply:
        if not asked.units:
            return unknown(asked)
        return Reply(content=next(replies) if name_of(asked.units[0]) == "main.sales_order" else "<|COMPLETE|>")

    project = Project("order", tmp_path, stub)
    stub.script = script
    assert project.run(graph={"format": "delimited", "max_gleanings": 5}).exit_code == 0
    assert project.entities() == {"CUSTOMER": "GROUP", "ORDER": "EVENT"}
    assert project.edges().select("source", "target").rows() == [("CUSTOMER", "ORDER")]
    assert next(replies) == "never asked"
    roles = [message["role"] for message in extractions(stub)[-1].body["messages"]]
    assert roles == ["system", "user", *["assistant", "user"] * 3]


def test_a_single_gleaning_needs_no_loop_question(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    stub.script = in_json(load("order", "replies.json"))
    project.run(graph={"max_gleanings": 1})
    assert len(extractions(stub)) == 2
    assert not any(asked.wants_text for asked in extractions(stub))


def test_a_reached_budget_skips_texts_and_the_next_run_goes_on(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("deliveries", tmp_path, stub)
    stub.script = delimited(load("deliveries", "replies_delimited.json"))
    summary = project.run(model={"max_requests": 4}, graph={"format": "delimited"})
    spent = len(stub.asked)
    assert spent == 4, "definitions and graph share the limit of a run"
    assert summary.exit_code == 0
    assert report(summary).metrics["texts_skipped_budget"] == 4 - len(extractions(stub)) > 0
    assert not check(summary, "model_budget_sufficed").passed
    summary = project.run(graph={"format": "delimited"})
    assert len(extractions(stub)) == report(summary).metrics["texts_asked"] > 0
    assert_expected(project, summary)


def test_an_outage_costs_its_texts_and_what_was_found_before_stays(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    stub.script = in_json(load("order", "replies.json"))
    project.run()
    stub.script = lambda asked: Reply(status=503) if asked.units else None
    summary = project.run(RunOptions(force=frozenset(["graph"])))
    assert summary.exit_code == 3
    assert {problem.object for problem in report(summary).problems} == {"MAIN.CUSTOMER TABLE", "MAIN.SALES_ORDER TABLE"}
    assert_expected(project, summary)


def test_an_outage_is_left_to_a_caller_who_repeats_the_run(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    project.configure()
    stub.script = lambda asked: Reply(status=503) if asked.units else None
    config = load_project(tmp_path).databases["order"]
    with open_run(config, LocalStore(project.out), run_id="r", may_retry=True) as run:
        for stage in STAGES[:4]:
            stage.run(run)
        with pytest.raises(ModelUnavailable):
            STAGES[4].run(run)


def test_what_was_used_before_an_outage_counts_for_the_repeated_run(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("deliveries", tmp_path, stub)
    project.configure(graph={"format": "delimited"})
    stub.script = lambda asked: Reply(status=503) if len(extractions(stub)) > 1 else Reply(content="<|COMPLETE|>")
    config = load_project(tmp_path).databases["deliveries"]
    with open_run(config, LocalStore(project.out), run_id="r", may_retry=True) as run:
        for stage in STAGES[:4]:
            stage.run(run)
        before = run_usage(run.store, "r").requests
        with pytest.raises(ModelUnavailable):
            STAGES[4].run(run)
        assert run_usage(run.store, "r").requests - before == len(extractions(stub)) == 4


def test_wrong_credentials_end_the_run_as_a_configuration_error(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    stub.script = lambda asked: Reply(status=401) if asked.units else None
    assert isinstance(project.run().error, ConfigurationError)


@pytest.mark.parametrize("content", ["no", '{"answer": []}'])
def test_an_answer_in_no_format_is_asked_for_once_more_and_then_a_problem(
    tmp_path: Path, stub: OpenAIStub, content: str
) -> None:
    project = Project("order", tmp_path, stub)
    stub.script = lambda asked: Reply(content=content) if asked.units else None
    summary = project.run()
    assert summary.exit_code == 3
    assert len(extractions(stub)) == 2
    assert {problem.object for problem in report(summary).problems} == {"MAIN.CUSTOMER TABLE", "MAIN.SALES_ORDER TABLE"}
    assert project.entities() == {}


@pytest.mark.parametrize("reply", [Reply(finish="length", content='{"enti'), Reply(refusal="no")])
def test_texts_that_get_no_answer_together_are_asked_about_apart(
    tmp_path: Path, stub: OpenAIStub, reply: Reply
) -> None:
    project = Project("order", tmp_path, stub)
    usual = in_json(load("order", "replies.json"))
    stub.script = lambda asked: reply if len(asked.units) > 1 else usual(asked)
    summary = project.run()
    assert summary.exit_code == 0
    assert [len(asked.units) for asked in extractions(stub)] == [2, 1, 1]
    assert_expected(project, summary)


def test_the_check_warns_when_too_many_records_are_refused(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    stub.script = in_json(load("order", "replies.json"))
    summary = project.run(graph={"max_reject_rate": 0.2})
    found = check(summary, "graph_reject_rate")
    assert not found.passed and found.found == 6
    assert summary.exit_code == 0
    assert check(project.run(), "graph_reject_rate").passed


def test_a_server_that_knows_no_format_is_told_the_schema_before_the_texts(tmp_path: Path, stub: OpenAIStub) -> None:
    usual = in_json(load("order", "replies.json"))

    def script(asked: Asked) -> Reply:
        if "response_format" in asked.body:
            return Reply(status=400, error={"param": "response_format", "message": "response_format is not supported"})
        return usual(asked)

    project = Project("order", tmp_path, stub)
    stub.script = script
    assert_expected(project, project.run(graph={"max_gleanings": 1}))
    roles = [message["role"] for message in extractions(stub)[-1].body["messages"]]
    assert roles == ["system", "system", "user", "assistant", "user"]


def test_documents_that_cannot_be_read_are_problems(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("deliveries", tmp_path, stub)
    (tmp_path / "documents" / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "documents" / "huge.md").write_bytes(b"x " * 600_000)
    outside = tmp_path.parent / f"{tmp_path.name}-outside.md"
    outside.write_text("Secret plans of EVIL CORP.", encoding="utf-8")
    (tmp_path / "documents" / "link.md").symlink_to(outside)
    (tmp_path / "documents" / ".hidden.md").write_text("Hidden plans.", encoding="utf-8")
    summary = project.run(graph={"documents": ["documents/*.md", "nothing/*.md"]})
    assert summary.exit_code == 3
    assert [problem.object for problem in report(summary).problems] == [
        "documents/huge.md",
        "documents/latin.md",
        "documents/link.md",
    ]
    assert any("nothing/*.md" in warning for warning in summary.warnings)
    assert "plans" not in stub.bodies


def test_texts_that_were_not_asked_about_to_the_end_wait_for_the_next_run(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    stub.script = in_json(load("order", "replies.json"))
    project.run(graph={"entities": False})
    summary = project.run(model={"max_requests": 1}, graph={"max_gleanings": 1})
    assert len(extractions(stub)) == 1
    assert report(summary).metrics["texts_skipped_budget"] == 0
    assert "2 texts are read by a later run" in check(summary, "model_budget_sufficed").description
    assert not verifications(LocalStore(project.out.parent))["order"].settled
    project.run(graph={"max_gleanings": 1})
    assert len(extractions(stub)) == 2
    assert verifications(LocalStore(project.out.parent))["order"].settled


def test_switched_off_entities_go_and_come_back_under_the_same_ids_unasked(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("order", tmp_path, stub)
    stub.script = in_json(load("order", "replies.json"))
    project.run()
    entities, ids = project.entities(), project.frame("ids")
    project.run(graph={"entities": False})
    assert project.entities() == {}
    assert project.frame("ids").equals(ids)
    project.run()
    assert project.entities() == entities
    assert project.frame("ids").equals(ids)
    assert extractions(stub) == []


def test_an_entity_that_is_a_value_of_a_column_withheld_later_leaves_the_id_map_too(
    tmp_path: Path, stub: OpenAIStub
) -> None:
    project = Project("deliveries", tmp_path, stub)
    with duckdb.connect(str(tmp_path / "deliveries.duckdb")) as database:
        database.execute("""UPDATE "Delivery" SET "Remark" = 'Alexandra Papadopoulos'""")
    text = "# Vans\n\nAlexandra Papadopoulos drives for Polar Haul.\n"
    (tmp_path / "documents" / "vans.md").write_text(text, encoding="utf-8")
    entities = [["Alexandra Papadopoulos", "PERSON", "She drives."], ["Polar Haul", "ORGANIZATION", "A haulier."]]
    edges = [["Alexandra Papadopoulos", "Polar Haul", "PART_OF", "She drives for it.", 5]]
    stub.script = in_json({"documents/vans.md": {"entities": entities, "relationships": edges}})
    assert project.run().exit_code == 0
    ids = project.frame("ids")
    assert ids["key"].str.contains("PAPADOPOULOS").sum() == 2
    file = tmp_path / "dbt_like_configs" / "databases" / "deliveries.yml"
    file.write_text(file.read_text() + "privacy: {withhold: [Delivery.Remark]}\n", encoding="utf-8")
    summary = project.run()
    assert summary.error is None
    assert "POLAR HAUL" in project.entities()
    left = project.frame("ids")
    assert not left["key"].str.contains("(?i)papadopoulos").any()
    gone = ids.filter(pl.col("key").str.contains("PAPADOPOULOS"))
    assert set(gone.select("kind", "human_readable_id").rows()) <= set(left.select("kind", "human_readable_id").rows())
    assert ids.join(gone, on="id", how="anti").join(left, on=ids.columns, how="anti").is_empty()


def test_what_was_published_is_no_document(tmp_path: Path, stub: OpenAIStub) -> None:
    project = Project("deliveries", tmp_path, stub)
    stub.script = in_json(load("deliveries", "replies.json"))
    everything = {"documents": ["**/*.md", "**/*.txt"]}
    project.run(graph=everything)
    assert "documents/vans.md" in units_asked(stub)
    project.run(graph=everything)
    assert units_asked(stub) == []
