"""Changes of keys, foreign keys, CHECKs and indexes of a table that is on both sides.

Constraints are paired by what they say, never by name: engines make names up. What stands or falls with
a column that was removed is told there, not again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dictionary_pipeline.drift.columns import Maker
from dictionary_pipeline.drift.model import Change, Facts
from dictionary_pipeline.drift.pairing import ColumnPairs, Pairs
from dictionary_pipeline.drift.tables import ForeignKey, Table
from dictionary_pipeline.drift.texts import canonical_check, mentioned_columns, same_expression

_NO_ACTION = {"NO ACTION": "NO ACTION", "RESTRICT": "NO ACTION", "": "NO ACTION"}
"""Rules that differ only in when they are checked."""


class Sides(NamedTuple):
    """One table before and after."""

    before: Table
    after: Table
    columns: ColumnPairs
    may_remove: bool
    """Whether a constraint that is missing now is gone."""


def constraint_changes(sides: Sides, pairs: Pairs, engine: str, facts: Facts) -> Iterator[Change]:
    """All changes of constraints and indexes of one table."""
    make = Maker(sides.after.key)
    yield from _primary(make, sides, pairs)
    yield from _unique(make, sides, pairs)
    yield from _foreign_keys(make, sides, pairs, facts)
    yield from _indexes(make, sides, pairs)
    if facts.checks:
        yield from _checks(make, sides, engine)


def _shown(columns: Iterable[str]) -> str:
    return ",".join(columns)


def _folded(columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(column.casefold() for column in columns)


def _gone(sides: Sides, columns: Iterable[str]) -> list[bool]:
    return [column in sides.columns.removed for column in columns]


def _primary(make: Maker, sides: Sides, pairs: Pairs) -> Iterator[Change]:
    old, new = sides.before.primary, sides.after.primary
    if old is None and new is not None:
        yield make("pk_added", _shown(new[1]), name=new[0], after=_shown(new[1]))
    elif old is not None and new is None:
        if sides.may_remove and not all(_gone(sides, old[1])):
            yield make("pk_removed", _shown(old[1]), name=old[0], before=_shown(old[1]))
    elif old is not None and new is not None:
        moved = pairs.columns_after(sides.before.key, old[1])
        if sorted(_folded(moved)) != sorted(_folded(new[1])):  # the order of its columns makes a key no other key
            yield make("pk_changed", name=new[0], before=_shown(old[1]), after=_shown(new[1]))


def _unique(make: Maker, sides: Sides, pairs: Pairs) -> Iterator[Change]:
    def same_set(columns: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(_folded(columns)))

    old = {same_set(pairs.columns_after(sides.before.key, columns)): columns for columns in sides.before.unique}
    new = {same_set(columns): columns for columns in sides.after.unique}
    primary = {same_set(table.primary[1]) for table in (sides.before, sides.after) if table.primary}
    for columns, shown in old.items():
        # A unique key that becomes the primary key is still unique.
        if columns not in new and columns not in primary and sides.may_remove and not all(_gone(sides, shown)):
            name = sides.before.unique[shown]
            yield make("unique_removed", _shown(shown), name=name, before=_shown(shown))
    for columns, shown in new.items():
        if columns not in old and columns not in primary:
            yield make("unique_added", _shown(shown), name=sides.after.unique[shown], after=_shown(shown))


def _foreign_keys(make: Maker, sides: Sides, pairs: Pairs, facts: Facts) -> Iterator[Change]:
    moved = [_moved(key, sides, pairs) for key in sides.before.foreign_keys]
    same, removed, added = _matched(moved, sides.after.foreign_keys)
    for old, new in same if facts.rules else ():
        yield from _rules(make, old, new)
    for key in removed:
        follower = next((other for other in added if set(_folded(other.columns)) == set(_folded(key.columns))), None)
        if follower is not None:
            added.remove(follower)
            yield make(
                "fk_changed",
                _shown(follower.columns),
                name=follower.name,
                before=key.target,
                after=follower.target,
            )
        elif sides.may_remove and not any(_gone(sides, key.columns)):
            yield make("fk_removed", _shown(key.columns), name=key.name, before=key.target)
    for key in added:
        yield make("fk_added", _shown(key.columns), name=key.name, after=key.target)


def _moved(key: ForeignKey, sides: Sides, pairs: Pairs) -> ForeignKey:
    """A foreign key of the earlier state in the names of the later one."""
    return key._replace(
        columns=pairs.columns_after(sides.before.key, key.columns),
        parent=pairs.key_after(key.parent),
        to_columns=pairs.columns_after(key.parent, key.to_columns),
    )


def _identity(key: ForeignKey) -> tuple[object, ...]:
    ends = sorted(zip(_folded(key.columns), _folded(key.to_columns), strict=False))
    return tuple(ends), str(key.parent).casefold(), key.to_database


def _matched(
    old: list[ForeignKey], new: list[ForeignKey]
) -> tuple[list[tuple[ForeignKey, ForeignKey]], list[ForeignKey], list[ForeignKey]]:
    """Pairs of foreign keys that say the same, and those of each side without an equal."""
    waiting: dict[tuple[object, ...], list[ForeignKey]] = defaultdict(list)
    for key in new:
        waiting[_identity(key)].append(key)
    same, removed = [], []
    for key in old:
        twins = waiting[_identity(key)]
        if twins:
            same.append((key, twins.pop(0)))
        else:
            removed.append(key)
    return same, removed, [key for keys in waiting.values() for key in keys]


def _rules(make: Maker, old: ForeignKey, new: ForeignKey) -> Iterator[Change]:
    before, after = _rule_text(old), _rule_text(new)
    if before != after:
        yield make("fk_rule_changed", _shown(new.columns), name=new.name, before=before, after=after)
    if None not in (old.is_validated, new.is_validated) and old.is_validated != new.is_validated:
        yield make(
            "fk_changed",
            _shown(new.columns),
            name=new.name,
            before="validated" if old.is_validated else "not validated",
            after="validated" if new.is_validated else "not validated",
            severity="safe" if new.is_validated else "risky",
            reason="whether every row was checked against the parent",
        )


def _rule_text(key: ForeignKey) -> str:
    update, delete = ((rule or "").upper() for rule in (key.on_update, key.on_delete))
    return f"ON UPDATE {_NO_ACTION.get(update, update)} ON DELETE {_NO_ACTION.get(delete, delete)}"


def _indexes(make: Maker, sides: Sides, pairs: Pairs) -> Iterator[Change]:
    before, after = sides.before, sides.after
    unique = [
        Counter(_folded(columns) for columns in (*table.unique, *([table.primary[1]] if table.primary else [])))
        for table in (before, after)
    ]
    old = Counter(_folded(pairs.columns_after(before.key, index.columns)) for index in before.indexes)
    new = Counter(_folded(index.columns) for index in after.indexes)
    for index in before.indexes:
        columns = _folded(pairs.columns_after(before.key, index.columns))
        if new[columns] < old[columns] and not unique[1][columns]:
            old[columns] -= 1
            if sides.may_remove and not any(_gone(sides, index.columns)):
                yield make("index_removed", _shown(index.columns), name=index.name, before=_shown(index.columns))
    old = Counter(_folded(pairs.columns_after(before.key, index.columns)) for index in before.indexes)
    for index in after.indexes:
        columns = _folded(index.columns)
        if old[columns] < new[columns] and not unique[0][columns]:
            new[columns] -= 1
            yield make("index_added", _shown(index.columns), name=index.name, after=_shown(index.columns))


def _checks(make: Maker, sides: Sides, engine: str) -> Iterator[Change]:
    names = {name.lower(): new for name, new in sides.columns.names.items()}
    texts_before = sorted(check.expression for check in sides.before.checks)
    texts_after = sorted(check.expression for check in sides.after.checks)
    left = list(texts_after)
    removed = []
    for text in texts_before:
        twin = next((other for other in left if _same_check(text, other, engine, sides)), None)
        if twin is None:
            removed.append(text)
        else:
            left.remove(twin)
    columns_after = {name.lower(): name for name in sides.after.columns}
    columns_before = {name.lower(): name for name in sides.before.columns}
    for text in removed:
        mentioned = mentioned_columns(text, engine, columns_before)
        if any(_gone(sides, mentioned)):
            continue
        now = [names.get(name.lower(), name) for name in mentioned]
        twin = next((other for other in left if mentioned_columns(other, engine, columns_after) == now), None)
        if twin is not None:
            left.remove(twin)
            yield make("check_changed", _shown(now), before=text, after=twin)
        elif sides.may_remove:
            yield make("check_changed", _shown(now), before=text, reason="the check is gone: other values may appear")
    for text in left:
        mentioned = mentioned_columns(text, engine, columns_after)
        if mentioned and all(name in sides.columns.added for name in mentioned):
            continue
        reason = "the check is new: it only restricts values"
        yield make("check_changed", _shown(mentioned), after=text, severity="safe", reason=reason)


def _same_check(before: str, after: str, engine: str, sides: Sides) -> bool:
    if same_expression(before, after, engine):
        return True
    renamed = {rename.before.lower(): rename.after for rename in sides.columns.renamed}
    return bool(renamed) and canonical_check(before, engine, renamed) == canonical_check(after, engine, {})
