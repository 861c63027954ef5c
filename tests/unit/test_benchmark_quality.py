"""What the quality harness counts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def quality(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "benchmarks"))
    import quality as module

    return module


def entry(table: str, definition: str, **columns: str) -> dict[str, Any]:
    return {
        "Entity": table,
        "Schema": "main",
        "EntityName": table.title(),
        "Definition": definition,
        "FQN": f"main.{table}",
        "Columns": [{"Name": name, "DataType": "int", "Definition": text} for name, text in columns.items()],
    }


def test_a_question_finds_the_text_that_shares_its_words(quality: ModuleType) -> None:
    ranking = quality.Ranking(["Prices of products", "Companies that sell", "Orders"])
    assert ranking.rank("the price of a product", 0) == 1
    assert ranking.rank("an order", 0) == 2.5, "two texts share nothing with it"


def test_reciprocal_ranks_and_columns_are_averaged(quality: ModuleType) -> None:
    entries = {
        ("main", "a"): entry("a", "Sales areas.", x="Number of the area.", y="Name."),
        ("main", "b"): entry("b", "Clerks.", z="Pay."),
    }
    found = quality.score(
        entries,
        {("main", "a"): "All sales areas", ("main", "b"): "areas of sales"},
        {("main", "a", "x"): "the name", ("main", "a", "y"): "its name"},
    )
    assert found.table_mrr_definition == 0.75
    assert found.column_top1 == 0.5


def test_numbers_units_and_names_that_stand_nowhere_are_claims(quality: ModuleType) -> None:
    item = entry("shop", "One of 7 shops in Paris, weighing 12 kg.", max_12="At most 12, of the shop.")
    assert quality.invented(item) == ["main.shop: 7", "main.shop: Paris", "main.shop: kg"]
