"""Changes of the columns of a table that is on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dictionary_pipeline.drift.model import Change, Facts, Key, Kind, Severity
from dictionary_pipeline.drift.pairing import ColumnPairs
from dictionary_pipeline.drift.severity import DEFAULT_SEVERITIES
from dictionary_pipeline.drift.tables import Column, Table
from dictionary_pipeline.drift.texts import SCRUBBED, canonical_check, plain_default
from dictionary_pipeline.drift.types import compare_types

CASE_SENSITIVE = frozenset({"postgres", "snowflake", "generic"})
"""Engines in which a name in another case is another name."""
_NUMERIC = frozenset({"integer", "decimal", "float"})
_SIMPLE = _NUMERIC | {"boolean", "string", "date", "time", "timestamp", "uuid"}


@dataclass(frozen=True)
class Maker:
    """Makes changes of one table with the usual severity of their kind."""

    key: Key

    def __call__(
        self,
        kind: Kind,
        column: str = "",
        *,
        name: str | None = None,
        before: str | None = "",
        after: str | None = "",
        severity: Severity | None = None,
        reason: str = "",
        confidence: float = 1.0,
    ) -> Change:
        """One change; `severity` only where the usual one does not hold."""
        return Change(
            kind,
            *self.key,
            column,
            name or "",
            severity or DEFAULT_SEVERITIES[kind],
            before or "",
            after or "",
            confidence,
            reason,
        )


def recased_severity(engine: str) -> Severity:
    """How much it matters that a name changed in case only."""
    return "breaking" if engine in CASE_SENSITIVE else "cosmetic"


def column_changes(before: Table, after: Table, pairs: ColumnPairs, engine: str, facts: Facts) -> Iterator[Change]:
    """Columns that came, went or were renamed, and what became of the others."""
    make = Maker(after.key)
    for name in pairs.removed:
        yield make("column_removed", name, before=_described(before.columns[name]))
    for name in pairs.added:
        yield _added(make, after, after.columns[name])
    for rename in pairs.renamed:
        yield make(
            "column_renamed",
            rename.before,
            before=rename.before,
            after=rename.after,
            confidence=rename.confidence,
            reason=f"inferred from {rename.reason}",
        )
    for old, new in pairs.recased:
        yield make("identifier_case_changed", old, before=old, after=new, severity=recased_severity(engine))
    texts = _Texts(engine, {rename.before.lower(): rename.after for rename in pairs.renamed})
    for old, new in pairs.same:
        yield from _attributes(make, before, after, before.columns[old], after.columns[new], texts)
        yield from _labels_and_comment(make, before.columns[old], after.columns[new], texts, facts)


class _Texts(NamedTuple):
    """Compares the expressions of one table."""

    engine: str
    renamed: Mapping[str, str]
    """Lower-case name -> new name of its columns."""

    def same(self, before: Iterable[str], after: Iterable[str]) -> bool:
        """Whether the expressions say the same, in whatever order."""
        old = sorted(canonical_check(text, self.engine, self.renamed) for text in before)
        return old == sorted(canonical_check(text, self.engine, {}) for text in after)


def is_reordered(pairs: ColumnPairs, before: Table, after: Table) -> bool:
    """Whether the columns that kept their names stand in another order; a renamed one breaks more than that."""
    renamed = {rename.before for rename in pairs.renamed}
    names = {old: new for old, new in pairs.same if old not in renamed}
    kept = [names[name] for name in before.columns if name in names]
    return kept != [name for name in after.columns if name in set(kept)]


def _described(column: Column) -> str:
    return column.data_type + ("" if column.is_nullable is not False else " NOT NULL")


def _added(make: Maker, table: Table, column: Column) -> Change:
    filled = column.default is not None or column.is_identity or column.is_generated or column.is_nullable is not False
    if table.is_view or filled:
        return make("column_added", column.name, after=_described(column))
    return make(
        "column_added",
        column.name,
        after=_described(column),
        severity="risky",
        reason="it must be given and has no default, so inserts that do not name it fail",
    )


def _attributes(make: Maker, before: Table, after: Table, old: Column, new: Column, texts: _Texts) -> Iterator[Change]:
    yield from _type(make, old, new)
    if not after.is_view and not before.is_view:
        yield from _nullability(make, before, after, old, new)
        if old.is_generated or new.is_generated:
            yield from _generated(make, old, new, texts)
        else:
            yield from _default(make, old, new)


def _labels_and_comment(make: Maker, old: Column, new: Column, texts: _Texts, facts: Facts) -> Iterator[Change]:
    if facts.enums and old.enum_values is not None and new.enum_values is not None:
        yield from _labels(make, new.name, old.enum_values, new.enum_values)
    if facts.checks and not texts.same(old.domain_checks, new.domain_checks):
        yield _domain(make, old, new)
    if (
        facts.comments
        and _comment(old.comment) != _comment(new.comment)
        and SCRUBBED not in (old.comment or "") + (new.comment or "")
    ):
        yield make("comment_changed", new.name, before=old.comment, after=new.comment)


def _comment(text: str | None) -> str:
    return " ".join((text or "").split())


def _type(make: Maker, old: Column, new: Column) -> Iterator[Change]:
    verdict = compare_types(old.native, new.native)
    if verdict == "changed" and _is_class_kept(old, new):
        verdict = "related"
    if verdict == "same":
        return
    kind: Kind = "type_changed"
    severity: Severity | None = None
    reason = ""
    if verdict in ("widened", "narrowed"):
        kind = "type_widened" if verdict == "widened" else "type_narrowed"
    elif verdict == "related":
        severity = "risky"
        reason = "a type of the same family: queries still run, but values may compare or print differently"
    yield make(kind, new.name, before=old.data_type, after=new.data_type, severity=severity, reason=reason)


def _is_class_kept(old: Column, new: Column) -> bool:
    """Whether a domain or a type of the server's own has values as the other type has; see `engines.base.TypeClass`."""
    return old.type_class == new.type_class and new.type_class in _SIMPLE and new.native.family != "enum"


def _nullability(make: Maker, before: Table, after: Table, old: Column, new: Column) -> Iterator[Change]:
    if None in (old.is_nullable, new.is_nullable) or old.is_nullable == new.is_nullable:
        return
    keys = before.primary[1] if before.primary else (), after.primary[1] if after.primary else ()
    if (old.name in keys[0]) != (new.name in keys[1]):
        return  # it follows from the change of the primary key
    kind: Kind = "nullability_relaxed" if new.is_nullable else "nullability_tightened"
    texts = "NULL" if old.is_nullable else "NOT NULL", "NULL" if new.is_nullable else "NOT NULL"
    yield make(kind, new.name, before=texts[0], after=texts[1])


def _generated(make: Maker, old: Column, new: Column, texts: _Texts) -> Iterator[Change]:
    if old.is_generated == new.is_generated:
        if old.default is None or new.default is None:
            return  # not every engine tells the expression
        if SCRUBBED in old.default + new.default or texts.same([old.default], [new.default]):
            return
    before, after = (
        (column.default or "generated") if column.is_generated else "not generated" for column in (old, new)
    )
    yield make("generated_changed", new.name, before=before, after=after)


def _default(make: Maker, old: Column, new: Column) -> Iterator[Change]:
    numeric = new.native.family in _NUMERIC
    texts = plain_default(old.default, numeric=numeric), plain_default(new.default, numeric=numeric)
    is_scrubbed = SCRUBBED in texts[0] + texts[1]
    if texts[0] != texts[1] and not (old.is_identity or new.is_identity or is_scrubbed):
        yield make("default_changed", new.name, before=old.default, after=new.default)


def _labels(make: Maker, column: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[Change]:
    gone = [label for label in old if label not in new]
    come = [label for label in new if label not in old]
    if gone:
        yield make("enum_value_removed", column, before=", ".join(gone))
    if come:
        yield make("enum_value_added", column, after=", ".join(come))


def _domain(make: Maker, old: Column, new: Column) -> Change:
    texts = " AND ".join(old.domain_checks), " AND ".join(new.domain_checks)
    if not texts[0]:
        return make("check_changed", new.name, after=texts[1], severity="safe", reason="it only restricts new values")
    return make("check_changed", new.name, before=texts[0], after=texts[1])
