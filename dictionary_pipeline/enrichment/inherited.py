"""Texts that view columns take over from the columns that they show unchanged."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from dictionary_pipeline import frames

_COLUMN = ("schema", "table", "column")
_Name = tuple[str, str, str]


def inherited_texts(lineage: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """Definitions along exact column lineage, through views on views.

    A view column inherits when it is the plain reference to exactly one column and has no text of its
    own; an expression means something else than its sources.

    Args:
        lineage: `frames.VIEW_LINEAGE`.
        own: schema, table, column, definition of the columns that people or the database describe.

    Returns:
        schema, table, column, definition of the view columns that inherit one.
    """
    texts = {(schema, table, column): text for schema, table, column, text in own.iter_rows() if text is not None}
    sources = _sources(frames.fit(lineage, frames.VIEW_LINEAGE))
    found = [(column, _first_text(column, sources, texts)) for column in sources if column not in texts]
    rows = [(*column, text) for column, text in found if text is not None]
    return pl.DataFrame(rows, schema=dict.fromkeys((*_COLUMN, "definition"), pl.String()), orient="row")


def _first_text(column: _Name, sources: Mapping[_Name, _Name], texts: Mapping[_Name, str]) -> str | None:
    seen = set()
    while column in sources and column not in seen:
        seen.add(column)
        column = sources[column]
        if column in texts:
            return texts[column]
    return None


def _sources(lineage: pl.DataFrame) -> dict[_Name, _Name]:
    """View column -> the only column that it shows, unchanged."""
    view = ["view_schema", "view", "view_column"]
    single = lineage.filter(pl.col("view_column").is_not_null()).filter(
        (pl.len().over(view) == 1) & pl.col("is_plain").fill_null(False)
    )
    rows = single.select(*view, "source_schema", "source_table", "source_column").iter_rows()
    return {(row[0], row[1], row[2]): (row[3], row[4], row[5]) for row in rows}
