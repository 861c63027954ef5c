"""Verdicts that the name of a column starts: weighed with its type, its table and its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dictionary_pipeline.sampling.sensitivity import formats, vocabulary
from dictionary_pipeline.sampling.sensitivity.context import TableContext
from dictionary_pipeline.sampling.sensitivity.model import ColumnEvidence, Verdict
from dictionary_pipeline.sampling.sensitivity.names import NameReading, Signal, read_comment
from dictionary_pipeline.sampling.sensitivity.support import Level, supported
from dictionary_pipeline.sampling.sensitivity.valueset import ValueSet

_OF_ORGANISATIONS = frozenset(["EMAIL_ADDRESS", "PHONE_NUMBER", "LOCATION", "PERSON"])
"""A company's telephone is no personal data."""
_STRONG_CONFIDENCE = {Level.CONFIRMED: 0.97, Level.COMPATIBLE: 0.85, Level.UNKNOWN: 0.75}
_WEAK_CONFIDENCE = {Level.CONFIRMED: 0.85, Level.COMPATIBLE: 0.65, Level.UNKNOWN: 0.55}
_NEARLY_ALL = 0.8
_NUMERIC = ("integer", "decimal", "float")
_MOMENTS = ("date", "timestamp")
_NUMERIC_CATEGORIES = frozenset(
    [
        "PHONE_NUMBER",
        "US_SSN",
        "NATIONAL_ID",
        "CREDIT_CARD",
        "US_BANK_NUMBER",
        "SALARY",
        "DATE_OF_BIRTH",
        "MEDICAL",
        "IP_ADDRESS",
    ]
)
_NOTHING_WITHOUT_VALUES = frozenset(("userid", "user id", "acct", "account"))
_LOGIN_WORDS = frozenset(("login", "logon", "username", "uid", "pwd"))
_MEASURES = frozenset(("bmi", "glucose", "cholesterol", "heart rate", "blood pressure", "test result", "lab result"))
_NUMERIC_PHRASES = frozenset(("pin", "pin code", "pin number", "passcode", "otp", "otp code"))


class Situation(NamedTuple):
    """A column as the detector sees it."""

    evidence: ColumnEvidence
    reading: NameReading
    table: TableContext
    values: ValueSet


def verdict(situation: Situation) -> tuple[Verdict, Level] | None:
    """The best verdict that the name starts and neither type, table nor values refute, and how far values agree."""
    for signal in _all_signals(situation):
        if not _fits_type(signal, situation.evidence) or _is_vetoed(signal, situation):
            continue
        support = supported(signal.category, signal.phrase, situation.values)
        if support.level is Level.REFUTED:
            continue
        if not signal.strong and not _may_be_weak(signal, support.level, situation):
            continue
        confidence = (_STRONG_CONFIDENCE if signal.strong else _WEAK_CONFIDENCE)[support.level]
        reason = f"the {signal.source} says '{signal.phrase}'; {support.reason}"
        return Verdict(support.category or signal.category, confidence, reason), support.level
    return None


def _may_be_weak(signal: Signal, level: Level, situation: Situation) -> bool:
    if level is Level.UNKNOWN and signal.phrase in _NOTHING_WITHOUT_VALUES:
        return False
    if level is Level.CONFIRMED and signal.category not in _NEEDS_CONTEXT and signal.phrase not in _NEEDING_CONTEXT:
        return True
    if signal.phrase.startswith("pin") and _about_people(situation):
        return True
    return _CONTEXTS.get(signal.category, _about_people)(situation)


def _all_signals(situation: Situation) -> tuple[Signal, ...]:
    """Those of the name, a person's name where the table tells that `name` is one, else those of the comment."""
    reading, table, comment = situation.reading, situation.table, situation.evidence.comment
    if reading.bearer == "bare" and table.subject in ("person", "unknown") and table.is_about_people:
        is_public = table.speaks_of("PUBLIC_ROLE")
        return (*reading.signals, Signal("PERSON", "name", strong=not is_public))
    if comment and not reading.signals and not reading.harmless:
        is_key = reading.words[-1:] == ("id",)  # numbers, but no amounts: `department_id`, "Pays the wage."
        return tuple(signal for signal in read_comment(comment) if not (is_key and signal.category == "SALARY"))
    return reading.signals


def _fits_type(signal: Signal, evidence: ColumnEvidence) -> bool:
    kind = evidence.type_class
    if kind in ("boolean", "interval", "time"):
        return False
    if kind in _MOMENTS:
        return signal.category == "DATE_OF_BIRTH"
    if kind == "uuid":
        return signal.category == "SECRET"
    if kind == "binary":
        return signal.category in ("PASSWORD", "SECRET")
    if kind in _NUMERIC:
        if signal.category == "MEDICAL" and not signal.strong:
            return signal.phrase in _MEASURES
        if signal.phrase in _NOTHING_WITHOUT_VALUES:
            return False
        return signal.category in _NUMERIC_CATEGORIES or signal.phrase in _NUMERIC_PHRASES
    return True


def _is_vetoed(signal: Signal, situation: Situation) -> bool:
    """Whether the words around, or the table, make the thing another one."""
    reading, table = situation.reading, situation.table
    category = signal.category
    if category in _OF_ORGANISATIONS and is_of_organisation(situation):
        return True
    if category == "EMAIL_ADDRESS":
        return table.subject != "person" and formats.role_email_share(situation.values) >= _NEARLY_ALL
    if category == "LOCATION":
        return reading.any_of("TECHNICAL") or reading.any_of("INFRASTRUCTURE") or table.subject == "infrastructure"
    if category in ("IP_ADDRESS", "MAC_ADDRESS"):
        return is_of_machine(situation)
    if category in ("DATE_OF_BIRTH", "PERSON"):
        return table.subject == "animal" or reading.any_of("ANIMAL")
    if category == "MEDICAL":
        return table.subject in ("lookup", "animal") or (table.surrounds("NOT_MEDICAL") and not table.is_about_people)
    if category == "DEMOGRAPHIC":
        return table.subject == "lookup" or (table.speaks_of("PLACE_OR_FEAST") and table.subject != "person")
    if category == "LICENSE_PLATE" and table.surrounds("OTHER_PLATE"):
        return True
    if category in ("NATIONAL_ID", "LICENSE_PLATE"):
        return reading.any_of("ORGANISATION") or (
            category == "NATIONAL_ID" and "tax" in signal.phrase and table.subject == "organisation"
        )
    return False


def is_of_organisation(situation: Situation) -> bool:
    """Whether telephone, address or name is an organisation's and no person's."""
    reading, table = situation.reading, situation.table
    if reading.any_of("PERSON"):
        return False
    if reading.any_of("ORGANISATION"):
        return not (table.subject == "person" and reading.any_of("COMPANION") and _is_only_workplace(reading))
    return table.subject == "organisation" and not table.has_person_columns


def _is_only_workplace(reading: NameReading) -> bool:
    """`office_phone` of an employee is where to reach the person."""
    said = vocabulary.words()["ORGANISATION"].intersection(reading.words)
    return said <= {"office", "business", "department", "school"}


def is_of_machine(situation: Situation) -> bool:
    """Whether an address is a host's and no caller's."""
    reading, table = situation.reading, situation.table
    if reading.any_of("CALLER"):
        return False
    if reading.any_of("INFRASTRUCTURE") or table.subject == "infrastructure" or table.speaks_of("INFRASTRUCTURE"):
        return True
    return table.surrounds("MACHINE_ATTRIBUTE") and not table.surrounds("CALLER")


def _about_people(situation: Situation) -> bool:
    return situation.table.is_about_people or situation.reading.any_of("PERSON")


def _about_access(situation: Situation) -> bool:
    table = situation.table
    if table.surrounds("NOT_SECRET") and not table.categories & {"PASSWORD", "USERNAME"}:
        return False
    near = table.categories & {"PASSWORD", "USERNAME", "EMAIL_ADDRESS", "SECRET", "CREDIT_CARD"}
    return bool(near) or table.speaks_of("AUTH_CONTEXT") or not _LOGIN_WORDS.isdisjoint(table.around)


def _about_banking(situation: Situation) -> bool:
    table = situation.table
    if table.surrounds("LEDGER"):
        return False
    return table.surrounds("BANK_CONTEXT") or "IBAN_CODE" in table.categories or situation.reading.any_of("PERSON")


def _about_health(situation: Situation) -> bool:
    table = situation.table
    return table.surrounds("MEDICAL_CONTEXT") and not table.surrounds("NOT_MEDICAL")


def _about_accounts(situation: Situation) -> bool:
    table = situation.table
    return bool(table.categories & {"PASSWORD", "EMAIL_ADDRESS"}) or table.subject == "person"


def _about_addresses(situation: Situation) -> bool:
    return situation.table.surrounds("POSTAL") or _about_people(situation)


def _never(_: Situation) -> bool:
    return False


_CONTEXTS: dict[str, Callable[[Situation], bool]] = {
    "PASSWORD": _about_access,
    "SECRET": _about_access,
    "US_BANK_NUMBER": _about_banking,
    "MEDICAL": _about_health,
    "USERNAME": _about_accounts,
    "LOCATION": _about_addresses,
    "CREDIT_CARD": _never,
    "MAC_ADDRESS": _never,
    "PERSON": _never,
}
_NEEDS_CONTEXT = frozenset(("SALARY", "US_BANK_NUMBER"))
_NEEDING_CONTEXT = frozenset(("hash", "salt", "digest", "pin", "pin code", "pincode"))
"""Amounts, digests and numbers are everywhere: agreeing values do not suffice for a weak word."""
