"""The graph in the form that GraphRAG reads as a graph of one's own (bring your own graph).

GraphRAG knows no edge types and one edge per pair of entities: the edges of a pair are merged here
and their types kept in an extra column and in the sentences. Column names and types are those of
its final tables; the names that its later steps add themselves (`community`, `level`, `parent`,
`node_details`, `edge_details`) are avoided.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.config.graph_settings import Granularity
from dictionary_pipeline.errors import StateMismatch
from dictionary_pipeline.extraction.model import ALL_EDGE_TYPES, EDGE_TYPES

_S, _I, _F, _B, _LS = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean(), pl.List(pl.String())

ENTITIES: frames.Schema = {
    "id": _S,
    "human_readable_id": _I,
    "title": _S,
    "type": _S,
    "description": _S,
    "text_unit_ids": _LS,
    "frequency": _I,  # number of text units
    "degree": _I,  # distinct neighbours, either direction; a self reference counts two
    "qualified_name": _S,
    "database": _S,
    "schema_name": _S,
    "data_type": _S,
    "is_stub": _B,
}
RELATIONSHIPS: frames.Schema = {
    "id": _S,
    "human_readable_id": _I,
    "source": _S,
    "target": _S,
    "description": _S,
    "weight": _F,  # the strongest of the merged edges, not their sum
    "combined_degree": _I,
    "text_unit_ids": _LS,
    "relationship_type": _S,  # types joined by `|`, in the order of ALL_EDGE_TYPES
    "evidence": _S,
    "confidence": _F,
    "is_inferred": _B,
    "constraint_name": _S,
}
TEXT_UNITS: frames.Schema = {
    "id": _S,
    "human_readable_id": _I,
    "text": _S,
    "n_tokens": _I,
    "document_id": _S,
    "entity_ids": _LS,
    "relationship_ids": _LS,
    "covariate_ids": _LS,
}
DOCUMENTS: frames.Schema = {"id": _S, "human_readable_id": _I, "title": _S, "text": _S, "text_unit_ids": _LS}

_TABLE_TYPES = ["SQLTABLE", "SQLVIEW"]
_TABLE_EDGES = ["REFERENCES", "IS_CREATED_USING"]
_BYTES_PER_TOKEN = 4
"""GraphRAG wants a token count per text unit; four UTF-8 bytes a token is close enough to budget by."""


@dataclass(frozen=True)
class GraphRagSet:
    """The four tables of a GraphRAG output folder, in the frames documented above."""

    entities: pl.DataFrame
    relationships: pl.DataFrame
    """Table-level edges first: a report writer sees only the first edges of each entity."""
    text_units: pl.DataFrame
    """One per table and view: its description and those of its columns; then glossary and chunks of documents."""
    documents: pl.DataFrame
    """One per table and view, then glossary and documents."""


def graph_keys(entities: pl.DataFrame, edges: pl.DataFrame, units: pl.DataFrame | None = None) -> list[tuple[str, str]]:
    """(kind, key) of everything that needs an id, whatever the granularity; see `ids.extend_ids`.

    Args:
        units: `frames.GRAPH_UNITS`, texts beside those of tables and views.
    """
    units = frames.empty(frames.GRAPH_UNITS) if units is None else units
    described = entities.filter(pl.col("type").is_in(_TABLE_TYPES) & ~pl.col("is_stub"))["title"].to_list()
    _, lifted = at_granularity(entities, edges, "table")
    pairs = pl.concat([edges.select(_pair_key()), lifted.select(_pair_key())])["key"].unique().to_list()
    return [
        *(("entity", title) for title in entities["title"].to_list()),
        *(("relationship", pair) for pair in pairs),
        *(("text_unit", title) for title in described),
        *(("document", title) for title in described),
        *(("text_unit", key) for key in units["key"].to_list()),
        *(("document", name) for name in units["document"].unique(maintain_order=True).to_list()),
    ]


def graphrag_frames(
    entities: pl.DataFrame,
    edges: pl.DataFrame,
    ids: pl.DataFrame,
    *,
    granularity: Granularity = "table",
    units: pl.DataFrame | None = None,
) -> GraphRagSet:
    """Turn the graph into GraphRAG's tables.

    Args:
        entities: `frames.GRAPH_ENTITIES`.
        edges: `frames.GRAPH_EDGES`.
        ids: `ids.IDS`, covering `graph_keys(entities, edges, units)`.
        granularity: `table` keeps tables, views and the edges between them, which makes for few and
            meaningful community reports; `column` keeps everything.
        units: `frames.GRAPH_UNITS`, texts beside those of tables and views.

    Raises:
        StateMismatch: the id map lacks an object of the graph.
    """
    owners = _owners(entities, edges)
    further = frames.empty(frames.GRAPH_UNITS) if units is None else units
    texts = pl.concat([_units(entities, edges), further.rename({"key": "unit"})])
    units = _with_ids(texts, ids, "text_unit", "unit")
    entities, edges = at_granularity(entities, edges, granularity)
    nodes = _with_ids(entities, ids, "entity", "title")
    pairs = _with_ids(_merged_pairs(edges), ids, "relationship", "key")
    cited = _cited(pairs, owners)
    mentions = _mentions(nodes, owners, cited)
    degrees = _degrees(pairs)
    documents = _documents(units, ids)
    return GraphRagSet(
        entities=_entities(nodes, mentions, units, degrees),
        relationships=_relationships(pairs, cited, units, degrees),
        text_units=_text_units(units, documents, mentions, cited),
        documents=frames.fit(documents, DOCUMENTS),
    )


def at_granularity(
    entities: pl.DataFrame, edges: pl.DataFrame, granularity: Granularity
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The part of a graph that GraphRAG gets; with `table`, columns give way to their tables.

    Args:
        entities: `frames.GRAPH_ENTITIES`.
        edges: `frames.GRAPH_EDGES`.
    """
    if granularity == "column":
        return entities, edges
    owned = edges.filter(pl.col("type") == "HAS_COLUMN")
    owners = dict(owned.select("target", "source").iter_rows())
    kept = edges.filter(~pl.col("type").is_in(EDGE_TYPES) | pl.col("type").is_in(_TABLE_EDGES))
    lifted = kept.with_columns(pl.col("source", "target").replace(owners))
    return entities.filter(pl.col("type") != "SQLCOLUMN"), lifted.filter(
        pl.col("type").is_in(_TABLE_EDGES) | (pl.col("source") != pl.col("target"))
    )


def _with_ids(objects: pl.DataFrame, ids: pl.DataFrame, kind: str, key: str) -> pl.DataFrame:
    own = ids.filter(pl.col("kind") == kind).select(pl.col("key").alias(key), "id", "human_readable_id")
    found = objects.join(own, on=key, how="left", maintain_order="left")
    if found["id"].has_nulls():
        missing = found.filter(pl.col("id").is_null())[key][0]
        raise StateMismatch(
            f"the id map lacks the {kind.replace('_', ' ')} {missing}",
            fix="Materialise dictionary/knowledge_graph again.",
        )
    return found


def _owners(entities: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """title, unit: the table or view whose text unit an entity belongs to; stubs have none."""
    tables = entities.filter(pl.col("type").is_in(_TABLE_TYPES) & ~pl.col("is_stub")).select("title", unit="title")
    columns = edges.filter(pl.col("type") == "HAS_COLUMN").select(title="target", unit="source")
    return pl.concat([tables, columns])


def _units(entities: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """unit, document, text of tables and views, in the order of `entities`."""
    columns = (
        edges.filter(pl.col("type") == "HAS_COLUMN")
        .select(unit="source", title="target")
        .join(entities.select("title", "description"), on="title", maintain_order="left")
        .group_by("unit", maintain_order=True)
        .agg(pl.col("description").str.join("\n").alias("columns"))
    )
    tables = entities.filter(pl.col("type").is_in(_TABLE_TYPES) & ~pl.col("is_stub"))
    return tables.join(columns.rename({"unit": "title"}), on="title", how="left", maintain_order="left").select(
        unit="title", document="title", text=pl.concat_str("description", "columns", separator="\n", ignore_nulls=True)
    )


def _pair_key() -> pl.Expr:
    """`source->target`, with arrows inside the titles escaped so that no two pairs share a key."""
    ends = [pl.col(end).str.replace_all("\\", "\\\\", literal=True) for end in ("source", "target")]
    return pl.concat_str([end.str.replace_all("->", "-\\>", literal=True) for end in ends], separator="->").alias("key")


def _merged_pairs(edges: pl.DataFrame) -> pl.DataFrame:
    """One row per (source, target), placed where the first of its edges stands."""

    def listed(column: str, separator: str) -> pl.Expr:
        return pl.col(column).drop_nulls().unique(maintain_order=True).str.join(separator)

    order = {kind: rank for rank, kind in enumerate(ALL_EDGE_TYPES)}
    ranked = edges.sort(pl.col("type").replace_strict(order, return_dtype=_I), maintain_order=True)
    merged = ranked.group_by("source", "target", maintain_order=True).agg(
        listed("type", "|").alias("relationship_type"),
        listed("description", " "),
        pl.col("weight", "confidence").max(),
        pl.col("is_inferred").all(),
        listed("evidence", "|"),
        listed("constraint_name", ", "),
        pl.col("text_units").explode().drop_nulls().unique().sort(),
    )
    name = pl.col("constraint_name")
    return merged.with_columns(_pair_key(), pl.when(name != "").then(name).alias("constraint_name"))


def _cited(pairs: pl.DataFrame, owners: pl.DataFrame) -> pl.DataFrame:
    """id, target, unit: the units that state a pair: those a model cites, else that of the source's table."""
    own = owners.rename({"title": "source", "unit": "owner"})
    found = pairs.join(own, on="source", how="left", maintain_order="left").with_columns(
        pl.when(pl.col("text_units").list.len() > 0).then("text_units").otherwise(pl.concat_list("owner")).alias("unit")
    )
    return found.select("id", "target", "unit").explode("unit")


def _documents(units: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """id, human_readable_id, title, text, text_unit_ids: what the units are parts of, in their order."""
    whole = units.group_by("document", maintain_order=True).agg(
        pl.col("text").str.join("\n\n"), pl.col("id").alias("text_unit_ids")
    )
    return _with_ids(whole, ids, "document", "document").rename({"document": "title"})


def _mentions(nodes: pl.DataFrame, owners: pl.DataFrame, cited: pl.DataFrame) -> pl.DataFrame:
    """title, id, unit: the texts that an entity is found in.

    Of tables and columns that is the table's own, of stubs those of the tables that point to them.
    """
    stubs = nodes.filter("is_stub").select("title")
    pointed = cited.select(title="target", unit="unit").join(stubs, on="title", how="semi").unique()
    named = nodes.select("title", unit="text_units").drop_nulls("unit").explode("unit")
    found = pl.concat([owners, pointed.sort("title", "unit"), named])
    return nodes.select("title", "id").join(found, on="title", maintain_order="left_right")


def _degrees(pairs: pl.DataFrame) -> pl.DataFrame:
    ends = pairs.select(
        pl.min_horizontal("source", "target").alias("one"), pl.max_horizontal("source", "target").alias("other")
    ).unique()
    titles = pl.concat([ends.select(title="one"), ends.select(title="other")])
    return titles.group_by("title").agg(pl.len().cast(_I).alias("degree"))


def _entities(nodes: pl.DataFrame, mentions: pl.DataFrame, units: pl.DataFrame, degrees: pl.DataFrame) -> pl.DataFrame:
    unit_ids = mentions.select("title", "unit").join(_unit_ids(units), on="unit", maintain_order="left")
    listed = unit_ids.group_by("title", maintain_order=True).agg(pl.col("unit_id").alias("text_unit_ids"))
    joined = nodes.join(listed, on="title", how="left", maintain_order="left").join(
        degrees, on="title", how="left", maintain_order="left"
    )
    return frames.fit(
        joined.with_columns(pl.col("text_unit_ids").list.len().alias("frequency"), pl.col("degree").fill_null(0)),
        ENTITIES,
    )


def _relationships(
    pairs: pl.DataFrame, cited: pl.DataFrame, units: pl.DataFrame, degrees: pl.DataFrame
) -> pl.DataFrame:
    known = cited.join(_unit_ids(units), on="unit", maintain_order="left")
    listed = known.group_by("id", maintain_order=True).agg(pl.col("unit_id").alias("text_unit_ids"))
    joined = pairs.join(listed, on="id", maintain_order="left")
    for end in ("source", "target"):
        own = degrees.select(pl.col("title").alias(end), pl.col("degree").alias(f"{end}_degree"))
        joined = joined.join(own, on=end, maintain_order="left")
    return frames.fit(
        joined.with_columns((pl.col("source_degree") + pl.col("target_degree")).alias("combined_degree")),
        RELATIONSHIPS,
    )


def _unit_ids(units: pl.DataFrame) -> pl.DataFrame:
    return units.select("unit", unit_id="id")


def _text_units(
    units: pl.DataFrame, documents: pl.DataFrame, mentions: pl.DataFrame, cited: pl.DataFrame
) -> pl.DataFrame:
    nothing = pl.lit([], dtype=_LS)
    entity_ids = mentions.group_by("unit", maintain_order=True).agg(pl.col("id").alias("entity_ids"))
    relationship_ids = cited.group_by("unit", maintain_order=True).agg(pl.col("id").alias("relationship_ids"))
    named = documents.select(document="title", document_id="id")
    joined = (
        units.join(entity_ids, on="unit", how="left", maintain_order="left")
        .join(relationship_ids, on="unit", how="left", maintain_order="left")
        .join(named, on="document", maintain_order="left")
    )
    return frames.fit(
        joined.with_columns(
            (pl.col("text").str.len_bytes() // _BYTES_PER_TOKEN + 1).alias("n_tokens"),
            pl.col("entity_ids", "relationship_ids").fill_null(nothing),
            nothing.alias("covariate_ids"),
        ),
        TEXT_UNITS,
    )
