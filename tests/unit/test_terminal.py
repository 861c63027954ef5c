"""What reaches the terminal."""

from __future__ import annotations

import logging

import pytest

from dictionary_pipeline.terminal import complain, prepare_streams


def test_every_line_of_several_errors_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    complain("error", "a.yml:1: one.\na.yml:2: two.")
    assert capsys.readouterr().err.splitlines() == ["error: a.yml:1: one.", "error: a.yml:2: two."]


def test_control_characters_of_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    complain("problem", "main.a\x1b[2Jb\x07 [bold]c[/bold]")
    assert capsys.readouterr().err == "problem: main.a\\x1b[2Jb\\x07 [bold]c[/bold]\n"


def test_warnings_of_client_libraries_do_not_stand_beside_the_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_streams()
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    logging.getLogger("azure.core.pipeline").warning("Incomplete download.")
    assert capsys.readouterr().err == ""
