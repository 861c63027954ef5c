"""Edges of the exact part, from keys, columns and view dependencies.

Every kind of edge is first written as pieces, one per key, column or dependency; pieces of the
same source, target and type (two keys between two tables) are then merged into one edge.
"""

from __future__ import annotations

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.extraction.model import EDGE_TYPES
from dictionary_pipeline.extraction.nodes import Nodes
from dictionary_pipeline.relationships.model import RelationshipGraph

WEIGHTS = {
    "REFERENCES": 10.0,
    "IS_CREATED_USING": 8.0,
    "IS_FOREIGN_KEY_REF_FOR": 5.0,
    "IS_DERIVED_FROM": 4.0,
    "IS_FOREIGN_KEY_IN": 5.0,
    "IS_PRIMARY_KEY_OF": 2.0,
    "HAS_COLUMN": 1.0,
}
"""Strength of a proven edge: tables that keys join cluster together, columns hang on loosely."""
_MAX_INFERRED_WEIGHT = 9.0

_FOREIGN_KEY_EVIDENCE = {
    "declared": "catalog:foreign_key",
    "dbt": "dbt:relationships",
    "inferred": "inferred:foreign_key",
}
_PRIMARY_KEY_EVIDENCE = {"declared": "catalog:primary_key", "dbt": "dbt:unique", "inferred": "inferred:primary_key"}
_LINEAGE_EVIDENCE = {"catalog": "catalog:view_dependency", "parsed": "sqlglot:scope"}
_COLUMN_LINEAGE_EVIDENCE = {"catalog": "catalog:column_dependency", "parsed": "sqlglot:lineage"}

_TABLE = ["schema", "table"]
_COLUMN = ["schema", "table", "column"]


def build_edges(nodes: Nodes, graph: RelationshipGraph) -> pl.DataFrame:
    """All edges as `frames.GRAPH_EDGES`, unique on (source, target, type), in order of `EDGE_TYPES`."""
    keys = foreign_keys(nodes, graph)
    pairs = _column_pairs(nodes, keys)
    pieces = [
        _references(keys),
        _created_using(nodes, graph.lineage),
        _foreign_key_ref_for(nodes, pairs),
        _derived_from(nodes, graph.lineage),
        _foreign_key_in(pairs),
        _primary_key_of(nodes, graph.keys),
        _has_column(nodes),
    ]
    return _merged(pl.concat(pieces))


def foreign_keys(nodes: Nodes, graph: RelationshipGraph) -> pl.DataFrame:
    """Accepted relationships with both tables found: one row per constraint, declared ones first.

    Returns:
        `frames.RELATIONSHIPS`, title, label and qualified of `child_` and `parent_`, is_inferred, and
        reason (constraint name or confidence, for people).
    """
    inferred = pl.col("origin") == "inferred"
    child = nodes.tables.filter(pl.col("to_database").is_null()).select(
        from_schema="schema", from_table="table", child_title="title", child_label="label", child_qualified="qualified"
    )
    parent = nodes.tables.select(
        "to_database",
        to_schema="schema",
        to_table="table",
        parent_title="title",
        parent_label="label",
        parent_qualified="qualified",
    )
    return (
        graph.relationships.filter("accepted")
        .sort("from_schema", "from_table", inferred, "name", "from_columns", "to_schema", "to_table")
        .join(child, on=["from_schema", "from_table"], maintain_order="left")
        .join(parent, on=["to_database", "to_schema", "to_table"], nulls_equal=True, maintain_order="left")
        .with_columns(
            inferred.alias("is_inferred"),
            pl.when(inferred).then(_doubt()).otherwise(pl.format("constraint {}", "name")).alias("reason"),
        )
    )


def _doubt() -> pl.Expr:
    return pl.format("inferred with confidence {}", pl.col("confidence").round(2))


def _column_pairs(nodes: Nodes, keys: pl.DataFrame) -> pl.DataFrame:
    """The foreign keys' columns one by one, each with the parent's column in the same place."""
    columns = nodes.columns.select(
        from_schema="schema", from_table="table", column="column", child_column="title", child_column_label="label"
    )
    numbered = keys.with_row_index("key")
    parents = numbered.select("key", parent_column="to_columns").explode("parent_column")
    parents = parents.with_columns(pl.int_range(1, pl.len() + 1).over("key").alias("ordinal"))
    return (
        numbered.explode("from_columns")
        .rename({"from_columns": "column"})
        .with_columns(pl.int_range(1, pl.len() + 1).over("key").alias("ordinal"))
        .join(parents, on=["key", "ordinal"], how="left", maintain_order="left")
        .join(columns, on=["from_schema", "from_table", "column"], maintain_order="left")
    )


def _references(keys: pl.DataFrame) -> pl.DataFrame:
    child, parent = pl.col("from_columns").list.join(", "), pl.col("to_columns").list.join(", ")
    verb = pl.when("is_inferred").then(pl.lit("appears to refer to")).otherwise(pl.lit("refers to"))
    key = pl.when(parent != "").then(pl.format("({})", parent)).otherwise(pl.lit("its key"))
    rule = pl.format("({}) {} {}", child, verb, key)
    return _pieces(
        keys,
        "REFERENCES",
        source="child",
        target="parent",
        detail=pl.concat_str(rule, "reason", separator=", ", ignore_nulls=True),
        evidence=pl.col("origin").replace_strict(_FOREIGN_KEY_EVIDENCE),
        confidence=pl.col("confidence"),
        constraint_name=pl.col("name"),
    )


def _foreign_key_ref_for(nodes: Nodes, pairs: pl.DataFrame) -> pl.DataFrame:
    """Stubs have no columns, so keys to them have no such edge."""
    parents = nodes.columns.select(
        to_schema="schema",
        to_table="table",
        parent_column="column",
        parent_column_title="title",
        parent_column_label="label",
    )
    inside = pairs.filter(pl.col("to_database").is_null()).join(
        parents, on=["to_schema", "to_table", "parent_column"], maintain_order="left"
    )
    return _pieces(
        inside.select(
            pl.exclude("child_title", "child_label", "parent_title", "parent_label"),
            child_title="child_column",
            child_label="child_column_label",
            parent_title="parent_column_title",
            parent_label="parent_column_label",
        ),
        "IS_FOREIGN_KEY_REF_FOR",
        source="child",
        target="parent",
        detail=pl.col("reason"),
        evidence=pl.col("origin").replace_strict(_FOREIGN_KEY_EVIDENCE),
        confidence=pl.col("confidence"),
        constraint_name=pl.col("name"),
        ordinal=pl.col("ordinal"),
    )


def _foreign_key_in(pairs: pl.DataFrame) -> pl.DataFrame:
    verb = pl.when("is_inferred").then(pl.lit("it appears to refer to")).otherwise(pl.lit("it refers to"))
    meaning = pl.concat_str(verb, "parent_label", separator=" ")
    return _pieces(
        pairs.with_columns(column_title="child_column", column_label="child_column_label"),
        "IS_FOREIGN_KEY_IN",
        source="column",
        target="child",
        detail=pl.concat_str(meaning, "reason", separator=", ", ignore_nulls=True),
        evidence=pl.col("origin").replace_strict(_FOREIGN_KEY_EVIDENCE),
        confidence=pl.col("confidence"),
        constraint_name=pl.col("name"),
        ordinal=pl.col("ordinal"),
    )


def _primary_key_of(nodes: Nodes, keys: pl.DataFrame) -> pl.DataFrame:
    members = (
        keys.filter(pl.col("kind") == "primary")
        .sort("schema", "table", pl.col("origin") == "inferred", "name")
        .with_row_index("key")
        .with_columns(size=pl.col("columns").list.len(), is_inferred=pl.col("origin") == "inferred")
        .explode("columns")
        .rename({"columns": "column"})
        .with_columns(pl.int_range(1, pl.len() + 1).over("key").alias("ordinal"))
    )
    composite = pl.when(pl.col("size") > 1).then(pl.format("part {} of {} of the key", "ordinal", "size"))
    detail = pl.concat_str(composite, pl.when("is_inferred").then(_doubt()), separator=", ", ignore_nulls=True)
    return _pieces(
        _with_owner(nodes, members.join(_columns(nodes), on=_COLUMN, maintain_order="left")),
        "IS_PRIMARY_KEY_OF",
        source="column",
        target="owner",
        detail=pl.when(detail != "").then(detail),
        evidence=pl.col("origin").replace_strict(_PRIMARY_KEY_EVIDENCE),
        confidence=pl.col("confidence"),
        constraint_name=pl.col("name"),
        ordinal=pl.col("ordinal"),
    )


def _has_column(nodes: Nodes) -> pl.DataFrame:
    columns = _columns(nodes).with_columns(is_inferred=pl.lit(False))
    return _pieces(
        _with_owner(nodes, columns),
        "HAS_COLUMN",
        source="owner",
        target="column",
        detail=pl.format("position {}, type {}", "position", pl.col("data_type").fill_null("unknown")),
        evidence=pl.lit("catalog:column"),
        confidence=pl.lit(1.0),
        ordinal=pl.col("position"),
    )


def _created_using(nodes: Nodes, lineage: pl.DataFrame) -> pl.DataFrame:
    """Direct sources only; the catalog's word, first by its name, comes before what parsing found."""
    tables = nodes.tables.filter(pl.col("to_database").is_null())
    direct = (
        lineage.filter(pl.col("view_column").is_null())
        .sort("view_schema", "view", "source_schema", "source_table", "origin")
        .unique(["view_schema", "view", "source_schema", "source_table"], keep="first", maintain_order=True)
    )
    views = tables.select(view_schema="schema", view="table", view_title="title", view_label="label")
    sources = tables.select(source_schema="schema", source_table="table", source_title="title", source_label="label")
    found = direct.join(views, on=["view_schema", "view"], maintain_order="left").join(
        sources, on=["source_schema", "source_table"], maintain_order="left"
    )
    return _pieces(
        found.with_columns(is_inferred=pl.lit(False)),
        "IS_CREATED_USING",
        source="view",
        target="source",
        detail=pl.lit(None, dtype=pl.String()),
        evidence=pl.col("origin").replace_strict(_LINEAGE_EVIDENCE),
        confidence=pl.lit(1.0),
    )


def _derived_from(nodes: Nodes, lineage: pl.DataFrame) -> pl.DataFrame:
    """Stubs have no columns, so what a view takes from them has no such edge."""
    views = nodes.columns.select(
        view_schema="schema",
        view="table",
        view_column="column",
        position="ordinal",
        output_title="title",
        output_label="label",
    )
    sources = nodes.columns.select(
        source_schema="schema",
        source_table="table",
        source_column="column",
        source_title="title",
        source_label="label",
    )
    found = lineage.join(views, on=["view_schema", "view", "view_column"], maintain_order="left").join(
        sources, on=["source_schema", "source_table", "source_column"], maintain_order="left"
    )
    return _pieces(
        found.with_columns(is_inferred=pl.lit(False)),
        "IS_DERIVED_FROM",
        source="output",
        target="source",
        detail=pl.lit(None, dtype=pl.String()),
        evidence=pl.col("origin").replace_strict(_COLUMN_LINEAGE_EVIDENCE, return_dtype=pl.String()),
        confidence=pl.lit(1.0),
        ordinal=pl.col("position"),
    )


def _columns(nodes: Nodes) -> pl.DataFrame:
    return nodes.columns.select(*_COLUMN, "data_type", position="ordinal", column_title="title", column_label="label")


def _with_owner(nodes: Nodes, columns: pl.DataFrame) -> pl.DataFrame:
    owners = nodes.tables.filter(pl.col("to_database").is_null()).select(
        *_TABLE, owner_title="title", owner_label="label"
    )
    return columns.join(owners, on=_TABLE, maintain_order="left")


def _pieces(
    rows: pl.DataFrame,
    kind: str,
    *,
    source: str,
    target: str,
    detail: pl.Expr,
    evidence: pl.Expr,
    confidence: pl.Expr,
    constraint_name: pl.Expr | None = None,
    ordinal: pl.Expr | None = None,
) -> pl.DataFrame:
    """One piece per row; `source` and `target` are prefixes of the `_title` and `_label` columns."""
    inferred = (confidence * WEIGHTS[kind]).round(2).clip(1.0, _MAX_INFERRED_WEIGHT)
    return rows.select(
        pl.col(f"{source}_title").alias("source"),
        pl.col(f"{source}_label").alias("source_label"),
        pl.col(f"{target}_title").alias("target"),
        pl.col(f"{target}_label").alias("target_label"),
        pl.lit(kind).alias("type"),
        detail.alias("detail"),
        pl.when("is_inferred").then(inferred).otherwise(pl.lit(WEIGHTS[kind])).alias("weight"),
        evidence.alias("evidence"),
        confidence.cast(pl.Float64()).alias("confidence"),
        "is_inferred",
        (pl.lit(None) if constraint_name is None else constraint_name).cast(pl.String()).alias("constraint_name"),
        (pl.lit(None) if ordinal is None else ordinal).cast(pl.Int64()).alias("ordinal"),
    )


def _merged(pieces: pl.DataFrame) -> pl.DataFrame:
    def listed(column: str, separator: str) -> pl.Expr:
        found = pl.col(column).drop_nulls()
        return found.unique(maintain_order=True).str.join(separator)

    edges = pieces.group_by("source", "target", "type", maintain_order=True).agg(
        pl.col("source_label", "target_label", "ordinal").first(),
        pl.col("weight", "confidence").max(),
        pl.col("is_inferred").all(),
        pl.col("evidence").unique().sort().str.join("|"),
        listed("constraint_name", ", "),
        listed("detail", "; "),
    )
    name, detail = pl.col("constraint_name"), pl.col("detail")
    sentence = pl.concat_str("source_label", "type", "target_label", separator=" ")
    ending = pl.when(detail != "").then(": " + detail + ".").otherwise(pl.lit("."))
    rank = pl.col("type").replace_strict({kind: rank for rank, kind in enumerate(EDGE_TYPES)}, return_dtype=pl.Int64())
    is_self = pl.col("source") == pl.col("target")  # tells a reader of the first edges least
    ordered = edges.sort(rank, "source", is_self, "ordinal", "target").with_columns(
        pl.concat_str(_capitalised(sentence), ending).alias("description"),
        pl.when(name != "").then(name).alias("constraint_name"),
    )
    return frames.fit(ordered, frames.GRAPH_EDGES)


def _capitalised(text: pl.Expr) -> pl.Expr:
    return text.str.head(1).str.to_uppercase() + text.str.slice(1)
