"""Other words for the nouns that tables are named after."""

from __future__ import annotations

from importlib import resources

import pytest

from dictionary_pipeline.enrichment.prose import singular
from dictionary_pipeline.enrichment.synonyms import gloss


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("stores", "Store, in other words shop, outlet or retail location."),
        ("PayrollStaff", "Staff, in other words employees, personnel or workers."),
        ("tbl_claim_lines", "Claim, in other words request for payment or demand."),
        ("doctors", "Doctor, in other words physician or medical practitioner."),
    ],
)
def test_the_noun_of_a_table_is_also_called(table: str, words: str) -> None:
    assert gloss(table) == words


@pytest.mark.parametrize("table", ["x_17", "lines", "history", "o'brien", "store_format_map", ""])
def test_a_name_without_a_known_noun_gets_no_other_words(table: str) -> None:
    assert gloss(table) is None


def test_the_words_are_singular_sorted_and_never_repeat_their_noun() -> None:
    text = resources.files("dictionary_pipeline.enrichment").joinpath("business_words.txt").read_text("utf-8")
    entries = [line.split(": ") for line in text.splitlines() if line and not line.startswith("#")]
    nouns = [noun for noun, _ in entries]
    assert nouns == sorted(set(nouns))
    assert [noun for noun in nouns if singular(noun) != noun] == []
    for noun, others in entries:
        assert noun not in others.split(", ")
        assert len(others.split(", ")) <= 6
