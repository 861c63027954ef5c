"""One text per table and view, for those who let GraphRAG extract its own graph.

Keys stand inside each statement, whatever statement declared them in the database: a reader of one
text sees all that concerns its table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.enrichment.definitions import Definitions
from dictionary_pipeline.enrichment.prose import one_line, shortened
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
    members = _column_lines(catalog)
    constraints = _key_lines(catalog)
    columns = _described_columns(nodes, catalog, profiles, definitions)
    further = _further_lines(nodes, graph)
    texts: dict[str, str] = {}
    for schema, table, kind, sql, label, definition in described.select(
        *_TABLE, "kind", "view_sql", "label", "definition"
    ).iter_rows():
        name = (schema, table)
        parts = [
            f"Name: {label}",
            f"Definition: {one_line(definition)}" if definition else "",
            _statement(name, kind, [*members[name], *constraints[name]]),
            f"Query:\n{shortened(sql.strip(), _MAX_VIEW_SQL)}" if sql and "view" in kind else "",
            "\n".join(["Columns:", *columns[name]]) if columns[name] else "",
            "\n".join(["Additional information:", *further[name]]) if further[name] else "",
        ]
        texts[paths[name]] = "\n\n".join(part for part in parts if part) + "\n"
    return texts


def extraction_prompt() -> str:
    """The template for GraphRAG's `extract_graph`: only `{entity_types}` and `{input_text}` are filled in."""
    return (files("dictionary_pipeline.extraction") / "prompts" / "extract_graph.txt").read_text(encoding="utf-8")


def _quoted(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(_quoted, columns))


def _statement(name: _Name, kind: str, lines: Sequence[str]) -> str:
    noun = {"view": "VIEW", "materialized_view": "MATERIALIZED VIEW"}.get(kind, "TABLE")
    head = f"CREATE {noun} {_quoted(*name)}"
    return f"{head} (\n    " + ",\n    ".join(lines) + "\n);" if lines else f"{head};"


def _column_lines(catalog: Catalog) -> _Lines:
    lines: defaultdict[_Name, list[str]] = defaultdict(list)
    for schema, table, column, data_type, nullable in catalog.columns.select(
        *_COLUMN, "data_type", "is_nullable"
    ).iter_rows():
        parts = [_quoted(column), data_type, None if nullable is None or nullable else "NOT NULL"]
        lines[schema, table].append(" ".join(part for part in parts if part))
    return lines


def _key_lines(catalog: Catalog) -> _Lines:
    """Declared keys as constraints inside the statement of their table."""
    lines: defaultdict[_Name, list[str]] = defaultdict(list)
    for schema, table, kind, columns in (
        catalog.keys.filter(pl.col("origin") == "declared")
        .sort("schema", "table", "kind", "name")
        .select(*_TABLE, "kind", "columns")
        .iter_rows()
    ):
        lines[schema, table].append(f"{'PRIMARY KEY' if kind == 'primary' else 'UNIQUE'} ({_listed(columns)})")
    for schema, table, columns, *parent, parent_columns in catalog.foreign_keys.select(
        "from_schema", "from_table", "from_columns", "to_database", "to_schema", "to_table", "to_columns"
    ).iter_rows():
        target = _quoted(*(part for part in parent if part is not None))
        ending = f" ({_listed(parent_columns)})" if parent_columns else ""
        lines[schema, table].append(f"FOREIGN KEY ({_listed(columns)}) REFERENCES {target}{ending}")
    return lines


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
        target = _quoted(*(part for part in parent if part is not None))
        ending = f" ({_listed(parent_columns)})" if parent_columns else ""
        lines[schema, table].append(f"- ({_listed(columns)}) {verb} {target}{ending}")
    direct = graph.lineage.filter(pl.col("view_column").is_null())
    sources = direct.select("view_schema", "view", "source_schema", "source_table").unique().sort(pl.all())
    for schema, view, *source in sources.iter_rows():
        lines[schema, view].append(f"- created using {labels.get((*source,), _quoted(*source))}")
    return lines
