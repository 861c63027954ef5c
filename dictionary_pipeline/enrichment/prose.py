"""English for derived texts: spoken names, singular forms, enumerations and length limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from dictionary_pipeline.naming import words

_SPLITTABLE = re.compile(r"[\w\s.\-]+")
"""Identifiers made of these are split into words; any other character is kept verbatim."""
_TECHNICAL_PREFIXES = frozenset({"tbl", "vw", "dim", "fct"})
_VIEW_PREFIXES = frozenset({"v", "vw", "mv"})

_IRREGULAR = {
    "aliases": "alias",
    "analyses": "analysis",
    "apis": "api",
    "atlases": "atlas",
    "axes": "axis",
    "biases": "bias",
    "bonuses": "bonus",
    "buses": "bus",
    "caches": "cache",
    "campuses": "campus",
    "canvases": "canvas",
    "censuses": "census",
    "children": "child",
    "cookies": "cookie",
    "crises": "crisis",
    "criteria": "criterion",
    "diagnoses": "diagnosis",
    "gases": "gas",
    "halves": "half",
    "hypotheses": "hypothesis",
    "ids": "id",
    "indices": "index",
    "knives": "knife",
    "kpis": "kpi",
    "lenses": "lens",
    "matrices": "matrix",
    "men": "man",
    "menus": "menu",
    "movies": "movie",
    "people": "person",
    "quizzes": "quiz",
    "shelves": "shelf",
    "shoes": "shoe",
    "statuses": "status",
    "surpluses": "surplus",
    "theses": "thesis",
    "vertices": "vertex",
    "viruses": "virus",
    "women": "woman",
}
_UNCHANGED = frozenset(
    [
        "alias",
        "analytics",
        "atlas",
        "bias",
        "canvas",
        "chaos",
        "corps",
        "diagnostics",
        "economics",
        "ethics",
        "goods",
        "graphics",
        "headquarters",
        "https",
        "lens",
        "logistics",
        "mathematics",
        "means",
        "news",
        "overseas",
        "physics",
        "politics",
        "premises",
        "proceeds",
        "series",
        "species",
    ]
)
_ES_AFTER = ("sses", "shes", "ches", "xes", "oes")
"""Plural endings whose singular drops `es`."""

_SHORT_FOR = {
    "acct": "account",
    "addr": "address",
    "amt": "amount",
    "attr": "attribute",
    "avg": "average",
    "cnt": "count",
    "ctry": "country",
    "cust": "customer",
    "dept": "department",
    "descr": "description",
    "dest": "destination",
    "dob": "date of birth",
    "emp": "employee",
    "flg": "flag",
    "grp": "group",
    "hdr": "header",
    "img": "image",
    "lvl": "level",
    "mgr": "manager",
    "msg": "message",
    "mvt": "movement",
    "pct": "percent",
    "pmt": "payment",
    "pymt": "payment",
    "qty": "quantity",
    "seq": "sequence",
    "src": "source",
    "svc": "service",
    "tgt": "target",
    "trx": "transaction",
    "txn": "transaction",
    "uom": "unit of measure",
    "upd": "updated",
    "usr": "user",
    "vndr": "vendor",
    "whse": "warehouse",
    "yr": "year",
}
"""Abbreviations with one usual meaning in names; those with several (`inv`, `ord`, `desc`) are left as they are."""
_SHORT_BESIDE_OTHERS = {"cd": "code", "dt": "date"}
"""Those whose meaning needs another word beside them: `uom_cd`, but not a table of CDs."""


@lru_cache(maxsize=65_536)
def spoken(identifier: str) -> str:
    """Words of an identifier in lower case: `UnitPrice` -> `unit price`, `qty_sold` -> `quantity sold`.

    An identifier with unusual characters (`in/out`, `o'brien`) is kept as it is, because splitting
    would lose them; only its white space and control characters become single spaces.
    """
    if not _SPLITTABLE.fullmatch(identifier):
        return one_line(identifier) or repr(identifier)
    parts = " ".join(words(identifier)).lower().split(" ")
    known = _SHORT_FOR | _SHORT_BESIDE_OTHERS if len(parts) > 1 else _SHORT_FOR
    return " ".join(known.get(part, part) for part in parts) or one_line(identifier) or repr(identifier)


@lru_cache(maxsize=65_536)
def spoken_singular(table: str) -> str:
    """Spoken name of one row of a table: `SalesOrderLines` -> `sales order line`."""
    parts = spoken(table).split(" ")
    if len(parts) > 1 and parts[0] in _TECHNICAL_PREFIXES:
        parts = parts[1:]
    return " ".join([*parts[:-1], singular(parts[-1])])


def spoken_view(view: str) -> str:
    """Spoken name of a view: `v_open_orders` -> `open orders view`."""
    first, _, rest = spoken(view).partition(" ")
    name = rest if rest and first in _VIEW_PREFIXES else spoken(view)
    return name if name.endswith("view") else f"{name} view"


def singular(word: str) -> str:
    """Singular of a lower-case English word; a word that may be no plural is left alone."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or word in _UNCHANGED or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    if word.endswith(_ES_AFTER):
        return word[:-2]
    return word[:-1]


def enumeration(items: Sequence[str], limit: int) -> str:
    """`a, b and c`; beyond `limit` items `a, b and 5 more`."""
    shown = list(items) if len(items) <= limit else [*items[:limit], f"{len(items) - limit} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def capitalised(text: str) -> str:
    """The text with its first letter in upper case and the rest unchanged."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """The text with a full stop, unless it was cut."""
    return text if text.endswith("…") else text + "."


def value_list(values: Sequence[str], limit: int) -> str:
    """Values of a declared set on one line: `new, paid and void`."""
    shown = [shortened(one_line(value), 40) or "''" for value in values[:limit]]
    more = [f"{len(values) - limit} more"] if len(values) > limit else []
    return enumeration([*shown, *more], limit + 1)


def one_line(text: str) -> str:
    """The text with every run of white space and control characters as one space."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def joined(parts: Sequence[str], limit: int, separator: str = " ") -> str:
    """Join the parts that fit into `limit` characters; the first one is cut if it must be."""
    text = shortened(parts[0], limit)
    for part in parts[1:]:
        if len(text) + len(separator) + len(part) <= limit:
            text = f"{text}{separator}{part}"
    return text


def shortened(text: str, limit: int) -> str:
    """Cut the text at a word so that it fits into `limit` characters, ending in an ellipsis."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    cut = head.rsplit(" ", 1)[0] if " " in head[limit // 2 :] else head
    return cut.rstrip(" ,;") + "…"
