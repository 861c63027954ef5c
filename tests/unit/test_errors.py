"""Errors say what, where and how to fix it."""

from __future__ import annotations

from dictionary_pipeline.errors import AuthenticationFailed, ConfigurationError, ConnectionFailed, DictionaryError


def test_text_is_where_what_and_fix() -> None:
    error = ConfigurationError("unknown key 'shcemas'", where="demo.yml:3", fix="Did you mean 'schemas'?")
    assert str(error) == "demo.yml:3: unknown key 'shcemas'. Did you mean 'schemas'?"
    assert error.exit_code == 2


def test_a_wrong_password_is_not_retried_but_an_outage_is() -> None:
    assert ConnectionFailed("down").retryable
    assert not AuthenticationFailed("refused").retryable


def test_a_problem_row_carries_the_vendor_code_and_the_fix() -> None:
    problem = DictionaryError("may not read it", fix="Grant SELECT.", code="42501").as_problem("a.t", "column_samples")
    assert problem == ("a.t", "column_samples", "42501", "may not read it", "Grant SELECT.")
