"""What is left of a profile after its treatment."""

from __future__ import annotations

import json

import pytest

from dictionary_pipeline.sampling.profile import ColumnProfile, ColumnSpec, profile_column
from dictionary_pipeline.sampling.treatment import mask, mask_json, mask_set, raw_texts, treat


def profile(cells: list[str | None]) -> ColumnProfile:
    return profile_column(cells, ColumnSpec("string", max_values=1_000), complete=True, row_estimate=None)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("cust12@shop.example", "aaaa99@aaaa.aaaaaaa"),
        ("+49 (30) 1234-567", "+99 (99) 9999-999"),
        ("Jörg ÅSTRÖM", "Aaaa AAAAAA"),
        ("山田太郎", "aaaa"),
        ("नमस्ते १२", "aaaaaa 99"),
        ("", ""),
    ],
)
def test_a_mask_keeps_the_shape_of_any_script(text: str, shape: str) -> None:
    assert mask(text) == shape
    assert mask(shape) == shape


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ("x1", "a9"),
        (1234, 9999),
        (-1.5, -9.9),
        (1e-07, "9a-99"),
        (True, "aaaa"),
        ({"a": [1, "b2"]}, '{"a": [9, "a9"]}'),
    ],
)
def test_masked_json_is_json(value: object, masked: object) -> None:
    assert json.loads(mask_json(json.dumps(value))) == masked


def test_a_masked_set_names_each_mask_once_in_an_order_that_tells_nothing() -> None:
    assert mask_set(['"zoe"', '"bob"', '"Al"']) == ['"Aa"', '"aaa"']


def test_withheld_profiles_keep_their_counts_only() -> None:
    treated = treat(profile(["a@x.de", "b@x.de", None]), "withhold")
    assert (treated.samples, treated.min, treated.max, treated.values) == (None, None, None, [])
    assert (treated.sampled_rows, treated.distinct_estimate, treated.null_fraction) == (3, 2, pytest.approx(1 / 3))


def test_masked_profiles_show_shapes_and_add_up_counts() -> None:
    treated = treat(profile(["b@x.de", "a@x.de", "a@x.de", "cc@x.de"]), "mask")
    assert treated.samples == ['"a@a.aa"', '"aa@a.aa"']
    assert (treated.min, treated.max) == ("a@a.aa", "aa@a.aa")
    assert treated.values == [("a@a.aa", 3), ("aa@a.aa", 1)]


def test_allowed_profiles_are_left_alone() -> None:
    shown = profile(["a"])
    assert treat(shown, "allow") is shown


def test_raw_texts_hold_what_any_output_would_show() -> None:
    cells: list[str | None] = [f"value {number:04}" for number in range(5_000)]
    measured = profile(cells)
    texts = set(raw_texts(measured))
    assert {measured.min, measured.max, *map(json.loads, measured.samples or ())} <= texts
    assert len(texts) == 200
    nested = profile_column(['{"mail": "a@x.de", "n": [7]}'], ColumnSpec("json"), complete=True, row_estimate=None)
    assert {"mail", "a@x.de", "7"} <= set(raw_texts(nested))


def test_evidence_spreads_over_all_values_whatever_the_order_of_rows() -> None:
    cells: list[str | None] = [f"v{number:05}" for number in range(3_000)] + ["often"] * 9
    evidence = profile(cells).evidence
    assert evidence == profile(cells[::-1]).evidence
    assert evidence[0] == "often"
    assert 80 <= len(evidence) <= 100
    assert max(evidence[1:]) > "v02900"
    assert profile([None]).evidence == ()


def test_no_field_of_a_profile_is_forgotten_by_the_treatment() -> None:
    # A new field that shows values must be treated too: this list is what `treat` knows.
    assert set(ColumnProfile._fields) == {
        "sampled_rows", "null_fraction", "distinct_estimate", "samples", "complete", "min", "max", "mean_length",
        "values", "evidence",
    }  # fmt: skip
