"""Exceptions that nobody foresaw are told by kind and place, never by their text."""

from __future__ import annotations

import json

import pytest

from dictionary_pipeline import jsontext
from dictionary_pipeline.unexpected import DEBUG_VARIABLE, unexpected


def test_kind_and_place_are_told_but_not_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)
    with pytest.raises(json.JSONDecodeError) as caught:
        jsontext.loads_strict("secret-value")
    text = str(unexpected(caught.value))
    assert text.startswith("unexpected JSONDecodeError at dictionary_pipeline/jsontext.py:")
    assert "secret-value" not in text


def test_an_error_of_the_operating_system_names_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)
    text = str(unexpected(FileNotFoundError(2, "No such file", "/no/such")))
    assert text == "/no/such: the operating system reported ENOENT. Run again."


def test_debugging_lets_it_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEBUG_VARIABLE, "1")
    with pytest.raises(KeyError):
        unexpected(KeyError("x"))
