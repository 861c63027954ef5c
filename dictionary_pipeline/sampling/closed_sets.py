"""From sampled cells to the value sets that the rows of a table prove, and back into profiles and values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import SamplingLimits
from dictionary_pipeline.engines.base import Engine, SampleColumn, TypeClass
from dictionary_pipeline.sampling.allowed import ALLOWED
from dictionary_pipeline.sampling.candidates import Candidate, eligible_positions, find_candidate
from dictionary_pipeline.sampling.lookup import lookup_sets
from dictionary_pipeline.sampling.marks import Marks
from dictionary_pipeline.sampling.plan import COLUMN_KEY, Action, SamplingPlan, TablePlan
from dictionary_pipeline.sampling.profile import ColumnProfile, value_order
from dictionary_pipeline.sampling.values import Cell
from dictionary_pipeline.sampling.verify import KnownSet, OpenQuestion, SampledTable, Verification, verify_sets

SETS: frames.Schema = {**ALLOWED, "low": pl.String(), "high": pl.String()}
"""`ALLOWED` with the ends of sets that rows proved, as texts."""
_VERIFIABLE = ("table", "materialized_view")
"""Kinds whose rows may be scanned: a view could cost anything, a foreign table is somebody else's."""


@dataclass(frozen=True)
class LastTime:
    """What the sampling before this one left."""

    profiles: pl.DataFrame = field(default_factory=lambda: frames.empty(frames.PROFILES))
    verifications: pl.DataFrame = field(default_factory=lambda: frames.empty(frames.VERIFICATIONS))

    @property
    def sets(self) -> pl.DataFrame:
        """schema, table, column, allowed_values of the sets that rows proved."""
        return self.profiles.filter(pl.col("allowed_values_origin") == "scan").select(*COLUMN_KEY, "allowed_values")


class Filled(NamedTuple):
    """What sampling measured, with the sets that were found."""

    profiles: pl.DataFrame
    values: pl.DataFrame
    verification: Verification


class SetFinder:
    """Gathers candidates while tables are read, then finds out which of them are closed sets."""

    def __init__(self, catalog: Catalog, plan: SamplingPlan, known: pl.DataFrame, last: LastTime, marks: Marks) -> None:
        """Take the columns whose values are `known` from elsewhere, what was found last time, and marks of now."""
        self._catalog = catalog
        self._plan = plan
        self._last = last
        self._marks = marks
        self._eligible = eligible_positions(catalog, known)
        were_sets = plan.columns.join(last.sets, on=COLUMN_KEY, how="semi")
        self._were_sets = frozenset(were_sets["position"].to_list())
        self._whole: list[Candidate] = []
        self._sampled: list[tuple[TablePlan, list[Candidate], float]] = []

    def candidates(
        self,
        columns: Sequence[tuple[int, TypeClass]],
        rows: Sequence[Sequence[Cell]],
        profiles: Sequence[ColumnProfile],
    ) -> list[Candidate]:
        """Candidates among the columns of one table; called by the workers."""
        found = []
        for place, ((position, type_class), profile) in enumerate(zip(columns, profiles, strict=True)):
            if position in self._eligible:
                cells = [row[place] for row in rows]
                was_set = position in self._were_sets
                candidate = find_candidate(position, cells, type_class, profile, was_set=was_set)
                if candidate is not None:
                    found.append(candidate)
        return found

    def add(self, table: TablePlan, candidates: list[Candidate], *, is_whole: bool, seconds_left: float) -> None:
        """Take the candidates of one table.

        Args:
            is_whole: All rows were read, so the values are all of them.
            seconds_left: What is left of the table's time budget.
        """
        if is_whole:
            self._whole += candidates
        elif candidates and table.kind in _VERIFIABLE:
            self._sampled.append((table, candidates, seconds_left))

    def fill(
        self, engine: Engine, limits: SamplingLimits, profiles: pl.DataFrame, values: pl.DataFrame, hidden: pl.DataFrame
    ) -> Filled:
        """Find the sets and put them into `frames.PROFILES` and `frames.VALUES`; arguments as of `find`."""
        verification = self.find(engine, limits, hidden)
        proven = proven_sets(verification.sets, self._catalog)
        looked_up = lookup_sets(self._catalog, profiles, values, hidden)
        filled = with_sets(with_sets(profiles, looked_up), proven)
        return Filled(filled, with_rare_values(values, proven, self._catalog), verification)

    def find(self, engine: Engine, limits: SamplingLimits, hidden: pl.DataFrame) -> Verification:
        """All sets that are closed, those of kept tables included.

        Args:
            engine: Asked about tables that were only sampled.
            limits: Say whether and how long.
            hidden: schema, table, column whose values must not be shown: they are not looked at further.
        """
        columns = self._shown_candidates(hidden)
        whole = [KnownSet(*columns[item.position][0], item.values) for item in self._whole if item.position in columns]
        tables = []
        for table, candidates, seconds in self._sampled:
            questions = tuple(
                OpenQuestion(columns[item.position][1], item.values) for item in candidates if item.position in columns
            )
            if questions:
                tables.append(SampledTable(table, questions, seconds))
        last = self._last
        found = verify_sets(
            engine, tables, limits, marks=self._marks, remembered=last.verifications, profiles=last.profiles
        )
        kept, remembered = self._kept(hidden)
        return replace(
            found,
            sets=(*whole, *found.sets, *kept),
            remembered=pl.concat([found.remembered, remembered]).sort(COLUMN_KEY),
        )

    def _shown_candidates(self, hidden: pl.DataFrame) -> dict[int, tuple[tuple[str, str, str], SampleColumn]]:
        """Name and column of each candidate whose values may be shown, by position."""
        gathered = [*self._whole, *(item for _, candidates, _ in self._sampled for item in candidates)]
        wanted = self._plan.columns.filter(pl.col("position").is_in([item.position for item in gathered]))
        shown = wanted.join(hidden, on=COLUMN_KEY, how="anti")
        return {
            position: ((schema, table, column), SampleColumn(column, type_class, data_type))
            for position, schema, table, column, type_class, data_type in shown.select(
                "position", *COLUMN_KEY, "type_class", "data_type"
            ).iter_rows()
        }

    def _kept(self, hidden: pl.DataFrame) -> tuple[list[KnownSet], pl.DataFrame]:
        """Sets and memories of the tables that are not read this time."""
        names = [(table.schema, table.table) for table in self._plan.tables if table.action is Action.KEEP]
        tables = pl.DataFrame(names, schema={"schema": pl.String, "table": pl.String}, orient="row")
        sets, memories = (
            frame.join(tables, on=["schema", "table"], how="semi").join(hidden, on=COLUMN_KEY, how="anti")
            for frame in (self._last.sets, self._last.verifications)
        )
        known = [KnownSet(schema, table, column, tuple(values)) for schema, table, column, values in sets.iter_rows()]
        return known, memories


def proven_sets(sets: Sequence[KnownSet], catalog: Catalog) -> pl.DataFrame:
    """Sets that rows proved, as `SETS`, their values in order."""
    names = frames.from_rows([item[:3] for item in sets], {name: pl.String() for name in COLUMN_KEY})
    kinds = names.join(catalog.columns, on=COLUMN_KEY, how="left", maintain_order="left")["type_class"].to_list()
    rows = []
    for item, kind in zip(sets, kinds, strict=True):
        ordered = sorted(item.values, key=lambda text: value_order(json.loads(text), kind))
        low, high = (str(json.loads(text)) for text in (ordered[0], ordered[-1]))
        rows.append((*item[:3], ordered, "scan", low, high))
    return frames.from_rows(rows, SETS)


def with_sets(profiles: pl.DataFrame, sets: pl.DataFrame) -> pl.DataFrame:
    """Fill the value sets of columns that were read and have none; what rows proved corrects estimates.

    Args:
        profiles: `frames.PROFILES`.
        sets: `ALLOWED` or `SETS`, each column at most once.
    """
    given = frames.fit(sets, SETS).rename({name: f"given_{name}" for name in SETS if name not in COLUMN_KEY})
    is_given = (
        pl.col("given_allowed_values").is_not_null() & pl.col("allowed_values").is_null() & (pl.col("status") == "ok")
    )
    is_proven = is_given & pl.col("given_low").is_not_null()
    filled = profiles.join(given, on=COLUMN_KEY, how="left", maintain_order="left").with_columns(
        pl.when(is_given).then("given_allowed_values").otherwise("allowed_values").alias("allowed_values"),
        pl.when(is_given)
        .then("given_allowed_values_origin")
        .otherwise("allowed_values_origin")
        .alias("allowed_values_origin"),
        pl.when(is_proven)
        .then(pl.col("given_allowed_values").list.len())
        .otherwise("distinct_estimate")
        .alias("distinct_estimate"),
        pl.when(is_proven).then("given_low").otherwise("min").alias("min"),
        pl.when(is_proven).then("given_high").otherwise("max").alias("max"),
    )
    return frames.fit(filled, frames.PROFILES)


def with_rare_values(values: pl.DataFrame, sets: pl.DataFrame, catalog: Catalog) -> pl.DataFrame:
    """Add the values of proven sets that the sample missed to `frames.VALUES`, with count 0.

    Only to columns that have values there; the order of the columns and of their values stays.
    """
    text = catalog.columns.with_row_index("position").filter(pl.col("type_class") == "string")
    stored = sets.join(values, on=COLUMN_KEY, how="semi").join(text, on=COLUMN_KEY, how="semi")
    rows = [
        (schema, table, column, json.loads(value), 0)
        for schema, table, column, listed in stored.select(*COLUMN_KEY, "allowed_values").iter_rows()
        for value in listed
    ]
    rare = frames.from_rows(rows, frames.VALUES).join(values, on=[*COLUMN_KEY, "value"], how="anti")
    if rare.is_empty():
        return values
    places = text.select(*COLUMN_KEY, "position")
    both = pl.concat([values, rare]).join(places, on=COLUMN_KEY, how="left", maintain_order="left")
    return frames.fit(both.sort("position", "count", "value", descending=[False, True, False]), frames.VALUES)
