"""One text per table and view, for those who let GraphRAG extract its own graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.enrichment.definitions import Definitions
from dictionary_pipeline.enrichment.prose import one_line, shortened
from dictionary_pipeline.extraction.ddl import listed, quoted, statements
from dictionary_pipeline.extraction.descriptions import describe_columns
from dictionary_pipeline.extraction.nodes import Nodes, build_nodes
from dictionary_pipeline.naming import file_names
from dictionary_pipeline.relationships.model import RelationshipGraph

_MAX_VIEW_SQL = 4_000
_TABLE = ["schema", "table"]
_COLUMN = ["schema", "table", "column"]

_Name = tuple[str, ...]
_Lines = Mapping[_Name, Sequence[str]]


def input_documents(
    catalog: Catalog, profiles: pl.DataFrame, graph: RelationshipGraph, definitions: Definitions
) -> dict[str, str]:
    """Name, definition, statement, columns and inferred keys of every table and view.

    Args:
        profiles: `frames.PROFILES`.

    Returns:
        File name -> text, in the order of the catalog's tables.
    """
    nodes = build_nodes(catalog, graph)
    names = catalog.tables.select(_TABLE).rows()
    paths = file_names(names, suffix=".txt")
    labels = nodes.tables.filter(~pl.col("is_stub")).select(*_TABLE, "label")
    described = catalog.tables.join(labels, on=_TABLE, maintain_order="left").join(
        definitions.tables.select(*_TABLE, "definition"), on=_TABLE, how="left", maintain_order="left"
    )
    ddl = statements(catalog)
    columns = _described_columns(nodes, catalog, profiles, definitions)
    further = _further_lines(nodes, graph)
    texts: dict[str, str] = {}
    for schema, table, label, definition in described.select(*_TABLE, "label", "definition").iter_rows():
        name = (schema, table)
        statement = ddl[name]
        parts = [
            f"Name: {label}",
            f"Definition: {one_line(definition)}" if definition else "",
            statement.full(),
            f"Query:\n{shortened(statement.query, _MAX_VIEW_SQL)}" if statement.query else "",
            "\n".join(["Columns:", *columns[name]]) if columns[name] else "",
            "\n".join(["Additional information:", *further[name]]) if further[name] else "",
        ]
        texts[paths[name]] = "\n\n".join(part for part in parts if part) + "\n"
    return texts


def extraction_prompt() -> str:
    """The template for GraphRAG's `extract_graph`: only `{entity_types}` and `{input_text}` are filled in."""
    return (files("dictionary_pipeline.extraction") / "prompts" / "extract_graph.txt").read_text(encoding="utf-8")


def _described_columns(nodes: Nodes, catalog: Catalog, profiles: pl.DataFrame, definitions: Definitions) -> _Lines:
    described = nodes.columns.select(*_TABLE, "title").join(
        describe_columns(nodes, catalog, profiles, definitions), on="title", maintain_order="left"
    )
    lines: defaultdict[_Name, list[str]] = defaultdict(list)
    for schema, table, text in described.select(*_TABLE, "description").iter_rows():
        lines[schema, table].append(f"- {one_line(text)}")
    return lines


def _further_lines(nodes: Nodes, graph: RelationshipGraph) -> _Lines:
    """What the statements do not say: inferred and tested keys, and what a view reads."""
    lines: defaultdict[_Name, list[str]] = defaultdict(list)
    labels = {
        (schema, table): label
        for schema, table, label in nodes.tables.filter(pl.col("to_database").is_null())
        .select(*_TABLE, "label")
        .iter_rows()
    }
    keys = graph.relationships.filter(pl.col("accepted") & (pl.col("origin") != "declared"))
    for schema, table, columns, origin, *parent, parent_columns in keys.select(
        *("from_schema", "from_table", "from_columns", "origin", "to_database", "to_schema", "to_table", "to_columns")
    ).iter_rows():
        verb = "appears to refer to" if origin == "inferred" else "refers to"
        target = quoted(*(part for part in parent if part is not None))
        ending = f" ({listed(parent_columns)})" if parent_columns else ""
        lines[schema, table].append(f"- ({listed(columns)}) {verb} {target}{ending}")
    direct = graph.lineage.filter(pl.col("view_column").is_null())
    sources = direct.select("view_schema", "view", "source_schema", "source_table").unique().sort(pl.all())
    for schema, view, *source in sources.iter_rows():
        lines[schema, view].append(f"- created using {labels.get((*source,), quoted(*source))}")
    return lines
