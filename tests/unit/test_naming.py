"""Names of files and words of identifiers."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictionary_pipeline.naming import encode_part, file_names, title_words, words


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("sales_order_header", ["sales", "order", "header"]),
        ("OrderLine", ["Order", "Line"]),
        ("HTTPRequest2Log", ["HTTP", "Request2", "Log"]),
        ("Order Details", ["Order", "Details"]),
        ("größe_表", ["größe", "表"]),
        ("__", []),
    ],
)
def test_words_of_an_identifier(identifier: str, expected: list[str]) -> None:
    assert words(identifier) == expected


def test_title_words_are_for_people_and_never_empty() -> None:
    assert title_words("sales_order_header") == "Sales Order Header"
    assert title_words("SKU_code") == "SKU Code"
    assert title_words("--") == "--"


def test_dots_inside_a_part_and_forbidden_characters_are_encoded() -> None:
    assert encode_part("in/out") == "in%2Fout"
    assert encode_part("a.b") == "a%2Eb"
    assert encode_part("..") == "%2E%2E"
    assert encode_part('q"<>|?*:\\%\n') == "q%22%3C%3E%7C%3F%2A%3A%5C%25%0A"
    assert encode_part("o'brien Größe") == "o'brien Größe"


def test_names_that_differ_in_case_only_both_get_a_hash() -> None:
    names = file_names([("a", "t"), ("a", "T"), ("a", "u")], suffix=".json")
    assert names["a", "u"] == "a.u.json"
    assert names["a", "t"].startswith("a.t~")
    assert names["a", "T"].startswith("a.T~")
    assert names["a", "t"].lower() != names["a", "T"].lower()


def test_a_long_name_is_cut_to_180_bytes_without_splitting_a_character() -> None:
    [name] = file_names([("s", "表" * 200)], suffix=".json").values()
    assert len(name.encode()) <= 180
    assert name.endswith(".json")
    assert "~" in name


@given(st.lists(st.tuples(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80)), unique=True, max_size=8))
def test_file_names_are_unique_even_where_case_and_form_are_folded(parts: list[tuple[str, str]]) -> None:
    names = file_names(parts, suffix=".json")
    folded = {unicodedata.normalize("NFC", unicodedata.normalize("NFC", n).casefold()) for n in names.values()}
    assert len(folded) == len(parts)
    assert all(len(name.encode("utf-8", "surrogatepass")) <= 180 for name in names.values())
    assert names == file_names(reversed(parts), suffix=".json")
