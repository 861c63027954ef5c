"""Names of business entities: how they are cleaned, compared, and looked for in a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from dictionary_pipeline.enrichment.model.texts import clean
from dictionary_pipeline.enrichment.prose import singular
from dictionary_pipeline.naming import words

MAX_NAME = 100
_WORD = re.compile(r"\w+")
_KEY_WORD = re.compile(r"\w+[+#]*")
_SHORT = 2
_LEGAL_FORMS = frozenset(
    (
        *("ab", "ag", "aps", "as", "asa", "bv", "co", "company", "corp", "corporation", "eg", "ev", "gbr", "gmbh"),
        *("inc", "incorporated", "kg", "kgaa", "limited", "llc", "llp", "lp", "ltd", "mbh", "nv", "ohg", "oy", "oyj"),
        *("plc", "pte", "pty", "pvt", "sa", "sarl", "sas", "se", "sl", "spa", "srl", "ug"),
        *("bhd", "bvba", "doo", "jsc", "kft", "ltda", "oü", "pjsc", "sdn", "sprl", "sro"),
    )
)
_DOTTED = re.compile(r"\b(?:\w\.){2,}|\b(?:\w\.)+\w\b")
_ARTICLES = frozenset(("a", "an", "the"))
_NO_SIGN = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"))


def shown_name(text: str) -> str:
    """A name on one line, without quotes around it and hidden characters; empty when nothing is left."""
    return clean(text, MAX_NAME + 1).strip(" \"'`*_“”‘’«»")


def title_of(name: str) -> str:
    """The title of a business entity: its name in capitals."""
    return unicodedata.normalize("NFKC", name).upper()


@lru_cache(maxsize=65_536)
def name_key(name: str, *, with_form: bool = False) -> str:
    """What is equal for two spellings of one name: case, marks, article, plural, legal form of a company.

    The key is for comparing only; it may be no word at all. Names of one title have one key.

    Args:
        with_form: Names with and without a legal form, or with different ones, are not equal.
    """
    folded = title_of(name).casefold()
    found = _KEY_WORD.findall(_DOTTED.sub(lambda match: match.group().replace(".", ""), folded))
    if len(found) > 1 and found[0] in _ARTICLES:
        del found[0]
    found[-1:] = map(singular, found[-1:])
    while len(found) > 1 and found[-1] in _LEGAL_FORMS and not with_form:
        found.pop()
        found[-1:] = map(singular, found[-1:])
    return " ".join(found)


def stems_of(identifier: str) -> frozenset[str]:
    """The words of an identifier in their singular."""
    return frozenset(singular(word.casefold()) for word in words(identifier))


def word_set(texts: Iterable[str]) -> frozenset[str]:
    """Words of texts in their singular, those within identifiers such as `OrderLine` too."""
    found: set[str] = set()
    for text in texts:
        for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
            found.add(word.casefold())
            found.update(part.casefold() for part in words(word))
    return frozenset([*found, *map(singular, found)])


def is_grounded(name: str, known: frozenset[str]) -> bool:
    """Whether every telling word of a name is among the words of a text; so a model cannot bring in its own."""
    found = [word.casefold() for word in _WORD.findall(unicodedata.normalize("NFKC", name))]
    telling = [word for word in found if word not in _NO_SIGN]
    return bool(telling) and all(
        word in known or singular(word) in known or (len(word) <= _SHORT and not word.isalpha()) for word in telling
    )
