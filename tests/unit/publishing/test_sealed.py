"""Sealed values are recognised in texts, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.sealed import (
    KEY,
    Recogniser,
    Sealed,
    is_distinctive,
    is_strong,
    load_sealed,
    save_sealed,
    seal,
)

EMAIL, PHONE, STREET, NAME = (("s", "customer", column) for column in ("email", "phone", "street", "full_name"))
RAW = {
    EMAIL: ["cust1@shop.example", "Ann@Shop.example"],
    PHONE: ["+49 30 1234567", "555-0001"],
    STREET: ["12 Main Street"],
    NAME: ["Rumpelstiltskin Miller", "May"],
}


def values(raw: dict[tuple[str, str, str], list[str]]) -> pl.DataFrame:
    rows = [(*name, text) for name, texts in raw.items() for text in texts]
    return pl.DataFrame(rows, schema=["schema", "table", "column", "value"], orient="row")


def hidden(*names: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(names), schema=["schema", "table", "column"], orient="row")


@pytest.fixture
def sealed() -> Sealed:
    return seal(values(RAW), hidden(*RAW), None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cust1@shop.example", "cust1@shop.example"),
        ("CUST1@SHOP.EXAMPLE", "CUST1@SHOP.EXAMPLE"),
        ("Ask cust1@shop.example, please.", "cust1@shop.example"),
        ("mailto:ann@shop.example?x", "ann@shop.example"),
        ("SELECT 1 WHERE email='cust1@shop.example' AND 1=1", "cust1@shop.example"),
        ("call +49 30  1234567 now", "+49 30  1234567"),
        ("(call 555-0001)", "555-0001"),
        ("lives at 12 Main Street.", "12 Main Street"),
        ("e.g. 'Rumpelstiltskin Miller'", "Rumpelstiltskin Miller"),
        ("Rumpelstiltskin Miller", "Rumpelstiltskin Miller"),
    ],
)
def test_a_value_is_found_alone_quoted_and_amid_words(text: str, found: str, sealed: Sealed) -> None:
    [match] = Recogniser(sealed).matches(text)
    assert text[match.start : match.end] == found


@pytest.mark.parametrize(
    "text",
    ["", "May", "in May 2020", "cust10@shop.example", "12 Main Road", "30 1234567", "the street of a customer", "555"],
)
def test_other_texts_are_left_alone(text: str, sealed: Sealed) -> None:
    assert Recogniser(sealed).matches(text) == []


def test_a_match_names_its_column_and_can_be_replaced(sealed: Sealed) -> None:
    recogniser = Recogniser(sealed)
    assert recogniser.owner("555-0001") == PHONE
    assert recogniser.masked("cust1@shop.example or 555-0001!", "***") == "*** or ***!"


@pytest.mark.parametrize(
    ("text", "strong", "distinctive"),
    [
        ("cust1@shop.example", True, True),
        ("555-0001", True, True),
        ("123456789", True, True),
        ("12345678", False, False),
        ("52000.00", False, False),
        ("1980-05-17", False, False),
        ("1980-05-17 10:00:00", False, False),
        ("17.05.1980", False, False),
        ("10:15:00", False, False),
        ("ab1", False, False),
        ("General Manager", False, True),
        ("Manager", False, False),
    ],
)
def test_only_what_can_hardly_be_a_coincidence_counts(text: str, strong: bool, distinctive: bool) -> None:
    assert (is_strong(text), is_distinctive(text)) == (strong, distinctive)


def test_state_holds_no_value_and_is_stable(sealed: Sealed, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    save_sealed(store, sealed, "samples1")
    data = (tmp_path / KEY).read_bytes()
    assert not [text for texts in RAW.values() for text in texts if text.encode() in data]
    loaded = load_sealed(store, "samples1")
    assert loaded == sealed
    again = seal(values(RAW), hidden(*RAW), loaded)
    save_sealed(store, again, "samples1")
    assert (tmp_path / KEY).read_bytes() == data
    assert "key" not in repr(sealed)


def test_seals_of_other_samples_or_broken_ones_are_lost(sealed: Sealed, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    assert load_sealed(store) is None
    save_sealed(store, sealed, "samples1")
    assert load_sealed(store, "samples2") is None
    for broken in (b"{", b"[]", b'{"format": 1}', b'{"format": 1, "key": "x", "columns": [1]}'):
        store.write(KEY, broken)
        assert load_sealed(store) is None


def test_a_column_that_was_not_read_keeps_its_seal_while_it_is_hidden(sealed: Sealed) -> None:
    kept = seal(values({PHONE: ["555-9999"]}), hidden(EMAIL, PHONE), sealed)
    assert set(kept.columns) == {EMAIL, PHONE}
    recogniser = Recogniser(kept)
    assert recogniser.owner("cust1@shop.example") == EMAIL
    assert recogniser.owner("555-0001") is None
    assert recogniser.owner("555-9999") == PHONE


def test_two_databases_seal_the_same_value_differently() -> None:
    one, other = (seal(values(RAW), hidden(*RAW), None) for _ in range(2))
    assert not one.columns[EMAIL].values & other.columns[EMAIL].values
