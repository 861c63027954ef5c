"""Decoding of cells into published JSON values."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.sampling.values import Cell, decode, encode

CASES: list[tuple[str, Cell, str]] = [
    ("integer", "42", "42"),
    ("integer", "-7", "-7"),
    ("integer", "9007199254740993", "9007199254740993"),
    ("integer", "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
    ("integer", 9007199254740993, "9007199254740993"),
    ("integer", "1_0", '"1_0"'),
    ("integer", "$1.00", '"$1.00"'),
    ("integer", 1.5, "1.5"),
    ("float", "1.5", "1.5"),
    ("float", "1e-05", "1e-05"),
    ("float", "NaN", '"NaN"'),
    ("float", "-Infinity", '"-Infinity"'),
    ("float", "1e999", '"1e999"'),
    ("float", float("nan"), '"NaN"'),
    ("float", float("-inf"), '"-Infinity"'),
    ("decimal", "12345678901234567890.10", '"12345678901234567890.10"'),
    ("decimal", "NaN", '"NaN"'),
    ("decimal", 12.5, "12.5"),
    ("boolean", "t", "true"),
    ("boolean", "f", "false"),
    ("boolean", "TRUE", "true"),
    ("boolean", "false", "false"),
    ("boolean", True, "true"),
    ("boolean", 1, "1"),
    ("boolean", "maybe", '"maybe"'),
    ("date", "2024-02-29", '"2024-02-29"'),
    ("date", "0044-03-15 BC", '"0044-03-15 BC"'),
    ("date", "infinity", '"infinity"'),
    ("timestamp", "2024-01-01 00:00:00", '"2024-01-01T00:00:00"'),
    ("timestamp", "2024-01-01 00:00:00+00", '"2024-01-01T00:00:00+00:00"'),
    ("timestamp", "2024-01-01 00:00:00.123456+00", '"2024-01-01T00:00:00.123456+00:00"'),
    ("timestamp", "2024-01-01 00:00:00.0000000 +05:30", '"2024-01-01T00:00:00.0000000+05:30"'),
    ("timestamp", "2024-01-01T00:00:00Z", '"2024-01-01T00:00:00Z"'),
    ("timestamp", "2024-01-01 00:00:00-0330", '"2024-01-01T00:00:00-03:30"'),
    ("timestamp", "infinity", '"infinity"'),
    ("timestamp", "0044-03-15 12:00:00 BC", '"0044-03-15 12:00:00 BC"'),
    ("timestamp", "12024-01-01 00:00:00", '"12024-01-01 00:00:00"'),
    ("timestamp", 1704067200, "1704067200"),
    ("time", "12:30:00", '"12:30:00"'),
    ("interval", "1 day 02:00:00", '"1 day 02:00:00"'),
    ("uuid", "6b1e0a7c-0000-0000-0000-000000000001", '"6b1e0a7c-0000-0000-0000-000000000001"'),
    ("json", '{"a": [1, 2.5, null, "x"]}', '{"a": [1, 2.5, null, "x"]}'),
    ("json", '{"n": 9007199254740993}', '{"n": 9007199254740993}'),
    ("json", "null", '"null"'),
    ("json", '{"a": NaN}', '"{\\"a\\": NaN}"'),
    ("json", "[1e999]", '"[1e999]"'),
    ("json", '{"a": 1, "a": 2}', '"{\\"a\\": 1, \\"a\\": 2}"'),
    ("json", '["\\ud800"]', '["\ufffd"]'),
    ("json", '["\\ud83d\\ude00"]', '["\U0001f600"]'),
    ("json", '["' + "x" * 201 + '"]', '["' + "x" * 200 + '"]'),
    ("json", "[" * 33 + "]" * 33, "[" * 33 + "]" * 33),
    ("json", "[" * 34 + "]" * 34, '"' + "[" * 34 + "]" * 34 + '"'),
    ("json", "[" * 5000 + "]" * 5000, '"' + "[" * 200 + '"'),
    ("array", "[1, 2]", "[1, 2]"),
    ("array", "{1,2}", '"{1,2}"'),
    ("binary", b"\x00\x01\x02", '"<3 bytes>"'),
    ("binary", 17, '"<17 bytes>"'),
    ("binary", "text in a blob column", '"text in a blob column"'),
    ("string", b"\xff", '"<1 bytes>"'),
    ("string", 5, "5"),
    ("string", "tab\there\nand a line", '"tab\\there\\nand a line"'),
    ("string", "nul\0", '"nul\\u0000"'),
    ("string", "lone \ud800", '"lone \ufffd"'),
    ("string", "zażółć", '"zażółć"'),
    ("other", "(1,2)", '"(1,2)"'),
    ("xml", "<a/>", '"<a/>"'),
]


@pytest.mark.parametrize(("type_class", "cell", "expected"), CASES)
def test_a_cell_is_published_as_the_contract_says(type_class: TypeClass, cell: Cell, expected: str) -> None:
    assert encode(cell, type_class) == expected


@pytest.mark.parametrize("type_class", ["string", "json", "integer", "float", "timestamp", "boolean", "other"])
def test_text_is_cut_at_200_characters(type_class: TypeClass) -> None:
    assert decode("[" + "x" * 300, type_class) == "[" + "x" * 199


def test_json_that_was_cut_by_the_engine_stays_text() -> None:
    assert decode('["' + "x" * 199, "json") == '["' + "x" * 198


@given(
    st.none()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.booleans()
    | st.text(st.characters(), max_size=9)
    | st.from_regex(r'\{"[a-z]": (-?[0-9]{1,30}(e[0-9]{1,4})?|"\\ud8[0-9a-f]{2}"|NaN)\}', fullmatch=True),
    st.sampled_from(get_args(TypeClass)),
)
def test_every_cell_becomes_strict_json_in_utf8(cell: Cell, type_class: TypeClass) -> None:
    text = encode(cell, type_class)
    text.encode("utf-8")
    assert json.loads(json.dumps(decode(cell, type_class), allow_nan=False)) == json.loads(text)
