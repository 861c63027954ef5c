"""The gate of the knowledge graph: it is well formed, and its exact part equals the catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.extraction.model import (
    ALL_EDGE_TYPES,
    BUSINESS_EDGE_TYPES,
    SQL_TYPES,
    VIEW_KINDS,
    KnowledgeGraph,
)
from dictionary_pipeline.relationships.model import RelationshipGraph

_SHOWN = 3
_EDGE = ["source", "target", "type"]

_Name = tuple[str, ...]
_ExactEdge = tuple[str, _Name, str | None, _Name]
"""Type, source, database of the target when it is another one, target; names by their parts."""


def check_graph(catalog: Catalog, graph: RelationshipGraph, kg: KnowledgeGraph) -> tuple[str, ...]:
    """Find what makes the graph unfit to publish.

    Returns:
        One sentence per kind of finding, with examples; empty when the graph is right.
    """
    entities, edges = kg.entities, kg.edges
    titles = entities.select("title")
    ends = pl.concat([edges.select(title="source"), edges.select(title="target")]).unique()
    described = edges.filter(pl.col("description").str.contains(pl.col("type"), literal=True))
    findings = [
        _finding("entities share a title", titles.filter(titles.is_duplicated()).unique()),
        _finding("entities have no description", entities.filter(pl.col("description").is_null()).select("title")),
        _finding("edges start or end at no entity", ends.join(titles, on="title", how="anti")),
        _finding("edges occur twice", edges.filter(edges.select(_EDGE).is_duplicated()).select(_EDGE).unique()),
        _finding("edges have an unknown type", edges.filter(~pl.col("type").is_in(ALL_EDGE_TYPES)).select(_EDGE)),
        _finding(
            "edges have a weight outside 1 to 10", edges.filter(~pl.col("weight").is_between(1, 10)).select(_EDGE)
        ),
        _finding("edges do not say their type", edges.join(described, on=_EDGE, how="anti").select(_EDGE)),
        *_unfounded(kg),
        *_differences(catalog, graph, kg),
    ]
    return tuple(finding for finding in findings if finding)


def _finding(what: str, rows: pl.DataFrame) -> str | None:
    if rows.is_empty():
        return None
    examples = [" ".join(str(part) for part in row) for row in rows.sort(rows.columns).head(_SHOWN).iter_rows()]
    return f"{rows.height} {what}, e.g. {'; '.join(examples)}"


def _unfounded(kg: KnowledgeGraph) -> list[str | None]:
    """What the model's part says beyond its sources, or as if it were proven."""
    entities = kg.entities.filter(~pl.col("type").is_in(SQL_TYPES))
    edges = kg.edges.filter(pl.col("type").is_in(BUSINESS_EDGE_TYPES))
    known = pl.concat([kg.entities.filter(pl.col("type").is_in(SQL_TYPES))["title"], kg.units["key"]])
    is_told = (pl.col("text_units").list.len() > 0) & pl.col("text_units").list.eval(
        pl.element().is_in(known.implode())
    ).list.all()
    is_inferred = pl.col("is_inferred") & (pl.col("confidence") < 1) & pl.col("evidence").str.starts_with("llm:")
    objects = kg.entities.filter(pl.col("type").is_in(SQL_TYPES)).select(source="title")
    return [
        _finding("business entities cite no text", entities.filter(~is_told.fill_null(False)).select("title")),
        _finding("business edges cite no text", edges.filter(~is_told.fill_null(False)).select(_EDGE)),
        _finding("business edges look proven", edges.filter(~is_inferred).select(_EDGE)),
        _finding(
            "business edges start at a database object", edges.join(objects, on="source", how="semi").select(_EDGE)
        ),
    ]


def _differences(catalog: Catalog, graph: RelationshipGraph, kg: KnowledgeGraph) -> list[str | None]:
    """Compare with the catalog by exact names, not by the titles that the graph made up."""
    names = kg.entities.select("title", "qualified_name")
    edges = (
        kg.edges.filter(~pl.col("type").is_in(BUSINESS_EDGE_TYPES))
        .join(names.select(source="title", child="qualified_name"), on="source", maintain_order="left")
        .join(names.select(target="title", parent="qualified_name"), on="target", maintain_order="left")
        .select("type", "child", "parent")
    )
    described = kg.entities.filter(~pl.col("is_stub") & pl.col("type").is_in(SQL_TYPES)).select(
        "type", "qualified_name"
    )
    expected = _Expected(catalog, graph)
    results = []
    for what, found, wanted in (
        ("entities", Counter(described.iter_rows()), expected.entities()),
        ("edges", Counter(edges.iter_rows()), expected.edges()),
    ):
        results += [
            _listed(f"{what} of the catalog are missing", wanted - found),
            _listed(f"{what} are not in the catalog", found - wanted),
        ]
    return results


def _listed(what: str, names: Counter[_Name]) -> str | None:
    rows = sorted(names.elements())
    examples = "; ".join(" ".join(row) for row in rows[:_SHOWN])
    return f"{len(rows)} {what}, e.g. {examples}" if rows else None


class _Expected:
    """What the graph has to hold, worked out again from the catalog in the plainest way.

    Names are counted, because names that hold dots can look alike.
    """

    def __init__(self, catalog: Catalog, graph: RelationshipGraph) -> None:
        self._catalog, self._graph = catalog, graph
        self._tables = set(catalog.tables.select("schema", "table").iter_rows())
        self._columns = set(catalog.columns.select("schema", "table", "column").iter_rows())

    def entities(self) -> Counter[_Name]:
        kinds = self._catalog.tables.select("schema", "table", "kind").iter_rows()
        tables = [("SQLVIEW" if kind in VIEW_KINDS else "SQLTABLE", self._fqn(*name)) for *name, kind in kinds]
        return Counter([*tables, *(("SQLCOLUMN", self._fqn(*column)) for column in self._columns)])

    def edges(self) -> Counter[_Name]:
        exact = {*self._column_edges(), *self._key_edges(), *self._lineage_edges()}
        return Counter(
            (kind, self._fqn(*child), self._fqn(*parent, database=other)) for kind, child, other, parent in exact
        )

    def _fqn(self, *parts: str, database: str | None = None) -> str:
        identity = self._catalog.identity
        if database is not None:
            is_catalog = identity.catalog is not None
            identity = replace(identity, catalog=database) if is_catalog else replace(identity, database=database)
        return identity.fqn(*parts)

    def _column_edges(self) -> Iterator[_ExactEdge]:
        for column in self._columns:
            yield "HAS_COLUMN", column[:2], None, column
        keys = self._graph.keys.filter(pl.col("kind") == "primary").select("schema", "table", "columns")
        declared = self._catalog.keys.filter(pl.col("kind") == "primary").select("schema", "table", "columns")
        for schema, table, columns in [*keys.iter_rows(), *declared.iter_rows()]:
            for column in columns:
                if (schema, table, column) in self._columns:
                    yield "IS_PRIMARY_KEY_OF", (schema, table, column), None, (schema, table)

    def _key_edges(self) -> Iterator[_ExactEdge]:
        fields = ["from_schema", "from_table", "from_columns", "to_database", "to_schema", "to_table", "to_columns"]
        accepted = self._graph.relationships.filter("accepted").select(fields)
        for row in [*accepted.iter_rows(), *self._catalog.foreign_keys.select(fields).iter_rows()]:
            schema, table, columns, database, *parent, parent_columns = row
            child = (schema, table)
            if child not in self._tables:
                continue
            yield "REFERENCES", child, database, tuple(parent)
            for column in columns:
                if (*child, column) in self._columns:
                    yield "IS_FOREIGN_KEY_IN", (*child, column), None, child
            for column, other in zip(columns, parent_columns or (), strict=False):
                ends = ((*child, column), (*parent, other))
                if database is None and self._columns.issuperset(ends):
                    yield "IS_FOREIGN_KEY_REF_FOR", ends[0], None, ends[1]

    def _lineage_edges(self) -> Iterator[_ExactEdge]:
        direct = self._graph.lineage.filter(pl.col("view_column").is_null())
        for schema, view, *source in direct.select("view_schema", "view", "source_schema", "source_table").iter_rows():
            if (schema, view) in self._tables:
                yield "IS_CREATED_USING", (schema, view), None, tuple(source)
        fields = ["view_schema", "view", "view_column", "source_schema", "source_table", "source_column"]
        for row in self._graph.lineage.drop_nulls(fields).select(fields).iter_rows():
            output, origin = row[:3], row[3:]
            if self._columns.issuperset((output, origin)):
                yield "IS_DERIVED_FROM", output, None, origin
