from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dictionary_pipeline.extraction.delimited import (
    EntityRecord,
    Record,
    RelationshipRecord,
    format_records,
    parse_replies,
)

A = EntityRecord("ACME", "ORGANIZATION", "Ships parcels")
B = EntityRecord("OSLO", "GEO", "A city")
R = RelationshipRecord("ACME", "OSLO", "Works there", 8.0)
_A, _B = '("entity"<|>ACME<|>ORGANIZATION<|>Ships parcels)', '("entity"<|>OSLO<|>GEO<|>A city)'
_R = '("relationship"<|>ACME<|>OSLO<|>Works there<|>8)'


MALFORMED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("malformed_replies.json").read_text("utf-8"))


def as_record(kind: str, *fields: Any) -> Record:
    return EntityRecord(*fields) if kind == "entity" else RelationshipRecord(*fields)


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case["name"])
def test_a_malformed_reply_gives_the_records_that_were_meant(case: dict[str, Any]) -> None:
    records = tuple(as_record(*record) for record in case["records"])

    assert parse_replies(case["replies"]) == (records, ())


def test_a_record_cut_off_at_the_end_is_rejected_and_those_before_it_are_kept() -> None:
    assert parse_replies([f'{_B}\n##\n("entity"<|>BER']) == ((B,), ("an entity without a type or description",))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('("entity"<|>ACME)', "an entity without a type or description"),
        ('("entity"<|><|>GEO<|>A city)', "an entity without a name or type"),
        ('("relationship"<|>ACME<|>OSLO)', "a relationship without a description"),
        ('("relationship"<|>ACME<|> <|>Works there<|>8)', "a relationship without both ends"),
        ('("claim"<|>ACME<|>OSLO<|>x<|>y)', "neither an entity nor a relationship"),
    ],
)
def test_what_is_no_record_is_rejected_with_a_reason_and_takes_nothing_else_with_it(reply: str, reason: str) -> None:
    assert parse_replies([f"{_A}\n##\n{reply}\n##\n{_B}"]) == ((A, B), (reason,))


_SPECIAL = (
    "<|>",
    "##",
    "<|COMPLETE|>",
    "(",
    ")",
    '"',
    "'",
    "\n",
    "- ",
    "1. ",
    "```",
    "entity",
    "relationship",
    "&#35;",
)
_HOSTILE = ('("entity"<|>', "&amp;", "{tuple_delimiter}", "8", " ", "x", "\x00", "\ud800", "**", "]")
_TEXT = st.one_of(st.text(), st.lists(st.sampled_from((*_SPECIAL, *_HOSTILE)), max_size=8).map("".join))
_NAME = _TEXT.filter(bool)
_RECORDS = st.lists(
    st.one_of(
        st.builds(EntityRecord, _NAME, _NAME, _TEXT),
        st.builds(RelationshipRecord, _NAME, _NAME, _TEXT, st.floats(1, 10)),
    ),
    max_size=4,
)


@settings(max_examples=400, deadline=None)
@given(records=_RECORDS)
def test_what_is_written_is_read_back_unchanged_whatever_the_texts(records: list[Record]) -> None:
    assert parse_replies([format_records(records)]) == (tuple(dict.fromkeys(records)), ())


@settings(max_examples=400, deadline=None)
@given(replies=st.lists(_TEXT, max_size=3), cut=st.integers(0, 200), noise=_TEXT)
def test_no_reply_makes_the_parser_fail_and_weights_stay_in_range(replies: list[str], cut: int, noise: str) -> None:
    whole = f"{_A}\n##\n{_R}\n##\n{_B}"
    found = parse_replies([*replies, whole[:cut] + noise + whole[cut:]])

    assert all(1 <= record.weight <= 10 for record in found.records if isinstance(record, RelationshipRecord))


@pytest.mark.parametrize(
    "text",
    ["(" * 50_000, '("entity"<|>' * 10_000, "\n" * 100_000, ")" * 50_000, "##" * 50_000, "(" * 90_000 + ")\n" * 90_000],
)
def test_a_hostile_reply_is_read_in_linear_time(text: str) -> None:
    assert isinstance(parse_replies([_A + text + _B]).records, tuple)
