"""Values of known form: which share of a column's values is one."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

import phonenumbers
import stdnum.iban
import stdnum.isbn
import stdnum.luhn

from dictionary_pipeline.sampling.sensitivity.valueset import ValueSet

EMAIL = re.compile(r"[\w.!#$%&'*+=?^{|}~-]+@(?:[\w-]+\.)+[^\W\d_]{2,24}")
_ADDRESSED = re.compile(
    r"(?:mailto:|[^<>@]{1,80}<)?(" + EMAIL.pattern + r")>?(?:\s*[;,]\s*" + EMAIL.pattern + ")*", re.I
)
_ASSET = re.compile(r"@\dx\.|\.(?:png|jpe?g|gif|svg|webp|git)$", re.I)
_ROLE_BOX = re.compile(
    r"(?:info|sales|support|contact|kontakt|contacto|office|admin|hello|help|service|no-?reply|billing|jobs|hr|press|webmaster"
    r"|postmaster|marketing|orders?|team|mail|reservations?|booking|enquiries|accounts?|feedback|newsletter|privacy|security"
    r"|customer[._-]?(?:care|service)|buchhaltung|ventas|vendite)\d*@",
    re.I,
)
_PHONE_SHAPE = re.compile(r"(?:tel[.:]?\s*)?\(?\+?[\d\s().\-/ ]{6,24}(?:\s*(?:x|ext\.?|#)\s*\d{1,6})?", re.I)
_INTERNATIONAL = re.compile(r"\(?(?:\+|00)\d")
_NORTH_AMERICAN = re.compile(r"(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[-.])\d{3}[-.]\d{4}(?:\s*(?:x|ext\.?)\s*\d+)?")
_TELLTALE = re.compile(
    r"\(?\+\d{1,3}[\d ()./-]{6,}|\(?00[1-9]\d[\d ()./-]{6,}|(?:\+?\d{1,3}[ -]?)?\(0?\d{1,5}\)[\d ./-]{5,}"
    r"|0\d{1,5}[ ./-]{1,3}\d[\d ./-]{4,}|.*\dx\d+",
    re.I,
)
"""What sets a telephone number off from other numbers: a country code, an area code in brackets or after a zero, an
extension."""
_DATE = re.compile(
    r"(?:(?:19|20|18)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:(?:18|19|20)\d\d|\d\d)"
    r"|(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|\d{1,2}[ -][^\W\d_]{3,9}\.?,?[ -](?:18|19|20)\d\d"
    r"|[^\W\d_]{3,9}\.? \d{1,2},? (?:18|19|20)\d\d|(?:18|19|20)\d\d年\d{1,2}月\d{1,2}日)(?:[ T]\d.*)?"
)
_DAY = re.compile(
    r"(?:--)?(?:0?[1-9]|[12]\d|3[01])[-/.](?:0?[1-9]|[12]\d|3[01])\.?|\d{1,2}\.? [^\W\d_]{3,9}|[^\W\d_]{3,9} \d{1,2}"
)
_CARD_SHAPE = re.compile(r"\d(?:[ -]?\d){11,18}")
_MASKED_CARD = re.compile(r"(?:[\dXx*•#]{4}[ -]?){3}[\dXx*•#]{1,7}")
_COVERED = re.compile(r"(?:[*•#Xx][ -]?){4}")
_NETWORKS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})$|5[1-5]\d{14}$|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}$|3[47]\d{13}$"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}$|35(?:2[89]|[3-8]\d)\d{12}$|3(?:0[0-5]|[68]\d)\d{11}$|62\d{14,17}$"
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}$|(?:2131|1800)\d{11}$"
)
"""Leading digits and lengths that the card networks have published (ISO/IEC 7812)."""
_IBAN_SHAPE = re.compile(r"[A-Z]{2}\d{2}[ ]?[A-Z0-9][A-Z0-9 ]{9,36}", re.I)
_IPV4 = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?:/32|:\d{1,5})?")
_IPV6 = re.compile(r"(?=.*:.*:)[0-9a-f:.]{3,45}(?:/128)?", re.I)
_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}", re.I)
_MAC_BARE = re.compile(r"[0-9a-f]{12}", re.I)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
_URL = re.compile(r"(?:https?|ftp|s3|file)://|www\.", re.I)
_PLATE = re.compile(
    "|".join(
        (
            r"[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[- ]?\d{1,4}[EH]?",
            r"[A-Z]{2}[- ]?\d{2,3}[- ]?[A-Z]{2,3}",
            r"\d[A-Z]{3}\d{3}",
            r"[A-Z]{3}[- ]?\d{3,4}",
            r"\d{4}[- ]?[A-Z]{3}",
            r"[A-Z]{2}[- ]?\d{1,2}[- ]?[A-Z]{1,3}[- ]?\d{3,4}",
            r"[A-Z]\d{1,3} ?[A-Z]{3}",
            r"[A-Z]{2,3}[- ]\d{4,5}",
            r"\d{1,3}[- ][A-Z]{2,3}[- ]\d{1,3}",
            r"\d{2} ?[A-Z]{1,3} ?\d{2,4}",
            r"[A-Z]{3}\d[A-Z]\d{2}",
            r"[一-龥][A-Z][·• ]?[A-Z0-9]{5,6}",
        )
    )
)
"""Germany; France, Italy, Britain; California; other US states; Spain; India; older British; eastern Europe; the
Netherlands; Turkey; Brazil; China."""
_HALF = 0.5
_NEARLY_ALL = 0.9
_ENOUGH_TO_COMPARE = 3
_LARGE_REGIONS = ("US", "GB", "DE", "FR")


def email_share(values: ValueSet) -> float:
    """Share of values that are e-mail addresses, lists of them or `Name <address>`."""
    return values.share(is_email) if "@" in values.joined else 0.0


def role_email_share(values: ValueSet) -> float:
    """Share of values that are mail boxes of a function, such as a support desk's."""
    return values.share(_ROLE_BOX.match)


def is_role_email(text: str) -> bool:
    """Whether an address belongs to a function and to no person."""
    return _ROLE_BOX.match(text) is not None


def is_email(text: str) -> bool:
    """Whether a text is an e-mail address, a list of them or `Name <address>`."""
    return "@" in text and _ADDRESSED.fullmatch(text) is not None and _ASSET.search(text) is None


def phone_shape_share(values: ValueSet) -> float:
    """Share of values that could be telephone numbers."""
    return values.share(_has_phone_shape) if values.has_digits else 0.0


def _has_phone_shape(text: str) -> bool:
    if not _PHONE_SHAPE.fullmatch(text) or _DATE.fullmatch(text) or _IPV4.fullmatch(text):
        return False
    return 6 <= sum(char.isdigit() for char in text) <= 21


def valid_phone_share(values: ValueSet) -> float:
    """Share of values that are valid and written as telephone numbers are: with country code or area code apart."""
    if not values.has_digits:
        return 0.0
    return values.validated_share(lambda text: is_written_phone(text) and is_valid_phone(text))


def telltale_phone_share(values: ValueSet) -> float:
    """Share of values that look like telephone numbers by their writing, whether or not a numbering plan knows them.

    0 when some values lack the shape altogether, or when the column mixes no separators.
    """
    if not values.has_digits or values.share(_has_phone_shape) < _NEARLY_ALL or len(values) < _ENOUGH_TO_COMPARE:
        return 0.0
    if values.validated_share(stdnum.isbn.is_valid) >= _HALF:
        return 0.0
    return values.share(lambda text: _TELLTALE.fullmatch(text) or _NORTH_AMERICAN.fullmatch(text))


def is_written_phone(text: str) -> bool:
    """Whether a number is written as only telephone numbers are."""
    if not _has_phone_shape(text):
        return False
    return _INTERNATIONAL.match(text) is not None or _NORTH_AMERICAN.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def is_valid_phone(text: str) -> bool:
    """Whether the numbering plans know a number; one without country code is tried as North American."""
    number = "+" + text.lstrip("(")[2:] if text.startswith(("00", "(00")) else text
    try:
        parsed = phonenumbers.parse(number, None if "+" in number else "US")
    except phonenumbers.NumberParseException:
        return False
    return phonenumbers.is_valid_number(parsed)


def local_phone_share(values: ValueSet) -> float:
    """Share of values that are valid in one of a few large numbering plans, however written."""
    return max(_share_valid_in(values, region) for region in _LARGE_REGIONS)


def _share_valid_in(values: ValueSet, region: str) -> float:
    return values.validated_share(lambda text: _is_valid_in(text, region))


def is_valid_somewhere(text: str) -> bool:
    """Whether one of a few large numbering plans knows a number without country code."""
    return any(_is_valid_in(text, region) for region in _LARGE_REGIONS)


@lru_cache(maxsize=4096)
def _is_valid_in(text: str, region: str) -> bool:
    if not _has_phone_shape(text):
        return False
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(text, region))
    except phonenumbers.NumberParseException:
        return False


def date_share(values: ValueSet) -> float:
    """Share of values that are dates."""
    return values.share(_DATE.fullmatch) if values.has_digits else 0.0


def day_share(values: ValueSet) -> float:
    """Share of values that are days of a year, such as birthdays."""
    return values.share(_DAY.fullmatch) if values.has_digits else 0.0


def card_share(values: ValueSet) -> float:
    """Share of values that are valid card numbers of a known network."""
    return values.share(is_card) if values.has_digits else 0.0


def is_card(text: str) -> bool:
    """Whether a text is a card number: digits of a network's range with a right check digit."""
    if len(text) < 12 or not _CARD_SHAPE.fullmatch(text):
        return False
    digits = text.replace(" ", "").replace("-", "")
    return _NETWORKS.match(digits) is not None and len(set(digits)) > 1 and bool(stdnum.luhn.is_valid(digits))


def card_shape_share(values: ValueSet) -> float:
    """Share of values that are digits, as many as of card numbers."""
    return values.share(_CARD_SHAPE.fullmatch)


def masked_card_share(values: ValueSet) -> float:
    """Share of values that are card numbers with digits covered."""
    return values.share(lambda text: _MASKED_CARD.fullmatch(text) and _COVERED.search(text))


def iban_share(values: ValueSet) -> float:
    """Share of values that are valid IBANs."""
    return values.validated_share(is_iban) if values.has_digits else 0.0


def is_iban(text: str) -> bool:
    """Whether a text is an IBAN with right check digits and the length of its country."""
    return _IBAN_SHAPE.fullmatch(text) is not None and bool(stdnum.iban.is_valid(text, check_country=False))


def ip_share(values: ValueSet) -> float:
    """Share of values that are IP addresses."""
    return values.share(is_ip) if "." in values.joined or ":" in values.joined else 0.0


def public_ip_share(values: ValueSet) -> float:
    """Share of values that are IP addresses of the public internet or of documentation."""
    return values.share(lambda text: is_ip(text) and not text.startswith(("10.", "192.168.", "172.16.", "127.", "0.")))


def look_like_versions(values: ValueSet) -> bool:
    """Whether all four-part numbers are small, as versions are and addresses are not."""
    parts = [part for text in values.texts if _IPV4.fullmatch(text) for part in text.split(".")]
    return bool(parts) and all(len(part) <= 2 for part in parts)


def is_ip(text: str) -> bool:
    """Whether a text is an IP address, perhaps with a port."""
    if _IPV4.fullmatch(text):
        bare = text.split("/")[0].split(":")[0]
    elif _IPV6.fullmatch(text):
        bare = text.split("/")[0]
    else:
        return False
    try:
        ipaddress.ip_address(bare)
    except ValueError:
        return False
    return True


def mac_share(values: ValueSet, *, bare: bool = False) -> float:
    """Share of values that are MAC addresses; `bare` admits them without separators."""
    return values.share(lambda text: _MAC.fullmatch(text) or (bare and _MAC_BARE.fullmatch(text)))


def uuid_share(values: ValueSet) -> float:
    """Share of values that are UUIDs."""
    return values.share(_UUID.fullmatch) if "-" in values.joined else 0.0


def url_share(values: ValueSet) -> float:
    """Share of values that are URLs."""
    return values.share(_URL.match) if "//" in values.joined or "www." in values.joined.lower() else 0.0


def plate_share(values: ValueSet) -> float:
    """Share of values written as licence plates of some country are."""
    return values.share(lambda text: _PLATE.fullmatch(text.upper())) if values.has_digits else 0.0
