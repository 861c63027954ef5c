"""Types of Snowflake and the statement that reads a bounded part of a table."""

from __future__ import annotations

from collections.abc import Callable

from dictionary_pipeline.engines.base import SampleColumn, SampleRequest, TypeClass, column_list
from dictionary_pipeline.engines.types import type_class

_JSON_FACTOR = 5
"""Nested values are worth more characters than others: cut short they are no JSON."""
_ROWWISE_BYTES = 256 * 1024 * 1024
"""Up to this size rows are picked one by one: reading the whole table is cheap."""
_PARTITION_BYTES = 16 * 1024 * 1024
"""Compressed size of a micro-partition (Snowflake documentation, "Micro-partitions"), its lower end."""
_PARTITIONS = 8
"""Micro-partitions to expect in a block sample: with fewer, chance could pick none."""

_TIMESTAMP = "'YYYY-MM-DD HH24:MI:SS.FF9'"
_CLASSES: dict[str, TypeClass] = {
    "object": "json",
    "variant": "json",
    "array": "array",
    "map": "array",
    "vector": "array",
    "decfloat": "decimal",
}


def full_type(name: str, length: int | None, precision: int | None, scale: int | None) -> str:
    """The type as DESCRIBE TABLE writes it: INFORMATION_SCHEMA gives name and parameters apart."""
    if name == "TEXT":
        return "VARCHAR" if length is None else f"VARCHAR({length})"
    if name == "BINARY" and length is not None:
        return f"BINARY({length})"
    if name in ("NUMBER", "FIXED") and precision is not None:
        return f"NUMBER({precision},{scale or 0})"
    return name


def class_of(data_type: str) -> TypeClass:
    """How values of a type are read; a NUMBER without decimal places is an integer."""
    name, _, parameters = data_type.lower().partition("(")
    if name == "number":
        return "integer" if parameters.endswith(",0)") else "decimal"
    return _CLASSES.get(name) or type_class(data_type)


def sample_sql(request: SampleRequest, sql_name: str, quote: Callable[[str], str]) -> str:
    """One SELECT of up to `row_limit` rows."""
    cells = column_list([_cell(column, quote(column.name), request.char_limit) for column in request.columns])
    return f"SELECT {cells} FROM {sql_name}{_table_sample(request)} LIMIT {request.row_limit}"


def _table_sample(request: SampleRequest) -> str:
    """The clause that spreads the rows over a table that is larger than the limit.

    SEED gives the same rows as long as the table is unchanged; it is refused for views and subqueries
    (Snowflake documentation, SAMPLE). A block sample may be empty; callers then read without it.
    """
    rows, limit = request.row_estimate, request.row_limit
    if not request.page_sample or request.kind != "table" or rows is None or rows <= limit:
        return ""
    share = limit / rows
    if request.size_bytes is None or request.size_bytes <= _ROWWISE_BYTES:
        return f" SAMPLE BERNOULLI ({100 * share:.6f}) SEED (42)"
    partitions = request.size_bytes / _PARTITION_BYTES
    return f" SAMPLE SYSTEM ({100 * min(1.0, max(share, _PARTITIONS / partitions)):.6f}) SEED (42)"


def _cell(column: SampleColumn, name: str, char_limit: int) -> str:
    """Read a value as a native boolean or number, or as text that no driver can misread."""
    kind = column.data_type.partition("(")[0].upper()
    match column.type_class:
        case "boolean" | "integer" | "float":
            return name
        case "binary":
            return f"OCTET_LENGTH({name})"
        case "json" | "array":
            value = f"{name}::ARRAY" if kind == "VECTOR" else f"{name}::VARIANT"
            return f"LEFT(TO_JSON({value}), {char_limit * _JSON_FACTOR})"
        case "string":
            return f"LEFT({name}, {char_limit})"
        case "date":
            return f"TO_VARCHAR({name}, 'YYYY-MM-DD')"
        case "time":
            return _short(f"TO_VARCHAR({name}, 'HH24:MI:SS.FF9')")
        case "timestamp":
            return _timestamp(kind, name)
        case _:
            text = f"ST_ASTEXT({name})" if kind in ("GEOGRAPHY", "GEOMETRY") else f"TO_VARCHAR({name})"
            return f"LEFT({text}, {char_limit})"


def _timestamp(kind: str, name: str) -> str:
    if kind in ("TIMESTAMP_TZ", "TIMESTAMP_LTZ"):
        return _short(f"TO_VARCHAR(CONVERT_TIMEZONE('UTC', {name}), {_TIMESTAMP})") + " || '+00:00'"
    return _short(f"TO_VARCHAR({name}, {_TIMESTAMP})")


def _short(text: str) -> str:
    """Without zeros at the end of the fraction, and without a fraction of zero."""
    return f"RTRIM(RTRIM({text}, '0'), '.')"
