"""Long text and JSON in which addresses, numbers or names of persons stand."""

from __future__ import annotations

import re
from typing import NamedTuple

from dictionary_pipeline.sampling.sensitivity import formats, names, persons, secrets, vocabulary
from dictionary_pipeline.sampling.sensitivity.valueset import ValueSet
from dictionary_pipeline.sampling.sensitivity.vocabulary import fold

_SSN = re.compile(r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])")
_PHONE = re.compile(
    r"(?<![\w+(-])(?:\+\d[\d ().-]{7,18}\d|(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[.-]\d{4}"
    r"|0\d{2,5}[ /-]\d{3,4}[ -]?\d{2,5})(?![\w-])"
)
_CARD = re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b")
_PAIR = re.compile(r"\b([A-ZÀ-Ý][\w'’-]+) (?:[A-Z]\. )?([A-ZÀ-Ý][\w'’-]+)\b")
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Herr|Frau|Mme|Sra?|Sig)\.? [A-ZÀ-Ý][\w'’-]{2,}")
_JSON_KEY = re.compile(r"\"([\w -]{2,40})\"\s*:\s*(\"(?:[^\"\\]|\\.)+\"|\d{6,})")
_KEYS_THAT_TELL = frozenset(
    [
        "EMAIL_ADDRESS",
        "PHONE_NUMBER",
        "PERSON",
        "US_SSN",
        "NATIONAL_ID",
        "DATE_OF_BIRTH",
        "CREDIT_CARD",
        "IBAN_CODE",
        "US_BANK_NUMBER",
        "PASSWORD",
        "SECRET",
        "LOCATION",
        "MEDICAL",
    ]
)
_PROSE_WORD = re.compile(r"[^\W\d_]{2,}")
_SECRETS = ("PASSWORD", "SECRET")
_SHORT_JSON_VALUE = 3
_LEAST_WORDS = 3
_LEAST_SHARE = 0.03
_LEAST_NAMES_SHARE = 0.15


class ProseFinding(NamedTuple):
    """Texts tell something about persons."""

    share: float
    what: str
    category: str = "FREE_TEXT_PII"


def is_prose(values: ValueSet) -> bool:
    """Whether most values are sentences, lists or JSON rather than single values, or some tell an address in words."""
    if "@" in values.joined and values.share(_tells_address) >= _LEAST_SHARE:
        return True
    return values.share(lambda text: text[:1] in ("{", "[") or _is_sentence(text)) >= 0.5


def _tells_address(text: str) -> bool:
    """`ask ann@example.org`: the address is a part of the text and a person's."""
    return "@" in text and " " in text and not formats.is_email(text) and _tells_mail(text)


def _is_sentence(text: str) -> bool:
    return text.count(" ") >= _LEAST_WORDS and len(_PROSE_WORD.findall(text)) > _LEAST_WORDS


def find(values: ValueSet, *, with_names: bool) -> ProseFinding | None:
    """What the texts tell about persons.

    Args:
        values: Texts.
        with_names: Also look for names of persons, which many harmless texts have.
    """
    contacts = values.share(_tells_contact)
    if contacts >= _LEAST_SHARE:
        return ProseFinding(contacts, "an e-mail address, telephone, card, bank or insurance number")
    secret = values.share(lambda text: _json_category(text) in _SECRETS)
    if secret >= _LEAST_SHARE:
        return ProseFinding(secret, "JSON keys that name secrets", "SECRET")
    told = values.share(_json_category)
    if told >= _LEAST_SHARE:
        return ProseFinding(told, "JSON keys that name personal data")
    named = values.share(_names_person) if with_names else 0.0
    if named >= _LEAST_NAMES_SHARE:
        return ProseFinding(named, "the name of a person")
    return None


def _tells_contact(text: str) -> bool:
    if "@" in text and _tells_mail(text):
        return True
    if not any(char.isdigit() for char in text):
        return False
    if _SSN.search(text) or secrets.tells_password(text):
        return True
    if any(_is_phone(found[0]) for found in _PHONE.finditer(text)):
        return True
    return any(formats.is_card(found[0]) for found in _CARD.finditer(text)) or any(
        formats.is_iban(found[0]) for found in _IBAN.finditer(text)
    )


def _tells_mail(text: str) -> bool:
    return any(
        not formats.is_role_email(found[0]) and text[found.end() : found.end() + 1] != ":"
        for found in formats.EMAIL.finditer(text)
    )


def _is_phone(text: str) -> bool:
    return formats.is_written_phone(text) or formats.is_valid_somewhere(text)


def _json_category(text: str) -> str | None:
    """What the telling keys of a JSON text say, secrets first."""
    if text[:1] not in ("{", "["):
        return None
    told = set()
    for key, value in _JSON_KEY.findall(text):
        telling = names.read_name(key).signals
        if telling and telling[0].strong and telling[0].category in _KEYS_THAT_TELL and len(value) > _SHORT_JSON_VALUE:
            told.add(telling[0].category)
    return min(told, key=lambda category: (category not in _SECRETS, category)) if told else None


def _names_person(text: str) -> bool:
    if _TITLED.search(text):
        return True
    given, places = vocabulary.word_list("given_names.txt"), vocabulary.word_list("places.txt")
    for first, last in _PAIR.findall(text):
        if (
            fold(first) in given
            and fold(first) not in places
            and persons.person_shares(ValueSet([f"{first} {last}"])).full
        ):
            return True
    return False
