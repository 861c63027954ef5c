"""Native types of SQL Server: their text, their class, and how a value of each is read.

Sources: Transact-SQL reference, "Data types" and "CAST and CONVERT" (style 121 is ISO 8601 with a space).
"""

from __future__ import annotations

from dictionary_pipeline.engines.base import SampleColumn, TypeClass
from dictionary_pipeline.engines.types import type_class as known_class

_CLASSES: dict[str, TypeClass] = {
    "bit": "boolean",
    "timestamp": "binary",  # a row version, no time
    "rowversion": "binary",
    "sql_variant": "other",
    "hierarchyid": "other",
    "geometry": "other",
    "geography": "other",
    "vector": "other",
}
_CLR_TYPES = ("hierarchyid", "geometry", "geography")
_JSON_FACTOR = 5


def type_text(name: str, max_length: int, precision: int, scale: int) -> str:
    """The type as it is written in a CREATE TABLE; lengths of the catalog are bytes, -1 means max."""
    if name in ("varchar", "char", "varbinary", "binary"):
        return f"{name}({'max' if max_length < 0 else max_length})"
    if name in ("nvarchar", "nchar"):
        return f"{name}({'max' if max_length < 0 else max_length // 2})"
    if name in ("decimal", "numeric"):
        return f"{name}({precision},{scale})"
    if name in ("datetime2", "time", "datetimeoffset"):
        return f"{name}({scale})"
    return name


def type_class(name: str) -> TypeClass:
    """The class of a base type."""
    return _CLASSES.get(name) or known_class(name)


def cell(column: SampleColumn, name: str, char_limit: int) -> str:
    """Expression that reads a value natively where drivers agree, else as ISO or the engine's text."""
    base = column.data_type.partition("(")[0]
    match column.type_class:
        case "boolean" | "integer" | "float":
            return name
        case "binary":
            return f"DATALENGTH({name})"
        case "decimal":
            style = ", 2" if base in ("money", "smallmoney") else ""
            return f"CONVERT(NVARCHAR(60), {name}{style})"
        case "date" | "time" | "timestamp":
            return f"CONVERT(NVARCHAR(40), {name}, 121)"
        case "xml":
            return f"LEFT(CONVERT(NVARCHAR(MAX), {name}), {char_limit})"
        case "json":
            return f"LEFT(CONVERT(NVARCHAR(MAX), {name}), {char_limit * _JSON_FACTOR})"
        case "string":
            text = f"CONVERT(NVARCHAR({char_limit}), {name})"
            return f"RTRIM({text})" if base in ("char", "nchar") else text
    if base in _CLR_TYPES:
        return f"LEFT({name}.ToString(), {char_limit})"
    return f"LEFT(CONVERT(NVARCHAR(MAX), {name}), {char_limit})"
