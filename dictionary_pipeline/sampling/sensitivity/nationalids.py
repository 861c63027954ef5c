"""National identity, insurance and tax numbers of persons, checked by python-stdnum."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, cast

from dictionary_pipeline.sampling.sensitivity.valueset import MOST_VALIDATED, ValueSet

SURE = 1e-5
"""Greatest probability of a chance find that values alone may have ..."""
LIKELY = 1e-3
"""... and that values in a table about persons may."""


class Finding(NamedTuple):
    """Most values are numbers of one scheme."""

    category: str
    title: str
    share: float
    by_chance: float
    """Probability that as many other values of that shape would pass."""
    has_check_digit: bool
    """False where only the writing tells the scheme."""


class _Scheme(NamedTuple):
    category: str
    title: str
    module: str
    shape: re.Pattern[str]
    chance: float
    """That an unrelated value of this shape passes the check."""


_SCHEMES = tuple(
    _Scheme(category, title, module, re.compile(shape, re.I), chance)
    for category, title, module, shape, chance in (
        ("US_SSN", "US social security numbers", "us.ssn", r"\d{3}-\d{2}-\d{4}", 0.04),
        ("US_ITIN", "US taxpayer numbers", "us.itin", r"9\d{2}-\d{2}-\d{4}", 0.04),
        ("UK_NHS", "British NHS numbers", "gb.nhs", r"\d{3} \d{3} \d{4}", 0.09),
        ("IT_FISCAL_CODE", "Italian fiscal codes", "it.codicefiscale", r"[a-z]{6}\d\d[a-z]\d\d[a-z]\d{3}[a-z]", 0.001),
        ("ES_NIF", "Spanish identity numbers", "es.nif", r"(?:\d{8}|[xyz]-?\d{7})-?[a-z]", 0.045),
        ("ES_NIE", "Spanish identity numbers of foreigners", "es.nie", r"[xyz]-?\d{7}-?[a-z]", 0.045),
        ("PL_PESEL", "Polish PESEL numbers", "pl.pesel", r"\d{11}", 0.004),
        (
            "NATIONAL_ID",
            "French social security numbers",
            "fr.nir",
            r"[1278] ?\d\d ?\d\d ?[\dab]{2,3} ?\d{3} ?\d{3} ?\d\d",
            0.01,
        ),
        ("NATIONAL_ID", "German tax numbers of persons", "de.idnr", r"\d{11}|\d\d \d{3} \d{3} \d{3}", 0.02),
        ("NATIONAL_ID", "Austrian insurance numbers", "at.vnr", r"\d{4} ?\d{6}", 0.01),
        ("NATIONAL_ID", "Swiss insurance numbers", "ch.ssn", r"756\.?\d{4}\.?\d{4}\.?\d{2}", 0.001),
        ("NATIONAL_ID", "Belgian national numbers", "be.nn", r"\d{2}\.?\d{2}\.?\d{2}-?\d{3}\.?\d{2}", 0.002),
        ("NATIONAL_ID", "Brazilian CPF numbers", "br.cpf", r"\d{3}\.\d{3}\.\d{3}-\d{2}|\d{11}", 0.01),
        ("NATIONAL_ID", "Chinese identity numbers", "cn.ric", r"\d{17}[\dx]", 0.001),
        ("NATIONAL_ID", "Indian Aadhaar numbers", "in_.aadhaar", r"\d{4}[ -]\d{4}[ -]\d{4}", 0.08),
        ("NATIONAL_ID", "Indian PAN numbers of persons", "in_.pan", r"[a-z]{3}p[a-z]\d{4}[a-z]", 0.02),
        ("NATIONAL_ID", "Turkish identity numbers", "tr.tckimlik", r"\d{11}", 0.01),
        ("NATIONAL_ID", "Swedish personal numbers", "se.personnummer", r"(?:\d\d)?\d{6}[-+]\d{4}", 0.01),
        ("NATIONAL_ID", "Finnish personal codes", "fi.hetu", r"\d{6}[-+a]\d{3}[0-9a-y]", 0.003),
        ("NATIONAL_ID", "Norwegian identity numbers", "no.fodselsnummer", r"\d{6} ?\d{5}", 0.001),
        ("NATIONAL_ID", "Danish personal numbers", "dk.cpr", r"\d{6}-\d{4}", 0.3),
        ("NATIONAL_ID", "Mexican CURP codes", "mx.curp", r"[a-z]{4}\d{6}[hm][a-z]{5}[0-9a-z]\d", 0.001),
        ("NATIONAL_ID", "Chilean RUT numbers", "cl.rut", r"\d{1,2}\.\d{3}\.\d{3}-[\dk]", 0.05),
        ("NATIONAL_ID", "Korean resident numbers", "kr.rrn", r"\d{6}-\d{7}", 0.005),
        ("NATIONAL_ID", "South African identity numbers", "za.idnr", r"\d{13}", 0.003),
        ("NATIONAL_ID", "Romanian personal codes", "ro.cnp", r"[1-9]\d{12}", 0.002),
        ("NATIONAL_ID", "Czech and Slovak birth numbers", "cz.rc", r"\d{6}/\d{3,4}", 0.02),
        ("NATIONAL_ID", "Estonian or Lithuanian personal codes", "ee.ik", r"[3-6]\d{10}", 0.004),
        ("NATIONAL_ID", "Bulgarian personal numbers", "bg.egn", r"\d{10}", 0.005),
        ("NATIONAL_ID", "Canadian insurance numbers", "ca.sin", r"\d{3}-\d{3}-\d{3}", 0.1),
        ("NATIONAL_ID", "Irish PPS numbers", "ie.pps", r"\d{7}[a-w][a-iw]?", 0.05),
        ("NATIONAL_ID", "Dutch citizen numbers", "nl.bsn", r"\d{9}", 0.5),
        ("NATIONAL_ID", "Pakistani identity numbers", "pk.cnic", r"\d{5}-\d{7}-\d", 0.02),
        ("NATIONAL_ID", "Bosnian, Serbian or Slovene citizen numbers", "si.emso", r"\d{13}", 0.004),
        ("NATIONAL_ID", "Malaysian identity numbers", "my.nric", r"\d{6}-\d{2}-\d{4}", 0.02),
    )
)
"""`chance` counts what fits a shape anyway: of nine digits one in eleven is a Dutch number, and nine digits are
anything, so that they never tell by themselves."""
_NINO = re.compile(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]")
"""https://www.gov.uk/hmrc-internal-manuals/national-insurance-manual/nim39110; python-stdnum has no such module."""
_NINO_CHANCE = 0.02
_WITHOUT_CHECK_DIGIT = frozenset(("US_SSN", "US_ITIN", "UK_NINO"))
_NEEDED_SHARE = 0.8
_TRIED_FIRST = 4


def find(values: ValueSet) -> Finding | None:
    """The scheme that most values belong to, the least probable by chance first."""
    if not values.has_digits or values.is_counting:
        return None
    some = values.texts[:MOST_VALIDATED]
    first = some[:_TRIED_FIRST]
    findings = []
    for scheme in _SCHEMES:
        if sum(1 for text in first if scheme.shape.fullmatch(text)) * 2 < len(first):
            continue
        is_valid = _validator(scheme.module)
        found = sum(1 for text in some if scheme.shape.fullmatch(text) and is_valid(text))
        findings.append(_finding(scheme.category, scheme.title, found, len(some), scheme.chance))
    found = sum(1 for text in some if _NINO.fullmatch(text))
    findings.append(_finding("UK_NINO", "British national insurance numbers", found, len(some), _NINO_CHANCE))
    sound = [finding for finding in findings if finding.share >= _NEEDED_SHARE]
    return min(sound, key=lambda finding: finding.by_chance) if sound else None


def _finding(category: str, title: str, found: int, of: int, chance: float) -> Finding:
    share = found / of if of else 0.0
    # What failed speaks against the scheme as much as what passed speaks for it.
    by_chance = chance ** max(0, 2 * found - of)
    return Finding(category, title, share, by_chance, category not in _WITHOUT_CHECK_DIGIT)


@cache
def _validator(module: str) -> Callable[[str], bool]:
    return cast(Callable[[str], bool], importlib.import_module(f"stdnum.{module}").is_valid)
