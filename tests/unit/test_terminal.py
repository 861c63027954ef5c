"""What reaches the terminal."""

from __future__ import annotations

import pytest

from dictionary_pipeline.terminal import complain


def test_every_line_of_several_errors_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    complain("error", "a.yml:1: one.\na.yml:2: two.")
    assert capsys.readouterr().err.splitlines() == ["error: a.yml:1: one.", "error: a.yml:2: two."]


def test_control_characters_of_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    complain("problem", "main.a\x1b[2Jb\x07 [bold]c[/bold]")
    assert capsys.readouterr().err == "problem: main.a\\x1b[2Jb\\x07 [bold]c[/bold]\n"
