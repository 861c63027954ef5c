"""Which columns may hold a closed set of values, as far as their sampled cells can tell.

A set of values means something only where values repeat: the distinct names of a small table are
not what its column allows. The rules, all of which must hold:

- the column holds text or whole numbers, is no key and refers to nothing, and its name does not say
  identifier; whole numbers are no part of a key, and their names do not say quantity or position;
- 2 to 200 distinct values (whole numbers: 20), none longer than 100 characters;
- at least 20 values, 3 per distinct value (whole numbers: 20), and `distinct² / 4` of them, because
  an open domain keeps showing new values as rows are added;
- at most a quarter of the distinct values occurs only once;
- in a sample, as opposed to a whole table, the distinct values are less than 5 % of the rows.

A set published before is kept under weaker rules, so that it does not come and go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.naming import words
from dictionary_pipeline.sampling.plan import COLUMN_KEY
from dictionary_pipeline.sampling.profile import ColumnProfile
from dictionary_pipeline.sampling.values import Cell, encode

MAX_SET = 200
"""Values of a set at most."""

_MAX_INTEGERS = 20
_MAX_CHARACTERS = 100
_MIN_ROWS = 20
_ROWS_PER_VALUE = 3
_ROWS_PER_INTEGER = 20
_SAMPLE_SHARE = 0.05
_NATIVE: dict[str, type] = {"string": str, "integer": int}
_IDENTIFIERS = frozenset({"id", "ids", "uuid", "guid", "oid", "rowid"})
_QUANTITY_WORDS = """
age amount balance cnt count counter day days depth height hour hours index length line lines minute minutes month
months no num number ordinal pos position qty quantity rank retries revision score second seconds seq sequence size
sum total version week weeks weight width year years
"""
_QUANTITIES = frozenset(_QUANTITY_WORDS.split())


class Candidate(NamedTuple):
    """A column that may hold a closed set."""

    position: int
    """Row of `SamplingPlan.columns`."""
    values: tuple[str, ...]
    """The distinct values that were read, as JSON texts, sorted."""


def eligible_positions(catalog: Catalog, known: pl.DataFrame) -> frozenset[int]:
    """Rows of `catalog.columns` that may hold a closed set, as far as the catalog can tell.

    Args:
        catalog: Its keys and names rule columns out.
        known: schema, table, column of columns whose values are known already.
    """
    keys = catalog.keys.select("schema", "table", column="columns")
    refers = catalog.foreign_keys.select(schema="from_schema", table="from_table", column="from_columns")
    taken = pl.concat([refers, keys.filter(pl.col("column").list.len() == 1)]).explode("column")
    key_parts = keys.explode("column").unique().with_columns(in_key=pl.lit(True))
    left = (
        catalog.columns.with_row_index("position")
        .filter(pl.col("type_class").is_in(list(_NATIVE)) & ~pl.col("is_identity").fill_null(False))
        .join(taken, on=COLUMN_KEY, how="anti")
        .join(known, on=COLUMN_KEY, how="anti")
        .join(key_parts, on=COLUMN_KEY, how="left")
        # Text that is one part of a key can be a code; a number there is a position.
        .filter((pl.col("type_class") == "string") | pl.col("in_key").is_null())
    )
    return frozenset(
        position
        for position, column, type_class in left.select("position", "column", "type_class").iter_rows()
        if _may_hold_codes(column, type_class)
    )


def find_candidate(
    position: int,
    cells: Sequence[Cell],
    type_class: TypeClass,
    profile: ColumnProfile,
    *,
    was_set: bool,
) -> Candidate | None:
    """The column as a candidate, or null when its cells break a rule.

    Args:
        position: Passed on.
        cells: The sampled cells of the column.
        type_class: `string` or `integer`.
        profile: The column's profile; most columns are told apart by it alone.
        was_set: Its values were published as a closed set last time.
    """
    if profile.distinct_estimate is None or not 2 <= profile.distinct_estimate <= MAX_SET:
        return None
    counts = Counter(cells)
    counts.pop(None, None)
    if not 2 <= len(counts) <= MAX_SET or not all(isinstance(value, _NATIVE[type_class]) for value in counts):
        return None
    if any(isinstance(value, str) and len(value) > _MAX_CHARACTERS for value in counts):
        return None
    if not (_repeats_weakly(counts) if was_set else _repeats(counts, type_class, whole=profile.complete)):
        return None
    return Candidate(position, tuple(sorted(encode(value, type_class) for value in counts)))


def _may_hold_codes(column: str, type_class: str) -> bool:
    spoken = [word.lower() for word in words(column)]
    if not spoken or spoken[-1] in _IDENTIFIERS:
        return False
    return type_class == "string" or _QUANTITIES.isdisjoint(spoken)


def _repeats(counts: Counter[Cell], type_class: TypeClass, *, whole: bool) -> bool:
    rows, distinct = counts.total(), len(counts)
    once = sum(1 for count in counts.values() if count == 1)
    if type_class == "integer" and (distinct > _MAX_INTEGERS or rows < _ROWS_PER_INTEGER * distinct):
        return False
    enough = rows >= max(_MIN_ROWS, _ROWS_PER_VALUE * distinct, distinct * distinct / 4)
    return enough and 4 * once <= distinct and (whole or distinct < _SAMPLE_SHARE * rows)


def _repeats_weakly(counts: Counter[Cell]) -> bool:
    return 2 * len(counts) <= counts.total()
