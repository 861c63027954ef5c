"""Vectors of definitions in Azure AI Search, made by a double of an embedding model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from search_shop import ENTITIES, Output, Shop, opened_shop, published_project
from servers.embedding_stub import TOKENS, EmbeddingStub, running_embeddings


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published_project(tmp_path_factory.mktemp("published") / "project")


@pytest.fixture
def shop(published: Path, tmp_path: Path) -> Iterator[Shop]:
    with opened_shop(published, tmp_path) as project:
        yield project


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingStub]:
    monkeypatch.setenv("DD_TEST_EMBEDDING_KEY", "canary-model-key")
    with running_embeddings() as stub:
        yield stub


def with_vectors(shop: Shop, model: EmbeddingStub, more: str = "", dimensions: int = 3) -> None:
    """Let definitions have vectors from now on; only pushes ask the model."""
    shop.configure(
        f"  embedding: {{model: text-embedding-3-small, dimensions: {dimensions}, price: 1000}}\n"
        f"model:\n  provider: compatible\n  model: writer\n  base_url: {model.url}\n  max_retries: 0\n"
        f"  api_key_env: DD_TEST_EMBEDDING_KEY\n  prices: {{writer: {{input: 0, output: 0}}}}\n{more}"
    )


DESCRIBED = """sources:
  - name: main
    tables:
      - {name: customer, description: Who buys.}
      - {name: orders, description: What was bought when.}
      - {name: region, description: A part of the country.}
"""


def test_vectors_are_made_for_changed_definitions_only_and_kept(shop: Shop, model: EmbeddingStub) -> None:
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with_vectors(shop, model)
    assert shop.push() == 0
    assert sorted(model.texts) == ["A part of the country.", "What was bought when.", "Who buys."]
    field = next(item for item in shop.stub.indexes[ENTITIES]["fields"] if item["name"] == "DefinitionEmbedding")
    assert (field["dimensions"], field["stored"], field["retrievable"]) == (3, True, False)
    assert shop.stub.documents[ENTITIES][shop.key("main.customer")]["DefinitionEmbedding"] == [9.0, 1.0, 0.5]

    model.texts.clear()
    shop.configure()
    shop.sql("shop", "ALTER TABLE customer ADD COLUMN age INTEGER")
    file = shop.folder / "dbt_like_configs/databases/shop.yml"
    file.write_text(file.read_text().replace("A part of the country.", "A part of the world."))
    shop.refresh()
    with_vectors(shop, model)
    assert shop.push() == 0
    assert model.texts == ["A part of the world."]
    sent = {item["FQN"]: item for item in shop.stub.sent}
    assert set(sent) == {"main.customer", "main.region"}
    assert "DefinitionEmbedding" not in sent["main.customer"]  # a merge keeps the one that is there
    assert sent["main.region"]["DefinitionEmbedding"] == [20.0, 1.0, 0.5]

    model.texts.clear()
    assert shop.push("--full") == 0
    assert model.texts == [] and all("DefinitionEmbedding" in item for item in shop.stub.sent if "Columns" in item)

    shop.configure()  # no vectors any more: none may stay that a later definition would not fit
    file.write_text(file.read_text().replace("Who buys.", "Who bought."))
    assert shop.call("run") == 0
    assert shop.push() == 0
    assert shop.stub.documents[ENTITIES][shop.key("main.customer")]["DefinitionEmbedding"] is None


def test_a_limit_of_the_model_holds_vectors_back_until_it_allows_them(
    shop: Shop, model: EmbeddingStub, capsys: Output
) -> None:
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with_vectors(shop, model, "  max_cost_per_day: 0.000001\n")
    capsys.readouterr()
    assert shop.push() == 3
    assert "not every definition has its vector: the limit max_cost_per_day of 'model:'" in capsys.readouterr().err
    assert model.texts == [] and len(shop.tables()) == 3
    with_vectors(shop, model, "  max_cost_per_day: 1\n")
    assert shop.push() == 0
    assert len(model.texts) == 3
    assert {len(item["DefinitionEmbedding"]) for item in shop.stub.documents[ENTITIES].values()} == {3}
    ledger = json.loads((shop.folder / "published/.state/model_budget.json").read_text())
    assert sum(ledger["days"].values()) == TOKENS * 1000  # in millionths


def test_a_model_that_fails_costs_the_vectors_only(shop: Shop, model: EmbeddingStub, capsys: Output) -> None:
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with_vectors(shop, model)
    model.failing_status = 503
    capsys.readouterr()
    assert shop.push() == 3
    said = capsys.readouterr().err
    assert "not every definition has its vector: the server is overloaded or failing" in said and "Who buys" not in said
    assert len(shop.tables()) == 3
    model.failing_status = 0
    assert shop.push() == 0
    assert len(model.texts) == len(shop.stub.sent) == 3


def test_a_model_that_knows_no_dimensions_is_asked_without(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DD_TEST_EMBEDDING_KEY", "canary-model-key")
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with running_embeddings(knows_dimensions=False) as old:
        with_vectors(shop, old)
        assert shop.push() == 0
        assert len(old.texts) == 3


def test_vectors_of_another_length_than_configured_are_refused(
    shop: Shop, model: EmbeddingStub, capsys: Output
) -> None:
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with_vectors(shop, model, dimensions=4)
    assert shop.push() == 2
    assert "text-embedding-3-small gives vectors of 3 numbers, not 4. Correct 'dimensions'" in capsys.readouterr().err
