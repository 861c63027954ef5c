"""Profiles and definitions of hand-made catalogs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge, PathLimits
from dictionary_pipeline.enrichment.definitions import Definitions, define
from dictionary_pipeline.relationships.relate import relate


def make_profiles(
    catalog: Catalog,
    *,
    allowed: Mapping[str, Sequence[object]] | None = None,
    origin: str = "enum",
    withheld: Sequence[str] = (),
) -> pl.DataFrame:
    """A profile row per column; `allowed` and `withheld` name columns as `schema.table.column`."""
    rows = []
    for schema, table, column in catalog.columns.select("schema", "table", "column").iter_rows():
        name = f"{schema}.{table}.{column}"
        values = [json.dumps(value) for value in (allowed or {})[name]] if name in (allowed or {}) else None
        status = "withheld" if name in withheld else "ok"
        rows.append((schema, table, column, status, values, origin if values else None))
    schema = {
        **{name: pl.String() for name in ("schema", "table", "column", "status")},
        "allowed_values": pl.List(pl.String()),
        "allowed_values_origin": pl.String(),
    }
    return frames.fit(pl.DataFrame(rows, schema=schema, orient="row"), frames.PROFILES)


def make_definitions(
    catalog: Catalog, profiles: pl.DataFrame | None = None, human: HumanKnowledge | None = None
) -> Definitions:
    """Run the relationship stage and the definitions stage."""
    profiles = make_profiles(catalog) if profiles is None else profiles
    known = human or HumanKnowledge()
    return define(catalog, profiles, relate(catalog, profiles, known, PathLimits()), known)


def table_texts(definitions: Definitions) -> dict[str, str]:
    """`schema.table` -> definition."""
    rows = definitions.tables.select("schema", "table", "definition").iter_rows()
    return {f"{schema}.{table}": text for schema, table, text in rows}


def column_texts(definitions: Definitions) -> dict[str, str]:
    """`schema.table.column` -> definition."""
    rows = definitions.columns.select("schema", "table", "column", "definition").iter_rows()
    return {f"{schema}.{table}.{column}": text for schema, table, column, text in rows}
