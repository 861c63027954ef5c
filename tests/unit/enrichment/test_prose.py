from __future__ import annotations

import pytest

from dictionary_pipeline.enrichment.prose import (
    enumeration,
    joined,
    shortened,
    singular,
    spoken,
    spoken_singular,
    spoken_view,
    value_list,
)


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("orders", "order"),
        ("categories", "category"),
        ("ties", "tie"),
        ("movies", "movie"),
        ("boxes", "box"),
        ("addresses", "address"),
        ("branches", "branch"),
        ("warehouses", "warehouse"),
        ("purchases", "purchase"),
        ("sizes", "size"),
        ("statuses", "status"),
        ("analyses", "analysis"),
        ("people", "person"),
        ("heroes", "hero"),
        ("metrics", "metric"),
        ("ids", "id"),
    ],
)
def test_a_plural_becomes_singular(plural: str, expected: str) -> None:
    assert singular(plural) == expected


@pytest.mark.parametrize(
    "word", ["status", "address", "news", "series", "analysis", "business", "gas", "sms", "order", "s", ""]
)
def test_a_word_that_is_no_plural_is_left_alone(word: str) -> None:
    assert singular(word) == word


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("UnitPrice", "unit price"),
        ("ORDER_LINE", "order line"),
        ("qty_oh", "quantity oh"),
        ("CUST_CD", "customer code"),
        ("cd", "cd"),
        ("sort_ord", "sort ord"),
        ("order-line", "order line"),
        ("Größe", "größe"),
        ("in/out", "in/out"),
        ("o'brien", "o'brien"),
        ("line\n name", "line name"),
        ("___", "___"),
        ("\n", "'\\n'"),
    ],
)
def test_an_identifier_is_spoken_in_words_and_unusual_ones_verbatim(identifier: str, expected: str) -> None:
    assert spoken(identifier) == expected


def test_only_the_last_word_is_made_singular_and_technical_prefixes_go() -> None:
    assert spoken_singular("SalesOrderLines") == "sales order line"
    assert spoken_singular("dim_customers") == "customer"
    assert spoken_singular("dim") == "dim"


def test_enumerations_stop_at_their_limit() -> None:
    assert enumeration(["a"], 3) == "a"
    assert enumeration(["a", "b", "c"], 3) == "a, b and c"
    assert enumeration(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_values_are_shown_on_one_line_and_the_empty_one_is_visible() -> None:
    assert value_list(["a\nb", "", "x" * 60], 5) == f"a b, '' and {'x' * 39}…"
    assert value_list(["1", "2", "3"], 2) == "1, 2 and 1 more"


def test_parts_that_do_not_fit_are_left_out_and_a_first_one_is_cut_at_a_word() -> None:
    assert joined(["One.", "Far too long.", "Two."], 10) == "One. Two."
    assert joined(["several words to cut here"], 15) == "several words…"
    assert len(shortened("x" * 50, 20)) == 20


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("v_open_orders", "open orders view"),
        ("vw_debt", "debt view"),
        ("v", "v view"),
        ("sales_overview", "sales overview"),
    ],
)
def test_a_view_is_called_by_its_name_without_a_prefix(view: str, expected: str) -> None:
    assert spoken_view(view) == expected
