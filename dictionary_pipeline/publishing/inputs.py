"""What a bundle is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing.previous import PreviousBundle
from dictionary_pipeline.publishing.scrub import scrub_catalog, scrub_definitions
from dictionary_pipeline.sampling.privacy import hidden_of, withheld_of


@dataclass(frozen=True)
class BundleInputs:
    """Results of all stages. Frame schemas: `dictionary_pipeline.frames`."""

    catalog: Catalog
    profiles: pl.DataFrame
    """`PROFILES`."""
    values: pl.DataFrame
    """`VALUES`: what sampling decided to offer to the value store."""
    relationships: pl.DataFrame
    """`RELATIONSHIPS`; only accepted ones enter the schema store."""
    keys: pl.DataFrame
    """`KEYS`: declared, dbt and inferred."""
    lineage: pl.DataFrame
    """`LINEAGE`."""
    roles: pl.DataFrame
    """`ROLES`."""
    join_graph: pl.DataFrame
    """`JOIN_GRAPH`."""
    table_definitions: pl.DataFrame
    """`TABLE_DEFINITIONS`."""
    column_definitions: pl.DataFrame
    """`COLUMN_DEFINITIONS`."""
    sensitivity: pl.DataFrame
    """`SENSITIVITY`: sensitive columns, why, and what is done about their values."""
    graph_files: Mapping[str, pl.DataFrame | str]
    """Path under `graph/` -> frame (published as Parquet) or text."""
    problems: tuple[Problem, ...]
    """Of all stages; those of the catalog are added."""
    config: DatabaseConfig
    previous: PreviousBundle | None = None
    """The published bundle, whose coarse estimates are kept while they are near enough."""
    diagrams: Mapping[str, bytes] = field(default_factory=dict)
    """Name under `diagrams/` -> SVG; pictures show names and types, never values."""
    drift_files: Mapping[str, bytes] = field(default_factory=dict)
    """Published path -> content of the months of the drift log."""

    @property
    def withheld(self) -> pl.DataFrame:
        """schema, table, column, category, reason of the columns whose values are never shown."""
        return withheld_of(self.sensitivity)


def without_withheld(inputs: BundleInputs) -> BundleInputs:
    """The same inputs with nothing left that could show a value of a withheld column.

    Of masked columns, texts are scrubbed; their values were masked when they were sampled.
    """
    hidden_columns = hidden_of(inputs.sensitivity)
    withheld, on = inputs.withheld.select("schema", "table", "column").unique(), ["schema", "table", "column"]
    hidden = inputs.profiles.join(withheld, on=on, how="semi").with_columns(
        pl.lit("withheld").alias("status"),
        *(
            pl.lit(None, inputs.profiles.schema[name]).alias(name)
            for name in ("samples", "allowed_values", "allowed_values_origin", "min", "max")
        ),
    )
    return replace(
        inputs,
        catalog=scrub_catalog(inputs.catalog, inputs.sensitivity),
        profiles=pl.concat([inputs.profiles.join(withheld, on=on, how="anti"), hidden]).sort(on),
        values=inputs.values.join(withheld, on=on, how="anti", maintain_order="left"),
        table_definitions=scrub_definitions(inputs.table_definitions, hidden_columns),
        column_definitions=scrub_definitions(inputs.column_definitions, hidden_columns),
    )


class TableRows:
    """Rows of a frame by table, cut out when asked for instead of held as Python objects."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """Take a frame that starts with the columns schema and table; the rest are the rows' fields."""
        ordered = frame.sort("schema", "table", maintain_order=True)
        self._offsets: dict[tuple[str, str], tuple[int, int]] = {}
        offset = 0
        for schema, table, count in ordered.group_by("schema", "table", maintain_order=True).len().iter_rows():
            self._offsets[schema, table] = (offset, count)
            offset += count
        self._rows = ordered.drop("schema", "table")

    def of(self, schema: str, table: str) -> list[tuple[Any, ...]]:
        """Rows of one table, in the frame's order."""
        offset, count = self._offsets.get((schema, table), (0, 0))
        return self._rows.slice(offset, count).rows() if count else []
