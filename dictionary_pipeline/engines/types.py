"""From the name of a native type to its `TypeClass`, for all engines.

The names are those of the engines' documentation and of the SQL standard; parameters, array
suffixes and modifiers are cut off before the look-up.
"""

from __future__ import annotations

import re

from dictionary_pipeline.engines.base import TypeClass

_NAMES: dict[TypeClass, str] = {
    "string": (
        "char, character, character varying, char varying, varchar, varchar2, nchar, nvarchar, nvarchar2, bpchar,"
        " national character, national character varying, native character, varying character, text, tinytext,"
        " mediumtext, longtext, ntext, clob, nclob, string, citext, name, enum, set, sysname, collation"
    ),
    "integer": (
        "tinyint, smallint, mediumint, int, integer, bigint, hugeint, utinyint, usmallint, uinteger, ubigint, uhugeint,"
        " bignum, int1, int2, int3, int4, int8, int16, int32, int64, int128, uint8, uint16, uint32, uint64, uint128,"
        " serial, bigserial, smallserial, byteint, year, unsigned big int"
    ),
    "float": "float, float4, float8, real, double, double precision, binary_float, binary_double",
    "decimal": "decimal, numeric, number, dec, fixed, money, smallmoney",
    "boolean": "boolean, bool",
    "date": "date, date32",
    "time": "time, timetz, time_ns, time with time zone, time without time zone",
    "timestamp": (
        "timestamp, timestamptz, timestamp_s, timestamp_ms, timestamp_us, timestamp_ns, timestamp with time zone,"
        " timestamp without time zone, timestamp with local time zone, timestamp_ntz, timestamp_ltz, timestamp_tz,"
        " datetime, datetime2, smalldatetime, datetimeoffset, datetime64"
    ),
    "interval": "interval, interval day to second, interval year to month",
    "uuid": "uuid, uniqueidentifier, guid",
    "json": "json, jsonb, variant, object",
    "array": "array, list, struct, map, union, row, super",
    "xml": "xml, xmltype",
    "binary": (
        "blob, tinyblob, mediumblob, longblob, bytea, binary, varbinary, binary varying, image, raw, long raw, bytes,"
        " rowversion"
    ),
}
_CLASSES: dict[str, TypeClass] = {
    name.strip(): type_class for type_class, names in _NAMES.items() for name in names.split(",")
}
_PARAMETERS = re.compile(r"\([^()]*\)")
_MODIFIERS = re.compile(r"\b(?:unsigned|signed|zerofill|collate|character set)\b.*")


def known_type_class(native: str) -> TypeClass | None:
    """The class of a native type text such as `DECIMAL(12,2)` or `INTEGER[3]`, null when unknown."""
    text = " ".join(native.lower().split())
    if text.endswith("]"):
        return "array"
    # Nested types and enums carry arbitrary text in their parentheses, so only their name counts.
    head = text.partition("(")[0].strip()
    if _CLASSES.get(head) in ("array", "string"):
        return _CLASSES[head]
    base = " ".join(_PARAMETERS.sub(" ", text).split())
    return _CLASSES.get(base) or _CLASSES.get(_MODIFIERS.sub("", base).strip())


def type_class(native: str) -> TypeClass:
    """The class of a native type text, `other` when unknown."""
    return known_type_class(native) or "other"


def sqlite_type_class(declared: str) -> TypeClass:
    """The class of a type as declared in SQLite: by its name, else by the affinity it gives.

    SQLite has no boolean type: a BOOLEAN column stores the numbers 0 and 1 (and would store any
    other), so it counts as integer. Affinity rules: https://sqlite.org/datatype3.html, section 3.1.
    """
    known = known_type_class(declared)
    if known is not None:
        return "integer" if known == "boolean" else known
    name = declared.upper()
    if not name or name == "ANY":
        return "other"
    affinities: tuple[tuple[TypeClass, tuple[str, ...]], ...] = (
        ("integer", ("INT", "BOOL")),
        ("string", ("CHAR", "CLOB", "TEXT")),
        ("binary", ("BLOB",)),
        ("float", ("REAL", "FLOA", "DOUB")),
    )
    return next((kind for kind, parts in affinities if any(part in name for part in parts)), "decimal")
