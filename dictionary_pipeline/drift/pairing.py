"""Which table and which column of the earlier state is which of the later one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from dictionary_pipeline.drift.model import Key
from dictionary_pipeline.drift.renames import Rename, TableRename, column_renames, table_renames
from dictionary_pipeline.drift.tables import Table
from dictionary_pipeline.drift.trust import Trust

_Name = TypeVar("_Name", str, Key)


@dataclass
class ColumnPairs:
    """The columns of a table that is on both sides."""

    same: list[tuple[str, str]]
    """(before, after): equal names, names that differ in case only, and renamed ones."""
    recased: list[tuple[str, str]]
    renamed: list[Rename]
    removed: list[str]
    added: list[str]

    @property
    def names(self) -> dict[str, str]:
        """Name before -> name after."""
        return dict(self.same)


@dataclass
class Pairs:
    """Tables and their columns, paired."""

    tables: list[tuple[Key, Key]] = field(default_factory=list)
    recased: list[tuple[Key, Key]] = field(default_factory=list)
    renamed: list[TableRename] = field(default_factory=list)
    removed: list[Key] = field(default_factory=list)
    added: list[Key] = field(default_factory=list)
    columns: dict[Key, ColumnPairs] = field(default_factory=dict)
    """By the name of the table before."""
    moved: dict[Key, Key] = field(default_factory=dict)
    """Tables that have another name now."""

    def key_after(self, key: Key) -> Key:
        """Where a table is now."""
        return self.moved.get(key, key)

    def columns_after(self, key: Key, columns: Iterable[str]) -> tuple[str, ...]:
        """What columns of a table are called now."""
        names = self.columns[key].names if key in self.columns else {}
        return tuple(names.get(column, column) for column in columns)

    def new_names(self) -> dict[str, str]:
        """Lower-case old name -> new name of everything that was renamed, for texts that follow a rename."""
        found = {rename.before.table.lower(): rename.after.table for rename in self.renamed}
        for pairs in self.columns.values():
            found |= {rename.before.lower(): rename.after for rename in pairs.renamed}
        return found


def pair(before: Mapping[Key, Table], after: Mapping[Key, Table], trust: Trust, engine: str) -> Pairs:
    """Pair tables by name, by name whatever the case, and by what they look like; then their columns.

    Absence that proves nothing is neither a removal nor half of a rename.
    """
    found = Pairs()
    found.tables = [(key, key) for key in before if key in after]
    found.recased = _recased([key for key in before if key not in after], [key for key in after if key not in before])
    taken = {old for old, _ in found.recased}, {new for _, new in found.recased}
    removed = [key for key in before if key not in after and key not in taken[0]]
    found.added = [key for key in after if key not in before and key not in taken[1]]
    found.removed = [key for key in removed if trust.removals]
    found.renamed = table_renames(before, after, found.removed, found.added, engine)
    found.tables += found.recased + [(rename.before, rename.after) for rename in found.renamed]
    found.moved = {old: new for old, new in found.tables if old != new}
    renamed = {rename.before for rename in found.renamed}, {rename.after for rename in found.renamed}
    found.removed = [key for key in found.removed if key not in renamed[0]]
    found.added = [key for key in found.added if key not in renamed[1] and trust.additions]
    for old, new in found.tables:
        found.columns[old] = _pair_columns(before[old], after[new], may_remove=trust.removals_in(new))
    return found


def _pair_columns(before: Table, after: Table, *, may_remove: bool) -> ColumnPairs:
    same = [(name, name) for name in before.columns if name in after.columns]
    removed = [name for name in before.columns if name not in after.columns]
    added = [name for name in after.columns if name not in before.columns]
    recased = _recased(removed, added)
    removed = [name for name in removed if name not in {old for old, _ in recased}]
    added = [name for name in added if name not in {new for _, new in recased}]
    if not may_remove:
        return ColumnPairs(same + recased, recased, [], [], added)
    renamed = column_renames(before, after, removed, added)
    gone, come = {rename.before for rename in renamed}, {rename.after for rename in renamed}
    return ColumnPairs(
        same + recased + [(rename.before, rename.after) for rename in renamed],
        recased,
        renamed,
        [name for name in removed if name not in gone],
        [name for name in added if name not in come],
    )


def _recased(removed: Iterable[_Name], added: Iterable[_Name]) -> list[tuple[_Name, _Name]]:
    """Names that differ in case only, where that is unambiguous."""
    old, new = _by_fold(removed), _by_fold(added)
    return [(old[name][0], new[name][0]) for name in old if len(old[name]) == 1 and len(new.get(name, ())) == 1]


def _by_fold(names: Iterable[_Name]) -> dict[str, list[_Name]]:
    found: dict[str, list[_Name]] = {}
    for name in names:
        found.setdefault(str(name).casefold(), []).append(name)
    return found
