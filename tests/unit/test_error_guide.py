"""Every error that a user can meet has a code, and a section in the operations guide."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import dictionary_pipeline
from dictionary_pipeline.alerts.causes import RUN_LOST
from dictionary_pipeline.errors import DictionaryError

GUIDE = Path(__file__).parents[2] / "docs" / "operations.md"
_NOT_IMPORTED = re.compile(r"dictionary_pipeline\.(__main__|demo\.__main__|orchestration\.materialize)")


def every_error() -> Iterator[type[DictionaryError]]:
    for module in pkgutil.walk_packages(dictionary_pipeline.__path__, "dictionary_pipeline."):
        if not _NOT_IMPORTED.fullmatch(module.name):
            importlib.import_module(module.name)
    waiting: list[type[DictionaryError]] = [DictionaryError]
    while waiting:
        found = waiting.pop()
        waiting += found.__subclasses__()
        if found.__module__.startswith("dictionary_pipeline."):
            yield found


def sections() -> dict[str, str]:
    """Code -> title of its section."""
    titles = re.findall(r"^### (.+) \((DD-[A-Z-]+)\)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    codes = [code for _, code in titles]
    assert len(codes) == len(set(codes))
    return {code: title for title, code in titles}


def test_every_error_code_has_a_section_and_every_section_a_code() -> None:
    codes = {error.identifier for error in every_error()}
    assert codes | {RUN_LOST} == set(sections())


def test_the_section_of_a_code_is_named_after_the_class_that_brings_it() -> None:
    titles = sections()
    for error in every_error():
        if error is not DictionaryError and "identifier" in vars(error):
            assert titles[error.identifier] == error.__name__


def test_no_two_kinds_of_error_share_a_code_unless_one_is_the_other() -> None:
    owners: dict[str, type[DictionaryError]] = {}
    for error in every_error():
        if "identifier" in vars(error):
            assert owners.setdefault(error.identifier, error) is error


def test_every_section_says_what_it_is_and_what_to_do() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    for title in sections().values():
        body = text.split(f"### {title} (", 1)[1].split("\n##", 1)[0]
        for word in ("*Symptom:*", "*Cause:*", "*Fix:*"):
            assert word in body, (title, word)
