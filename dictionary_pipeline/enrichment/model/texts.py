"""How texts of a database are prepared for a prompt: as bounded data without hidden characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Protocol

NAME_LENGTH = 128
COMMENT_LENGTH = 500
KNOWN_LENGTH = 200
SAMPLE_LENGTH = 50
SQL_LENGTH = 2_000
VALUES = 30
SAMPLES = 3


class Guard(Protocol):
    """Recognises values of withheld columns."""

    def matches(self, text: str) -> Sequence[object]:
        """Withheld values in a text; empty when there is none."""

    def masked(self, text: str, replacement: str) -> str:
        """The text with every withheld value replaced."""


class NoGuard:
    """For databases without a withheld column."""

    def matches(self, text: str) -> Sequence[object]:
        """Nothing."""
        return []

    def masked(self, text: str, replacement: str) -> str:
        """The text."""
        return text


def clean(text: str, limit: int) -> str:
    """A text on one line, without control, format and private-use characters, cut to `limit` characters.

    Format characters include those that hide text from people: zero-width, direction overrides, tags.
    """
    plain = "".join(" " if unicodedata.category(char)[0] == "C" or char.isspace() else char for char in text)
    joined = " ".join(plain.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"


_TELLING = re.compile(r"(?<!\S)\S*@\S+|(?<![\w.+#-])(?=[\w.+#-]*\d)[\w.+#-]{6,}")
"""Tried only where a word begins: a long line without a blank, such as an embedded picture, takes linear time."""


def without_telling_words(text: str, replacement: str = "***") -> str:
    """A comment without addresses and long words with digits.

    For tables with withheld columns: a value of a column that is never read cannot be recognised.
    """
    return _TELLING.sub(replacement, text)


_REASONING = re.compile(r"\A\s*(?![\s{\[(\"`]).*?</think(?:ing)?>", re.IGNORECASE | re.DOTALL)
"""Not in what begins like an answer: that may quote the mark."""


def without_reasoning(answer: str) -> str:
    """An answer without the thoughts that some servers send before it; their drafts are no part of it."""
    return _REASONING.sub("", answer)


def unique_names(names: Iterable[str]) -> list[str]:
    """Cleaned names, each once: what is equal after cleaning gets a number."""
    found: dict[str, None] = {}
    for name in names:
        base = clean(name, NAME_LENGTH) or "unnamed"
        shown, number = base, 1
        while shown in found:
            number += 1
            shown = f"{base} ({number})"
        found[shown] = None
    return list(found)


def estimated_tokens(text: str) -> int:
    """About how many tokens a text takes, without a tokenizer: a third of its UTF-8 bytes, rounded up.

    On schema text this is 10 to 30 % more than what providers count; what is recorded is their count.
    """
    return -(-len(text.encode()) // 3)
