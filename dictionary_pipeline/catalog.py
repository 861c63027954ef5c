"""The catalog of one database as frames: what engines produce and every stage reads."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.problems import Problem


@dataclass(frozen=True)
class Identity:
    """Which database this is, in the parts that an FQN shows.

    `FQN` is the non-null of Warehouse, Catalog, Database, Schema, Entity joined by `.`; engines
    fill the parts that their users know (Snowflake warehouse and database, Databricks catalog,
    PostgreSQL, SQL Server, DuckDB and MySQL database, SQLite none).
    """

    engine: str
    warehouse: str | None = None
    catalog: str | None = None
    database: str | None = None

    def fields(self, prefix: str = "") -> dict[str, str]:
        """Engine fields of a schema-store entry in contract order, e.g. `{"Database": "shop"}`."""
        parts = {"Warehouse": self.warehouse, "Catalog": self.catalog, "Database": self.database}
        return {prefix + key: value for key, value in parts.items() if value is not None}

    def fqn(self, *parts: str) -> str:
        """Fully qualified name of a table (schema, table) or column (schema, table, column)."""
        return ".".join([*self.fields().values(), *parts])


@dataclass(frozen=True)
class Catalog:
    """Catalog facts of one database at one moment. Frame schemas: `dictionary_pipeline.frames`."""

    identity: Identity
    tables: pl.DataFrame
    """`frames.TABLES`, sorted by schema, table; partitions are folded into their parent."""
    columns: pl.DataFrame
    """`frames.COLUMNS`, sorted by schema, table, ordinal."""
    keys: pl.DataFrame
    """`frames.KEYS`, sorted by schema, table, name."""
    indexes: pl.DataFrame
    """`frames.INDEXES`, sorted by schema, table, name."""
    foreign_keys: pl.DataFrame
    """`frames.FOREIGN_KEYS`, sorted by from_schema, from_table, name, from_columns."""
    checks: pl.DataFrame
    """`frames.CHECKS`, sorted by schema, table, name."""
    lineage: pl.DataFrame
    """`frames.LINEAGE`, view dependencies that the engine's catalog records."""
    problems: tuple[Problem, ...] = ()
    fingerprint: str | None = None
    """Hash of the whole structure; filled by introspection."""
    probe: str | None = None
    """The engine's cheap change signal at the time of reading."""
    complete: bool = field(default=True)
    """False when a catalog statement failed, so that absence proves nothing."""


FRAME_SCHEMAS: dict[str, tuple[frames.Schema, tuple[str, ...]]] = {
    "tables": (frames.TABLES, ("schema", "table")),
    "columns": (frames.COLUMNS, ("schema", "table", "ordinal")),
    "keys": (frames.KEYS, ("schema", "table", "name")),
    "indexes": (frames.INDEXES, ("schema", "table", "name")),
    "foreign_keys": (frames.FOREIGN_KEYS, ("from_schema", "from_table", "name", "from_columns")),
    "checks": (frames.CHECKS, ("schema", "table", "name")),
    "lineage": (
        frames.LINEAGE,
        ("view_schema", "view", "view_column", "source_schema", "source_table", "source_column"),
    ),
}
"""Frame name -> (schema, sort order) of every frame of a `Catalog`."""
