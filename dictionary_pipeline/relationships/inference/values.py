"""Columns whose values give them away: codes found in one key only, numbers that end where one key ends."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from dictionary_pipeline.relationships.inference.candidates import Candidate
from dictionary_pipeline.relationships.inference.facts import Column, Facts
from dictionary_pipeline.relationships.inference.keys import Key
from dictionary_pipeline.relationships.inference.words import Tokens

_LEAST_KEYS = 6
"""Fewer different values, such as `Y` and `N`, occur in unrelated columns too."""
_LEAST_VALUES = 4
_MAX_LENGTH = 24.0
_MAX_OWNERS = 8
"""A value that more keys have says nothing."""
_NAME = 0.42
"""Stands for a name that does not fit."""
_RANGE_NAME = 0.5
_LEAST_COLUMNS = 2
_SAME_END = 0.97
_NEXT_END = 1.2
_LOOKED_AT = 20
_LEAST_ROWS = 100
_KEY = ["schema", "table", "column"]


class Texts:
    """The distinct values of text columns, as far as the samples hold them."""

    def __init__(self, facts: Facts, values: pl.DataFrame) -> None:
        self._facts = facts
        self._values = values

    def of(self, columns: Iterable[int]) -> Mapping[int, list[str]]:
        """Column -> its known values, of the columns that have any."""
        stored = self.frame(columns).group_by("number", maintain_order=True).agg("value")
        return dict(stored.iter_rows())

    def complete(self, columns: Iterable[int]) -> Mapping[int, list[str]]:
        """Like `of`, of columns whose values are all known."""
        known = self.of(column for column in columns if self._facts.columns[column].complete)
        return {number: found for number, found in known.items() if len(found) == self._facts.columns[number].distinct}

    def frame(self, columns: Iterable[int]) -> pl.DataFrame:
        """number, value."""
        wanted = [
            (*self._facts.table_of(number).name, self._facts.columns[number].name, number)
            for number in sorted(set(columns))
            if self._facts.columns[number].family == "text"
        ]
        names = pl.DataFrame(wanted, schema={**dict.fromkeys(_KEY, pl.String()), "number": pl.Int64()}, orient="row")
        found = self._values.select(*_KEY, "value").join(names, on=_KEY, how="inner", maintain_order="left")
        return found.select("number", "value")


def value_candidates(
    facts: Facts, keys: Sequence[Sequence[Key]], texts: Texts, columns: Iterable[Column]
) -> list[Candidate]:
    """Candidates that only the values suggest: every value of the column is one of the key's.

    Args:
        columns: Columns without a candidate by name.
    """
    by_column = {
        key.column: key
        for found in keys
        for key in found
        if key.proof != "open" and _is_code(facts.columns[key.column], _LEAST_KEYS)
    }
    wanted = [column.number for column in columns if not column.is_unique and _is_code(column, _LEAST_VALUES)]
    if not by_column or not wanted:
        return []
    known = texts.frame(by_column).filter(pl.len().over("value") <= _MAX_OWNERS)
    asked = texts.frame(wanted)
    found = (
        asked.join(known.rename({"number": "key"}), on="value")
        .group_by("number", "key")
        .agg(found=pl.len())
        .sort("number", "key")
    )
    return [
        Candidate(number, by_column[key], _NAME * (0.85 + 0.15 * by_column[key].strength), "value")
        for number, key, count in found.iter_rows()
        if count == facts.columns[number].distinct and facts.columns[number].table != by_column[key].table
    ]


def range_candidates(facts: Facts, keys: Sequence[Sequence[Key]], columns: Iterable[Column]) -> list[Candidate]:
    """Candidates for ids whose name means no table, such as `movie_id` in a database whose films are `title`.

    All columns of one name are taken together, if there are several. They refer to the key whose numbers
    end where theirs end, if there is exactly one.

    Args:
        columns: Columns without a candidate by name.
    """
    ends = sorted(
        (column.high, key.column, key)
        for found in keys
        for key in found[:1]
        if _is_gapless(column := facts.columns[key.column]) and column.high is not None
    )
    groups: dict[Tokens, list[Column]] = defaultdict(list)
    for column in columns:
        if column.reading.mark == "id" and () not in column.reading.things and column.high is not None:
            groups[column.reading.plain].append(column)
    found: list[Candidate] = []
    for group in groups.values():
        if len(group) < _LEAST_COLUMNS:
            continue
        high = max(column.high or 0.0 for column in group)
        first = bisect_left(ends, high, key=lambda end: end[0])
        own = {column.table for column in group}
        # Tables that hold the column themselves refer to the same thing.
        others = [end for end in ends[first : first + _LOOKED_AT] if end[2].table not in own]
        near = [key for end, _, key in others[:1] if high >= _SAME_END * end]
        clear = len(others) < 2 or others[1][0] > _NEXT_END * high
        if near and clear:
            found += [Candidate(column.number, near[0], _RANGE_NAME, "range") for column in group]
    return found


def _is_gapless(column: Column) -> bool:
    return column.is_unique and column.rows >= _LEAST_ROWS and column.density == 1.0


def _is_code(column: Column, least: int) -> bool:
    """A text column of short values, all of which were read."""
    is_short = column.length is not None and column.length <= _MAX_LENGTH
    return column.family == "text" and column.complete and is_short and (column.distinct or 0) >= least
