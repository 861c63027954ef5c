"""What the engine tests share: engines on files, catalog rows as tuples, samples of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.base import Engine, SampleColumn, SampleRequest
from dictionary_pipeline.engines.registry import create_engine


def engine_on(kind: str, path: Path, **options: Any) -> Engine:
    """An engine on an embedded database file."""
    return create_engine(ConnectionSpec(kind, {"path": str(path), **options}, origin="profiles.yml:3"))


def read(engine: Engine) -> Catalog:
    """The catalog as the first stage reads it."""
    with engine.open() as session, session.snapshot():
        return engine.read_catalog(session)


def rows(frame: pl.DataFrame, *columns: str, **where: Any) -> list[tuple[Any, ...]]:
    """Rows of a frame as tuples, in the frame's order."""
    chosen = frame.filter(*(pl.col(name) == value for name, value in where.items())) if where else frame
    return chosen.select(columns).rows()


def request(
    catalog: Catalog,
    schema: str,
    table: str,
    *,
    row_limit: int = 20_000,
    char_limit: int = 201,
    page_sample: bool = True,
) -> SampleRequest:
    """The request that sampling makes for all columns of a table."""
    columns = rows(catalog.columns, "column", "type_class", "data_type", schema=schema, table=table)
    ((kind, estimate, size),) = rows(catalog.tables, "kind", "row_estimate", "size_bytes", schema=schema, table=table)
    cells = tuple(SampleColumn(*column) for column in columns)
    return SampleRequest(schema, table, kind, cells, estimate, size, row_limit, char_limit, page_sample)


def sample(engine: Engine, schema: str, table: str, **limits: Any) -> list[tuple[Any, ...]]:
    """Sampled rows of a table, all columns."""
    with engine.open() as session:
        wanted = request(engine.read_catalog(session), schema, table, **limits)
        return session.rows(engine.sample_sql(wanted), timeout_s=10)
