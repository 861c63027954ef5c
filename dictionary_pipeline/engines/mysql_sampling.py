"""The statements that read a bounded part of a MySQL or MariaDB table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from dictionary_pipeline.engines.base import DistinctRequest, SampleColumn, SampleRequest, column_list

_SIDE = 45
_PLACES = _SIDE * _SIDE
"""Places of a large table that are read; two short recursions, because servers stop them at 1,000 steps."""
_LONGEST_RUN = 100
_SCANNED_BYTES = 256 * 1024 * 1024
"""Tables up to this size are scanned when they have no dense key to jump along."""
_JSON_FACTOR = 5
_GEOMETRY = re.compile(
    r"(geometry|point|linestring|polygon|multi\w+|geometrycollection|geomcollection)\b", re.IGNORECASE
)


class IntegerKey(NamedTuple):
    """A primary key of one integer column."""

    column: str
    is_dense: bool
    """The server numbers the rows, so that most numbers of its range exist."""


def sample_sql(request: SampleRequest, sql_name: str, quote: Callable[[str], str], key: IntegerKey | None) -> str:
    """One SELECT of up to `row_limit` rows, the same on unchanged data."""
    cells = column_list([_cell(column, f"t.{quote(column.name)}", request.char_limit) for column in request.columns])
    limit, rows = request.row_limit, request.row_estimate or 0
    plain = f"SELECT {cells} FROM {sql_name} AS t"
    if not request.page_sample or request.kind != "table" or rows <= limit:
        return f"{plain} LIMIT {limit}"
    # The server's estimate of rows is never twice the same, so it goes by half powers of two.
    stepped = 2 ** (math.ceil(2 * math.log2(rows)) / 2)
    is_small = (request.size_bytes or 0) <= _SCANNED_BYTES
    if key is not None and (key.is_dense or not is_small):
        return _spread_sql(cells, sql_name, quote(key.column), limit, stepped)
    return f"{plain} WHERE RAND(42) < {limit / stepped:.6f} LIMIT {limit}" if is_small else f"{plain} LIMIT {limit}"


def _spread_sql(cells: str, table: str, key: str, limit: int, rows: float) -> str:
    """Runs of neighbouring numbers at 2,025 even distances over the range of an integer key.

    Every number is one look-up in the key, whatever the size of the table; ranges that depend on
    another row are what the servers plan badly (1,000,000 rows: 0.2 s, against more than 10 s).
    Runs are longer where numbers are missing, up to 100; what is missing beyond gives fewer rows.
    """
    return f"""
WITH RECURSIVE digit(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM digit WHERE i < {_SIDE - 1}),
span(low, step) AS (SELECT MIN({key}), MAX({key}) DIV {_PLACES} - MIN({key}) DIV {_PLACES} + 1 FROM {table}),
run(j) AS (
  SELECT 0 UNION ALL
  SELECT j + 1 FROM run CROSS JOIN span WHERE j + 1 < LEAST({_LONGEST_RUN}, step, {limit} * step / {rows:.0f})),
number(k) AS (
  SELECT low + (a.i * {_SIDE} + b.i) * step + j FROM span CROSS JOIN digit AS a CROSS JOIN digit AS b CROSS JOIN run)
SELECT {cells} FROM number STRAIGHT_JOIN {table} AS t ON t.{key} = number.k
LIMIT {limit}"""


def distinct_sql(request: DistinctRequest, sql_name: str, quote: Callable[[str], str], collation: str) -> str:
    """One statement of a branch per column; texts are compared byte by byte, whatever their collation says."""
    branches = []
    for place, column in enumerate(request.columns):
        name = quote(column.name)
        text = f"LEFT(CONVERT({name} USING utf8mb4), {request.char_limit}) COLLATE {collation}"
        distinct = f"SELECT DISTINCT {text} AS v FROM {sql_name} WHERE {name} IS NOT NULL LIMIT {request.limit}"
        branches.append(f"SELECT {place} AS place, v FROM ({distinct}) AS q{place}")
    return " UNION ALL ".join(branches)


def _cell(column: SampleColumn, name: str, char_limit: int) -> str:
    """Read a value as a native number, as the length of bytes, or as text that no driver can misread."""
    native = column.data_type.lower()
    match column.type_class:
        case "integer":
            return f"{name} + 0" if native.startswith("bit") else name
        case "float":
            return name
        case "binary":
            return f"OCTET_LENGTH({name})"
        case "json":
            return f"LEFT({name}, {char_limit * _JSON_FACTOR})"
        case "string":
            return f"LEFT({name}, {char_limit})"
    if _GEOMETRY.match(native):
        return f"LEFT(ST_AsText({name}), {char_limit})"
    return f"LEFT(CAST({name} AS CHAR), {char_limit})"
