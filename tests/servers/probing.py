"""What tests of server engines share: engines by URL, catalogs, columns by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.urls import spec_from_url
from dictionary_pipeline.engines.base import Engine, SampleColumn, SampleRequest
from dictionary_pipeline.engines.registry import create_engine


def engine_for(url: str) -> Engine:
    """The engine of a URL."""
    return create_engine(spec_from_url(url, origin="the test", folder=Path("/")))


def read(engine: Engine) -> Catalog:
    """The catalog as the first stage reads it."""
    with engine.open() as session, session.snapshot():
        return engine.read_catalog(session)


def columns_of(catalog: Catalog, schema: str, table: str) -> dict[str, dict[str, Any]]:
    """Rows of the columns frame by column name."""
    found = catalog.columns.filter(pl.col("schema") == schema, pl.col("table") == table)
    return {row["column"]: row for row in found.iter_rows(named=True)}


def sample_request(catalog: Catalog, schema: str, table: str, **changes: Any) -> SampleRequest:
    """The request that sampling makes for a table, with some of its fields changed."""
    [facts] = catalog.tables.filter(pl.col("schema") == schema, pl.col("table") == table).iter_rows(named=True)
    columns = columns_of(catalog, schema, table).values()
    values: dict[str, Any] = {
        "kind": facts["kind"],
        "columns": tuple(SampleColumn(each["column"], each["type_class"], each["data_type"]) for each in columns),
        "row_estimate": facts["row_estimate"],
        "size_bytes": facts["size_bytes"],
        "row_limit": 20_000,
        "char_limit": 201,
        "page_sample": True,
    }
    return SampleRequest(schema=schema, table=table, **{**values, **changes})
