"""Which sampled columns may hold a closed set of values."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from unit.builders import make_catalog

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.sampling.allowed import ALLOWED
from dictionary_pipeline.sampling.candidates import Candidate, eligible_positions, find_candidate
from dictionary_pipeline.sampling.profile import ColumnSpec, profile_column
from dictionary_pipeline.sampling.values import Cell


def candidate(
    cells: Sequence[Cell], type_class: TypeClass = "string", *, whole: bool = True, was_set: bool = False
) -> Candidate | None:
    profile = profile_column(cells, ColumnSpec(type_class), complete=whole, row_estimate=5_000_000)
    return find_candidate(7, cells, type_class, profile, was_set=was_set)


def eligible(catalog: Catalog) -> set[str]:
    names = catalog.columns["column"].to_list()
    return {names[position] for position in eligible_positions(catalog, frames.empty(ALLOWED))}


def test_repeated_codes_are_a_candidate_with_their_values_but_not_null() -> None:
    assert candidate(["paid", "new", None, "void"] * 10) == Candidate(7, ('"new"', '"paid"', '"void"'))
    assert candidate([3, 1, 2] * 100, "integer") == Candidate(7, ("1", "2", "3"))


@pytest.mark.parametrize(
    ("why", "cells"),
    [
        ("few rows", ["a", "b"] * 9),
        ("every value once", [f"name {n}" for n in range(40)]),
        ("hardly repeated", [f"city {n % 12}" for n in range(30)]),
        ("many values for the rows", [f"suite {n % 25}" for n in range(112)]),
        ("more than 200 values", [f"title {n % 211}" for n in range(20_000)]),
        ("a constant", ["same"] * 1000),
        ("many values seen once", ["a"] * 500 + ["b", "c"]),
        ("long texts", ["x" * 101, "y" * 101] * 50),
        ("nothing but nulls", [None] * 50),
    ],
)
def test_what_does_not_repeat_enough_is_no_candidate(why: str, cells: list[Cell]) -> None:
    assert candidate(cells) is None, why


@pytest.mark.parametrize(
    ("why", "cells"),
    [
        ("a measure", [n % 25 for n in range(10_000)]),
        ("hardly repeated", [n % 6 for n in range(100)]),
        ("not only numbers", [1, 2, "x"] * 100),
    ],
)
def test_whole_numbers_must_be_few_and_often_repeated(why: str, cells: list[Cell]) -> None:
    assert candidate(cells, "integer") is None, why


def test_in_a_sample_the_values_are_less_than_a_twentieth_of_the_rows() -> None:
    cells = [f"c{n % 8}" for n in range(160)]
    assert candidate(cells, whole=True) is not None
    assert candidate(cells, whole=False) is None
    assert candidate(cells * 2, whole=False) is not None


def test_a_set_that_was_published_does_not_go_for_a_rare_value() -> None:
    cells = ["a"] * 500 + ["b", "c"]
    assert candidate(cells, was_set=True) is not None
    assert candidate([f"v{n}" for n in range(40)], was_set=True) is None


def test_keys_references_identifiers_and_quantities_are_not_asked_for() -> None:
    catalog = make_catalog(
        tables={
            "s.country": ["code text", "name text"],
            "s.customer": [
                "id int", "code text", "country text", "tenant_id text", "region text", "culture text", "line int",
                "status int", "order_qty int", "birth_year int", "price numeric", "day date", "rate int",
            ],
        },
        primary_keys={"s.country": ["code"], "s.customer": ["culture", "line"]},
        unique=[("s.customer", ["code"])],
        foreign_keys=["s.customer(country) -> s.country(code)"],
    )  # fmt: skip
    assert eligible(catalog) == {"name", "region", "culture", "status", "rate"}


def test_columns_whose_values_are_known_are_not_asked_for() -> None:
    catalog = make_catalog(tables={"s.t": ["status text", "state text"]})
    known = frames.from_rows([("s", "t", "status", ['"a"'], "check")], ALLOWED)
    assert eligible_positions(catalog, known) == {1}
