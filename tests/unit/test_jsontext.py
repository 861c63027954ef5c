"""Strict, deterministic JSON."""

from __future__ import annotations

import pytest

from dictionary_pipeline import jsontext


def test_nan_is_never_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        jsontext.compact(float("nan"))


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": 1, "a": 2}', "{"])
def test_strict_parsing_refuses_what_is_not_json(text: str) -> None:
    with pytest.raises(ValueError):
        jsontext.loads_strict(text)


def test_non_ascii_is_written_as_is() -> None:
    assert jsontext.compact({"Größe": "表"}) == '{"Größe": "表"}'


def test_digest_does_not_depend_on_key_order() -> None:
    assert jsontext.digest({"a": 1, "b": [2]}) == jsontext.digest({"b": [2], "a": 1})
    assert jsontext.digest({"a": 1}) != jsontext.digest({"a": 2})
