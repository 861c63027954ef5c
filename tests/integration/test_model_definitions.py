"""Definitions by a model, from a real database to the published bundle, against a stub of the provider."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from servers.openai_stub import KEY, KEY_VARIABLE, Asked, OpenAIStub, Reply, answer, running_stub

from dictionary_pipeline.config.model_settings import ModelBudget, ModelPrice
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, HumanColumn, HumanKnowledge, HumanTable
from dictionary_pipeline.enrichment.model.client import ModelUnavailable
from dictionary_pipeline.enrichment.model.paying import run_usage
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.plan import plan_run
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.run import RunOptions, open_run
from dictionary_pipeline.stages import STAGES

SHOP = """
    CREATE TABLE region (id INTEGER PRIMARY KEY, name VARCHAR);
    CREATE TABLE customer (id INTEGER PRIMARY KEY, region_id INTEGER REFERENCES region (id), email VARCHAR,
                           phone VARCHAR, password_hash VARCHAR, nickname VARCHAR);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id), channel VARCHAR,
                         remark VARCHAR);
    CREATE VIEW open_orders AS SELECT id, channel FROM orders;
    COMMENT ON COLUMN orders.channel IS 'Where the order came from';
    INSERT INTO region SELECT i, 'Region ' || i FROM range(5) t(i);
    INSERT INTO customer SELECT i, i % 5, 'cust' || i || '@shop.example', '555-01' || (10 + i),
                                'c0ffee' || (1000000 + i * 7919), 'zebra' || i FROM range(40) t(i);
    INSERT INTO orders SELECT i, i % 40, 'web', 'Purple elephant ' || (i % 3) FROM range(100) t(i);
"""
TABLES = {"main.region", "main.customer", "main.orders", "main.open_orders"}


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with running_stub() as server:
        yield server


class Shop:
    """A database file and its bundle."""

    def __init__(self, folder: Path, stub: OpenAIStub) -> None:
        self.file, self.out, self.stub = folder / "shop.duckdb", folder / "published" / "shop", stub
        self.execute(SHOP)

    def execute(self, script: str) -> None:
        with duckdb.connect(str(self.file)) as connection:
            connection.execute(script)

    def run(self, options: RunOptions | None = None, human: HumanKnowledge | None = None, **model: Any) -> RunSummary:
        self.stub.forget()
        config = self.config(human, **model)
        store, shared = LocalStore(self.out), LocalStore(self.out.parent)
        return run_database(config, store, options=options or RunOptions(), shared=shared)

    def config(self, human: HumanKnowledge | None = None, **model: Any) -> DatabaseConfig:
        return DatabaseConfig(
            "shop",
            ConnectionSpec("duckdb", {"path": str(self.file)}),
            model=self.stub.settings(**{"concurrency": 1, **model}),
            human=human or HumanKnowledge(),
        )

    def columns(self) -> pl.DataFrame:
        return pl.read_parquet(self.out / "catalog" / "columns.parquet")

    def tables(self) -> dict[str, dict[str, Any]]:
        frame = pl.read_parquet(self.out / "catalog" / "tables.parquet")
        return {row["table"]: row for row in frame.iter_rows(named=True)}


@pytest.fixture
def shop(tmp_path: Path, stub: OpenAIStub) -> Shop:
    return Shop(tmp_path, stub)


def metrics(summary: RunSummary) -> dict[str, Any]:
    return next(dict(report.metrics) for report in summary.reports if report.stage == "entity_definitions")


def asked_tables(stub: OpenAIStub) -> list[str]:
    return [asked.table for asked in stub.asked]


def test_each_table_is_asked_about_once_parents_first_and_its_texts_are_published(shop: Shop, stub: OpenAIStub) -> None:
    summary = shop.run()
    assert summary.exit_code == 0, summary
    order = asked_tables(stub)
    # The view's columns: `channel` is inherited, `id` is not described by anyone.
    assert sorted(order) == sorted(TABLES)
    assert order.index("main.region") < order.index("main.customer") < order.index("main.orders")
    assert stub.asked[order.index("main.orders")].payload["references"][0]["meaning"] == "Written about main.customer."
    customer = shop.tables()["customer"]
    assert (customer["definition"], customer["definition_source"]) == ("Written about main.customer.", "model")
    assert (customer["entity_name"], customer["entity_name_source"]) == ("Thing", "model")
    sources = dict(shop.columns().filter(table="orders").select("column", "definition_source").iter_rows())
    assert sources == {"id": "model", "customer_id": "model", "channel": "database", "remark": "model"}
    assert metrics(summary)["model_requests"] == 4


def test_an_unchanged_database_asks_nothing_and_writes_the_same_bytes(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    before = (shop.out / "manifest.json").read_bytes()
    summary = shop.run()
    assert stub.asked == []
    assert metrics(summary)["model_tables_kept"] == 4
    assert (shop.out / "manifest.json").read_bytes() == before


def test_new_rows_ask_nothing(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    shop.execute("INSERT INTO orders SELECT i, i % 40, 'shop', 'Green ' || i FROM range(100, 300) t(i)")
    shop.run()
    assert stub.asked == []


def test_one_changed_column_asks_about_its_table_only(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    shop.execute("ALTER TABLE orders ADD COLUMN weight DECIMAL(9, 2)")
    shop.run()
    assert asked_tables(stub) == ["main.orders"]


def test_force_asks_again_only_where_the_run_works(shop: Shop, stub: OpenAIStub) -> None:
    shop.run()
    shop.run(RunOptions(entities=("region",), force=frozenset(["definitions"])))
    assert asked_tables(stub) == ["main.region"]


def test_a_dry_run_spends_nothing(shop: Shop, stub: OpenAIStub) -> None:
    summary = shop.run(RunOptions(dry_run=True))
    assert (stub.asked, metrics(summary)["model_tables_not_asked"]) == ([], 4)


def test_people_win_are_told_to_the_model_and_are_not_asked_about(shop: Shop, stub: OpenAIStub) -> None:
    told = HumanTable(
        "main", "region", "Sales areas.", "Sales Area", (HumanColumn("id", "Its number."), HumanColumn("name", "Name."))
    )
    shop.run(human=HumanKnowledge(tables=(told,)))
    assert "main.region" not in asked_tables(stub)
    customer = next(asked for asked in stub.asked if asked.table == "main.customer")
    assert customer.payload["references"][0]["meaning"] == "Sales areas."
    assert shop.tables()["region"]["definition_source"] == "human"


@pytest.mark.parametrize("mode", ["none", "types", "masked", "values"])
def test_no_withheld_value_is_in_any_request(shop: Shop, stub: OpenAIStub, mode: str) -> None:
    shop.execute("COMMENT ON TABLE customer IS 'Ask cust7@shop.example, 555-0117, about c0ffee1055433'")
    shop.run(samples=mode)
    assert len(stub.asked) == 4
    for value in ("@shop.example", "555-01", "c0ffee"):
        assert value not in stub.bodies
    assert ("Purple elephant 0" in stub.bodies) == (mode == "values")
    assert ("Aaaaaa aaaaaaaa 9" in stub.bodies) == (mode == "masked")


def test_the_key_shows_in_no_file_and_no_report(shop: Shop, stub: OpenAIStub) -> None:
    summary = shop.run()
    assert stub.asked[0].headers["authorization"] == f"Bearer {KEY}"
    written = b"".join(path.read_bytes() for path in shop.out.rglob("*") if path.is_file())
    assert KEY.encode() not in written and KEY not in repr(summary)


def fail(number: int, reply: Reply) -> Any:
    """A script that sends one reply first so often."""
    return lambda asked: reply if asked.number <= number else None


@pytest.mark.parametrize(
    "reply",
    [
        Reply(429, headers={"Retry-After": "0"}),
        Reply(429),
        Reply(500),
        Reply(503),
        Reply(delay=0.6, content="{}"),
    ],
    ids=["429 with Retry-After", "429", "500", "503", "slow"],
)
def test_a_passing_fault_is_repeated_by_the_client(shop: Shop, stub: OpenAIStub, reply: Reply) -> None:
    stub.script = fail(1, reply)
    summary = shop.run(timeout_seconds=0.3)
    assert (summary.exit_code, metrics(summary)["model_requests"]) == (0, 4)
    assert len(stub.asked) == 5


@pytest.mark.parametrize("status", [500, 429])
def test_an_outage_costs_its_tables_and_names_them(shop: Shop, stub: OpenAIStub, status: int) -> None:
    shop.run()
    shop.execute("ALTER TABLE orders ADD COLUMN weight DECIMAL(9, 2); ALTER TABLE region ADD COLUMN code VARCHAR")
    stub.script = lambda asked: Reply(status, headers={"Retry-After": "0"})
    summary = shop.run(max_retries=1)
    assert summary.exit_code == 3
    assert {problem.object for problem in summary.problems} == {"main.orders", "main.region"}
    assert {problem.code for problem in summary.problems} == {str(status)}
    # What was written before stays; the new columns are derived.
    assert shop.tables()["orders"]["definition_source"] == "model"
    stub.script = lambda asked: None
    assert shop.run().exit_code == 0
    assert sorted(asked_tables(stub)) == ["main.orders", "main.region"]


def test_after_three_failures_in_a_row_no_further_table_is_asked_about(shop: Shop, stub: OpenAIStub) -> None:
    stub.script = lambda asked: Reply(500)
    summary = shop.run(max_retries=0)
    assert len(stub.asked) == 3
    assert "1 more tables were not asked about" in " ".join(problem.message for problem in summary.problems)


def test_wrong_credentials_end_the_run_as_a_configuration_error(shop: Shop, stub: OpenAIStub) -> None:
    stub.script = lambda asked: Reply(401, error={"message": "Incorrect API key provided: canary-text"})
    summary = shop.run()
    assert isinstance(summary.error, ConfigurationError) and summary.exit_code == 2
    assert KEY_VARIABLE in str(summary.error) and "canary-text" not in str(summary.error)


def test_a_missing_key_is_named(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    summary = shop.run()
    assert summary.exit_code == 2 and KEY_VARIABLE in str(summary.error)


def test_a_used_up_quota_stops_the_asking(shop: Shop, stub: OpenAIStub) -> None:
    stub.script = lambda asked: Reply(429, error={"code": "insufficient_quota"})
    summary = shop.run(max_retries=0)
    assert (len(stub.asked), summary.exit_code) == (1, 3)


ORDERS = "main.orders"


def only_orders(make: Any) -> Any:
    """A script for one table's first request; the others are answered as usual."""
    return lambda asked: make(asked) if asked.table == ORDERS and "was wrong" not in str(asked.body) else None


@pytest.mark.parametrize(
    "make",
    [
        lambda asked: Reply(content=answer(asked)[:60], finish="length"),
        lambda asked: Reply(content="I am sorry"),
        lambda asked: Reply(content=answer(asked, columns={"remark": ""})),
        lambda asked: Reply(content=json.dumps({**json.loads(answer(asked)), "columns": {"other": "Wrong."}})),
        lambda asked: Reply(content=answer(asked, columns={"remark": "Says purple Elephant 2."})),
        lambda asked: Reply(content=answer(asked, columns={"remark": "See http://evil.example/x"})),
        lambda asked: Reply(content=answer(asked, definition="<b>Orders</b>")),
    ],
    ids=["cut", "no JSON", "empty text", "wrong columns", "copied sample", "link", "markup"],
)
def test_an_unacceptable_answer_is_repaired_once(shop: Shop, stub: OpenAIStub, make: Any) -> None:
    stub.script = only_orders(make)
    summary = shop.run(samples="values")
    assert (summary.exit_code, len(stub.asked)) == (0, 5)
    remark = shop.columns().filter(table="orders", column="remark")
    assert remark["definition"].to_list() == ["Written about remark."]
    assert shop.tables()["orders"]["definition"] == "Written about main.orders."


def test_an_answer_is_kept_when_the_budget_ends_before_its_repair(shop: Shop, stub: OpenAIStub) -> None:
    stub.script = only_orders(lambda asked: Reply(content=answer(asked, columns={"remark": ""})))
    shop.run(budget=ModelBudget(max_requests=3))
    assert asked_tables(stub)[-1] == ORDERS, "its repair would be the fourth request"
    sources = dict(shop.columns().filter(table="orders").select("column", "definition_source").iter_rows())
    assert (sources["remark"], sources["id"]) == ("derived", "model")


def test_what_stays_unacceptable_keeps_its_derived_text_and_is_a_problem(shop: Shop, stub: OpenAIStub) -> None:
    def bad(asked: Asked) -> Reply | None:
        return Reply(content=answer(asked, columns={"remark": "<i>"})) if "remark" in asked.columns else None

    stub.script = bad
    summary = shop.run()
    assert (summary.exit_code, len(stub.asked)) == (3, 5)
    (problem,) = summary.problems
    assert problem.object == ORDERS and "remark: holds markup" in problem.message
    sources = dict(shop.columns().filter(table="orders").select("column", "definition_source").iter_rows())
    assert (sources["remark"], sources["id"]) == ("derived", "model")
    stub.script = lambda asked: None
    shop.run()
    assert [asked.columns for asked in stub.asked] == [["remark"]]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(refusal="No."), "declined"),
        (Reply(finish="content_filter"), "content filter"),
        (Reply(400, error={"code": "content_filter"}), "content filter"),
        (Reply(400, error={"code": "strange", "message": "canary-text"}), "refuses the request"),
        (Reply(raw=b"<html>gateway</html>"), "not one of a model"),
    ],
    ids=["refusal", "filter", "filter as error", "bad request", "no completion"],
)
def test_a_refused_table_is_a_problem_and_costs_no_other(
    shop: Shop, stub: OpenAIStub, reply: Reply, words: str
) -> None:
    stub.script = lambda asked: reply if asked.table == ORDERS else None
    summary = shop.run()
    assert summary.exit_code == 3
    (problem,) = summary.problems
    assert problem.object == ORDERS and words in problem.message and "canary-text" not in str(summary.as_json())
    assert shop.tables()["orders"]["definition_source"] == "derived"
    assert shop.tables()["region"]["definition_source"] == "model"


def test_an_answer_that_says_unknown_leaves_the_derived_text_and_is_not_asked_again(
    shop: Shop, stub: OpenAIStub
) -> None:
    stub.script = lambda asked: Reply(content=answer(asked, definition="Unknown.")) if asked.table == ORDERS else None
    assert shop.run().exit_code == 0
    assert shop.tables()["orders"]["definition_source"] == "derived"
    shop.run()
    assert stub.asked == []


def test_a_reached_budget_skips_the_rest_and_the_next_run_goes_on(shop: Shop, stub: OpenAIStub) -> None:
    summary = shop.run(budget=ModelBudget(max_requests=2))
    assert (summary.exit_code, len(stub.asked)) == (0, 2)
    assert metrics(summary)["model_tables_skipped_budget"] == 2
    report = next(report for report in summary.reports if report.stage == "entity_definitions")
    check = next(check for check in report.checks if check.name == "model_budget_sufficed")
    assert not check.passed and "max_requests" in check.description
    assert any("max_requests was reached: 2 tables" in warning for warning in summary.warnings)
    shop.run(budget=ModelBudget(max_requests=2))
    assert len(stub.asked) == 2
    assert shop.run().exit_code == 0 and stub.asked == []


def test_a_daily_limit_counts_over_runs_and_is_kept_beside_all_databases(shop: Shop, stub: OpenAIStub) -> None:
    terms = {"price": ModelPrice(input=1000.0, output=1000.0), "budget": ModelBudget(max_cost_per_day=1.5)}
    first = shop.run(**terms)
    assert 0 < metrics(first)["model_cost"] <= 1.5 and metrics(first)["model_tables_skipped_budget"] > 0
    ledger = json.loads((shop.out.parent / ".state" / "model_budget.json").read_text())
    assert sum(ledger["days"].values()) == pytest.approx(metrics(first)["model_cost"] * 1e6, abs=2)


def test_formats_and_parameters_that_a_server_does_not_know_are_given_up_once(shop: Shop, stub: OpenAIStub) -> None:
    def old_server(asked: Asked) -> Reply | None:
        if "max_completion_tokens" in asked.body:
            return Reply(400, error={"message": "Unrecognized request argument: max_completion_tokens"})
        if "temperature" in asked.body:
            return Reply(400, error={"param": "temperature", "code": "unsupported_value"})
        if "response_format" in asked.body:
            return Reply(400, error={"message": "response_format is not supported"})
        return Reply(content=f"Here you are:\n```json\n{answer(asked)}\n```")

    stub.script = old_server
    assert shop.run(temperature=0).exit_code == 0
    assert len(stub.asked) == 4 + 5
    assert shop.tables()["orders"]["definition_source"] == "model"


def test_a_plan_tells_what_a_run_would_ask(shop: Shop, stub: OpenAIStub) -> None:
    config = shop.config(price=ModelPrice(input=1000.0, output=1000.0))
    before = plan_run(config, LocalStore(shop.out)).model
    assert before is not None and before.requests == 4 and before.cost == pytest.approx(before.tokens / 1000)
    assert stub.asked == []
    assert "4 requests" in before.line(ModelBudget(max_requests=4)) and "more than" not in before.line(ModelBudget())
    assert "(max_requests: 3, max_cost: 1e-06)" in before.line(ModelBudget(max_requests=3, max_cost=0.000001))
    shop.run()
    assert before.tokens < 2 * (metrics(shop.run(RunOptions(force=frozenset(["definitions"]))))["model_prompt_tokens"])
    after = plan_run(config, LocalStore(shop.out)).model
    assert after is not None and after.requests == 0


def test_an_answer_that_is_cut_is_asked_for_in_halves(shop: Shop, stub: OpenAIStub) -> None:
    columns = ", ".join(f"field_{number} INTEGER" for number in range(19))
    shop.execute(f"CREATE TABLE wide (id INTEGER PRIMARY KEY, {columns})")
    stub.script = lambda asked: Reply(content="{", finish="length") if len(asked.columns) > 10 else None
    assert shop.run().exit_code == 0
    assert [len(asked.columns) for asked in stub.asked if asked.table == "main.wide"] == [20, 10, 10]


def test_a_wide_table_is_asked_about_in_parts_with_the_same_header(shop: Shop, stub: OpenAIStub) -> None:
    columns = ", ".join(f"field_{number} INTEGER" for number in range(120))
    shop.execute(f"CREATE TABLE wide (id INTEGER PRIMARY KEY, {columns})")
    shop.run()
    parts = [asked for asked in stub.asked if asked.table == "main.wide"]
    assert [len(part.columns) for part in parts] == [50, 50, 21]
    assert all(part.payload["primary_key"] == ["id"] for part in parts)
    assert "definition" in parts[0].schema["properties"] and "definition" not in parts[1].schema["properties"]


def test_fifty_columns_cost_an_eighth_of_what_the_predecessor_sends(shop: Shop, stub: OpenAIStub) -> None:
    columns = ", ".join(f"some_attribute_{number} DECIMAL(12, 2)" for number in range(49))
    shop.execute(f"CREATE TABLE wide (id INTEGER PRIMARY KEY, {columns})")
    shop.run()
    (asked,) = [asked for asked in stub.asked if asked.table == "main.wide"]
    # It sends 1,772 + 172 characters for each column, and 692 + 184 + 257 + 72 for the table.
    assert asked.characters <= (50 * (1772 + 172) + 692 + 184 + 257 + 72) / 8


def predecessor(stub: OpenAIStub) -> dict[str, str]:
    return {
        "OpenAI__Endpoint": stub.url.removesuffix("/v1"),
        "OpenAI__ApiVersion": "2024-10-21",
        "OpenAI__MiniCompletionDeployment": "mini",
        "OpenAI__ApiKey": KEY,
    }


@pytest.mark.parametrize("missing", [(), ("OpenAI__ApiKey", "OpenAI__Endpoint")], ids=["all", "some missing"])
def test_the_predecessors_command_and_variables_work(
    shop: Shop, stub: OpenAIStub, tmp_path: Path, missing: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "dictionary_pipeline", "build", str(shop.file), "-o", "out", "-gen"]
    variables = {name: value for name, value in predecessor(stub).items() if name not in missing}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OpenAI__")}
    done = subprocess.run(
        command, cwd=tmp_path, env={**environment, **variables}, capture_output=True, text=True, timeout=120
    )
    if missing:
        assert done.returncode == 2 and all(name in done.stderr for name in missing)
        assert not (tmp_path / "out").exists()
        return
    assert done.returncode == 0, done.stderr
    assert {asked.path for asked in stub.asked} == {"/openai/deployments/mini/chat/completions?api-version=2024-10-21"}
    entry = json.loads((tmp_path / "out" / "schema_store" / "shop.main.region.json").read_text())
    assert (entry["EntityName"], entry["Definition"]) == ("Thing", "Written about main.region.")
    assert KEY not in done.stdout + done.stderr


def test_an_outage_is_left_to_a_caller_who_repeats_the_run(shop: Shop, stub: OpenAIStub) -> None:
    stub.script = lambda asked: None if asked.number == 1 else Reply(500)
    with open_run(shop.config(max_retries=0), LocalStore(shop.out), run_id="r", may_retry=True) as run:
        for stage in STAGES[:3]:
            stage.run(run)
        with pytest.raises(ModelUnavailable):
            STAGES[3].run(run)
        stub.script = lambda asked: None
        before = asked_tables(stub)
        STAGES[3].run(run)
    assert before[0] not in asked_tables(stub)[len(before) :], "what was answered is kept"


def test_what_was_used_before_an_outage_counts_for_the_repeated_run(shop: Shop, stub: OpenAIStub) -> None:
    stub.script = lambda asked: None if asked.number == 1 else Reply(500)
    with open_run(shop.config(max_retries=0), LocalStore(shop.out), run_id="r", may_retry=True) as run:
        for stage in STAGES[:3]:
            stage.run(run)
        with pytest.raises(ModelUnavailable):
            STAGES[3].run(run)
        assert run_usage(run.store, "r").requests == len(stub.asked)
    stub.script = lambda asked: None
    limit = len(stub.asked)
    with open_run(
        shop.config(budget=ModelBudget(max_requests=limit)), LocalStore(shop.out), run_id="r", may_retry=True
    ) as run:
        report = STAGES[3].run(run)
    assert len(stub.asked) == limit, "nothing is left of the run's limit"
    assert report.metrics["model_tables_skipped_budget"]


PROJECT = """
model:
  provider: compatible
  model: stub-model
  base_url: {url}
  api_key_env: {variable}
  concurrency: 1
"""
DATABASE = """
connection: {{type: duckdb, path: {path}}}
"""


def test_a_killed_run_asks_only_what_it_had_not_asked(shop: Shop, stub: OpenAIStub, tmp_path: Path) -> None:
    configuration = tmp_path / "dbt_like_configs"
    (configuration / "databases").mkdir(parents=True)
    (configuration / "project.yml").write_text(PROJECT.format(url=stub.url, variable=KEY_VARIABLE))
    (configuration / "databases" / "shop.yml").write_text(DATABASE.format(path=shop.file))
    command = [sys.executable, "-m", "dictionary_pipeline", "run", "shop", "--project", str(tmp_path)]
    stub.script = lambda asked: Reply(delay=30) if asked.number == 3 else None
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(stub.asked) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)  # until the second answer is on disk
    process.send_signal(signal.SIGKILL)
    process.wait()
    first = asked_tables(stub)[:2]
    stub.forget()
    stub.script = lambda asked: None
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ})
    assert done.returncode == 0, done.stderr
    assert sorted(asked_tables(stub)) == sorted(TABLES - set(first))
