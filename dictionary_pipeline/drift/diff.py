"""The comparison of two catalogs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.drift_settings import DriftSettings
from dictionary_pipeline.config.resolved import HumanKnowledge
from dictionary_pipeline.drift.columns import Maker, column_changes, is_reordered, recased_severity
from dictionary_pipeline.drift.constraints import Sides, constraint_changes
from dictionary_pipeline.drift.consumers import with_consumers
from dictionary_pipeline.drift.model import SEVERITIES, Change, Drift, Facts, Key, Kind
from dictionary_pipeline.drift.pairing import Pairs, pair
from dictionary_pipeline.drift.severity import check_overrides, rated
from dictionary_pipeline.drift.tables import Table, completed, differing, load_tables
from dictionary_pipeline.drift.texts import SCRUBBED, Definition
from dictionary_pipeline.drift.trust import Trust, judge

_WORD = re.compile(r'"[^"]+"|\w+')
NO_OVERRIDES: Mapping[str, str] = {}


@dataclass(frozen=True)
class Profiles:
    """Value profiles of both states (`frames.PROFILES`, or as published), which tell renames from replacements."""

    before: pl.DataFrame
    after: pl.DataFrame


def diff_catalogs(
    before: Catalog,
    after: Catalog,
    *,
    severities: Mapping[str, str] = NO_OVERRIDES,
    human: HumanKnowledge | None = None,
    profiles: Profiles | None = None,
    facts: Facts = Facts(),  # noqa: B008 - frozen
) -> tuple[Change, ...]:
    """The changes between two catalogs, worst first; see `compare_catalogs`.

    Args:
        severities: `kind` or `kind:glob` -> severity, instead of the usual ones.

    Raises:
        ConfigurationError: `severities` names something unknown.
    """
    settings = DriftSettings(check_overrides(severities))
    return compare_catalogs(before, after, settings=settings, human=human, profiles=profiles, facts=facts).changes


def compare_catalogs(
    before: Catalog,
    after: Catalog,
    *,
    settings: DriftSettings = DriftSettings(),  # noqa: B008 - frozen
    human: HumanKnowledge | None = None,
    profiles: Profiles | None = None,
    facts: Facts = Facts(),  # noqa: B008 - frozen
) -> Drift:
    """Compare two catalogs of one database, or of two that should be alike.

    Args:
        before: The earlier state; its engine says how names, types and defaults are read.
        after: The later state.
        settings: Configured severities and thresholds.
        human: What people wrote about the database; null: not known.
        profiles: What is known about the values of both.
        facts: What both catalogs hold.
    """
    trust = judge(before, after, settings)
    names = differing(before, after)
    sides = (
        load_tables(before, names[0], profiles.before if profiles else None),
        load_tables(after, names[1], profiles.after if profiles else None),
    )
    comparison = _Comparison(*sides, before.identity.engine, facts, trust)
    found = with_consumers(list(comparison.changes()), before, comparison.pairs, human)
    changes = tuple(sorted((rated(change, settings.severity) for change in found), key=_rank))
    return Drift(changes, trust.removals, trust.suspicious, trust.notes)


def _rank(change: Change) -> tuple[object, ...]:
    parts = (change.schema, change.table, change.kind, change.column, change.name, change.before, change.after)
    return (SEVERITIES.index(change.severity), -len(change.consumers), *parts)


class _Comparison:
    """Walks the paired tables; views come last, as they follow their tables."""

    def __init__(
        self, before: Mapping[Key, Table], after: Mapping[Key, Table], engine: str, facts: Facts, trust: Trust
    ) -> None:
        self._before = before
        self._after = after
        self._engine = engine
        self._facts = facts
        self._trust = trust
        self.pairs: Pairs = pair(before, after, trust, engine)

    def changes(self) -> Iterator[Change]:
        yield from self._whole_tables()
        changed = {key.table.lower() for key in self.pairs.removed}
        views = []
        for old, new in self.pairs.tables:
            if self._before[old].is_view and self._after[new].is_view:
                views.append((old, new))
                continue
            found = list(self._table(old, new))
            if found or old != new:
                changed |= {old.table.lower(), new.table.lower()}
            yield from found
        yield from self._views(views, changed)

    def _whole_tables(self) -> Iterator[Change]:
        for key in self.pairs.removed:
            kind: Kind = "view_removed" if self._before[key].is_view else "table_removed"
            yield Maker(key)(kind, before=self._before[key].kind)
        for key in self.pairs.added:
            kind = "view_added" if self._after[key].is_view else "table_added"
            yield Maker(key)(kind, after=self._after[key].kind)
        for rename in self.pairs.renamed:
            kind = "view_renamed" if self._before[rename.before].is_view else "table_renamed"
            moved = rename.before.schema != rename.after.schema
            yield Maker(rename.before)(
                kind,
                before=str(rename.before) if moved else rename.before.table,
                after=str(rename.after) if moved else rename.after.table,
                confidence=rename.confidence,
                reason=f"inferred from {rename.reason}",
            )
        for old, new in self.pairs.recased:
            severity = recased_severity(self._engine)
            yield Maker(old)("identifier_case_changed", before=str(old), after=str(new), severity=severity)

    def _table(self, old: Key, new: Key) -> Iterator[Change]:
        for change in self._differences(old, new):
            if self._trust.additions or not _is_addition(change):
                yield change

    def _differences(self, old: Key, new: Key) -> Iterator[Change]:
        before, after = self._before[old], self._after[new]
        pairs = self.pairs.columns[old]
        if not self._trust.removals_in(new):
            after = completed(after, before, {name: earlier for earlier, name in pairs.same})
        if not self._trust.additions:
            before = completed(before, after, pairs.names)
        yield from self._object(before, after)
        yield from column_changes(before, after, pairs, self._engine, self._facts)
        if not after.is_view and not before.is_view:
            if is_reordered(pairs, before, after):
                yield Maker(new)("columns_reordered", before=", ".join(before.columns), after=", ".join(after.columns))
            sides = Sides(before, after, pairs, self._trust.removals_in(new))
            yield from constraint_changes(sides, self.pairs, self._engine, self._facts)

    def _object(self, before: Table, after: Table) -> Iterator[Change]:
        """What concerns the table or view as a whole."""
        make = Maker(after.key)
        if before.kind != after.kind:
            yield make("object_type_changed", before=before.kind, after=after.kind)
        texts = [" ".join((text or "").split()) for text in (before.comment, after.comment)]
        if self._facts.comments and texts[0] != texts[1] and SCRUBBED not in texts[0] + texts[1]:
            yield make("comment_changed", before=before.comment, after=after.comment)

    def _views(self, views: list[tuple[Key, Key]], changed: set[str]) -> Iterator[Change]:
        """Changes of views; what merely follows from the tables that a view reads is not told again."""
        waiting = [self._view(old, new) for old, new in views]
        while True:
            following = [view for view in waiting if view.is_same and view.reads & changed]
            if not following:
                break
            changed |= {name for view in following for name in view.names}
            for view in following:
                if view.is_rewritten:
                    reason = "the definition only follows what was renamed"
                    change = Maker(view.key)("view_definition_changed", severity="cosmetic", reason=reason)
                    yield replace(change, before=view.texts[0], after=view.texts[1])
                yield from (change for change in view.changes if change.kind not in _FOLLOWING)
            waiting = [view for view in waiting if view not in following]
        for view in waiting:
            if not view.is_same:
                make = Maker(view.key)
                yield make("view_definition_changed", before=view.texts[0], after=view.texts[1])
            yield from view.changes

    def _view(self, old: Key, new: Key) -> _View:
        before, after = self._before[old], self._after[new]
        mine, theirs = Definition(before.view_sql, self._engine), Definition(after.view_sql, self._engine)
        unknown = not self._facts.definitions or before.view_sql is None or after.view_sql is None
        exact = unknown or mine.same_as(theirs, {})
        is_same = exact or mine.same_as(theirs, self.pairs.new_names())
        return _View(
            new,
            (before.view_sql or "", after.view_sql or ""),
            is_same,
            not exact and is_same,
            frozenset({old.table.lower(), new.table.lower()}),
            frozenset(_identifiers(before.view_sql) | _identifiers(after.view_sql)),
            tuple(self._table(old, new)),
        )


def _is_addition(change: Change) -> bool:
    """Whether the change is that the earlier state lacked something."""
    return change.kind.endswith("_added") or (change.kind == "check_changed" and not change.before)


_FOLLOWING = frozenset(
    {"column_added", "column_removed", "column_renamed", "type_widened", "type_narrowed", "type_changed"}
    | {"enum_value_added", "enum_value_removed", "check_changed", "identifier_case_changed"}
)
"""What a view shows of the changes of its tables."""


@dataclass(frozen=True)
class _View:
    """A view on both sides."""

    key: Key
    texts: tuple[str, str]
    is_same: bool
    is_rewritten: bool
    """Its text changed, but only to follow renames."""
    names: frozenset[str]
    reads: frozenset[str]
    """Every identifier of its definition, in lower case."""
    changes: tuple[Change, ...]


def _identifiers(sql: str | None) -> set[str]:
    """All words and quoted names of a definition, lower case: a superset of the tables it reads."""
    return {word.strip('"').lower() for word in _WORD.findall(sql or "")}
