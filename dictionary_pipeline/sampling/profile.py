"""From the sampled cells of a column to its profile: counts, estimates, samples, range, values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from operator import itemgetter
from typing import Any, NamedTuple

from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.sampling.values import MAX_CHARACTERS, Cell, cut, encode, iso_text, number, well_formed

MAX_SAMPLES = 5

_NATIVE: frozenset[type] = frozenset({str, int, float, bool, bytes, type(None)})
_NUMERIC: frozenset[TypeClass] = frozenset({"integer", "float", "decimal"})
_TEMPORAL: frozenset[TypeClass] = frozenset({"date", "time", "timestamp"})
_LENGTHS: frozenset[TypeClass] = frozenset({"string", "json", "array", "xml", "other"})
_GROUPED: frozenset[TypeClass] = frozenset({"binary", "json", "array", "boolean"})
"""Classes in which different cells may be published as the same value."""
_NEARLY_DISTINCT = 0.9
_LONG_CHARACTERS = 40
_MAX_EVIDENCE = 100
_FREQUENT_EVIDENCE = 20


@dataclass(frozen=True)
class ColumnSpec:
    """What is known of a column before its cells are read."""

    type_class: TypeClass
    previous: tuple[str, ...] = ()
    """The samples published last time, as JSON texts."""
    max_values: int = 0
    """Entries for the value store at most; 0 when the column has none."""
    keeps_long: bool = False
    """The value store takes nearly unique long texts too."""


class ColumnProfile(NamedTuple):
    """One measured row of `frames.PROFILES`, and the column's share of `frames.VALUES`."""

    sampled_rows: int
    null_fraction: float | None
    """Null when no row was read."""
    distinct_estimate: int | None
    """Null for binary columns, of which only lengths are known."""
    samples: list[str] | None
    """Null when withheld."""
    complete: bool
    min: str | None
    max: str | None
    mean_length: float | None
    values: list[tuple[str, int]]
    """(value, count), most frequent first, ties by value."""
    evidence: tuple[str, ...] = ()
    """Distinct values as text that show what kind of values these are; kept in memory only."""


def profile_rows(
    rows: Sequence[Sequence[Cell]], specs: Sequence[ColumnSpec], *, complete: bool, row_estimate: int | None
) -> list[ColumnProfile]:
    """Profile all columns of one table; the order of the rows does not matter.

    Args:
        rows: Sampled rows, one cell per spec.
        specs: The columns in the order of the cells.
        complete: The rows are the whole table.
        row_estimate: Rows of the table as the catalog knows them, null when it does not.
    """
    columns = zip(*rows, strict=True) if rows else [()] * len(specs)
    return [
        profile_column(cells, spec, complete=complete, row_estimate=row_estimate)
        for cells, spec in zip(columns, specs, strict=True)
    ]


def profile_column(
    cells: Sequence[Cell], spec: ColumnSpec, *, complete: bool, row_estimate: int | None
) -> ColumnProfile:
    """Profile one column; see `profile_rows`."""
    counts = _count(cells)
    nulls = counts.pop(None, 0)
    found = len(cells) - nulls
    low, high = _range(counts, spec.type_class)
    length = _mean_length(counts, spec.type_class)
    rows = None if row_estimate is None or not cells else round(row_estimate * found / len(cells))
    return ColumnProfile(
        sampled_rows=len(cells),
        null_fraction=nulls / len(cells) if cells else None,
        distinct_estimate=None if spec.type_class == "binary" else estimate_distinct(counts, rows, complete=complete),
        samples=_samples(counts, spec),
        complete=complete,
        min=low,
        max=high,
        mean_length=length,
        values=_stored_values(counts, found, length or 0.0, spec),
        evidence=_evidence(counts),
    )


def estimate_distinct(counts: Counter[Any], rows: int | None, *, complete: bool) -> int:
    """Distinct non-null values of a column, exact when its whole table was read.

    Otherwise the estimator Duj1 of Haas and Stokes ("Estimating the number of classes in a finite
    population", IBM Research Report RJ 10025, 1996), which PostgreSQL's ANALYZE uses too:
    `n * d / (n - f1 + f1 * n / N)` with n sampled and N existing non-null values, d distinct ones
    in the sample and f1 of them seen once. Without N the d seen are a lower bound.

    Args:
        counts: Sampled non-null values.
        rows: Estimate of N.
        complete: The sample is the whole table.
    """
    seen = len(counts)
    sampled = counts.total()
    if complete or rows is None or rows <= sampled or not seen:
        return seen
    once = sum(1 for count in counts.values() if count == 1)
    estimate = sampled * seen / (sampled - once + once * sampled / rows)
    return max(seen, min(rows, round(estimate)))


def _count(cells: Sequence[Cell]) -> Counter[Any]:
    """Count cells so that equal ones count as one, whichever of them comes first."""
    kinds = set(map(type, cells))
    mixed = len(kinds & {int, float, bool}) > 1
    if mixed or float in kinds or not kinds <= _NATIVE:
        return Counter(_canonical(cell, mixed) for cell in cells)
    return Counter(cells)


def _canonical(cell: Any, mixed: bool) -> Cell:
    """One form for numbers that compare equal (1, 1.0, true; 0.0, -0.0), and for every NaN."""
    if isinstance(cell, float):
        if cell != cell:
            return "NaN"
        return int(cell) if mixed and cell.is_integer() and abs(cell) < 2**63 else cell + 0.0
    if isinstance(cell, bool):
        return int(cell) if mixed else cell
    return cell if type(cell) in _NATIVE else str(cell)


def value_order(cell: Cell, type_class: TypeClass) -> tuple[int, Any]:
    """Sort key among values: numbers by number, then texts by code point, then binaries."""
    if isinstance(cell, bytes):
        return 2, cell
    value = number(cell, type_class) if type_class in _NUMERIC or not isinstance(cell, str) else None
    return (1, cell) if value is None else (0, (value, str(cell)))


def _samples(counts: Counter[Any], spec: ColumnSpec) -> list[str]:
    """At most five JSON texts: those of last time that still occur, then the most frequent."""
    top, occurs = _ranking(counts, spec.type_class)
    kept = [text for text in dict.fromkeys(spec.previous) if text in top or occurs(text)]
    return list(dict.fromkeys([*kept, *top]))[:MAX_SAMPLES]


def _ranking(counts: Counter[Any], type_class: TypeClass) -> tuple[list[str], Callable[[str], bool]]:
    """The most frequent published values, and a test whether a published value occurs at all."""
    kinds = set(map(type, counts))
    if type_class in _GROUPED or bytes in kinds or _has_long_text(counts, kinds):
        published: Counter[str] = Counter()
        for cell, count in counts.items():
            published[encode(cell, type_class)] += count
        return _top(published), published.__contains__
    is_plain = kinds == {int} or (kinds <= {str} and type_class not in _NUMERIC)
    top = _top(counts, None if is_plain else lambda cell: value_order(cell, type_class))
    return [encode(cell, type_class) for cell in top], lambda text: _occurs(text, counts, type_class)


def _has_long_text(counts: Counter[Any], kinds: set[type]) -> bool:
    """Whether texts are cut, so that different ones may become the same."""
    if str not in kinds:
        return False
    texts = counts if len(kinds) == 1 else [cell for cell in counts if isinstance(cell, str)]
    return max(map(len, texts)) > MAX_CHARACTERS


def _top(counts: Counter[Any], order: Callable[[Any], Any] | None = None) -> list[Any]:
    """The most frequent values, ties by `order`."""
    if len(counts) <= MAX_SAMPLES:
        return sorted(sorted(counts, key=order), key=counts.__getitem__, reverse=True)
    least = nlargest(MAX_SAMPLES, counts.values())[-1]
    above = [value for value, count in counts.items() if count > least]
    ties = nsmallest(MAX_SAMPLES - len(above), [value for value in counts if counts[value] == least], key=order)
    return [*sorted(sorted(above, key=order), key=counts.__getitem__, reverse=True), *ties]


def _occurs(text: str, counts: Counter[Any], type_class: TypeClass) -> bool:
    """Whether a cell is published as the JSON text, found without encoding every cell."""
    value = json.loads(text)
    forms = [text, value]
    if isinstance(value, str) and type_class == "timestamp":
        spaced = value.replace("T", " ", 1)
        forms += [spaced, spaced.removesuffix(":00")]
    if any(not isinstance(form, list | dict) and form in counts and encode(form, type_class) == text for form in forms):
        return True
    # Engines spell one float in several ways (1, 1.0, 1e0).
    return type_class == "float" and any(encode(cell, type_class) == text for cell in counts)


def _range(counts: Counter[Any], type_class: TypeClass) -> tuple[str | None, str | None]:
    """Smallest and largest value as text, of classes that have an order.

    NaN and, for times, what is not ISO text (BC, infinity) stay out of the range.
    """
    if type_class in _NUMERIC:
        numbers = [(value, str(cell)) for cell in counts if (value := number(cell, type_class)) is not None]
        return (min(numbers)[1], max(numbers)[1]) if numbers else (None, None)
    if type_class in _TEMPORAL:
        return _ends([text for cell in counts if (text := iso_text(cell, type_class)) is not None])
    if type_class == "string":
        return _ends([cell for cell in counts if isinstance(cell, str)])
    return None, None


def _ends(texts: list[str]) -> tuple[str | None, str | None]:
    return (cut(min(texts)), cut(max(texts))) if texts else (None, None)


def _mean_length(counts: Counter[Any], type_class: TypeClass) -> float | None:
    """Characters per text value; texts beyond the fetched characters count as cut."""
    if type_class not in _LENGTHS:
        return None
    lengths = [(len(cell) * count, count) for cell, count in counts.items() if isinstance(cell, str)]
    return sum(map(itemgetter(0), lengths)) / sum(map(itemgetter(1), lengths)) if lengths else None


def _stored_values(counts: Counter[Any], found: int, length: float, spec: ColumnSpec) -> list[tuple[str, int]]:
    """The column's values for the value store, unless it holds nearly unique long texts."""
    is_prose = len(counts) > _NEARLY_DISTINCT * found and length > _LONG_CHARACTERS
    if not spec.max_values or (is_prose and not spec.keeps_long):
        return []
    values: Counter[str] = Counter()
    for cell, count in counts.items():
        if isinstance(cell, str) and len(cell) <= MAX_CHARACTERS:
            values[well_formed(cell)] += count
    ranked = sorted(values.items())
    ranked.sort(key=itemgetter(1), reverse=True)
    return ranked[: spec.max_values]


def _evidence(counts: Counter[Any]) -> tuple[str, ...]:
    """The most frequent values, then some spread evenly over the others in order of their texts."""
    kinds = set(map(type, counts))
    cells = [cell for cell in counts if not isinstance(cell, bytes)] if bytes in kinds else counts
    ordered = sorted(cells, key=None if len(kinds) == 1 else str)
    if len(ordered) <= _MAX_EVIDENCE:
        chosen = sorted(ordered, key=counts.__getitem__, reverse=True)
    else:
        others = _MAX_EVIDENCE - _FREQUENT_EVIDENCE
        spread = (ordered[place * len(ordered) // others] for place in range(others))
        is_repeated = counts.total() > len(counts)
        frequent = nlargest(_FREQUENT_EVIDENCE, ordered, key=counts.__getitem__) if is_repeated else ()
        chosen = list(dict.fromkeys([*frequent, *spread]))
    return tuple(cut(str(cell)) for cell in chosen)
