"""What the things in a table are also called: a small dictionary of everyday business nouns.

People ask for shops where the table says `store`. The words are general English
(`business_words.txt`), so they claim nothing about the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from dictionary_pipeline.enrichment.prose import capitalised, singular, spoken

_PARTS = frozenset(
    ["archive", "data", "detail", "entry", "header", "history", "item", "level", "line", "list", "log", "record", "row"]
)
"""Nouns that say how a thing is split up, so that the noun before them says what the table is about."""


def gloss(table: str) -> str | None:
    """One sentence with other words for the noun that a table is named after, or null.

    `sales_order` gives `Order, in other words purchase or request for goods.`
    """
    words = spoken(table).split(" ")
    noun = singular(words[-1])
    if noun in _PARTS and len(words) > 1:
        noun = singular(words[-2])
    others = _words().get(noun)
    return f"{capitalised(noun)}, in other words {others}." if others else None


@cache
def _words() -> Mapping[str, str]:
    """Noun -> other words, as a phrase."""
    text = resources.files("dictionary_pipeline.enrichment").joinpath("business_words.txt").read_text("utf-8")
    found = {}
    for line in text.splitlines():
        noun, colon, others = line.partition(": ")
        if colon and not line.startswith("#"):
            *first, last = others.split(", ")
            found[noun] = f"{', '.join(first)} or {last}" if first else last
    return found
