"""The word lists of the detector, read once."""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib import resources

_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "ı": "i", "đ": "d", "ð": "d", "þ": "th"})


def fold(text: str) -> str:
    """Lower case without accents; scripts other than Latin keep their letters."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    plain = "".join(char for char in decomposed if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFKC", plain)


@cache
def words() -> dict[str, frozenset[str]]:
    """Section of `words.txt` -> its words, folded."""
    return {
        section: frozenset(word for line in lines for word in fold(line).split())
        for section, lines in _sections("words.txt").items()
    }


@cache
def signals() -> dict[str, tuple[str, ...]]:
    """Category -> its phrases, folded; a weak phrase keeps its `? `."""
    return {category: tuple(fold(line) for line in lines) for category, lines in _sections("signals.txt").items()}


@cache
def word_list(name: str) -> frozenset[str]:
    """All words of a file without sections, folded."""
    return frozenset(word for line in _lines(name) for word in fold(line).split())


def _sections(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in _lines(name):
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        else:
            section.append(line)
    return found


def _lines(name: str) -> list[str]:
    text = resources.files(__package__).joinpath("wordlists", name).read_text(encoding="utf-8")
    return [line for raw in text.splitlines() if (line := raw.strip()) and not line.startswith("#")]
