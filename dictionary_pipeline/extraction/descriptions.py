"""Descriptions of entities: the definition, and the facts that a reader of the graph needs at hand.

A report writer sees few edges of a node, so a table's own text repeats its keys.
"""

from __future__ import annotations

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.enrichment.definitions import Definitions
from dictionary_pipeline.enrichment.facts import allowed_texts
from dictionary_pipeline.enrichment.prose import value_list
from dictionary_pipeline.extraction.ddl import statements
from dictionary_pipeline.extraction.nodes import Nodes
from dictionary_pipeline.relationships.model import RelationshipGraph

_MAX_KEYS = 20
_MAX_LISTED = 20
_MAX_VALUES = 30
_TABLE = ["schema", "table"]
_COLUMN = ["schema", "table", "column"]


def describe_tables(
    nodes: Nodes, catalog: Catalog, graph: RelationshipGraph, foreign_keys: pl.DataFrame, definitions: Definitions
) -> pl.DataFrame:
    """A description for every table, view and stub, in the order of `nodes.tables`.

    Args:
        foreign_keys: Of `extraction.edges.foreign_keys`.

    Returns:
        title, description.
    """
    described = nodes.tables
    for facts in (
        definitions.tables.select(*_TABLE, "definition"),
        _primary_keys(graph.keys),
        _references(foreign_keys),
        _children(foreign_keys),
        _sources(nodes, graph.lineage),
        _ddl(catalog),
    ):
        described = described.join(facts, on=_TABLE, how="left", maintain_order="left")
    text = pl.concat_str(
        _sentence("definition"),
        pl.format("Primary key: {}.", "primary_key"),
        pl.format("Foreign keys: {}.", "references"),
        pl.format("Referred to by: {}.", "children"),
        pl.format("Created using: {}.", "sources"),
        pl.format("DDL: {};", "ddl"),
        separator=" ",
        ignore_nulls=True,
    )
    stub = pl.lit("Outside the described selection.")
    body = pl.when("is_stub").then(stub).otherwise(text)
    return described.select("title", description=pl.concat_str(_named(), body, separator=" ").str.strip_chars())


def describe_columns(nodes: Nodes, catalog: Catalog, profiles: pl.DataFrame, definitions: Definitions) -> pl.DataFrame:
    """A description for every column, in the order of `nodes.columns`: title, description."""
    allowed = allowed_texts(catalog, profiles).filter(pl.col("origin") != "boolean")
    texts = [value_list(values, _MAX_VALUES) for values in allowed["values"]]
    described = nodes.columns.join(
        definitions.columns.select(*_COLUMN, "definition"), on=_COLUMN, how="left", maintain_order="left"
    ).join(
        allowed.select(*_COLUMN, pl.Series("allowed", texts, pl.String())),
        on=_COLUMN,
        how="left",
        maintain_order="left",
    )
    text = pl.concat_str(
        _named(),
        _sentence("definition"),
        pl.format("Type: {}.", "data_type"),
        pl.format("Allowed values: {}.", "allowed"),
        separator=" ",
        ignore_nulls=True,
    )
    return described.select("title", description=text)


def _named() -> pl.Expr:
    label = pl.col("label")
    return pl.concat_str(label.str.head(1).str.to_uppercase(), label.str.slice(1), pl.lit("."))


def _sentence(text: str) -> pl.Expr:
    """The text, ended, so that what follows is no part of it."""
    stripped = pl.col(text).str.strip_chars()
    is_ended = (stripped == "") | stripped.str.contains(r"[.!?…:;。！？][)\]\"'»”’]?$")
    return pl.when(is_ended).then(stripped).otherwise(pl.concat_str(stripped, pl.lit(".")))


def _listed(items: str, limit: int, separator: str) -> pl.Expr:
    """Within a group: the first `limit` items, and how many more there are."""
    shown = pl.col(items).head(limit).str.join(separator)
    more = pl.format("{} and {} more", shown, pl.len().cast(pl.Int64()) - limit)
    return pl.when(pl.len() > limit).then(more).otherwise(shown)


def _primary_keys(keys: pl.DataFrame) -> pl.DataFrame:
    primary = keys.filter(pl.col("kind") == "primary").unique(_TABLE, keep="first", maintain_order=True)
    return primary.select(*_TABLE, primary_key=pl.col("columns").list.join(", "))


def _references(foreign_keys: pl.DataFrame) -> pl.DataFrame:
    child, parent = pl.col("from_columns").list.join(", "), pl.col("to_columns").list.join(", ")
    verb = pl.when("is_inferred").then(pl.lit("appears to refer to")).otherwise(pl.lit("refers to"))
    ending = pl.when(parent != "").then(pl.format(" ({})", parent)).otherwise(pl.lit(""))
    rules = foreign_keys.with_columns(
        rule=pl.concat_str(pl.format("({}) {} {}", child, verb, "parent_qualified"), ending)
    )
    grouped = rules.group_by(schema="from_schema", table="from_table", maintain_order=True)
    return grouped.agg(_listed("rule", _MAX_KEYS, "; ").alias("references"))


def _children(foreign_keys: pl.DataFrame) -> pl.DataFrame:
    inside = foreign_keys.filter(pl.col("to_database").is_null() & (pl.col("child_title") != pl.col("parent_title")))
    distinct = inside.select(schema="to_schema", table="to_table", child="child_qualified").unique().sort("child")
    return distinct.group_by(_TABLE, maintain_order=True).agg(_listed("child", _MAX_LISTED, ", ").alias("children"))


def _sources(nodes: Nodes, lineage: pl.DataFrame) -> pl.DataFrame:
    sources = nodes.tables.filter(pl.col("to_database").is_null()).select(
        source_schema="schema", source_table="table", source="qualified"
    )
    found = lineage.filter(pl.col("view_column").is_null()).join(sources, on=["source_schema", "source_table"])
    distinct = found.select(schema="view_schema", table="view", source="source").unique().sort("source")
    return distinct.group_by(_TABLE, maintain_order=True).agg(_listed("source", _MAX_LISTED, ", ").alias("sources"))


def _ddl(catalog: Catalog) -> pl.DataFrame:
    rows = [(*name, statement.short()) for name, statement in statements(catalog).items()]
    return pl.DataFrame(rows, schema=dict.fromkeys((*_TABLE, "ddl"), pl.String()), orient="row")
