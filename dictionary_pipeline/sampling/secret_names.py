"""What a column's name tells about secrets: enough not to read it at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from dictionary_pipeline.naming import words
from dictionary_pipeline.sampling.sensitivity.model import Verdict

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


@lru_cache(maxsize=65_536)
def told_by_name(column: str, type_class: str) -> Verdict | None:
    """Whether a name says password, secret, token, key, salt, hash, social security or card number."""
    spoken = tuple(part for word in words(column) for part in _parts(word.lower()))
    if not spoken or _is_harmless(spoken, type_class):
        return None
    for category, telling in _SIGNALS:
        starts = range(len(spoken) - len(telling) + 1)
        if any(spoken[start : start + len(telling)] == telling for start in starts):
            return Verdict(category, 1.0, f"the name says `{' '.join(telling)}`")
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
