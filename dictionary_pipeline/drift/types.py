"""Native types compared by what they can hold, not by how an engine spells them.

Sources: SQL:2016 (character, exact and approximate numeric types), and the type chapters of the
engines' documentation for aliases, ranges and default lengths.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Verdict = Literal["same", "widened", "narrowed", "related", "changed"]
"""`related`: other values or another meaning within one family, so that queries still run."""

_GRAVITY: tuple[Verdict, ...] = ("same", "widened", "narrowed", "related", "changed")
_UNLIMITED = 2**63
_HEAD = re.compile(r"\s*([^(\[]*?)\s*(\([^()]*\))?\s*([^(\[]*?)\s*((?:\[\d*\]|\barray)*)\s*$", re.DOTALL)
_NESTED = re.compile(r"(struct|row|object|map|array|list)\s*[(<](.*)[)>]((?:\[\d*\])*)", re.DOTALL)
_NOISE = re.compile(r"\b(?:collate\s+\S+|character\s+set\s+\S+|charset\s+\S+|zerofill|signed)\b")

_BITS = {
    **dict.fromkeys(("tinyint", "int1", "byteint"), 8),
    **dict.fromkeys(("smallint", "int2", "smallserial", "int16", "short"), 16),
    **dict.fromkeys(("mediumint", "int3"), 24),
    **dict.fromkeys(("int", "integer", "int4", "serial", "int32", "signed"), 32),
    **dict.fromkeys(("bigint", "int8", "bigserial", "int64", "long", "big int", "oid"), 64),
    **dict.fromkeys(("hugeint", "int128"), 128),
}
_UNSIGNED = {
    **dict.fromkeys(("utinyint", "uint8"), 8),
    **dict.fromkeys(("usmallint", "uint16"), 16),
    **dict.fromkeys(("uinteger", "uint32"), 32),
    **dict.fromkeys(("ubigint", "uint64", "unsigned big int"), 64),
    **dict.fromkeys(("uhugeint", "uint128"), 128),
}
_FLOATS = {
    **dict.fromkeys(("real", "float4", "binary_float", "float32"), 24),
    **dict.fromkeys(("double", "double precision", "float8", "binary_double", "float64"), 53),
}
_DECIMALS = {"decimal", "numeric", "number", "dec", "fixed"}
_VARYING = {
    "varchar", "character varying", "char varying", "varchar2", "nvarchar", "nvarchar2", "national character varying",
    "varying character", "string",
}  # fmt: skip
_FIXED = {"char", "character", "nchar", "bpchar", "national character", "native character"}
_TEXTS = {"text", "clob", "nclob", "ntext", "longtext", "character large object"}
_SIZED_TEXTS = {"tinytext": 255, "mediumtext": 2**24 - 1}
_BINARIES = {
    "bytea", "blob", "longblob", "varbinary", "binary varying", "image", "raw", "bytes", "binary",
    "long raw", "binary large object",
}  # fmt: skip
_TEMPORAL = {
    **dict.fromkeys(
        ("timestamp", "timestamp without time zone", "datetime", "datetime2", "timestamp_ntz"), "timestamp"
    ),
    **dict.fromkeys(("timestamp_us", "timestamp_ns", "timestamp_ms", "timestamp_s", "smalldatetime"), "timestamp"),
    **dict.fromkeys(
        ("timestamptz", "timestamp with time zone", "timestamp_tz", "datetimeoffset", "timestamp_ltz"), "timestamptz"
    ),
    "timestamp with local time zone": "timestamptz",
    **dict.fromkeys(("time", "time without time zone"), "time"),
    **dict.fromkeys(("timetz", "time with time zone"), "timetz"),
    **dict.fromkeys(("date", "date32"), "date"),
}
_PRECISIONS = {"smalldatetime": 0, "timestamp_s": 0, "timestamp_ms": 3, "timestamp_ns": 9, "timestamp_us": 6}
_DEFAULT_PRECISIONS = {"datetime": 3, "datetime2": 7, "datetimeoffset": 7}
_ALIASES = {"bool": "boolean", "uniqueidentifier": "uuid", "guid": "uuid", "xmltype": "xml"}
_RELATED = (
    frozenset({"date", "timestamp", "timestamptz"}),
    frozenset({"time", "timetz"}),
    frozenset({"json", "jsonb"}),
)


class NativeType(NamedTuple):
    """A type in comparable terms."""

    family: str
    """integer, float, decimal, string, binary, or the type's own canonical name."""
    low: int = 0
    """Integers: bits below zero. Decimals: digits before the point. Strings: 1 when blank-padded."""
    high: int = 0
    """Integers: bits above zero. Floats: bits of the mantissa. Strings, binaries: length. Decimals: scale.
    Times: fractional digits."""
    detail: str = ""
    """What else must be equal: array brackets, parameters of types without a family."""
    fields: tuple[tuple[str, NativeType], ...] = ()
    """Of structures and maps: name and type."""


def parse_type(text: str, engine: str = "") -> NativeType:
    """Read a native type text such as `character varying(60)` or `DECIMAL(12,2)`.

    Args:
        text: As an engine's catalog shows it.
        engine: Its name; some names mean different types in different engines.
    """
    lowered = _NOISE.sub(" ", " ".join(text.lower().replace('"', "").split()))
    if lowered.startswith("enum"):
        return NativeType("enum")
    nested = _NESTED.fullmatch(lowered)
    if nested is not None:
        kind, inner, brackets = nested.groups()
        return _nested(kind, inner, brackets, engine)
    match = _HEAD.match(lowered)
    if match is None:
        return NativeType("other", detail=lowered.replace(" ", ""))
    before, bracketed, after, brackets = match.groups()
    unsigned = f" {before} {after} ".find(" unsigned ") >= 0
    name = " ".join(f"{before} {after}".replace("unsigned", " ").split()) or "unsigned"
    numbers = tuple(part.strip() for part in (bracketed or "").strip("()").split(",") if part.strip())
    found = _named(name, numbers, unsigned, engine)
    depth = brackets.count("[") or brackets.count("array")
    if depth and engine == "postgres" and found.family in ("integer", "float"):
        # It has no operators between arrays of numbers of different sizes, such as `@>`.
        found = found._replace(detail=str(found.high))
    return found._replace(detail=found.detail + "[]" * depth)


def _nested(kind: str, inner: str, brackets: str, engine: str) -> NativeType:
    parts = _parts(inner)
    depth = "[]" * brackets.count("[")
    if kind in ("array", "list"):
        item = parse_type(inner, engine)
        return item._replace(detail=f"{item.detail}[]{depth}")
    if kind == "map":
        return NativeType(
            "map", detail=depth, fields=tuple((str(at), parse_type(p, engine)) for at, p in enumerate(parts))
        )
    named = (re.split(r"\s*:\s*|\s+", part, maxsplit=1) for part in parts)
    return NativeType(
        "struct", detail=depth, fields=tuple((name, parse_type(" ".join(rest), engine)) for name, *rest in named)
    )


def _parts(text: str) -> list[str]:
    """What stands between the commas outside all brackets."""
    found, depth = [""], 0
    for char in text:
        depth += (char in "(<") - (char in ")>")
        if char == "," and depth == 0:
            found.append("")
        else:
            found[-1] += char
    return [part.strip() for part in found]


def _named(name: str, numbers: tuple[str, ...], unsigned: bool, engine: str) -> NativeType:
    sizes = tuple(int(part) for part in numbers if part.lstrip("-").isdigit())
    numeric = _number(name, sizes, unsigned, engine)
    if numeric is not None:
        return numeric
    if name in _VARYING or name in _FIXED or name in _TEXTS or name in _SIZED_TEXTS:
        return _string(name, sizes, engine)
    if name in _BINARIES:
        return NativeType("binary", high=sizes[0] if sizes else _UNLIMITED)
    if name in _TEMPORAL and not (engine == "sqlserver" and name == "timestamp"):
        fixed = _PRECISIONS.get(name)
        high = fixed if fixed is not None else sizes[0] if sizes else _DEFAULT_PRECISIONS.get(name, 6)
        return NativeType(_TEMPORAL[name], high=0 if _TEMPORAL[name] == "date" else high)
    return NativeType(_ALIASES.get(name, name), detail=",".join(numbers))


def _number(name: str, sizes: tuple[int, ...], unsigned: bool, engine: str) -> NativeType | None:
    if engine in ("mysql", "mariadb") and name == "tinyint" and sizes == (1,):
        return NativeType("boolean")
    if name in _UNSIGNED or (unsigned and name in _BITS):
        return NativeType("integer", 0, _UNSIGNED.get(name) or _BITS[name])
    if name == "tinyint" and engine == "sqlserver":
        return NativeType("integer", 0, 8)
    if name in _BITS:
        return NativeType("integer", _BITS[name] - 1, _BITS[name] - 1)
    if name == "float":
        # FLOAT(p) is single precision up to 24 bits; without p it is single only in MySQL and DuckDB.
        single = sizes[0] <= 24 if sizes else engine in ("mysql", "mariadb", "duckdb", "databricks")
        return NativeType("float", high=24 if single else 53)
    if name in _FLOATS:
        double = name == "real" and engine in ("sqlite", "mysql", "mariadb", "snowflake")
        return NativeType("float", high=53 if double else _FLOATS[name])
    if name == "money":
        return NativeType("decimal", 15, 4 if engine == "sqlserver" else 2)
    if name == "smallmoney":
        return NativeType("decimal", 6, 4)
    if name in _DECIMALS:
        precision, scale = _decimal(sizes, engine)
        return NativeType("decimal", precision - scale, scale)
    return None


def _decimal(sizes: tuple[int, ...], engine: str) -> tuple[int, int]:
    """Precision and scale with the engine's defaults."""
    if sizes:
        return sizes[0], sizes[1] if len(sizes) > 1 else 0
    if engine == "duckdb":
        return 18, 3
    if engine in ("mysql", "mariadb", "databricks"):
        return 10, 0
    return {"sqlserver": (18, 0), "snowflake": (38, 0)}.get(engine, (_UNLIMITED * 2, _UNLIMITED))


def _string(name: str, sizes: tuple[int, ...], engine: str) -> NativeType:
    if name in _SIZED_TEXTS or (name == "text" and engine in ("mysql", "mariadb")):
        return NativeType("string", high=_SIZED_TEXTS.get(name, 65_535))
    if engine == "duckdb" or name in _TEXTS:  # DuckDB ignores lengths
        return NativeType("string", high=_UNLIMITED)
    fixed = name in _FIXED
    if sizes:
        return NativeType("string", int(fixed), sizes[0])
    return NativeType("string", int(fixed and name != "bpchar"), 1 if fixed and name != "bpchar" else _UNLIMITED)


def compare_types(before: NativeType, after: NativeType) -> Verdict:
    """What happened to the values that a column can hold."""
    if before == after:
        return "same"
    if before.detail != after.detail:
        return "changed"
    if before.family != after.family:
        return _across(before, after)
    if before.fields or after.fields:
        return _between_fields(dict(before.fields), dict(after.fields))
    if before.family == "string" and before.low != after.low:
        return _padding(before, after)
    if before.low <= after.low and before.high <= after.high:
        return "widened"
    if before.low >= after.low and before.high >= after.high:
        return "narrowed"
    return "narrowed" if before.family in ("decimal", "integer") else "related"


def _between_fields(before: dict[str, NativeType], after: dict[str, NativeType]) -> Verdict:
    """The gravest verdict on a field; a new field is room for more."""
    if before.keys() - after.keys():
        return "changed"
    found = {compare_types(before[name], after[name]) for name in before}
    return max(found | ({"widened"} if after.keys() - before.keys() else set()), key=_GRAVITY.index, default="same")


def _padding(before: NativeType, after: NativeType) -> Verdict:
    """Between fixed, blank-padded and varying length."""
    if after.high < before.high:
        return "narrowed"
    return "widened" if before.low else "related"


def _across(before: NativeType, after: NativeType) -> Verdict:
    for family in _RELATED:
        if {before.family, after.family} <= family:
            return "related"
    numbers = ("integer", "decimal", "float")
    if before.family in numbers and after.family in numbers:
        return _between_numbers(before, after)
    if before.family == "enum" and after.family == "string":
        return "related"
    return "changed"


def _between_numbers(before: NativeType, after: NativeType) -> Verdict:
    if before.family == "integer":
        bits = max(before.low, before.high)
        if after.family == "decimal":
            return "widened" if len(str(2**bits)) <= after.low else "narrowed"
        return "widened" if bits <= after.high else "related"
    if after.family == "integer":
        return "narrowed"
    return "related"
