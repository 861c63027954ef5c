"""The statement that reads a bounded part of a PostgreSQL table."""

from __future__ import annotations

import math
from collections.abc import Callable

from dictionary_pipeline.engines.base import DistinctRequest, SampleColumn, SampleRequest, column_list

_PAGE_BYTES = 8192
_SAMPLED_PAGES = 600
"""Pages to read of a table about whose rows nothing is known; smaller tables are not page-sampled."""
_MOST_PAGES = 4 * _SAMPLED_PAGES
_JSON_FACTOR = 5
"""Nested values are worth more characters than others: cut short they are no JSON."""


def sample_sql(request: SampleRequest, sql_name: str, quote: Callable[[str], str]) -> str:
    """One SELECT of up to `row_limit` rows.

    TABLESAMPLE returns the same rows for the same seed as long as the table is unchanged
    (PostgreSQL documentation, SELECT); it is refused for views and foreign tables.
    """
    cells = column_list([_cell(column, quote(column.name), request.char_limit) for column in request.columns])
    return f"SELECT {cells} FROM {sql_name}{_table_sample(request)} LIMIT {request.row_limit}"


def distinct_sql(request: DistinctRequest, sql_name: str, quote: Callable[[str], str]) -> str:
    """One SELECT that scans the table once, with a grouping set per column.

    On 5 million rows of 1.1 GB two columns take 1.4 s and four 2.0 s; a SELECT DISTINCT for each
    takes 1.8 and 3.6 s. Texts are compared byte by byte, whatever equality their collation means.
    """
    cells = [_distinct_cell(column, quote(column.name)) for column in request.columns]
    places = range(len(cells))
    inner = ", ".join(f"{cell} AS c{place}" for place, cell in zip(places, cells, strict=True))
    which = " ".join(f"WHEN GROUPING(c{place}) = 0 THEN {place}" for place in places)
    value = " ".join(f"WHEN GROUPING(c{place}) = 0 THEN c{place}::text" for place in places)
    sets = ", ".join(f"(c{place})" for place in places)
    return (
        f"SELECT place, left(v, {request.char_limit}) FROM ("
        f"SELECT place, v, row_number() OVER (PARTITION BY place) AS n FROM ("
        f"SELECT CASE {which} END AS place, CASE {value} END AS v FROM (SELECT {inner} FROM {sql_name}) AS cells"
        f" GROUP BY GROUPING SETS ({sets})) AS groups WHERE v IS NOT NULL) AS numbered WHERE n <= {request.limit}"
    )


def _distinct_cell(column: SampleColumn, name: str) -> str:
    return name if column.type_class == "integer" else f'{name}::text COLLATE "C"'


def _table_sample(request: SampleRequest) -> str:
    """The clause that spreads the rows over the table; empty where it can be read from the start.

    Shares are such that about `row_limit` rows come back: with more, LIMIT would cut off the end of
    the table. They go by half powers of two, so that an estimate that varies a little from one
    ANALYZE to the next leads to the same sample.
    """
    rows, limit = request.row_estimate, request.row_limit
    if not request.page_sample or request.kind not in ("table", "materialized_view") or request.size_bytes is None:
        return ""
    if rows is not None and rows <= limit:
        return ""
    pages = request.size_bytes / _PAGE_BYTES
    if pages <= _SAMPLED_PAGES:
        # So small that all pages can be looked at, and rows picked one by one.
        return f" TABLESAMPLE BERNOULLI ({100 / _half_power(rows / limit):.6f}) REPEATABLE (42)" if rows else ""
    wanted = limit / _half_power(rows / pages) if rows else _SAMPLED_PAGES
    percent = 100 * min(wanted, _MOST_PAGES, pages) / pages
    return f" TABLESAMPLE SYSTEM ({percent:.6f}) REPEATABLE (42)"


def _half_power(value: float) -> float:
    """The next power of the square root of two that is not below `value`."""
    return float(2 ** (math.ceil(2 * math.log2(value)) / 2))


def _cell(column: SampleColumn, name: str, char_limit: int) -> str:
    """Read a value as a native boolean or integer, or as text that no driver can misread."""
    match column.type_class:
        case "boolean" | "integer":
            return name
        case "binary":
            return f"octet_length({name})"
        case "json":
            return f"left({name}::text, {char_limit * _JSON_FACTOR})"
        case "array":
            return f"left(to_json({name})::text, {char_limit * _JSON_FACTOR})"
        case _:
            return f"left({name}::text, {char_limit})"
