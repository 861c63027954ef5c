"""Profiles from rows: counting, estimates, samples, stickiness, ranges, stored values."""

from __future__ import annotations

import random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.sampling.profile import ColumnProfile, ColumnSpec, profile_column, profile_rows


def profile(
    cells: list[Any],
    type_class: TypeClass = "string",
    *,
    complete: bool = True,
    row_estimate: int | None = None,
    previous: tuple[str, ...] = (),
    max_values: int = 0,
) -> ColumnProfile:
    spec = ColumnSpec(type_class, previous, max_values)
    return profile_column(cells, spec, complete=complete, row_estimate=row_estimate)


def test_samples_are_the_most_frequent_first_and_ties_by_value() -> None:
    cells = ["b", "a", "c", "c", "f", "e", "d"]
    assert profile(cells).samples == ['"c"', '"a"', '"b"', '"d"', '"e"']


@pytest.mark.parametrize("cells", [["10", "9", "100"], [10, 9, 100]])
def test_ties_between_numbers_are_ordered_by_number(cells: list[Any]) -> None:
    assert profile(cells, "integer").samples == ["9", "10", "100"]


def test_decimal_texts_are_compared_as_numbers_and_published_as_written() -> None:
    result = profile(["10.50", "9.75", "NaN"], "decimal")
    assert result.samples == ['"9.75"', '"10.50"', '"NaN"']
    assert (result.min, result.max) == ("9.75", "10.50")


def test_no_value_gives_an_empty_list_and_nulls_are_counted_exactly() -> None:
    result = profile([None, None, None], "integer")
    assert (result.samples, result.null_fraction, result.distinct_estimate) == ([], 1.0, 0)
    empty = profile([], "integer")
    assert (empty.samples, empty.null_fraction, empty.sampled_rows) == ([], None, 0)
    assert profile([None, "a", "b"]).null_fraction == 1 / 3


def test_previous_samples_stay_in_their_order_while_they_still_occur() -> None:
    cells = ["x"] * 9 + ["y"] * 5 + ["a", "b", "c", "d", "e"]
    result = profile(cells, previous=('"d"', '"gone"', '"x"'))
    assert result.samples == ['"d"', '"x"', '"y"', '"a"', '"b"']


@pytest.mark.parametrize(
    ("type_class", "rare", "published"),
    [
        ("integer", "77", "77"),
        ("integer", 77, "77"),
        ("float", "1", "1.0"),
        ("float", 2.5, "2.5"),
        ("decimal", "1.10", '"1.10"'),
        ("timestamp", "2024-01-01 00:00:00+00", '"2024-01-01T00:00:00+00:00"'),
        ("timestamp", "2024-01-01 00:00:00.5", '"2024-01-01T00:00:00.5"'),
        ("json", '{"a":1}', '{"a": 1}'),
        ("binary", b"abc", '"<3 bytes>"'),
        ("string", "z" * 201, '"' + "z" * 200 + '"'),
        ("other", "(9,9)", '"(9,9)"'),
    ],
)
def test_a_previous_sample_is_found_in_whatever_form_the_engine_has_it(
    type_class: TypeClass, rare: Any, published: str
) -> None:
    frequent = [value for value in ("0", "2", "3", "4", "5", "6") for _ in range(3)]
    assert profile([*frequent, rare], type_class).samples.count(published) == 0
    assert profile([*frequent, rare], type_class, previous=(published,)).samples[0] == published


def test_a_previous_sample_of_another_type_is_not_kept() -> None:
    assert profile(["1", "2"], "string", previous=("1",)).samples == ['"1"', '"2"']


def test_values_that_are_published_alike_are_counted_together() -> None:
    blobs = profile([b"aa", b"bb", b"c", b"c"], "binary")
    assert blobs.samples == ['"<1 bytes>"', '"<2 bytes>"']
    assert blobs.distinct_estimate is None
    long = profile(["x" * 200 + "1", "x" * 200 + "2", "y"])
    assert long.samples == ['"' + "x" * 200 + '"', '"y"']
    assert long.distinct_estimate == 3


def test_equal_native_numbers_are_one_value_whichever_comes_first() -> None:
    for cells in ([1, 1.0, 2.5, True], [True, 1.0, 2.5, 1], [1.0, True, 1, 2.5]):
        result = profile(cells, "float")
        assert (result.samples, result.distinct_estimate) == (["1", "2.5"], 2)
    assert profile([0.0, -0.0], "float").samples == profile([-0.0, 0.0], "float").samples == ["0.0"]
    assert profile([float("nan"), float("nan")], "float").distinct_estimate == 1


@pytest.mark.parametrize(
    ("type_class", "cells", "expected"),
    [
        ("integer", ["9", "10", "-3"], ("-3", "10")),
        ("float", ["1e3", "2.5", "NaN"], ("2.5", "1e3")),
        ("float", [1.5, float("nan")], ("1.5", "1.5")),
        ("float", ["NaN"], (None, None)),
        ("date", ["2024-01-02", "infinity", "0044-03-15 BC", "2023-05-01"], ("2023-05-01", "2024-01-02")),
        (
            "timestamp",
            ["2024-01-01 00:00:00.5+00", "2024-01-01 00:00:00+00", "infinity"],
            ("2024-01-01T00:00:00+00:00", "2024-01-01T00:00:00.5+00:00"),
        ),
        ("string", ["b", "B", "é"], ("B", "é")),
        ("string", ["z" * 201], ("z" * 200, "z" * 200)),
        ("integer", [3, "text", 2.5, b"x"], ("2.5", "3")),
        ("boolean", ["t", "f"], (None, None)),
        ("json", ["{}"], (None, None)),
        ("uuid", ["a"], (None, None)),
    ],
)
def test_range_of_orderable_classes(
    type_class: TypeClass, cells: list[Any], expected: tuple[str | None, str | None]
) -> None:
    result = profile(cells, type_class)
    assert (result.min, result.max) == expected


def test_mean_length_is_per_non_null_text() -> None:
    assert profile(["ab", "ab", "abcd", None]).mean_length == 8 / 3
    assert profile(["1"], "integer").mean_length is None


def test_distinct_is_exact_for_a_whole_table() -> None:
    assert profile(["a", "b", "b", None], row_estimate=1_000).distinct_estimate == 2


def test_distinct_estimate_of_a_key_is_the_rows_and_of_a_code_what_was_seen() -> None:
    key = [str(number) for number in range(1_000)]
    code = ["NEW", "OPEN", "DONE", "LOST"] * 250
    assert profile(key, complete=False, row_estimate=50_000).distinct_estimate == 50_000
    assert profile(code, complete=False, row_estimate=50_000).distinct_estimate == 4
    assert profile(key, complete=False, row_estimate=None).distinct_estimate == 1_000
    assert profile(key, complete=False, row_estimate=10).distinct_estimate == 1_000


def test_distinct_estimate_counts_only_the_rows_that_are_not_null() -> None:
    half = [value for number in range(500) for value in (str(number), None)]
    assert profile(half, complete=False, row_estimate=10_000).distinct_estimate == 5_000


@pytest.mark.parametrize("distinct", [200, 3_000, 40_000])
def test_distinct_estimate_is_near_the_truth_for_uniform_values(distinct: int) -> None:
    chance = random.Random(7)
    cells = [str(chance.randrange(distinct)) for _ in range(5_000)]
    estimate = profile(cells, complete=False, row_estimate=400_000).distinct_estimate
    assert estimate is not None
    assert 0.7 * distinct < estimate < 1.3 * distinct


def test_stored_values_are_exact_ordered_and_limited() -> None:
    cells = ["b", "b", "tab\there\n", "a", "a", "c", "x" * 201, b"blob", 7, None]
    assert profile(cells, max_values=4).values == [("a", 2), ("b", 2), ("c", 1), ("tab\there\n", 1)]
    assert profile(cells, max_values=2).values == [("a", 2), ("b", 2)]
    assert profile(cells, max_values=0).values == []


def test_nearly_unique_long_texts_are_not_stored_but_short_ones_are() -> None:
    long = [f"{number:050d}" for number in range(100)]
    assert profile(long, max_values=1_000).values == []
    assert len(profile([text[-10:] for text in long], max_values=1_000).values) == 100
    assert len(profile(long * 2, max_values=1_000).values) == 100


CELLS = st.none() | st.sampled_from(
    ["a", "b", "1", "1.0", "01", "NaN", "2024-01-01", "2024-01-01 00:00:00", "x" * 200, "x" * 201, "x" * 200 + "y",
     "t", "{}", "[1]", "[1 ]", "", "\ud800", 1, 1.0, True, False, 0, 0.0, -0.0, 2**60, float("nan"), b"", b"a", b"bb"]
)  # fmt: skip


@given(st.lists(st.tuples(CELLS, CELLS), max_size=30), st.sampled_from(get_args(TypeClass)), st.randoms())
def test_the_order_of_the_rows_does_not_matter(
    rows: list[tuple[Any, Any]], type_class: TypeClass, chance: random.Random
) -> None:
    specs = [ColumnSpec(type_class, ('"a"', "1", '"<1 bytes>"'), 5), ColumnSpec("string", (), 3)]
    shuffled = chance.sample(rows, len(rows))
    options: dict[str, Any] = {"complete": False, "row_estimate": 500}
    assert profile_rows(rows, specs, **options) == profile_rows(shuffled, specs, **options)
