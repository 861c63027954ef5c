"""A first full load as one batch of the provider: ordered, waited for, collected into the cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from servers.openai_stub import KEY, KEY_VARIABLE, OpenAIStub, Reply, answer, running_stub

from dictionary_pipeline.config.model_settings import ModelBudget, ModelPrice
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig
from dictionary_pipeline.enrichment.model.batch import PENDING_KEY
from dictionary_pipeline.enrichment.model.budget import Budget, Reservation, Usage
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.plan import plan_run
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.run import RunOptions

COUNT = 24
COLUMNS = ", ".join(f"c{number} VARCHAR" for number in range(9))
SCHEMA = "\n".join(f"CREATE TABLE t{number:02} (id INTEGER PRIMARY KEY, {COLUMNS});" for number in range(COUNT))
PRICE = ModelPrice(1.0, 1.0)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with running_stub() as server:
        yield server


class Shop:
    """A database file of tables too large to share requests, and its bundle."""

    def __init__(self, folder: Path, stub: OpenAIStub) -> None:
        self.file, self.out, self.stub = folder / "shop.duckdb", folder / "published" / "shop", stub
        self.execute(SCHEMA)

    def execute(self, script: str) -> None:
        with duckdb.connect(str(self.file)) as connection:
            connection.execute(script)

    def run(self, options: RunOptions | None = None, **model: Any) -> RunSummary:
        self.stub.forget()
        settings = self.stub.settings(**{"concurrency": 1, "batch": True, **model})
        config = DatabaseConfig("shop", ConnectionSpec("duckdb", {"path": str(self.file)}), model=settings)
        shared = LocalStore(self.out.parent)
        return run_database(config, LocalStore(self.out), options=options or RunOptions(), shared=shared)

    @property
    def is_waiting(self) -> bool:
        return (self.out / PENDING_KEY).exists()

    def sources(self) -> dict[str, str]:
        frame = pl.read_parquet(self.out / "catalog" / "tables.parquet")
        return dict(frame.select("table", "definition_source").iter_rows())


@pytest.fixture
def shop(tmp_path: Path, stub: OpenAIStub) -> Shop:
    return Shop(tmp_path, stub)


def metrics(summary: RunSummary) -> dict[str, Any]:
    return next(dict(report.metrics) for report in summary.reports if report.stage == "entity_definitions")


def warned(summary: RunSummary) -> str:
    return " ".join(warning for report in summary.reports for warning in report.warnings)


def test_a_full_load_is_ordered_waited_for_and_taken_in(shop: Shop, stub: OpenAIStub) -> None:
    first = shop.run()
    assert (first.exit_code, stub.asked, len(stub.batches.bodies)) == (0, [], COUNT)
    assert metrics(first)["model_tables_waiting"] == COUNT
    assert "24 tables wait for a batch" in warned(first)
    assert set(shop.sources().values()) == {"derived"}
    waiting = shop.run()
    assert (metrics(waiting)["model_tables_waiting"], stub.asked, len(stub.batches.ordered)) == (COUNT, [], 1)
    stub.batches.status = "completed"
    last = shop.run()
    assert (last.exit_code, stub.asked, shop.is_waiting) == (0, [], False)
    assert set(shop.sources().values()) == {"model"}
    assert (metrics(last)["model_requests"], metrics(last)["model_tables_kept"]) == (COUNT, COUNT)
    assert metrics(last)["model_completion_tokens"] > 0
    assert sorted(stub.batches.deleted) == ["file-1", "output"], "nothing is left with the provider"
    again = shop.run()
    assert (metrics(again)["model_requests"], stub.asked, len(stub.batches.ordered)) == (0, [], 1)


def test_few_requests_are_made_at_once(shop: Shop, stub: OpenAIStub) -> None:
    stub.batches.status = "completed"
    shop.run()
    shop.run()
    shop.execute("ALTER TABLE t03 ADD COLUMN note VARCHAR")
    shop.run()
    assert ([asked.table for asked in stub.asked], len(stub.batches.ordered)) == (["main.t03"], 1)


def test_what_the_batch_does_not_answer_acceptably_is_asked_as_usual(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    stub.batches.status = "completed"
    bad = {
        "main.t01": Reply(status=400, error={"code": "strange"}),
        "main.t02": Reply(content="{", finish="length"),
        "main.t03": Reply(refusal="No."),
    }

    def script(asked: Any) -> Reply | None:
        if asked.path != "batch":
            return None
        wrong = Reply(content=answer(asked, definition="See https://evil.example"))
        return bad.get(asked.table, wrong if asked.table == "main.t04" else None)

    stub.script = script
    assert shop.run().exit_code == 0
    assert [asked.table for asked in stub.asked] == ["main.t01", "main.t02", "main.t03", "main.t04"]
    assert list(stub.asked[-1].schema["properties"]) == ["definition", "confidence", "unsure"]
    assert set(shop.sources().values()) == {"model"}


def test_a_table_that_changed_meanwhile_is_asked_about_anew(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    shop.execute("ALTER TABLE t05 ADD COLUMN note VARCHAR")
    stub.batches.status = "completed"
    shop.run()
    assert [asked.table for asked in stub.asked] == ["main.t05"]


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_batch_that_brings_nothing_is_not_ordered_again_in_the_same_run(
    shop: Shop, stub: OpenAIStub, status: str
) -> None:
    shop.run()
    stub.batches.status = status
    assert shop.run().exit_code == 0
    assert (len(stub.asked), len(stub.batches.ordered), shop.is_waiting) == (COUNT, 1, False)


def test_forcing_orders_all_and_the_next_run_takes_the_new_answers(shop: Shop, stub: OpenAIStub) -> None:
    stub.batches.status = "completed"
    shop.run()
    shop.run()
    shop.run(RunOptions(force=frozenset(["definitions"])))
    assert len(stub.batches.ordered) == 2
    stub.script = lambda asked: Reply(content=answer(asked, definition="Said anew."))
    shop.run(RunOptions(force=frozenset(["definitions"])))
    assert (stub.asked, len(stub.batches.ordered)) == ([], 2)
    tables = pl.read_parquet(shop.out / "catalog" / "tables.parquet")
    assert set(tables["definition"]) == {"Said anew."}


def test_a_run_that_died_before_it_knew_the_batch_finds_it_again(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    file = shop.out / PENDING_KEY
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "batch": None}))
    assert metrics(shop.run())["model_tables_waiting"] == COUNT
    stub.batches.status = "completed"
    shop.run()
    assert (set(shop.sources().values()), len(stub.batches.ordered)) == ({"model"}, 1)


def test_a_run_that_died_before_it_ordered_orders_again(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    stub.batches.ordered.clear()
    file = shop.out / PENDING_KEY
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "batch": None}))
    assert metrics(shop.run())["model_tables_waiting"] == COUNT
    assert (len(stub.batches.ordered), stub.asked) == (1, [])


def test_a_batch_is_set_aside_in_full_and_settled_when_it_is_taken_in(shop: Shop, stub: OpenAIStub) -> None:
    def spent() -> int:
        ledger = json.loads((shop.out.parent / ".state/model_budget.json").read_bytes())
        return sum(ledger["days"].values())

    budget = {"budget": ModelBudget(max_cost_per_month=10.0), "price": PRICE}
    shop.run(**budget)
    at_most = spent()
    stub.batches.status = "completed"
    used = metrics(shop.run(**budget))
    assert 0 < spent() < at_most
    assert spent() == used["model_prompt_tokens"] + used["model_completion_tokens"]


def test_a_limit_cuts_the_batch_and_the_rest_is_skipped(shop: Shop, stub: OpenAIStub) -> None:
    summary = shop.run(budget=ModelBudget(max_requests=21))
    assert (len(stub.batches.bodies), stub.asked) == (21, [])
    assert (metrics(summary)["model_tables_waiting"], metrics(summary)["model_tables_skipped_budget"]) == (21, 3)


def test_a_server_without_batches_is_named_with_the_fix(shop: Shop, stub: OpenAIStub) -> None:
    stub.batches.http_status = 404
    summary = shop.run()
    assert (summary.exit_code, "Delete 'batch: true'" in str(summary.error), stub.asked) == (2, True, [])


def test_an_outage_while_ordering_is_a_problem_and_nothing_is_asked_at_full_price(shop: Shop, stub: OpenAIStub) -> None:
    stub.batches.http_status = 500
    summary = shop.run(max_retries=0)
    assert (summary.exit_code, stub.asked, shop.is_waiting) == (3, [], False)
    assert "24 more tables were not asked about" in summary.problems[0].message
    stub.batches.http_status = 200
    assert metrics(shop.run())["model_tables_waiting"] == COUNT


def test_an_outage_while_waiting_changes_nothing(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    stub.batches.http_status = 500
    summary = shop.run(max_retries=0)
    assert (summary.exit_code, metrics(summary)["model_tables_waiting"], stub.asked) == (0, COUNT, [])


@pytest.mark.parametrize("status", [500, 400])
def test_an_outage_while_collecting_leaves_the_batch_for_a_later_run(shop: Shop, stub: OpenAIStub, status: int) -> None:
    shop.run()
    stub.batches.status, stub.batches.content_status = "completed", status
    summary = shop.run(max_retries=0)
    assert (summary.exit_code, metrics(summary)["model_tables_waiting"], stub.asked) == (0, COUNT, [])
    stub.batches.content_status = 200
    shop.run()
    assert (set(shop.sources().values()), stub.asked, shop.is_waiting) == ({"model"}, [], False)


def test_a_run_that_dies_while_it_settles_counts_what_was_set_aside(
    shop: Shop, stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spent() -> int:
        return sum(json.loads((shop.out.parent / ".state/model_budget.json").read_bytes())["days"].values())

    budget = {"budget": ModelBudget(max_cost_per_month=10.0), "price": PRICE}
    shop.run(**budget)
    at_most = spent()
    stub.batches.status = "completed"
    with monkeypatch.context() as killed:
        settle = Budget.settle

        def die(budget: Budget, reserved: Reservation, used: Usage) -> None:
            settle(budget, reserved, used)
            raise KeyboardInterrupt

        killed.setattr(Budget, "settle", die)
        with pytest.raises(KeyboardInterrupt):
            shop.run(**budget)
    shop.run(**budget)
    assert 0 < spent() < at_most


def test_a_batch_goes_to_its_own_deployment(shop: Shop, stub: OpenAIStub) -> None:
    shop.run(batch_model="batch-deployment")
    assert {body["model"] for body in stub.batches.bodies} == {"batch-deployment"}
    stub.batches.status = "completed"
    shop.run(batch_model="batch-deployment")
    assert (set(shop.sources().values()), stub.asked) == ({"model"}, []), "it is the same model"


def test_a_dry_run_orders_and_collects_nothing(shop: Shop, stub: OpenAIStub) -> None:
    shop.run(RunOptions(dry_run=True))
    assert stub.batches.files == {}
    shop.run()
    stub.batches.status = "completed"
    shop.run(RunOptions(dry_run=True))
    assert shop.is_waiting


def test_a_plan_asks_nothing_while_a_batch_is_under_way(shop: Shop, stub: OpenAIStub) -> None:
    config = DatabaseConfig("shop", ConnectionSpec("duckdb", {"path": str(shop.file)}), model=stub.settings(batch=True))
    before = plan_run(config, LocalStore(shop.out)).model
    shop.run()
    after = plan_run(config, LocalStore(shop.out)).model
    assert before is not None and after is not None
    assert (before.requests, after.requests) == (COUNT, 0)


def test_requests_of_a_batch_are_those_of_single_questions(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    (ordered,) = stub.batches.ordered
    assert (ordered["endpoint"], ordered["completion_window"]) == ("/v1/chat/completions", "24h")
    in_batch = {body["messages"][-1]["content"]: body for body in stub.batches.bodies}
    (shop.out / PENDING_KEY).unlink()
    shop.run(batch=False)
    assert {asked.body["messages"][-1]["content"]: asked.body for asked in stub.asked} == in_batch
