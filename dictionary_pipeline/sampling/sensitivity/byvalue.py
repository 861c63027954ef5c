"""Verdicts that the values of a column give, whatever its name."""

from __future__ import annotations

from dictionary_pipeline.sampling.sensitivity import addresses, formats, nationalids, prose, secrets
from dictionary_pipeline.sampling.sensitivity.byname import Situation, is_of_machine, is_of_organisation
from dictionary_pipeline.sampling.sensitivity.model import Verdict
from dictionary_pipeline.sampling.sensitivity.persons import name_derived_share, person_shares, personal_address_share
from dictionary_pipeline.sampling.sensitivity.support import percent
from dictionary_pipeline.sampling.sensitivity.valueset import ValueSet

_MOST = 0.7
_SECRET_LENGTH = 24
_NUMERIC = ("integer", "decimal", "float")
_SILENT_TYPES = ("boolean", "date", "time", "timestamp", "interval", "uuid", "binary")
_ACTORS = frozenset(("user", "usr", "uid", "login", "actor", "who", "account"))


def format_verdict(situation: Situation) -> Verdict | None:
    """Values whose form leaves hardly a doubt: keys, addresses of mail and machines, numbers with check digits."""
    values, evidence = situation.values, situation.evidence
    if not values.texts or evidence.type_class in _SILENT_TYPES:
        return None
    if evidence.type_class in _NUMERIC:
        return _numbers(situation)
    return _keys(situation) or _reachable(situation) or _numbers(situation) or _machine(situation)


def _keys(situation: Situation) -> Verdict | None:
    values = situation.values
    if values.mean_length >= 4 and (share := secrets.key_share(values)) > 0:
        return Verdict("SECRET", 0.95, percent(share, "hold a key, token or password of a known form"))
    share = secrets.password_hash_share(values)
    if share >= 0.3:
        return Verdict("PASSWORD", 0.95, percent(share, "are password hashes"))
    share = secrets.generated_password_share(values)
    if share >= 0.8 and len(values) >= 2:
        return Verdict("PASSWORD", 0.8, percent(share, "mix letters, digits and signs as generated passwords do"))
    return None


def _reachable(situation: Situation) -> Verdict | None:
    values, table = situation.values, situation.table
    emails = formats.email_share(values)
    of_organisation = is_of_organisation(situation) and personal_address_share(values) < 0.5
    if emails >= 0.4 and not (of_organisation or formats.role_email_share(values) >= 0.8):
        return _verdict("EMAIL_ADDRESS", 0.5 + 0.45 * emails, percent(emails, "are e-mail addresses"))
    if not values.has_digits or is_of_organisation(situation) or _has_own_numbers(situation):
        return None
    if table.subject == "infrastructure":
        return None
    phones = formats.valid_phone_share(values)
    if phones >= _MOST and not situation.reading.any_of("NUMBERED"):
        return _verdict("PHONE_NUMBER", 0.5 + 0.45 * phones, percent(phones, "are valid telephone numbers"))
    written = formats.telltale_phone_share(values)
    if written >= 0.5 and not _claims_other_numbers(situation):
        return _verdict("PHONE_NUMBER", 0.5 + 0.3 * written, percent(written, "are written as telephone numbers are"))
    return None


def _numbers(situation: Situation) -> Verdict | None:
    values = situation.values
    if not values.has_digits:
        return None
    ibans = formats.iban_share(values)
    if ibans >= 0.5:
        return _verdict("IBAN_CODE", 0.5 + 0.45 * ibans, percent(ibans, "are valid IBANs"))
    if _has_own_numbers(situation):
        return None
    cards = formats.card_share(values)
    # One number in ten passes the check digit by chance: eight and nearly all where the name says another number.
    claims_other = _claims_other_numbers(situation)
    enough = (0.95, 8) if claims_other else (0.75, 1 if _are_grouped(values) else 2)
    if cards >= enough[0] and len(values) * cards >= enough[1] and not values.is_counting:
        return _verdict("CREDIT_CARD", 0.5 + 0.45 * cards, percent(cards, "are valid card numbers"))
    found = nationalids.find(values)
    sure = nationalids.LIKELY if situation.table.is_about_people else nationalids.SURE
    if found is not None and found.by_chance <= sure and (found.has_check_digit or not claims_other):
        return _verdict(found.category, 0.5 + 0.45 * found.share, percent(found.share, f"are valid {found.title}"))
    return None


def _are_grouped(values: ValueSet) -> bool:
    """Whether digits stand in groups of four as on a card."""
    return values.share(lambda text: text[4:5] in (" ", "-")) > 0.5


def _machine(situation: Situation) -> Verdict | None:
    values, reading = situation.values, situation.reading
    if is_of_machine(situation) or "version" in reading.words or _has_own_numbers(situation):
        return None
    macs = formats.mac_share(values)
    if macs >= _MOST:
        return _verdict("MAC_ADDRESS", 0.5 + 0.45 * macs, percent(macs, "are MAC addresses"))
    ips = formats.ip_share(values)
    if (
        ips >= _MOST
        and not formats.look_like_versions(values)
        and (formats.public_ip_share(values) >= 0.3 or reading.any_of("CALLER"))
    ):
        return _verdict("IP_ADDRESS", 0.5 + 0.45 * ips, percent(ips, "are IP addresses"))
    return None


def _claims_other_numbers(situation: Situation) -> bool:
    """Whether the name tells a number of something else: an order, a part, a count."""
    return situation.reading.harmless or situation.reading.any_of("NUMBERED")


def _has_own_numbers(situation: Situation) -> bool:
    return situation.reading.any_of("OTHER_CHECK_DIGITS")


def likeness_verdict(situation: Situation) -> Verdict | None:
    """Values that look like something personal by lists and patterns: names, streets, text about people."""
    values, evidence = situation.values, situation.evidence
    if not values.texts or evidence.type_class in (*_SILENT_TYPES, *_NUMERIC):
        return None
    if prose.is_prose(values) and addresses.street_share(values) < 0.5:
        return _prose(situation) or _person(situation)
    return _street(situation) or _person(situation) or _username(situation) or _random(situation)


def _username(situation: Situation) -> Verdict | None:
    """User names in a column that tells who did something."""
    reading = situation.reading
    if not (reading.is_role or _ACTORS.intersection(reading.words)) or len(situation.values) < 2:
        return None
    share = name_derived_share(situation.values)
    if share < 0.6:
        return None
    return _verdict("USERNAME", 0.4 + 0.3 * share, percent(share, "are user names made of names of persons"))


def _random(situation: Situation) -> Verdict | None:
    """Long random texts, unless the name tells that they identify or check something."""
    reading, values = situation.reading, situation.values
    speaks = any(map(reading.any_of, ("THING", "HARMLESS_HEAD", "NUMBERED"))) and not reading.any_of("GENERIC")
    if values.mean_length < _SECRET_LENGTH or speaks:
        return None
    share = secrets.random_share(values)
    if share < 0.9 or len(values) < 2:
        return None
    return Verdict("SECRET", 0.6, percent(share, "look drawn at random, as keys do"))


def _prose(situation: Situation) -> Verdict | None:
    reading = situation.reading
    found = prose.find(situation.values, with_names=reading.any_of("PROSE"))
    if found is None:
        return None
    return _verdict(
        found.category, min(0.9, 0.6 + found.share / 2), percent(found.share, f"are texts with {found.what}")
    )


def _street(situation: Situation) -> Verdict | None:
    share = addresses.street_share(situation.values)
    if share < 0.5 or len(situation.values) < 2 or is_of_organisation(situation):
        return None
    return _verdict("LOCATION", 0.5 + 0.4 * share, percent(share, "name a street and a number"))


def _person(situation: Situation) -> Verdict | None:
    reading, table, values = situation.reading, situation.table, situation.values
    if _names_another(situation):
        return None
    shares = person_shares(values)
    if shares.place >= 0.3:
        return None
    reason = percent(shares.known, "are names of persons")
    expected = reading.is_role or (reading.bearer == "bare" and table.is_about_people)
    if expected and shares.known >= 0.4 and shares.shaped >= 0.6:
        return _verdict("PERSON", 0.6 + 0.35 * shares.known, reason)
    if table.subject in ("animal", "infrastructure") or len(values) < 2:
        return None
    is_full = shares.full >= 0.4 and shares.known >= 0.5
    is_likely = shares.known >= 0.7 and shares.shaped >= 0.85 and shares.single <= 0.3 and len(values) >= 3
    if is_full or is_likely:
        return _verdict("PERSON", 0.55 + 0.35 * shares.known, reason)
    # Flowers, storms and colours are called Rose, Andrew and Amber.
    named_else = reading.bearer != "nobody" and not table.is_about_people
    needed = 0.6 if table.is_about_people else 0.8
    if not named_else and shares.single >= 0.7 and len(values) >= 4 and shares.known >= needed:
        return _verdict("PERSON", 0.5 + 0.2 * shares.known, reason)
    return None


def _names_another(situation: Situation) -> bool:
    """Whether the name of the column, or of the table for a bare `name`, tells that the values name no persons."""
    reading, table = situation.reading, situation.table
    if reading.bearer in ("organisation", "thing"):
        return True
    if reading.bearer == "bare" and table.subject not in ("person", "unknown"):
        return person_shares(situation.values).full < 0.8
    if reading.is_role or reading.any_of("GENERIC"):
        return False
    return reading.any_of("THING") or reading.any_of("ORGANISATION") or reading.any_of("HARMLESS_HEAD")


def _verdict(category: str, confidence: float, reason: str) -> Verdict:
    return Verdict(category, round(confidence, 2), reason)
