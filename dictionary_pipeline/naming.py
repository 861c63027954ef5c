"""Names: words of an identifier, and file names that every file system can hold."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from dictionary_pipeline.jsontext import digest

_FORBIDDEN = set('/\\:*?"<>|%.')
_MAX_FILE_NAME_BYTES = 180
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+", re.UNICODE)


def words(identifier: str) -> list[str]:
    """Split an identifier into its words: `OrderLine`, `order_line` and `ORDER-LINE` alike."""
    return [word for word in _BOUNDARY.split(identifier) if word]


def title_words(identifier: str) -> str:
    """Words of an identifier for people: `sales_order_header` -> `Sales Order Header`."""
    spoken = [
        word if word.isupper() and len(word) <= 3 else word[:1].upper() + word[1:].lower() for word in words(identifier)
    ]
    return " ".join(spoken) or identifier


def encode_part(part: str) -> str:
    """Percent-encode what file systems dislike, and dots, which separate the parts of a name."""
    return "".join(
        _percent(char) if char in _FORBIDDEN or unicodedata.category(char) in ("Cc", "Cs") else char for char in part
    )


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def file_names(names: Iterable[Sequence[str]], *, suffix: str) -> dict[tuple[str, ...], str]:
    """Unique file name for every name (a sequence of parts), the same whatever their order.

    Names that are equal after NFC and case-folding, or longer than 180 bytes, are cut and get
    `~` and 10 hex digits of the sha256 of the JSON array of their parts.
    """
    plain = {tuple(parts): ".".join(encode_part(part) for part in parts) for parts in names}
    seen = Counter(_folded(name) for name in plain.values())
    return {
        parts: (name if seen[_folded(name)] == 1 and _fits(name + suffix) else _shortened(name, parts, suffix)) + suffix
        for parts, name in plain.items()
    }


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _fits(name: str) -> bool:
    return len(name.encode("utf-8", "surrogatepass")) <= _MAX_FILE_NAME_BYTES


def _shortened(name: str, parts: tuple[str, ...], suffix: str) -> str:
    tail = "~" + digest(list(parts))[:10]
    room = _MAX_FILE_NAME_BYTES - len((tail + suffix).encode())
    cut = name.encode("utf-8", "surrogatepass")[:room].decode("utf-8", "ignore")
    return re.sub(r"%[0-9A-F]?$", "", cut) + tail
