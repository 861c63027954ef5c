"""An error is not an absence: when what is missing from a later catalog really is gone."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.drift_settings import DriftSettings
from dictionary_pipeline.drift.model import Key
from dictionary_pipeline.drift.tables import VIEW_KINDS
from dictionary_pipeline.problems import Problem

_REFUSALS = frozenset({"42501", "1142", "1143", "1044", "229", "230", "916"})
"""Privilege codes: SQLSTATE 42501; MySQL 1044, 1142, 1143; SQL Server 229, 230, 916."""
_TABLE = ["schema", "table"]


@dataclass(frozen=True)
class Trust:
    """What absence proves."""

    removals: bool = True
    """What the later catalog lacks is gone."""
    additions: bool = True
    """What the earlier catalog lacks is new."""
    doubtful: frozenset[Key] = frozenset()
    """Tables that the later catalog could not describe completely."""
    suspicious: bool = False
    notes: tuple[str, ...] = field(default=())

    def removals_in(self, key: Key) -> bool:
        """Whether a missing part of this table is gone."""
        return self.removals and key not in self.doubtful


def is_authoritative(before: Catalog, after: Catalog) -> bool:
    """Whether absence from `after` proves a removal."""
    return judge(before, after).removals


def judge(before: Catalog, after: Catalog, settings: DriftSettings = DriftSettings()) -> Trust:  # noqa: B008 - frozen
    """Weigh what the two catalogs tell about themselves.

    The later catalog proves removals when it is complete and did not lose privileges together with
    objects. Problems that the earlier catalog had too are no news.
    """
    gone = before.tables.join(after.tables, on=_TABLE, how="anti").height
    new_problems = sorted(set(after.problems) - set(before.problems))
    lost = _newly_unreadable(before, after)
    notes: list[str] = []
    removals = after.complete
    if not after.complete:
        notes.append(
            "the later catalog is incomplete, so nothing counts as removed; fix the problems it names and compare again"
        )
    elif gone and (lost or any(_is_refusal(problem) for problem in new_problems)):
        removals = False
        notes.append(
            f"{gone} tables or views are missing and the account lost privileges at the same time, so nothing counts "
            "as removed; grant the privileges again, or compare once they are meant to stay lost"
        )
    if not before.complete:
        notes.append("the earlier catalog is incomplete, so nothing counts as added")
    suspicious = gone >= settings.suspicious_tables and gone > settings.suspicious_share * before.tables.height
    if suspicious:
        notes.append(
            f"{gone} of {before.tables.height} tables and views are gone at once; check that this is the right "
            "database and that the account still sees all of it"
        )
    return Trust(removals, before.complete, _doubtful(before, after, new_problems), suspicious, tuple(notes))


def _newly_unreadable(before: Catalog, after: Catalog) -> int:
    """Tables that were readable and are not any more; a view also breaks when its tables change."""
    readable = before.tables.filter(pl.col("readable").fill_null(True)).select(_TABLE)
    refused = after.tables.filter(~pl.col("readable").fill_null(True), ~pl.col("kind").is_in(VIEW_KINDS))
    return refused.join(readable, on=_TABLE, how="semi").height


def _is_refusal(problem: Problem) -> bool:
    return problem.code in _REFUSALS


def _doubtful(before: Catalog, after: Catalog, new_problems: list[Problem]) -> frozenset[Key]:
    """Tables with a new problem, or without any column although they had some."""
    named = {problem.object for problem in new_problems}
    keys = [Key(*row) for row in after.tables.select(_TABLE).iter_rows()]
    described = after.columns.select(_TABLE).unique()
    bare = after.tables.join(described, on=_TABLE, how="anti").join(before.columns, on=_TABLE, how="semi")
    return frozenset(key for key in keys if str(key) in named) | {Key(*row) for row in bare.select(_TABLE).iter_rows()}
