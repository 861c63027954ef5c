"""Small tables share a request to the model; everything else stays per table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from servers.openai_stub import KEY, KEY_VARIABLE, Asked, OpenAIStub, Reply, answer, running_stub

from dictionary_pipeline.config.model_settings import ModelBudget
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.plan import plan_run
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.run import RunOptions

PARENTS = [f"p{number}" for number in range(7)]
SCHEMA = "\n".join(
    [
        *(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, label_{name} VARCHAR, email VARCHAR);" for name in PARENTS),
        "CREATE TABLE child (id INTEGER PRIMARY KEY, p0_id INTEGER REFERENCES p0 (id), state VARCHAR);",
        f"CREATE TABLE wide (id INTEGER PRIMARY KEY, {', '.join(f'c{number} VARCHAR' for number in range(20))});",
        "INSERT INTO p0 SELECT i, 'label ' || i, 'cust' || i || '@shop.example' FROM range(30) t(i);",
    ]
)
TABLES = {f"main.{name}" for name in (*PARENTS, "child", "wide")}
HOLE = "main.p3"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with running_stub() as server:
        yield server


class Shop:
    """A database file of mostly small tables, and its bundle."""

    def __init__(self, folder: Path, stub: OpenAIStub) -> None:
        self.file, self.out, self.stub = folder / "shop.duckdb", folder / "shop", stub
        self.execute(SCHEMA)

    def execute(self, script: str) -> None:
        with duckdb.connect(str(self.file)) as connection:
            connection.execute(script)

    def config(self, **model: Any) -> DatabaseConfig:
        settings = self.stub.settings(**{"concurrency": 1, **model})
        return DatabaseConfig("shop", ConnectionSpec("duckdb", {"path": str(self.file)}), model=settings)

    def run(self, options: RunOptions | None = None, **model: Any) -> RunSummary:
        self.stub.forget()
        return run_database(self.config(**model), LocalStore(self.out), options=options or RunOptions())

    def requests(self) -> list[list[str]]:
        """The tables of each request."""
        return [[part.table for part in asked.parts] for asked in self.stub.asked]

    def sources(self) -> dict[str, str]:
        frame = pl.read_parquet(self.out / "catalog" / "tables.parquet")
        return {f"main.{table}": source for table, source in frame.select("table", "definition_source").iter_rows()}


@pytest.fixture
def shop(tmp_path: Path, stub: OpenAIStub) -> Shop:
    return Shop(tmp_path, stub)


def metrics(summary: RunSummary) -> dict[str, Any]:
    return next(dict(report.metrics) for report in summary.reports if report.stage == "entity_definitions")


def test_small_tables_share_requests_and_parents_come_before_children(shop: Shop, stub: OpenAIStub) -> None:
    summary = shop.run()
    assert summary.exit_code == 0, summary
    assert sorted(shop.requests()) == [
        ["main.child"],
        [f"main.{name}" for name in PARENTS[:6]],
        ["main.p6"],
        ["main.wide"],
    ]
    assert shop.requests()[-1] == ["main.child"]
    (child,) = [asked for asked in stub.asked if asked.parts[0].table == "main.child"]
    assert child.payload["references"][0]["meaning"] == "Written about main.p0."
    assert set(shop.sources().values()) == {"model"}
    assert (metrics(summary)["model_requests"], metrics(summary)["model_tables_asked"]) == (4, 9)


def test_the_rules_are_sent_once_for_all_tables_of_a_request(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    shared = sum(asked.characters for asked in stub.asked)
    shop.run(RunOptions(force=frozenset(["definitions"])), share_requests=False)
    assert [len(tables) for tables in shop.requests()] == [1] * 9
    assert shared < sum(asked.characters for asked in stub.asked) * 0.6


def test_every_table_keeps_its_own_answer(shop: Shop) -> None:
    shop.run()
    kept = [json.loads(path.read_bytes()) for path in (shop.out / ".state/model").rglob("*.json")]
    assert len(kept) == len(TABLES)
    shop.run(share_requests=False)
    assert shop.requests() == [], "how it was asked is no part of what is kept"
    shop.execute("ALTER TABLE p3 ADD COLUMN note VARCHAR")
    shop.run()
    assert shop.requests() == [[HOLE]]


def test_what_one_table_lacks_is_asked_for_alone(shop: Shop, stub: OpenAIStub) -> None:
    def script(asked: Asked) -> Reply | None:
        is_first = asked.table == HOLE and "was wrong" not in str(asked.body)
        return Reply(content=answer(asked, definition="See https://evil.example")) if is_first else None

    stub.script = script
    summary = shop.run()
    assert (summary.exit_code, shop.requests().count([HOLE])) == (0, 1)
    (repair,) = [asked for asked in stub.asked if [part.table for part in asked.parts] == [HOLE]]
    assert list(repair.schema["properties"]) == ["definition", "confidence", "unsure"]
    assert shop.sources()[HOLE] == "model"


def test_an_answer_without_one_of_the_tables_is_repaired_for_that_one(shop: Shop, stub: OpenAIStub) -> None:
    stub.script = lambda asked: Reply(content="[]") if asked.table == HOLE and "was wrong" not in str(asked) else None
    assert (shop.run().exit_code, shop.requests().count([HOLE])) == (0, 1)
    assert set(shop.sources().values()) == {"model"}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(refusal="No."),
        Reply(finish="content_filter"),
        Reply(status=400, error={"code": "content_filter"}),
        Reply(status=400, error={"code": "strange"}),
    ],
    ids=["refusal", "filter", "filter_400", "refused_400"],
)
def test_a_refused_table_costs_the_others_of_its_request_nothing(shop: Shop, stub: OpenAIStub, reply: Reply) -> None:
    stub.script = lambda asked: reply if asked.table == HOLE else None
    summary = shop.run()
    assert summary.exit_code == 3
    assert [problem.object for problem in summary.problems] == [HOLE]
    sources = shop.sources()
    assert {table for table, source in sources.items() if source != "model"} == {HOLE}


def test_a_cut_answer_is_asked_for_table_by_table(shop: Shop, stub: OpenAIStub) -> None:
    stub.script = lambda asked: Reply(content="{", finish="length") if len(stub.asked) == asked.number == 1 else None
    assert shop.run().exit_code == 0
    first, *others = shop.requests()
    assert len(first) == 6 and [[table] for table in first] == others[:6]
    assert set(shop.sources().values()) == {"model"}


def test_an_outage_counts_by_request_and_names_every_table(shop: Shop, stub: OpenAIStub) -> None:
    stub.script = lambda asked: Reply(status=500) if asked.table == HOLE else None
    summary = shop.run(max_retries=0)
    assert summary.exit_code == 3
    assert {problem.object for problem in summary.problems} == {f"main.{name}" for name in PARENTS[:6]}
    assert {table for table, source in shop.sources().items() if source == "model"} == {
        "main.p6", "main.wide", "main.child",
    }  # fmt: skip
    stub.script = lambda asked: None
    assert shop.run().exit_code == 0
    assert len(shop.requests()) == 1


def test_a_limit_that_a_shared_request_exceeds_still_lets_single_tables_through(shop: Shop) -> None:
    summary = shop.run(budget=ModelBudget(max_tokens=2_500))
    assert summary.exit_code == 0
    assert all(len(tables) == 1 for tables in shop.requests())
    assert 0 < metrics(summary)["model_tables_skipped_budget"] < len(TABLES)


@pytest.mark.parametrize(
    ("model", "sharing"), [({}, True), ({"samples": "values"}, False), ({"samples": "none"}, True)]
)
def test_tables_whose_values_show_never_share(shop: Shop, model: dict[str, Any], sharing: bool) -> None:
    shop.run(**model)
    assert any(len(tables) > 1 for tables in shop.requests()) is sharing


def test_few_tables_are_asked_about_one_by_one(shop: Shop) -> None:
    shop.run()
    shop.execute("\n".join(f"ALTER TABLE p{number} ADD COLUMN note VARCHAR;" for number in range(1, 5)))
    shop.run()
    assert [len(tables) for tables in shop.requests()] == [1, 1, 1, 1]


def test_a_plan_counts_shared_requests(shop: Shop) -> None:
    plan = plan_run(shop.config(), LocalStore(shop.out))
    assert plan.model is not None
    shop.run()
    assert plan.model.requests == len(shop.requests()) == 4


def test_no_withheld_value_is_in_a_shared_request(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    assert "shop.example" not in stub.bodies
