"""Which tables share a request, and how a shared answer is read."""

from __future__ import annotations

import json

import pytest

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.model.asking import Question, messages
from dictionary_pipeline.enrichment.model.facts import ColumnFacts, TableFacts
from dictionary_pipeline.enrichment.model.sharing import Shared, shares, together
from dictionary_pipeline.enrichment.model.texts import NoGuard

SETTINGS = ModelSettings("openai", "m")


def table(name: str, columns: int, *, kind: str = "table", sql: str | None = None) -> TableFacts:
    made = tuple(ColumnFacts(f"c{n}", f"c{n}", "int", True, None, None, (), ()) for n in range(columns))
    return TableFacts("s", name, kind, None, None, None, made, view_sql=sql)


def grouped(*tables: TableFacts, share: bool = True) -> list[tuple[str, ...]]:
    return [tuple(item) for item in together([t.table for t in tables], tables, share=share)]


def test_small_tables_stand_together_up_to_their_limits() -> None:
    assert grouped(*(table(f"t{n}", 8) for n in range(4))) == [("t0", "t1", "t2"), ("t3",)], "25 columns"
    assert grouped(*(table(f"t{n}", 1) for n in range(7))) == [("t0", "t1", "t2", "t3", "t4", "t5"), ("t6",)]


def test_large_tables_and_long_views_stay_alone() -> None:
    long = table("view", 2, kind="view", sql="SELECT " + "x" * 500)
    assert grouped(table("a", 2), table("big", 9), long, table("b", 2)) == [("big",), ("view",), ("a", "b")]


def test_names_that_look_alike_to_the_model_do_not_meet_in_one_request() -> None:
    assert grouped(table("a\u200b", 1), table("a", 1)) == [("a\u200b",), ("a",)]


def test_without_sharing_every_table_stands_alone() -> None:
    assert grouped(table("a", 1), table("b", 1), share=False) == [("a",), ("b",)]
    assert grouped() == []


@pytest.mark.parametrize(
    ("settings", "tables", "expected"),
    [
        (SETTINGS, 5, True),
        (SETTINGS, 4, False),
        (ModelSettings("openai", "m", share_requests=False), 50, False),
        (ModelSettings("openai", "m", samples="values"), 50, False),
    ],
)
def test_sharing_needs_more_than_a_few_tables_and_no_real_values(
    settings: ModelSettings, tables: int, expected: bool
) -> None:
    assert shares(settings, tables) is expected


def shared(*names: str) -> Shared:
    facts = [table(name, 1) for name in names]
    return Shared(tuple(Question(item, False, True, item.columns) for item in facts))


def test_the_schema_names_every_table_and_closes_everything() -> None:
    schema = shared("a", "b").schema(limits=True)
    tables = schema["properties"]["tables"]
    assert (schema["required"], tables["required"], tables["additionalProperties"]) == (
        ["tables"],
        ["s.a", "s.b"],
        False,
    )
    assert tables["properties"]["s.a"]["required"] == ["definition", "columns", "confidence", "unsure"]


def test_the_rules_come_first_and_are_those_of_single_tables() -> None:
    rules, several, told = shared("a", "b").messages(SETTINGS, {})
    assert rules == messages(shared("a").questions[0], SETTINGS, {})[0]
    assert [message["role"] for message in (rules, several, told)] == ["system", "system", "user"]
    assert [item["table"] for item in json.loads(told["content"])["tables"]] == ["s.a", "s.b"]


def test_each_table_gets_its_part_and_faults_stay_with_their_table() -> None:
    good = {"definition": "Things.", "columns": {"c0": "What it is."}, "confidence": "high", "unsure": []}
    bad = {**good, "definition": "See https://evil.example"}
    first, second = shared("a", "b").read(json.dumps({"tables": {"s.a": good, "s.b": bad, "s.c": good}}), NoGuard())
    assert (first.definition and first.definition.text, first.faults) == ("Things.", ())
    assert (second.definition, second.faults) == (None, ("definition: holds a link that is not in the input",))
    assert second.columns["c0"].text == "What it is."


@pytest.mark.parametrize("text", ["", "no", "[]", "{}", '{"tables": 1}', '{"tables": {"s.a": 1}}', '{"tables": []}'])
def test_what_is_no_answer_is_none_for_every_table(text: str) -> None:
    assert [answer.faults for answer in shared("a", "b").read(text, NoGuard())] == [
        ("the answer is not a JSON object",)
    ] * 2
