"""Vectors of texts, as far as no server is needed for them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from dictionary_pipeline.config.model_settings import ModelBudget, ModelSettings
from dictionary_pipeline.enrichment.model.embedding import Embedder
from dictionary_pipeline.publishing.local import LocalStore


def test_a_text_without_spaces_counts_a_token_for_each_sign(tmp_path: Path) -> None:
    settings = ModelSettings("compatible", "m", base_url="http://127.0.0.1:9/v1", budget=ModelBudget(max_tokens=10))
    store = LocalStore(tmp_path)
    embedder = Embedder(settings, "e", 3, None, store, store, lambda: date(2026, 1, 1))
    assert embedder.embed(["注文の明細を一行ずつ記録する"]) == {}
    assert (embedder.stopped, embedder.asked) == ("the limit max_tokens of 'model:' is reached", 0)
