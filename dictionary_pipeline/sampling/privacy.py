"""Columns whose values are never read, told by their names and by the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.naming import words

WITHHELD: frames.Schema = {name: pl.String() for name in ("schema", "table", "column", "category", "reason")}

_SIGNALS: Sequence[tuple[str, tuple[str, ...]]] = (
    *(("PASSWORD", (word,)) for word in ("password", "passwords", "passwd", "pswd", "pwd", "passphrase", "passcode")),
    *(("PASSWORD", ("pass", word)) for word in ("word", "phrase", "code", "hash", "salt", "wd")),
    *(("PASSWORD", (owner, "pass")) for owner in ("user", "usr", "login", "admin", "db", "account")),
    *(("NATIONAL_ID", sequence) for sequence in (("ssn",), ("ssns",), ("social", "security"), ("soc", "sec"))),
    *(("CREDIT_CARD", ("card", word)) for word in ("number", "numbers", "no", "num", "nr", "nbr", "pan", "cvv", "cvc")),
    *(("CREDIT_CARD", ("cc", word)) for word in ("number", "no", "num", "nr", "nbr")),
    *(("CREDIT_CARD", sequence) for sequence in (("credit", "card"), ("pan", "card"), ("cvv",), ("cvc",))),
    *(("SECRET", (word,)) for word in ("secret", "secrets", "token", "tokens", "salt", "hash", "hashes")),
    *(
        ("SECRET", (kind, key))
        for kind in ("api", "private", "access", "encryption", "signing")
        for key in ("key", "keys")
    ),
)
"""Category and the consecutive words that tell it; the first that fits a name decides."""

_COMPANION_WORDS = """
access account acct admin app auth bank bearer cc client cust customer data db debit emp employee enc encrypted
hashed id last legacy login master member my new number no num old owner patient payment person plain private
public refresh reset root service session temp text user usr value web
"""
_COMPANIONS = frozenset(_COMPANION_WORDS.split())
"""Words that run together with the telling ones, as in `userpasswordhash` or `custssn`."""
_VOCABULARY = tuple(sorted({word for _, telling in _SIGNALS for word in telling} | _COMPANIONS, key=len, reverse=True))

_HEAD_WORDS = """
algo algorithm at attempts cnt count days enabled expires expiration expiry flag iterations kind len length limit
on policy required rounds size status strength total type usage used version
"""
_HARMLESS_HEADS = frozenset(_HEAD_WORDS.split())
"""A compound is what its last word says: a token count is a count."""
_TYPES_WITHOUT_SECRETS = ("boolean", "date", "time", "timestamp", "interval")
"""`password_changed_at` or `has_secret`: a moment or a flag holds no secret."""
_NUMERIC = ("integer", "float", "decimal")


class _Verdict(NamedTuple):
    category: str
    reason: str


def withheld_columns(catalog: Catalog, config: DatabaseConfig) -> pl.DataFrame:
    """Columns that no statement may select, and why.

    Names that say password, secret, token, API or private key, salt, hash, social security or
    card number are withheld. `config.allow` releases such a verdict; `config.withhold` adds
    columns (category CONFIGURED) and wins. Patterns ignore case, so that a configuration written
    in lower case protects a database that folds names to upper case.

    Returns:
        Frame of schema `WITHHELD`, in the order of the catalog's columns.
    """
    withhold = [_Pattern(text) for text in config.withhold]
    allow = [_Pattern(text) for text in config.allow]
    rows = []
    for schema, table, column, type_class in catalog.columns.select(
        "schema", "table", "column", "type_class"
    ).iter_rows():
        configured = _first_match(withhold, schema, table, column)
        verdict = _told_by_name(column, type_class)
        if configured is not None:
            verdict = _Verdict("CONFIGURED", f"matches the withhold pattern `{configured}`")
        elif verdict is not None and _first_match(allow, schema, table, column) is not None:
            verdict = None
        if verdict is not None:
            rows.append((schema, table, column, *verdict))
    return frames.from_rows(rows, WITHHELD)


def withheld_of(sensitivity: pl.DataFrame) -> pl.DataFrame:
    """The columns of `frames.SENSITIVITY` whose values appear nowhere, as `WITHHELD`."""
    return sensitivity.filter(pl.col("treatment").is_in(["deny", "withhold"])).select(list(WITHHELD))


class _Pattern:
    """A glob on `column`, `table.column` or `schema.table.column`, part by part."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = [re.compile(translate(part), re.IGNORECASE) for part in text.split(".")]

    def matches(self, schema: str, table: str, column: str) -> bool:
        # A column's own name may hold dots.
        if self.text.casefold() == column.casefold():
            return True
        names = (schema, table, column)[-len(self._parts) :]
        return len(names) == len(self._parts) and all(
            part.match(name) for part, name in zip(self._parts, names, strict=True)
        )


def _first_match(patterns: Iterable[_Pattern], schema: str, table: str, column: str) -> str | None:
    return next((pattern.text for pattern in patterns if pattern.matches(schema, table, column)), None)


@lru_cache(maxsize=65_536)
def _told_by_name(column: str, type_class: str) -> _Verdict | None:
    spoken = tuple(part for word in words(column) for part in _parts(word.lower()))
    if not spoken or _is_harmless(spoken, type_class):
        return None
    for category, telling in _SIGNALS:
        starts = range(len(spoken) - len(telling) + 1)
        if any(spoken[start : start + len(telling)] == telling for start in starts):
            return _Verdict(category, f"the name says `{' '.join(telling)}`")
    return None


def _is_harmless(spoken: tuple[str, ...], type_class: str) -> bool:
    """Whether the column, though it may speak of secrets, cannot hold one."""
    if type_class in _TYPES_WITHOUT_SECRETS or spoken[-1] in _HARMLESS_HEADS:
        return True
    # A numeric token_id refers to a row, and prompt_tokens counts what a language model was sent.
    return type_class in _NUMERIC and (spoken[0] in ("is", "has") or spoken[-1] in ("id", "tokens"))


def _parts(word: str) -> list[str]:
    """Words that a word runs together, digits left out; the word itself when not all of it is known."""
    return [part for piece in re.split(r"[0-9]+", word) if piece for part in _segmented(piece) or (piece,)]


@lru_cache(maxsize=65_536)
def _segmented(word: str) -> tuple[str, ...] | None:
    if not word:
        return ()
    for known in _VOCABULARY:
        if word.startswith(known):
            rest = _segmented(word[len(known) :])
            if rest is not None:
                return known, *rest
    return None
