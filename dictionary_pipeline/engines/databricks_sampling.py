"""Types of Databricks and the statement that reads a bounded part of a table."""

from __future__ import annotations

from collections.abc import Callable

from dictionary_pipeline.engines.base import DistinctRequest, SampleColumn, SampleRequest, TypeClass, column_list
from dictionary_pipeline.engines.types import type_class

_JSON_FACTOR = 5
"""Nested values are worth more characters than others: cut short they are no JSON."""
_CLASSES: dict[str, TypeClass] = {
    **dict.fromkeys(("array", "map", "struct"), "array"),
    **dict.fromkeys(("variant", "object"), "json"),
    "interval": "interval",
    "geography": "other",
    "geometry": "other",
    "void": "other",
    "long": "integer",
    "short": "integer",
    "byte": "integer",
}


def class_of(data_type: str) -> TypeClass:
    """How values of a type are read."""
    head = data_type.lower().partition("<")[0].partition("(")[0].partition(" ")[0].strip()
    return _CLASSES.get(head) or type_class(data_type)


def sample_sql(request: SampleRequest, sql_name: str, quote: Callable[[str], str]) -> str:
    """One SELECT of up to `row_limit` rows.

    `TABLESAMPLE (n ROWS)` gives the first rows like LIMIT, and a percentage reads the whole table, so
    that without a known size LIMIT is the only bounded read (Databricks documentation, TABLESAMPLE).
    """
    cells = column_list([_cell(column, quote(column.name), request.char_limit) for column in request.columns])
    return f"SELECT {cells} FROM {sql_name} LIMIT {request.row_limit}"


def distinct_sql(request: DistinctRequest, sql_name: str, quote: Callable[[str], str]) -> str:
    """One branch per column; Databricks' VARCHAR needs a length, so text is STRING."""
    branches = []
    for place, column in enumerate(request.columns):
        name = quote(column.name)
        value = f"LEFT(CAST({name} AS STRING), {request.char_limit})"
        distinct = f"SELECT DISTINCT {value} AS v FROM {sql_name} WHERE {name} IS NOT NULL LIMIT {request.limit}"
        branches.append(f"SELECT {place} AS place, v FROM ({distinct}) AS q{place}")
    return " UNION ALL ".join(branches)


def _cell(column: SampleColumn, name: str, char_limit: int) -> str:
    """Read a value as a native boolean or number, or as text that no driver can misread."""
    kind = column.data_type.partition("(")[0].strip().upper()
    match column.type_class:
        case "boolean" | "integer" | "float":
            return name
        case "binary":
            return f"OCTET_LENGTH({name})"
        case "json" | "array":
            return f"LEFT(TO_JSON({name}), {char_limit * _JSON_FACTOR})"
        case "string":
            return f"LEFT({name}, {char_limit})"
        case "timestamp" if kind != "TIMESTAMP_NTZ":
            # An instant, shown in the session's time zone, which is UTC.
            return f"CAST({name} AS STRING) || '+00:00'"
        case _:
            text = f"ST_ASTEXT({name})" if kind in ("GEOGRAPHY", "GEOMETRY") else f"CAST({name} AS STRING)"
            return f"LEFT({text}, {char_limit})"
