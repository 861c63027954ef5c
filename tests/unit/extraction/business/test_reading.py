"""What is asked, kept and counted over the stages of a run."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from servers.openai_stub import KEY, KEY_VARIABLE, Asked, Reply, running_stub

from dictionary_pipeline.config.graph_settings import GraphSettings
from dictionary_pipeline.config.model_settings import ModelBudget, ModelSettings
from dictionary_pipeline.enrichment.model.budget import Budget, BudgetReached, Usage
from dictionary_pipeline.enrichment.model.outcome import Status
from dictionary_pipeline.enrichment.model.paying import RUN_KEY, add_run_usage, run_usage
from dictionary_pipeline.extraction.business.asking import unit_hash
from dictionary_pipeline.extraction.business.keeping import FOLDER, Kept, drop_others, load_kept, save_kept
from dictionary_pipeline.extraction.business.prompts import prompts_of
from dictionary_pipeline.extraction.business.reading import Readings, Terms, read_units
from dictionary_pipeline.extraction.business.records import Found
from dictionary_pipeline.extraction.business.units import TextUnit
from dictionary_pipeline.publishing.local import LocalStore
from unit.extraction.business.texts import edge, entity, found, unit

MODEL = ModelSettings("openai", "m")


def test_what_is_kept_is_read_back_unchanged(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    kept = Kept("h", found(entity("Ä\n"), edge("a", "b", weight=2.5)) | Found(malformed=("x",)), is_whole=False)
    save_kept(store, "docs/a.md#start", kept)
    assert load_kept(store, "docs/a.md#start") == kept
    assert load_kept(store, "docs/b.md#start") is None


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"{}", b'{"format": 1}', b'{"format": 1, "unit": "u", "hash": 3}']
)
def test_damaged_state_is_lost_state(tmp_path: Path, damage: bytes) -> None:
    store = LocalStore(tmp_path)
    save_kept(store, "u", Kept("h", Found(), True))
    (item,) = store.list(f"{FOLDER}/")
    store.write(item.key, damage)
    assert load_kept(store, "u") is None


def test_units_that_are_no_more_are_forgotten(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    for key in ("a", "b"):
        save_kept(store, key, Kept("h", Found(), True))
    drop_others(store, ["b"])
    assert load_kept(store, "a") is None and load_kept(store, "b") is not None


def test_what_a_run_used_counts_for_its_own_stages_only(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    add_run_usage(store, "r1", Usage())
    assert store.read(RUN_KEY) is None
    add_run_usage(store, "r1", Usage(1, 10, 2, 3))
    add_run_usage(store, "r1", Usage(1, 1, 1, 1))
    assert run_usage(store, "r1") == Usage(2, 11, 3, 4)
    assert run_usage(store, "r2") == Usage()
    store.write(RUN_KEY, b"{")
    assert run_usage(store, "r1") == Usage()


def test_earlier_stages_count_against_the_limits_of_a_run() -> None:
    budget = Budget(ModelBudget(max_requests=3), None, None, before=Usage(2))
    budget.settle(budget.reserve(1, 1), Usage(1, 1, 0, 1))
    with pytest.raises(BudgetReached):
        budget.reserve(1, 1)
    assert budget.used == Usage(1, 1, 0, 1)


@pytest.mark.parametrize(
    "change",
    [{"entity_types": ("GEO",)}, {"format": "delimited"}, {"max_gleanings": 1}, {"language": "German"}],
)
def test_an_answer_is_good_only_for_what_it_was_asked_with(change: dict[str, Any]) -> None:
    def hashed(settings: GraphSettings, one: TextUnit) -> str:
        return unit_hash(one, settings, MODEL, prompts_of(settings, MODEL))

    base = hashed(GraphSettings(), unit("a", "Acme"))
    assert hashed(GraphSettings(), unit("b", "Acme")) == base, "texts may move"
    assert hashed(GraphSettings(**change), unit("a", "Acme")) != base
    assert hashed(GraphSettings(), unit("a", "Acme.")) != base
    assert hashed(GraphSettings(max_reject_rate=0.1, aliases={"A": ("B",)}), unit("a", "Acme")) == base


@pytest.mark.parametrize("form", ["json", "delimited"])
def test_the_prompts_name_types_and_language(form: Any) -> None:
    settings = GraphSettings(format=form, entity_types=("TEAM", "SITE"), language="Norwegian")
    prompts = prompts_of(settings, MODEL)
    assert "one of TEAM, SITE." in prompts.extract and "IS_RECORDED_IN, MANAGES," in prompts.extract
    assert "one sentence in Norwegian" in prompts.extract and "English" not in prompts.extract
    assert "{language}" not in prompts.extract and "{entity_types}" not in prompts.extract
    own = prompts_of(GraphSettings(prompt="Find {entity_types}."), MODEL)
    assert own.extract.startswith("Find ORGANIZATION, PERSON") and own.hash != prompts.hash


def terms(store: LocalStore, model: ModelSettings, **changes: Any) -> Terms:
    return Terms(
        database="shop",
        stage="knowledge_graph",
        settings=GraphSettings(format="delimited", max_gleanings=1),
        model=model,
        store=store,
        ledger=store,
        today=lambda: date(2026, 1, 1),
        **changes,
    )


def test_gleaning_that_ends_early_is_made_up_for_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    store = LocalStore(tmp_path)

    def script(asked: Asked) -> Reply:
        name = "Acme" if len(asked.body["messages"]) == 2 else "Bolt"
        return Reply(content=f'("entity"<|>{name}<|>GEO<|>x)##')

    def read(**limits: Any) -> Readings:
        budget = ModelBudget(**limits)
        return read_units([unit("a", "Acme Bolt")], terms(store, stub.settings(budget=budget)))

    with running_stub() as stub:
        stub.script = script
        first = read(max_requests=1)
        assert dict(first.statuses) == {"a": Status.PARTIAL} and first.limit == "max_requests"
        assert first.found == {"a": found(entity("Acme", "GEO", "x"))}
        second = read()
        assert second.found == {"a": found(entity("Acme", "GEO", "x"), entity("Bolt", "GEO", "x"))}
        assert dict(second.statuses) == {"a": Status.ASKED} and len(stub.asked) == 3
        assert dict(read().statuses) == {"a": Status.KEPT}


def test_after_three_failures_in_a_row_nothing_further_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with running_stub() as stub:
        stub.script = lambda asked: Reply(status=500)
        model = stub.settings(max_retries=0, concurrency=1)
        readings = read_units([unit(f"u{n}", "x") for n in range(8)], terms(LocalStore(tmp_path), model))
        assert len(stub.asked) == 3
    assert readings.count(Status.FAILED) == 3 and readings.count(Status.STOPPED) == 5
    assert len(readings.problems) == 4
    assert "5 more texts were not asked about" in readings.problems[-1].message
