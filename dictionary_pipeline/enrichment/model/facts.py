"""What a model is told about each table, apart by what an answer depends on and what merely helps."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.model_settings import SamplesMode
from dictionary_pipeline.config.resolved import HumanKnowledge
from dictionary_pipeline.enrichment.facts import ColumnName, TableName
from dictionary_pipeline.enrichment.given import GivenTexts
from dictionary_pipeline.enrichment.model import texts
from dictionary_pipeline.enrichment.model.texts import Guard, clean
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.sampling.treatment import mask_json

_COLUMN = ["schema", "table", "column"]
_WITH_SHAPE = ("string", "json", "array", "other")
"""Type classes whose masks tell more than their type does."""
_VIEWS = ("view", "materialized_view")
_KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text", list: "list", dict: "object"}


@dataclass(frozen=True)
class ColumnFacts:
    """What is said about one column."""

    name: str
    shown: str
    """Its name as the model sees and returns it; unique within the table."""
    data_type: str
    is_nullable: bool
    known: str | None
    """A person's, the database's or an inherited text: the model need not describe it."""
    own: str | None
    """The same without what is inherited from other tables."""
    values: tuple[str, ...]
    """Declared allowed values."""
    samples: tuple[Any, ...]
    """As far as the configured mode lets them be seen."""


@dataclass(frozen=True)
class Parent:
    """A table that this one refers to, or that this view reads."""

    table: TableName
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]
    is_declared: bool


@dataclass(frozen=True)
class TableFacts:
    """What is said about one table."""

    schema: str
    table: str
    kind: str
    comment: str | None
    human: str | None
    entity_name: str | None
    """A person's name for the entity."""
    columns: tuple[ColumnFacts, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    parents: tuple[Parent, ...] = ()
    view_sql: str | None = None
    sources: tuple[TableName, ...] = ()
    """Of a view."""
    role: str | None = None
    children: tuple[str, ...] = ()
    sample_texts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """(column, sample) of those that the model may see as they are: no definition may quote one."""

    @property
    def name(self) -> TableName:
        """Schema and table."""
        return self.schema, self.table

    @property
    def full_name(self) -> str:
        """As shown to people."""
        return f"{self.schema}.{self.table}"

    def structure(self) -> dict[str, Any]:
        """What an answer depends on: nothing that moves with the data or with other tables' texts."""
        return {
            "table": [self.schema, self.table, self.kind],
            "texts": [self.comment, self.human, self.entity_name],
            "columns": [[c.name, c.data_type, c.is_nullable, c.own, list(c.values)] for c in self.columns],
            "keys": [list(self.primary_key), [list(key) for key in self.unique]],
            "references": [
                [list(parent.table), list(parent.columns), list(parent.parent_columns)]
                for parent in self.parents
                if parent.is_declared
            ],
            "sql": self.view_sql,
        }


@dataclass(frozen=True)
class Sources:
    """What is known of the database."""

    catalog: Catalog
    profiles: pl.DataFrame
    graph: RelationshipGraph
    human: HumanKnowledge
    given: GivenTexts
    sensitivity: pl.DataFrame


def gather(sources: Sources, samples: SamplesMode, guard: Guard) -> dict[TableName, TableFacts]:
    """Facts of every table and view, by name, cleaned and capped."""
    return _Gathering(sources, samples, guard).tables()


class _Gathering:
    """Looks everything up by name."""

    def __init__(self, sources: Sources, samples: SamplesMode, guard: Guard) -> None:
        self._given, self._mode, self._guard = sources.given, samples, guard
        self._catalog, graph = sources.catalog, sources.graph
        hidden = frozenset(sources.sensitivity.filter(pl.col("treatment") != "allow").select(_COLUMN).iter_rows())
        self._guarded = {(schema, table) for schema, table, _ in hidden}
        self._values = _declared_values(sources.catalog, sources.human, hidden)
        self._samples = _samples(sources.profiles, hidden)
        self._keys, self._parents = _keys(graph), _parents(graph)
        self._children, self._sources = _children(graph), _sources(graph)
        self._roles = {(row[0], row[1]): row[2] for row in graph.roles.select("schema", "table", "role").iter_rows()}

    def tables(self) -> dict[TableName, TableFacts]:
        columns: dict[TableName, list[tuple[Any, ...]]] = defaultdict(list)
        fields = ("schema", "table", "column", "data_type", "is_nullable", "type_class")
        rows = self._catalog.columns.sort("schema", "table", "ordinal").select(fields).iter_rows()
        for schema, table, *rest in rows:
            columns[schema, table].append(tuple(rest))
        tables = self._catalog.tables.select("schema", "table", "kind", "view_sql").iter_rows()
        return {
            (row[0], row[1]): self._table(row[0], row[1], row[2], row[3], columns.get((row[0], row[1]), []))
            for row in tables
        }

    def _table(
        self, schema: str, table: str, kind: str, sql: str | None, members: Sequence[tuple[Any, ...]]
    ) -> TableFacts:
        name = (schema, table)
        shown = texts.unique_names([column for column, *_ in members])
        shown_raw = members if self._mode == "values" else ()
        raw = [(member[0], value) for member in shown_raw for value in _raw(self._samples.get((*name, member[0]), ()))]
        return TableFacts(
            schema=schema,
            table=table,
            kind=kind,
            comment=self._prose(name, self._given.comments.get(name), texts.COMMENT_LENGTH),
            human=self._prose(name, self._given.people.get(name), texts.COMMENT_LENGTH),
            entity_name=self._safe(self._given.entity_names.get(name), texts.NAME_LENGTH),
            columns=tuple(
                self._column((*name, member[0]), label, *member[1:])
                for label, member in zip(shown, members, strict=True)
            ),
            primary_key=self._keys.get((name, "primary"), [()])[0],
            unique=tuple(self._keys.get((name, "unique"), ())),
            parents=tuple(self._parents.get(name, ())),
            view_sql=self._safe(sql, texts.SQL_LENGTH) if kind in _VIEWS else None,
            sources=tuple(self._sources.get(name, ())),
            role=self._roles.get(name),
            children=tuple(self._children.get(name, ())),
            sample_texts=tuple(raw),
        )

    def _column(
        self, name: ColumnName, label: str, data_type: str | None, is_nullable: bool, type_class: str
    ) -> ColumnFacts:
        values = self._values.get(name, ())
        return ColumnFacts(
            name=name[2],
            shown=label,
            data_type=clean(data_type or "", texts.NAME_LENGTH),
            is_nullable=bool(is_nullable),
            known=self._prose(name[:2], self._given.columns.get(name), texts.KNOWN_LENGTH),
            own=self._prose(name[:2], self._given.own_columns.get(name), texts.COMMENT_LENGTH),
            values=tuple(clean(self._guard.masked(value, "***"), texts.SAMPLE_LENGTH) for value in values),
            samples=_shown_samples(self._samples.get(name, ()), self._mode, type_class, self._guard),
        )

    def _prose(self, table: TableName, text: str | None, limit: int) -> str | None:
        return self._safe(texts.without_telling_words(text) if text and table in self._guarded else text, limit)

    def _safe(self, text: str | None, limit: int) -> str | None:
        return clean(self._guard.masked(text, "***"), limit) or None if text else None


def _declared_values(
    catalog: Catalog, human: HumanKnowledge, hidden: frozenset[ColumnName]
) -> Mapping[ColumnName, Sequence[str]]:
    """Value sets that the schema or people declare, never those found by looking at the data."""
    found: dict[ColumnName, Sequence[str]] = {}
    declared = catalog.columns.filter(
        pl.col("allowed_values").is_not_null() & pl.col("allowed_values_origin").is_in(["enum", "domain", "check"])
    )
    for schema, table, column, values in declared.select(*_COLUMN, "allowed_values").iter_rows():
        found[schema, table, column] = values[: texts.VALUES]
    for entry in human.tables:
        for told in entry.columns:
            if told.allowed_values is not None:
                found[entry.schema, entry.table, told.name] = [str(v) for v in told.allowed_values[: texts.VALUES]]
    return {name: values for name, values in found.items() if name not in hidden}


def _samples(profiles: pl.DataFrame, hidden: frozenset[ColumnName]) -> Mapping[ColumnName, Sequence[str]]:
    """JSON texts of the samples of columns that hide nothing."""
    rows = profiles.filter(pl.col("samples").is_not_null()).select(*_COLUMN, "samples").iter_rows()
    return {(s, t, c): values for s, t, c, values in rows if (s, t, c) not in hidden}


def _shown_samples(json_texts: Sequence[str], mode: SamplesMode, type_class: str, guard: Guard) -> tuple[Any, ...]:
    if mode == "none" or not json_texts or (mode == "masked" and type_class not in _WITH_SHAPE):
        return ()
    if mode == "types":
        return tuple(dict.fromkeys(_KINDS.get(type(json.loads(text)), "nothing") for text in json_texts))
    shown = json_texts if mode == "values" else [mask_json(text) for text in json_texts]
    values = [json.loads(text) for text in dict.fromkeys(shown)][: texts.SAMPLES]
    return tuple(_short(value, guard) for value in values)


def _short(value: Any, guard: Guard) -> Any:
    if isinstance(value, bool | int | float):
        return value if not guard.matches(str(value)) else "***"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clean(guard.masked(text, "***"), texts.SAMPLE_LENGTH)


def _raw(json_texts: Sequence[str]) -> list[str]:
    return [value if isinstance(value := json.loads(text), str) else text for text in json_texts]


def _keys(graph: RelationshipGraph) -> dict[tuple[TableName, str], list[tuple[str, ...]]]:
    found: dict[tuple[TableName, str], list[tuple[str, ...]]] = defaultdict(list)
    declared = graph.keys.filter(pl.col("origin") != "inferred")
    for schema, table, kind, columns in declared.select("schema", "table", "kind", "columns").iter_rows():
        found[(schema, table), kind].append(tuple(columns))
    return found


def _parents(graph: RelationshipGraph) -> dict[TableName, list[Parent]]:
    found: dict[TableName, list[Parent]] = defaultdict(list)
    rows = graph.relationships.filter("accepted").select(
        "from_schema", "from_table", "to_schema", "to_table", "from_columns", "to_columns", "origin"
    )
    for schema, table, to_schema, to_table, columns, to_columns, origin in rows.iter_rows():
        parent = Parent((to_schema, to_table), tuple(columns), tuple(to_columns or ()), origin != "inferred")
        found[schema, table].append(parent)
    return found


def _children(graph: RelationshipGraph) -> dict[TableName, list[str]]:
    found: dict[TableName, dict[str, None]] = defaultdict(dict)
    rows = graph.relationships.filter(pl.col("accepted") & pl.col("to_database").is_null())
    for schema, table, to_schema, to_table in rows.select(
        "from_schema", "from_table", "to_schema", "to_table"
    ).iter_rows():
        if (schema, table) != (to_schema, to_table):
            found[to_schema, to_table][clean(f"{schema}.{table}", texts.NAME_LENGTH)] = None
    return {name: list(children) for name, children in found.items()}


def _sources(graph: RelationshipGraph) -> dict[TableName, list[TableName]]:
    found: dict[TableName, dict[TableName, None]] = defaultdict(dict)
    rows = graph.lineage.filter(pl.col("view_column").is_null())
    for schema, view, source_schema, source in rows.select(
        "view_schema", "view", "source_schema", "source_table"
    ).iter_rows():
        found[schema, view][source_schema, source] = None
    return {view: list(sources) for view, sources in found.items()}
