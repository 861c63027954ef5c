"""Find the objects that people's descriptions are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import Approval, HumanKnowledge, HumanTable
from dictionary_pipeline.suggestions import did_you_mean

_TABLE = {"schema": pl.String(), "table": pl.String()}
_COLUMN = {**_TABLE, "column": pl.String()}
_MAX_SUGGESTIONS = 20
"""Looking for similar names compares with every name; a manifest of another database has thousands."""

_Name = tuple[str, ...]
ObjectName = tuple[str, str, str | None]
"""Schema, table, and column; null: the table itself."""


class Approved(NamedTuple):
    """A text, or a name, that a person approved instead of writing it."""

    schema: str
    table: str
    column: str | None
    definition: str | None
    entity_name: str | None
    origin: str
    """Whose text it is."""
    structure: str
    """Hash of the object's structure when it was approved."""

    @property
    def object(self) -> ObjectName:
        """What it is about."""
        return self.schema, self.table, self.column

    @property
    def name(self) -> str:
        """What it is about, for people."""
        return ".".join(part for part in self.object if part is not None)


@dataclass(frozen=True)
class HumanTexts:
    """People's words on objects that exist, under the objects' exact names."""

    tables: pl.DataFrame
    """schema, table, definition."""
    columns: pl.DataFrame
    """schema, table, column, definition."""
    entity_names: pl.DataFrame
    """schema, table, entity_name."""
    unmatched: tuple[str, ...]
    """One sentence per entry that found no object."""
    approved: tuple[Approved, ...] = ()
    """Those whose object's structure was noted down."""


def match(catalog: Catalog, human: HumanKnowledge) -> HumanTexts:
    """Find the tables and columns that people wrote about.

    A name counts as it is spelled, else in another case where only one object has it. Where two
    entries find the same object, each of their texts counts that the exactly spelled one lacks.
    """
    tables = _Names(catalog.tables.select(*_TABLE).iter_rows())
    found = [(tables.find((entry.schema, entry.table)), entry) for entry in human.tables]
    matched = [(name, entry) for name, entry in found if name is not None]
    matched.sort(key=lambda pair: pair[0] != (pair[1].schema, pair[1].table))
    columns = _columns_of(catalog, [name for name, _ in matched])

    unmatched = [_missing(entry, (entry.schema, entry.table), tables) for name, entry in found if name is None]
    table_texts: dict[_Name, str] = {}
    entity_names: dict[_Name, str] = {}
    column_texts: dict[_Name, str] = {}
    approved: dict[ObjectName, Approved] = {}
    for name, entry in matched:
        schema, table = name
        _keep_approval(approved, (schema, table, None), entry.description, entry.entity_name, entry.approval)
        _keep(table_texts, name, entry.description)
        _keep(entity_names, name, entry.entity_name)
        for column in entry.columns:
            known = columns[name].find((column.name,))
            if known is None:
                unmatched.append(_missing(entry, (column.name,), columns[name], of=name))
            else:
                _keep(column_texts, name + known, column.description)
                _keep_approval(approved, (schema, table, known[0]), column.description, None, column.approval)
    return HumanTexts(
        tables=_frame(table_texts, {**_TABLE, "definition": pl.String()}),
        columns=_frame(column_texts, {**_COLUMN, "definition": pl.String()}),
        entity_names=_frame(entity_names, {**_TABLE, "entity_name": pl.String()}),
        unmatched=tuple(unmatched),
        approved=tuple(approved.values()),
    )


class _Names:
    """Names by exact spelling, else by a spelling in another case that only one of them has."""

    def __init__(self, names: Iterable[_Name]) -> None:
        self._exact = dict.fromkeys(names)
        self._folded: dict[_Name, list[_Name]] = defaultdict(list)
        for name in self._exact:
            self._folded[_fold(name)].append(name)
        self._suggestions = 0

    def find(self, name: _Name) -> _Name | None:
        if name in self._exact:
            return name
        candidates = self._folded.get(_fold(name), [])
        return candidates[0] if len(candidates) == 1 else None

    def hint(self, name: _Name) -> str:
        if spellings := self._folded.get(_fold(name)):
            return f"Write it exactly as one of {', '.join(map('.'.join, spellings))}."
        self._suggestions += 1
        pool = map(".".join, self._exact) if self._suggestions <= _MAX_SUGGESTIONS else ()
        return did_you_mean(".".join(name), pool, "Check its spelling and the selection of schemas and entities.")


def _fold(name: _Name) -> _Name:
    return tuple(part.casefold() for part in name)


def _columns_of(catalog: Catalog, tables: Sequence[_Name]) -> dict[_Name, _Names]:
    wanted = pl.DataFrame(list(dict.fromkeys(tables)), schema=_TABLE, orient="row")
    rows = catalog.columns.select(*_COLUMN).join(wanted, on=list(_TABLE), how="semi", maintain_order="left")
    columns: dict[_Name, list[_Name]] = {table: [] for table in tables}
    for schema, table, column in rows.iter_rows():
        columns[schema, table].append((column,))
    return {table: _Names(names) for table, names in columns.items()}


def _missing(entry: HumanTable, name: _Name, known: _Names, of: _Name | None = None) -> str:
    where = f"{entry.origin}: " if entry.origin else ""
    what = (
        f"column {'.'.join([*of, *name])} is described but the table has no such column."
        if of
        else f"{'.'.join(name)} is described but no such table or view is within this run's selection."
    )
    return f"{where}{what} {known.hint(name)}"


def _keep(texts: dict[_Name, str], name: _Name, text: str | None) -> None:
    if text is not None and text.strip():
        texts.setdefault(name, text.strip())


def _keep_approval(
    approved: dict[ObjectName, Approved],
    name: ObjectName,
    definition: str | None,
    entity_name: str | None,
    approval: Approval | None,
) -> None:
    if approval is not None and approval.structure and (definition or entity_name):
        approved.setdefault(name, Approved(*name, definition, entity_name, approval.origin, approval.structure))


def _frame(texts: dict[_Name, str], schema: dict[str, pl.String]) -> pl.DataFrame:
    return pl.DataFrame([(*name, text) for name, text in texts.items()], schema=schema, orient="row")
