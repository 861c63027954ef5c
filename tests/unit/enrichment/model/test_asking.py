"""What a prompt holds, what an answer depends on, and in which order tables are asked about."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.model.asking import Question, answer_schema, cache_key, messages
from dictionary_pipeline.enrichment.model.facts import ColumnFacts, Parent, TableFacts
from dictionary_pipeline.enrichment.model.order import waves
from dictionary_pipeline.enrichment.model.pace import Pace, seconds
from dictionary_pipeline.enrichment.model.texts import clean, estimated_tokens, unique_names, without_telling_words

SETTINGS = ModelSettings("openai", "m", glossary={"SKU": "stock keeping unit"}, language="French")
COLUMN = ColumnFacts("id", "id", "integer", False, None, None, (), (9,))
TABLE = TableFacts(
    "main", "t", "table", None, None, None, (COLUMN,), parents=(Parent(("main", "p"), ("id",), (), True),)
)


def table(name: str, *parents: str) -> TableFacts:
    return replace(TABLE, table=name, parents=tuple(Parent(("main", p), (), (), True) for p in parents))


def test_rules_language_and_glossary_come_first_and_the_table_last_as_json() -> None:
    first, last = messages(Question(TABLE, True, True, (COLUMN,)), SETTINGS, {("main", "p"): "Parents."})
    assert "French" in first["content"] and "stock keeping unit" in first["content"]
    assert json.loads(last["content"]) == {
        "table": "main.t",
        "kind": "table",
        "references": [{"columns": ["id"], "table": "main.p", "meaning": "Parents."}],
        "columns": [{"name": "id", "type": "integer", "samples": [9]}],
    }


def test_a_repair_says_what_was_wrong_and_asks_for_the_rest_only() -> None:
    question = Question(TABLE, False, False, (COLUMN,), ("id: holds markup",))
    told = messages(question, SETTINGS, {})
    assert "id: holds markup" in told[1]["content"]
    assert list(answer_schema(question)["properties"]) == ["columns", "confidence", "unsure"]


@pytest.mark.parametrize(
    "other",
    [
        replace(TABLE, columns=(replace(COLUMN, samples=(1, 2)),)),
        replace(TABLE, role="fact", children=("main.x",), sample_texts=(("id", "7"),)),
        replace(TABLE, parents=(*TABLE.parents, Parent(("main", "q"), ("id",), (), False))),
        replace(TABLE, columns=(replace(COLUMN, known="Inherited."),)),
    ],
    ids=["samples", "role and children", "inferred parent", "inherited text"],
)
def test_an_answer_stays_good_when_data_or_other_tables_move(other: TableFacts) -> None:
    assert cache_key(other, SETTINGS) == cache_key(TABLE, SETTINGS)


@pytest.mark.parametrize(
    ("facts", "settings"),
    [
        (replace(TABLE, columns=(replace(COLUMN, data_type="text"),)), SETTINGS),
        (replace(TABLE, columns=(replace(COLUMN, own="Its number."),)), SETTINGS),
        (replace(TABLE, comment="Things."), SETTINGS),
        (replace(TABLE, parents=()), SETTINGS),
        (replace(TABLE, view_sql="SELECT 1"), SETTINGS),
        (TABLE, replace(SETTINGS, model="n")),
        (TABLE, replace(SETTINGS, glossary={})),
        (TABLE, replace(SETTINGS, language="English")),
    ],
)
def test_an_answer_is_asked_for_again_when_what_it_says_may_have_changed(
    facts: TableFacts, settings: ModelSettings
) -> None:
    assert cache_key(facts, settings) != cache_key(TABLE, SETTINGS)


def test_limits_on_spending_and_speed_keep_answers() -> None:
    assert cache_key(TABLE, replace(SETTINGS, concurrency=9, timeout_seconds=1)) == cache_key(TABLE, SETTINGS)


def test_parents_come_before_children_and_circles_are_broken_by_name() -> None:
    order = list(waves([table("c", "b"), table("b", "a", "outside"), table("a"), table("x", "y"), table("y", "x")]))
    assert order == [{("main", "a")}, {("main", "b")}, {("main", "c")}, {("main", "x")}, {("main", "y")}]


def test_texts_lose_hidden_characters_and_are_cut() -> None:
    assert clean("a\u202e\u200b\x00\n b\U000e0041", 10) == "a b"
    assert clean("abcdef", 4) == "abc…"
    assert unique_names(["a", "a\x00", ""]) == ["a", "a (2)", "unnamed"]


def test_addresses_and_long_words_with_digits_leave_comments() -> None:
    assert without_telling_words("Ask a.b@c.example or 555-0117 about ISO 4217") == "Ask *** or *** about ISO 4217"


def test_tokens_are_estimated_from_bytes() -> None:
    assert [estimated_tokens(text) for text in ("", "abc", "abcd", "ééé")] == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "expected"), [("1s", 1.0), ("6m0s", 360.0), ("20ms", 0.02), ("2.5", 2.5), ("", 0.0), ("soon", 0.0)]
)
def test_durations_are_read_as_providers_write_them(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


def test_requests_wait_when_the_announced_rest_does_not_cover_them() -> None:
    slept: list[float] = []
    pace = Pace(clock=lambda: 100.0, sleep=slept.append)
    pace.wait(1000)
    pace.note({"x-ratelimit-remaining-tokens": "1500", "x-ratelimit-reset-tokens": "8s"})
    pace.wait(1000)
    assert slept == []
    pace.wait(1000)
    assert slept == [8.0]
    pace.note({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"})
    pace.wait(1)
    assert slept == [8.0, 60.0]
