"""View lineage as the product works it out, for `score_lineage.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.relationships.lineage import view_lineage
from dictionary_pipeline.relationships.names import Names

_VIEW = "predicted view"


def predict(corpus: Path, split: str) -> dict[str, dict[str, list[str]]]:
    """View id -> output column -> its source columns as `table.column`, lower case.

    Args:
        corpus: Folder with `lineage/SPLIT.json`: id, dialect, default_schema, sql and schema of each view.
    """
    views = json.loads((corpus / "lineage" / f"{split}.json").read_text(encoding="utf-8"))
    return {view["id"]: _columns(view) for view in views}


def _columns(view: dict[str, Any]) -> dict[str, list[str]]:
    catalog = _catalog(view["dialect"], view["default_schema"], view["sql"], view["schema"])
    lineage, _ = view_lineage(catalog, Names(catalog))
    found: dict[str, list[str]] = {}
    rows = lineage.filter(pl.col("view_column").is_not_null()).select("view_column", "source_table", "source_column")
    for column, table, source in rows.iter_rows():
        found.setdefault(column.lower(), []).append(f"{table}.{source}".lower())
    return found


def _catalog(dialect: str, default_schema: str, sql: str, schema: dict[str, dict[str, str]]) -> Catalog:
    """The catalog of a database that has the view and the tables it may read."""
    tables = [(default_schema, _VIEW, "view", None, None, None, sql, True, None)]
    columns = []
    for name, types in schema.items():
        owner, _, table = name.rpartition(".")
        tables.append((owner or default_schema, table, "table", None, None, None, None, True, None))
        for ordinal, (column, data_type) in enumerate(types.items(), start=1):
            columns.append((owner or default_schema, table, column, ordinal, data_type, "string", True, None))
    given = {
        "tables": frames.from_rows(tables, frames.TABLES),
        "columns": pl.DataFrame(columns, schema=dict([*frames.COLUMNS.items()][:8]), orient="row"),
    }
    filled = {
        name: frames.fit(given.get(name, frames.empty(frame)), frame, sort_by=order)
        for name, (frame, order) in FRAME_SCHEMAS.items()
    }
    return Catalog(identity=Identity(dialect), **filled)
