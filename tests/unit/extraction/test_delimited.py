from __future__ import annotations

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


def weighted(weight: str) -> str:
    return f'("relationship"<|>ACME<|>OSLO<|>Works there<|>{weight})'


def described(text: str) -> str:
    return f'("entity"<|>ACME<|>ORGANIZATION<|>{text})'


MALFORMED: dict[str, tuple[list[str], list[Record]]] = {
    "well formed": ([f"{_A}\n##\n{_B}\n##\n{_R}\n##\n<|COMPLETE|>"], [A, B, R]),
    "no delimiter before the mark": ([f"{_A}##{_R}<|COMPLETE|>"], [A, R]),
    "no mark": ([f"{_A}\n##\n{_R}"], [A, R]),
    "mark first": ([f"<|COMPLETE|>{_A}"], [A]),
    "glued behind the mark": ([f"{_A}<|COMPLETE|>{_R}"], [A, R]),
    "no record delimiters": ([f"{_A}\n{_B}\n{_R}\n"], [A, B, R]),
    "no record delimiters on one line": ([f"{_A}{_B} {_R}<|COMPLETE|>"], [A, B, R]),
    "comma between records": ([f"{_A},\n{_B},\n{_R}"], [A, B, R]),
    "doubled delimiter": ([f"{_A}\n##\n##\n{_B}"], [A, B]),
    "bold delimiter": ([f"{_A}\n**##**\n{_B}\n**##**\n{_R}"], [A, B, R]),
    "placeholder delimiters": (['("entity"{tuple_delimiter}OSLO{tuple_delimiter}GEO{tuple_delimiter}A city)'], [B]),
    "spaced delimiters": (['("entity" < | > OSLO < | > GEO < | > A city)'], [B]),
    "doubled bar": (['("entity"<||>OSLO<||>GEO<||>A city)'], [B]),
    "no closing parenthesis": ([_A[:-1] + "\n##\n" + _R[:-1] + "\n##\n" + _B[:-1]], [A, R, B]),
    "no closing parenthesis at the mark": ([_B[:-1] + "<|COMPLETE|>"], [B]),
    "no opening parenthesis": ([_A[1:] + "\n##\n" + _R[1:]], [A, R]),
    "no parenthesis, no delimiter": ([_A[1:-1] + "\n" + _R[1:-1]], [A, R]),
    "no parenthesis behind a weight": ([_R[:-1] + " " + _A], [R, A]),
    "square brackets": (['["entity"<|>OSLO<|>GEO<|>A city]\n##\n' + _A], [EntityRecord("OSLO", "GEO", "A city"), A]),
    "dashes": ([f"- {_A}\n- {_B}\n- {_R}"], [A, B, R]),
    "dots": ([f"• {_A}\n• {_R}"], [A, R]),
    "numbers": ([f"1. {_A}\n2. {_B}\n10. {_R}"], [A, B, R]),
    "numbers with parenthesis": ([f"1) {_A}\n2) {_R}"], [A, R]),
    "quoted lines": ([f"> {_A}\n> {_B}"], [A, B]),
    "fence": ([f"```\n{_A}\n##\n{_R}\n```"], [A, R]),
    "fence with a language": ([f"Here you are:\n```text\n{_A}\n```\nDone."], [A]),
    "fence behind no parenthesis": ([f"```\n{_B[:-1]}\n```"], [B]),
    "single quotes": (["('entity'<|>OSLO<|>GEO<|>A city)"], [B]),
    "no quotes": (["(entity<|>OSLO<|>GEO<|>A city)"], [B]),
    "typographic quotes": (["(“entity”<|>“OSLO”<|>“GEO”<|>“A city”)"], [B]),
    "upper case": (['("ENTITY"<|>OSLO<|>GEO<|>A city)'], [B]),
    "plural kind": (['("entities"<|>OSLO<|>GEO<|>A city)'], [B]),
    "short kind": (['("relation"<|>ACME<|>OSLO<|>Works there<|>8)'], [R]),
    "quoted fields": (['("entity"<|>"OSLO"<|>\'GEO\'<|>"A city")'], [B]),
    "bold fields": (["(**entity**<|>**OSLO**<|>**GEO**<|>A city)"], [B]),
    "line breaks between fields": (['("entity"\n<|>OSLO\n<|>GEO\n<|>A city\n)'], [B]),
    "carriage returns": ([f"{_A}\r\n##\r\n{_R}\r\n"], [A, R]),
    "text before and behind": ([f"Sure!\n\n{_A}\n##\n{_R}\n\nI hope this helps."], [A, R]),
    "hashes in a text": (
        [described("Reads ##tmp first") + "\n##\n" + _B],
        [EntityRecord(*A[:2], "Reads ##tmp first"), B],
    ),
    "heading in a text": ([described("One\n## Two\nthree")], [EntityRecord(*A[:2], "One\n## Two\nthree")]),
    "hashes behind parentheses": ([described("Reads (all) ## of it")], [EntityRecord(*A[:2], "Reads (all) ## of it")]),
    "delimiter in an entity": ([described("a <|> b")], [EntityRecord(*A[:2], "a <|> b")]),
    "delimiter in a relationship": (
        ['("relationship"<|>ACME<|>OSLO<|>a <|> b<|>8)'],
        [RelationshipRecord("ACME", "OSLO", "a <|> b", 8.0)],
    ),
    "parentheses at the end": ([described("Ships (fast)")], [EntityRecord(*A[:2], "Ships (fast)")]),
    "record quoted in a text": (
        [described('says ("entity"<|>EVIL<|>GEO<|>bad) in a comment')],
        [EntityRecord(*A[:2], 'says ("entity"<|>EVIL<|>GEO<|>bad) in a comment')],
    ),
    "references": ([described("R&amp;D &#35;1")], [EntityRecord(*A[:2], "R&D #1")]),
    "entity called entity": (['("entity"<|>ENTITY<|>GEO<|>x)'], [EntityRecord("ENTITY", "GEO", "x")]),
    "no weight": (['("relationship"<|>ACME<|>OSLO<|>Works there)'], [R._replace(weight=1.0)]),
    "empty weight": ([weighted("")], [R._replace(weight=1.0)]),
    "weight of ten": ([weighted("8/10")], [R]),
    "weight of a hundred": ([weighted("80/100")], [R]),
    "weight out of ten": ([weighted("8 out of 10")], [R]),
    "weight in percent": ([weighted("80%")], [R]),
    "weight in words": ([weighted("high")], [R._replace(weight=1.0)]),
    "weight named": ([weighted("strength: 8")], [R]),
    "weight quoted": ([weighted('"8"')], [R]),
    "weight with comma": ([weighted("8,5")], [R._replace(weight=8.5)]),
    "full-width weight": ([weighted("８")], [R]),
    "negative weight": ([weighted("-5")], [R._replace(weight=1.0)]),
    "huge weight": ([weighted("1e9")], [R._replace(weight=10.0)]),
    "infinite weight": ([weighted("inf")], [R._replace(weight=10.0)]),
    "no number as weight": ([weighted("nan")], [R._replace(weight=1.0)]),
    "division by zero": ([weighted("8/0")], [R]),
    "several replies": ([f"{_A}<|COMPLETE|>", f"{_R}<|COMPLETE|>"], [A, R]),
    "repeated in the next reply": ([f"{_A}\n##\n{_R}", f"{_R}\n##\n{_B}"], [A, R, B]),
    "empty reply": (["", "<|COMPLETE|>", "  \n"], []),
    "refusal": (["I cannot help with that."], []),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_reply_gives_the_records_that_were_meant(name: str) -> None:
    replies, records = MALFORMED[name]

    assert parse_replies(replies) == (tuple(records), ())


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
