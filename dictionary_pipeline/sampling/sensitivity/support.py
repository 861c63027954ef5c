"""Whether the values of a column bear out what its name says."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import NamedTuple

from dictionary_pipeline.sampling.sensitivity import addresses, formats, nationalids, secrets
from dictionary_pipeline.sampling.sensitivity.persons import name_derived_share, person_shares
from dictionary_pipeline.sampling.sensitivity.valueset import ValueSet

_HALF = 0.5
_ID_SHAPE = re.compile(r"(?=(?:.*\d){3})(?=(?:.*[\dA-Za-z]){6})[\dA-Za-z][\dA-Za-z ./+-]{4,24}")
_SSN_SHAPE = re.compile(r"(?=(?:.*\d){7})[\d ./A-Za-z-]{7,20}")
_MASKED = re.compile(r"(?=.*\d)\S*?(?:[*•#Xx][ -]?){2,}.*")
_ACCOUNT_SHAPE = re.compile(r"(?=(?:.*\d){5})[A-Za-z]{0,4}[\d .*/Xx-]{5,30}|[A-Z]{2}\d\d[A-Z0-9 ]{11,32}")
_AMOUNT = re.compile(r"[^\w-]{0,3}\s?\d[\d.,' ]*(?:k|K)?\s?(?:[A-Z]{3}|[€$£¥₹])?")
_USERNAME_SHAPE = re.compile(r"@?(?=.*[^\W\d_])[\w.@+-]{2,64}|[^\s@]+\\[^\s@]+")
_MAIL_BOX = re.compile(r"(?=.*[^\W\d_])[\w.+-]{4,40}")
_TOO_MANY_FOR_STATES = 8
_TOO_MANY_FOR_SIDES = 4
_ADDRESS_WORDS = ("addr", "adr", "dire", "indir", "ender", "anschrift", "dizhi", "domicil", "line", "residen", "地址")
_LETTERS = re.compile(r"[^\W\d_]+(?:[ '.-]+[^\W\d_]+){0,4}\.?")
_WORDS = re.compile(r"(?:[^\W\d_]+[.,!?]?\s+)+[^\W\d_]+[.!?]?")
_SECRETS_OF_WORDS = ("answer", "conn", "credential", "phrase", "mnemonic", "pem")
_SECURITY_CODE = re.compile(r"\d{3,4}")
_PIN = re.compile(r"\d{4,5}")
"""Postal codes of six digits are called pin codes too."""
_PLATE_SHAPE = re.compile(r"(?=.*\d)[\w· •-]{4,12}")


class Level(enum.IntEnum):
    """How far values bear a name out."""

    REFUTED = 0
    """They are something else."""
    UNKNOWN = 1
    """There are none."""
    COMPATIBLE = 2
    """They may be what the name says."""
    CONFIRMED = 3
    """They are."""


class Support(NamedTuple):
    """What the values say to a name, with a part sentence for people."""

    level: Level
    reason: str = ""
    category: str | None = None
    """A more exact one than the name's, when the values tell it."""


_UNKNOWN = Support(Level.UNKNOWN, "no values seen")
_REFUTED = Support(Level.REFUTED)
_COMPATIBLE = Support(Level.COMPATIBLE, "the values do not speak against it")


def supported(category: str, phrase: str, values: ValueSet) -> Support:
    """Judge the values under the assumption that a name tells `category` by `phrase`."""
    if not values.texts:
        return _UNKNOWN
    judge = _JUDGES.get(category)
    return judge(values, phrase) if judge else _not_a_state(values)


def percent(share: float, what: str) -> str:
    """`92 % of values are valid IBANs`."""
    return f"{round(100 * share)} % of values {what}"


def _confirmed(share: float, what: str, category: str | None = None) -> Support:
    return Support(Level.CONFIRMED, percent(share, what), category)


def _email(values: ValueSet, _: str) -> Support:
    share = formats.email_share(values)
    if share >= _HALF:
        return _confirmed(share, "are e-mail addresses")
    if values.share(lambda text: "@" in text) >= 0.3 or _hidden_share(values) >= _HALF:
        return _COMPATIBLE
    # Some systems leave the domain out. Frequencies and kinds of mail, as in `email = weekly`, are few.
    boxes = values.share(_MAIL_BOX.fullmatch) if len(values) >= _TOO_MANY_FOR_STATES else 0.0
    return _COMPATIBLE if boxes >= 0.9 else _REFUTED


def _phone(values: ValueSet, _: str) -> Support:
    shaped = formats.phone_shape_share(values)
    if max(shaped, _hidden_share(values)) < _HALF:
        return _REFUTED
    valid = max(formats.valid_phone_share(values), formats.local_phone_share(values))
    return _confirmed(valid, "are valid telephone numbers") if valid >= _HALF else _COMPATIBLE


def _person(values: ValueSet, _: str) -> Support:
    shares = person_shares(values)
    if shares.known >= _HALF and shares.known > shares.place:
        return _confirmed(shares.known, "are names of persons")
    letters = values.share(_LETTERS.fullmatch) if len(values) >= _TOO_MANY_FOR_STATES else 0.0
    return _COMPATIBLE if shares.shaped >= _HALF or letters >= 0.9 else _REFUTED


def _location(values: ValueSet, phrase: str) -> Support:
    share = addresses.street_share(values)
    if share >= 0.4:
        return _confirmed(share, "name a street and a number")
    if addresses.technical_share(values) >= 0.6:
        return _REFUTED
    # An address is no single word, unlike the name of a street; but left and right are sides of one.
    may_be_words = not any(word in phrase for word in _ADDRESS_WORDS) and len(values) >= _TOO_MANY_FOR_SIDES
    return _REFUTED if addresses.single_word_share(values) >= 0.6 and not may_be_words else _COMPATIBLE


def _birth(values: ValueSet, phrase: str) -> Support:
    share = formats.date_share(values)
    if share >= _HALF:
        return _confirmed(share, "are dates")
    days = formats.day_share(values)
    if days >= _HALF:
        return _confirmed(days, "are days of a year")
    stamps = values.share(lambda text: text.lstrip("-").isdecimal() and 5 <= len(text.lstrip("-")) <= 13)
    return _COMPATIBLE if stamps >= _HALF and phrase not in ("birth", "born") else _REFUTED


def _national_id(values: ValueSet, _: str) -> Support:
    found = nationalids.find(values)
    if found is not None:
        return _confirmed(found.share, f"are valid {found.title}", found.category)
    shaped = values.share(lambda text: _ID_SHAPE.fullmatch(text) and text.count(".") != 1)
    return _COMPATIBLE if max(shaped, _hidden_share(values)) >= _HALF else _REFUTED


def _ssn(values: ValueSet, phrase: str) -> Support:
    # `ssn` abbreviates other things too, none of which has as many digits.
    if max(values.share(_SSN_SHAPE.fullmatch), _hidden_share(values)) < _HALF:
        return _REFUTED
    return _national_id(values, phrase)


def _hidden_share(values: ValueSet) -> float:
    """Share of values that are masked, hashed or encrypted: still what they were for whoever knows how."""
    return values.share(lambda text: _MASKED.fullmatch(text) or secrets.is_digest(text) or secrets.is_cipher(text))


def _card(values: ValueSet, phrase: str) -> Support:
    share = formats.card_share(values)
    if share >= _HALF:
        return _confirmed(share, "are valid card numbers")
    masked = formats.masked_card_share(values)
    if masked >= _HALF:
        return _confirmed(masked, "are masked card numbers")
    if max(formats.card_shape_share(values), _hidden_share(values)) >= _HALF:
        return _COMPATIBLE
    is_code = any(word in phrase for word in ("cvv", "cvc", "verification", "security"))
    return _COMPATIBLE if is_code and values.share(_SECURITY_CODE.fullmatch) >= _HALF else _REFUTED


def _iban(values: ValueSet, _: str) -> Support:
    share = formats.iban_share(values)
    if share >= 0.3:
        return _confirmed(share, "are valid IBANs")
    shaped = max(values.share(_ACCOUNT_SHAPE.fullmatch), _hidden_share(values))
    return _COMPATIBLE if shaped >= _HALF else _REFUTED


def _account(values: ValueSet, _: str) -> Support:
    share = formats.iban_share(values)
    if share >= _HALF:
        return _confirmed(share, "are valid IBANs", "IBAN_CODE")
    shaped = max(values.share(_ACCOUNT_SHAPE.fullmatch), _hidden_share(values))
    return _COMPATIBLE if shaped >= _HALF else _REFUTED


def _ip(values: ValueSet, _: str) -> Support:
    share = formats.ip_share(values)
    if share >= _HALF:
        return _confirmed(share, "are IP addresses")
    masked = values.share(lambda text: text.count(".") == 3 and text[:1].isdigit())
    return _COMPATIBLE if masked >= _HALF else _REFUTED


def _mac(values: ValueSet, _: str) -> Support:
    share = formats.mac_share(values, bare=True)
    return _confirmed(share, "are MAC addresses") if share >= _HALF else _REFUTED


def _password(values: ValueSet, phrase: str) -> Support:
    hashed = max(secrets.password_hash_share(values), secrets.digest_share(values))
    if hashed >= _HALF:
        return _confirmed(hashed, "are hashes")
    if phrase == "pin" or phrase.startswith("pin "):
        return _COMPATIBLE if values.share(_PIN.fullmatch) >= 0.8 and not values.is_counting else _REFUTED
    if phrase in ("salt", "hash", "digest"):
        return _COMPATIBLE if secrets.token_share(values) >= _HALF else _REFUTED
    if secrets.state_share(values) >= 0.6 or formats.date_share(values) >= _HALF or formats.url_share(values) >= _HALF:
        return _REFUTED
    if "phrase" in phrase:
        return _COMPATIBLE
    return _REFUTED if values.share(_WORDS.fullmatch) >= _HALF else _COMPATIBLE


def _secret(values: ValueSet, phrase: str) -> Support:
    keys = secrets.key_share(values)
    if keys >= 0.3:
        return _confirmed(keys, "hold keys of known forms")
    if secrets.state_share(values) >= 0.6 or formats.date_share(values) >= _HALF or formats.url_share(values) >= 0.8:
        return _REFUTED
    if any(word in phrase for word in _SECRETS_OF_WORDS):
        return _COMPATIBLE
    if "code" in phrase or "otp" in phrase:
        return (
            _COMPATIBLE
            if values.share(lambda text: len(text) >= 4 and any(map(str.isdigit, text))) >= 0.6
            else _REFUTED
        )
    tokens = max(secrets.token_share(values), values.share(lambda text: len(text) >= 40 and "\n" in text))
    if secrets.random_share(values) >= _HALF or secrets.digest_share(values) >= _HALF:
        return _confirmed(max(secrets.random_share(values), secrets.digest_share(values)), "look drawn at random")
    return _COMPATIBLE if tokens >= _HALF else _REFUTED


def _username(values: ValueSet, _: str) -> Support:
    if formats.date_share(values) >= _HALF or formats.uuid_share(values) >= _HALF or secrets.state_share(values) >= 0.6:
        return _REFUTED
    derived = name_derived_share(values)
    if derived >= _HALF:
        return _confirmed(derived, "are user names made of names of persons")
    shaped = values.share(_USERNAME_SHAPE.fullmatch)
    return _COMPATIBLE if max(shaped, person_shares(values).known) >= _HALF else _REFUTED


def _salary(values: ValueSet, _: str) -> Support:
    share = values.share(_AMOUNT.fullmatch)
    return _confirmed(share, "are amounts") if share >= 0.6 else _REFUTED


def _plate(values: ValueSet, _: str) -> Support:
    share = formats.plate_share(values)
    if share >= 0.7:
        return _confirmed(share, "are written as licence plates are")
    return _COMPATIBLE if values.share(_PLATE_SHAPE.fullmatch) >= 0.6 else _REFUTED


def _not_a_state(values: ValueSet) -> Support:
    flags = values.share(lambda text: text.lower() in ("0", "1", "y", "n", "t", "f", "yes", "no", "true", "false"))
    return _REFUTED if flags >= 0.9 else _COMPATIBLE


_JUDGES: dict[str, Callable[[ValueSet, str], Support]] = {
    "EMAIL_ADDRESS": _email,
    "PHONE_NUMBER": _phone,
    "PERSON": _person,
    "LOCATION": _location,
    "DATE_OF_BIRTH": _birth,
    "US_SSN": _ssn,
    "NATIONAL_ID": _national_id,
    "CREDIT_CARD": _card,
    "IBAN_CODE": _iban,
    "US_BANK_NUMBER": _account,
    "IP_ADDRESS": _ip,
    "MAC_ADDRESS": _mac,
    "PASSWORD": _password,
    "SECRET": _secret,
    "USERNAME": _username,
    "SALARY": _salary,
    "LICENSE_PLATE": _plate,
}
