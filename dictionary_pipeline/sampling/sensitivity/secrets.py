"""Keys, tokens, password hashes: by their published forms, else by how random they look."""

from __future__ import annotations

import math
import re
from collections import Counter

from dictionary_pipeline.sampling.sensitivity.valueset import ValueSet

_KEY_FORMS = re.compile(
    r"\b(?:"
    r"(?:AKIA|ASIA)[0-9A-Z]{16}\b|gh[pousr]_[0-9A-Za-z]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}"
    r"|[rsp]k_(?:live|test)_[0-9A-Za-z]{10,}|sk-(?=\S*\d)[\w-]{20,}|AIza[\w-]{35}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}"
    r"|npm_[0-9A-Za-z]{36}|pypi-[\w-]{40,}|hf_[0-9A-Za-z]{30,}|dapi[0-9a-f]{32}|shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}|SK[0-9a-f]{32}\b"
    r"|whsec_[\w+/=]{20,}|dop_v1_[0-9a-f]{64}|EAA[0-9A-Za-z]{60,}|key-[0-9a-f]{32}\b|AGE-SECRET-KEY-1[0-9A-Z]{50,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|PuTTY-User-Key-File|AccountKey=[\w+/=]{40,}|SharedAccessKey=[\w+/=]{20,}"
    r"|Bearer (?=\S*\d)[\w.~+/-]{16,}|Basic (?=\S*[\d=])[A-Za-z0-9+/]{12,}={0,2}(?![\w ])"
    r")"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY|hooks\.slack\.com/services/T\w+/B\w+/\w+|;\s*(?i:password|pwd)\s*=\s*[^;*\s]{4,}"
)
"""Forms that the issuers document for secret scanning (AWS, GitHub, GitLab, Slack, Stripe, OpenAI, Google, ...).

The word boundary stands before all of them together: in front of each it would be ten times slower."""
_URL_CREDENTIALS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{1,64}:(?!\*+@|<|\{|\$)[^\s:/@]{3,}@[\w.-]+", re.I)
_ASSIGNED = re.compile(
    r"\b(?:password|passwd|pwd|passwort|contraseña|api[_-]?key|secret|token)\b[\"']?\s*(?:[:=]|\bis\b)\s*[\"']?(?=\S*[\d!@#$%&*])[^\s\"']{6,}",
    re.I,
)
_PASSWORD_HASH = re.compile(
    r"\$2[abxy]?\$\d\d\$[./0-9A-Za-z]{40,}|\$argon2(?:id|i|d)\$.+|\$(?:1|5|6|7|y|gy|sha1|scrypt|pbkdf2[\w-]*)\$.+"
    r"|\$[PHS]\$[./0-9A-Za-z]{31,}"
    r"|pbkdf2_sha\d+\$.+|scrypt:\d+:.+|bcrypt(?:_sha256)?\$.+|argon2\$.+|\{(?:S?SHA\d*|S?MD5|CRYPT|BCRYPT)\}.+|SCRAM-SHA-\d+\$.+|md5[0-9a-f]{32}"
    r"|sha\d+\$[^$]+\$[0-9a-f]+|\*[0-9A-F]{40}"
)
_SIGNS = re.compile(r"[!#$%^&*()+@?~]")
_SEPARATED = re.compile(r"\s|://|^[<{\[]|[;,<>\\]|\w@\w+\.|&\w+=|%[0-9A-F]{2}|^[\w.-]+\([^()]*\)$")
_DIGEST = re.compile(
    r"(?:0x|\\x)?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})", re.I
)
_TOKEN = re.compile(r"[\w+/=.~:$-]{8,}")
_WALLET = re.compile(r"[13][1-9A-HJ-NP-Za-km-z]{25,34}|bc1\w{20,60}|T[1-9A-HJ-NP-Za-km-z]{33}")
"""Addresses of Bitcoin and the like are public."""
_LEAST_CIPHER = 24
_HEX = re.compile(r"[0-9a-f-]+", re.I)
_PLAIN_STATES = re.compile(
    r"(?:y|n|t|f|yes|no|true|false|on|off|ok|set|unset|pass(?:ed)?|fail(?:ed)?|weak|medium|strong|fair|good|expired|active|inactive|valid"
    r"|invalid|enabled|disabled|required|optional|never|always|daily|weekly|monthly|pending|reset|locked|changed|new|old|default|temporary"
    r"|ja|nein|oui|non|si|sim|nao|tak|nie|-?\d{1,3}|-?\d+\.\d+|bcrypt|argon2(?:id)?|scrypt|md5|sha-?\d+|pbkdf2|plain(?:text)?|ldap|saml|oauth2?|sso|none)",
    re.I,
)


def key_share(values: ValueSet) -> float:
    """Share of values that hold a key, token, private key or credentials of a published form."""
    return values.share(holds_key)


def holds_key(text: str) -> bool:
    """Whether a key of a published form, or a URL with a password, stands in a text."""
    if len(text) < 12:
        return False
    return _KEY_FORMS.search(text) is not None or ("://" in text and _URL_CREDENTIALS.search(text) is not None)


def tells_password(text: str) -> bool:
    """Whether a text says a password: `password: ...`."""
    return _ASSIGNED.search(text) is not None


def password_hash_share(values: ValueSet) -> float:
    """Share of values in the form of a password hash (bcrypt, argon2, scrypt, crypt, ...)."""
    return values.share(_PASSWORD_HASH.fullmatch)


def generated_password_share(values: ValueSet) -> float:
    """Share of values that mix small and capital letters, digits and signs as generated passwords do."""
    return values.share(_is_generated_password) if values.has_varied_shapes else 0.0


def _is_generated_password(text: str) -> bool:
    if not 8 <= len(text) <= 32 or not _SIGNS.search(text) or _SEPARATED.search(text):
        return False
    return any(map(str.isdigit, text)) and any(map(str.islower, text)) and any(map(str.isupper, text))


def digest_share(values: ValueSet) -> float:
    """Share of values that are hexadecimal and as long as a digest."""
    return values.share(is_digest)


def is_digest(text: str) -> bool:
    """Whether a text is hexadecimal and as long as a digest."""
    return _DIGEST.fullmatch(text) is not None


def is_cipher(text: str) -> bool:
    """Whether a text may be encrypted and written in base 64."""
    return len(text) >= _LEAST_CIPHER and _is_random(text)


def state_share(values: ValueSet) -> float:
    """Share of values that tell a state, a yes or no, a method or a small number, and no secret."""
    return values.share(_PLAIN_STATES.fullmatch)


def token_share(values: ValueSet) -> float:
    """Share of values without spaces and long or mixed enough to be a token."""
    return values.share(_is_token)


def _is_token(text: str) -> bool:
    if not _TOKEN.fullmatch(text) or "://" in text:
        return False
    mixed = any(char.isdigit() for char in text) and any(char.isalpha() for char in text)
    return mixed or (len(text) >= 20 and not text.isdigit() and text.lower() != text)


def random_share(values: ValueSet) -> float:
    """Share of values that look drawn at random from letters of both cases and digits."""
    return values.share(_is_random) if values.has_varied_shapes else 0.0


def _is_random(text: str) -> bool:
    if len(text) < 20 or not _TOKEN.fullmatch(text) or _HEX.fullmatch(text) or "://" in text or _WALLET.fullmatch(text):
        return False
    kinds = (
        any(char.isdigit() for char in text)
        + any(char.islower() for char in text)
        + any(char.isupper() for char in text)
    )
    return kinds == 3 and _entropy(text) >= 3.5


def _entropy(text: str) -> float:
    """Shannon entropy in bits for a character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
