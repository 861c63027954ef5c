"""Definitions by a real, very small model on a real server with OpenAI's chat completions.

The model is far too small to say anything true; it likes to repeat its input. What is tested is that the
whole path works with a server that was not written for these tests, and that what the model says wrongly
does not get through.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig
from dictionary_pipeline.enrichment.model import interview
from dictionary_pipeline.enrichment.model.answers import Answer, read_answer
from dictionary_pipeline.enrichment.model.asking import Question
from dictionary_pipeline.enrichment.model.texts import Guard
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.reading import bundle_in

NAME = "smollm2"
CITIES = ("Springfield Harbour", "Kilmarnock Junction", "Northwich Meadows")
SHOP = """
    CREATE TABLE customer (id INTEGER PRIMARY KEY, city TEXT, nickname TEXT);
    CREATE TABLE invoice (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id),
                          issued_on DATE, total NUMERIC(10,2), remark TEXT);
    CREATE TABLE vbap_hist (vbeln CHAR(10), posnr CHAR(6), kwmeng NUMERIC(13,3), waerk CHAR(5),
                            PRIMARY KEY (vbeln, posnr));
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of the running server."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [os.environ["DD_TEST_LLM_PYTHON"], str(Path(__file__).with_name("serve.py"))]
    command += [os.environ["DD_TEST_LLM_MODEL"], str(port), NAME]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        address = f"http://127.0.0.1:{port}/v1"
        try:
            _wait(address, process)
            yield address
        finally:
            process.communicate(timeout=30)


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(f"{address}/models", timeout=5):
                return
        except OSError:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.5)


class Told(NamedTuple):
    """What came of asking the model about the shop."""

    folder: Path
    """The published one."""
    first: RunSummary
    second: RunSummary
    faults: list[str]
    """What was wrong with the model's answers of both runs, repaired or not."""


@pytest.fixture(scope="module")
def told(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """Two runs over a little shop."""
    folder = tmp_path_factory.mktemp("shop")
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.executescript(SHOP)
        connection.executemany(
            "INSERT INTO customer VALUES (?, ?, ?)", [(i, CITIES[i % 3], f"n{i}") for i in range(30)]
        )
        rows = [(i, i % 30, f"2024-03-{1 + i % 28:02}", 5 * i, f"Paid at the {CITIES[i % 3]} desk") for i in range(90)]
        connection.executemany("INSERT INTO invoice VALUES (?, ?, ?, ?, ?)", rows)
        connection.executemany(
            "INSERT INTO vbap_hist VALUES (?, '000010', 3, 'EUR')", [(f"{i:010}",) for i in range(40)]
        )
    connection.close()
    settings = ModelSettings(
        "compatible", NAME, base_url=server, api_key_env=None, temperature=0.0, concurrency=1, samples="values",
        timeout_seconds=600.0,
    )  # fmt: skip
    config = DatabaseConfig("shop", ConnectionSpec("sqlite", {"path": str(folder / "shop.db")}), model=settings)
    store = LocalStore(folder / "published" / "shop")
    faults: list[str] = []

    def reading(text: str, question: Question, guard: Guard) -> Answer:
        answer = read_answer(text, question, guard)
        faults.extend(answer.faults)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interview, "read_answer", reading)
        yield Told(folder / "published" / "shop", run_database(config, store), run_database(config, store), faults)


def model_metrics(summary: RunSummary) -> dict[str, Any]:
    return next(dict(report.metrics) for report in summary.reports if report.stage == "entity_definitions")


def test_every_column_of_every_table_has_a_definition_and_the_usage_is_counted(told: Told) -> None:
    assert told.first.error is None
    entries = bundle_in(LocalStore(told.folder)).entries()
    assert {entry["Entity"]: [column["Name"] for column in entry["Columns"]] for entry in entries} == {
        "customer": ["id", "city", "nickname"],
        "invoice": ["id", "customer_id", "issued_on", "total", "remark"],
        "vbap_hist": ["vbeln", "posnr", "kwmeng", "waerk"],
    }
    assert all(column["Definition"] for entry in entries for column in entry["Columns"])
    used = model_metrics(told.first)
    assert used["model_requests"] >= 3
    assert used["model_prompt_tokens"] > 0
    assert used["model_completion_tokens"] > 0


def test_texts_of_the_model_get_through_under_their_own_name(told: Told) -> None:
    columns = pl.read_parquet(told.folder / "catalog" / "columns.parquet")
    assert "model" in set(columns["definition_source"])


def test_copied_samples_are_rejected_and_stand_in_no_definition(told: Told) -> None:
    assert [fault for fault in told.faults if fault.endswith("quotes a sample")]
    for entry in bundle_in(LocalStore(told.folder)).entries():
        texts = [entry["Definition"], *(column["Definition"] for column in entry["Columns"])]
        samples = {str(value) for column in entry["Columns"] for value in column["SampleValues"] or ()}
        assert [text for text in texts for sample in samples if len(sample) >= 5 and sample in text] == []


def test_what_was_accepted_is_not_asked_again(told: Told) -> None:
    assert told.second.error is None
    assert model_metrics(told.second)["model_requests"] < model_metrics(told.first)["model_requests"]
