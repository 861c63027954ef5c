"""Tables, views, columns and stubs of the graph, each with a title that nothing else has."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.extraction.model import VIEW_KINDS
from dictionary_pipeline.jsontext import digest
from dictionary_pipeline.relationships.model import RelationshipGraph


@dataclass(frozen=True)
class Nodes:
    """The things that edges connect, by their names in the database.

    `to_database` is null within the described database, as in `frames.RELATIONSHIPS`; `label` is
    the exact qualified name with the kind of object before it, e.g. `table shop.sales.orders`.
    """

    tables: pl.DataFrame
    """to_database, schema, table, type, is_stub, database, qualified, title, label; by title."""
    columns: pl.DataFrame
    """schema, table, column, ordinal, data_type, database, qualified, title, label; in catalog order."""


def build_nodes(catalog: Catalog, graph: RelationshipGraph) -> Nodes:
    """Name every table, view and column of the catalog, and every table that is only pointed to.

    Titles are upper-case qualified names with the kind of object behind them, e.g.
    `SHOP.SALES.ORDERS TABLE`. Names that differ in case only, or in where a dot belongs, would
    collide: all of them get `#` and six hex digits of a hash of their exact parts.
    """
    is_view = pl.col("kind").is_in(VIEW_KINDS)
    known = catalog.tables.select(
        pl.lit(None, dtype=pl.String()).alias("to_database"),
        "schema",
        "table",
        pl.when(is_view).then(pl.lit("SQLVIEW")).otherwise(pl.lit("SQLTABLE")).alias("type"),
        pl.lit(False).alias("is_stub"),
    )
    tables = pl.concat([known, _stubs(known, graph)]).with_columns(
        pl.when(pl.col("type") == "SQLVIEW").then(pl.lit("view")).otherwise(pl.lit("table")).alias("noun")
    )
    columns = catalog.columns.select(
        pl.lit(None, dtype=pl.String()).alias("to_database"),
        "schema",
        "table",
        "column",
        "ordinal",
        "data_type",
        pl.lit("column").alias("noun"),
    )
    return Nodes(
        tables=_titled(_qualified(tables, catalog.identity, ["schema", "table"]), ["schema", "table"]).sort("title"),
        columns=_titled(
            _qualified(columns, catalog.identity, ["schema", "table", "column"]), ["schema", "table", "column"]
        ).drop("to_database"),
    )


def _stubs(known: pl.DataFrame, graph: RelationshipGraph) -> pl.DataFrame:
    """Tables that keys or views point to and that the catalog does not hold."""
    name = ["to_database", "schema", "table"]
    here = pl.lit(None, dtype=pl.String()).alias("to_database")
    parents = (
        graph.relationships.filter("accepted")
        .join(known, left_on=["from_schema", "from_table"], right_on=["schema", "table"], how="semi")
        .select("to_database", schema="to_schema", table="to_table")
    )
    sources = (
        graph.lineage.filter(pl.col("view_column").is_null())
        .join(known, left_on=["view_schema", "view"], right_on=["schema", "table"], how="semi")
        .select(here, schema="source_schema", table="source_table")
    )
    outside = pl.concat([parents, sources]).unique().join(known, on=name, how="anti", nulls_equal=True)
    return outside.with_columns(pl.lit("SQLTABLE").alias("type"), pl.lit(True).alias("is_stub"))


def _qualified(objects: pl.DataFrame, identity: Identity, parts: list[str]) -> pl.DataFrame:
    """Add the exact qualified name, and the name of the database that people know."""
    databases = [(database, _database_of(found), found.fqn("")) for database, found in _identities(objects, identity)]
    schema = {"to_database": pl.String(), "database": pl.String(), "prefix": pl.String()}
    named = objects.join(
        pl.DataFrame(databases, schema=schema, orient="row"),
        on="to_database",
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    name = pl.concat_str([pl.col(part) for part in parts], separator=".")
    return named.with_columns((pl.col("prefix") + name).alias("qualified"))


def _identities(objects: pl.DataFrame, identity: Identity) -> list[tuple[str | None, Identity]]:
    part = "catalog" if identity.catalog is not None else "database"
    return [
        (database, identity if database is None else replace(identity, **{part: database}))
        for database in objects["to_database"].unique().sort()
    ]


def _database_of(identity: Identity) -> str | None:
    return identity.database or identity.catalog or identity.warehouse


def _titled(objects: pl.DataFrame, parts: list[str]) -> pl.DataFrame:
    """Replace the noun by a label and a unique title."""
    titled = objects.with_row_index("row").with_columns(
        pl.concat_str("noun", "qualified", separator=" ").alias("label"),
        pl.concat_str("qualified", "noun", separator=" ").str.to_uppercase().alias("title"),
    )
    collisions = titled.filter(pl.len().over("title") > 1)
    tails = [" #" + digest(list(name))[:6].upper() for name in collisions.select("prefix", *parts).iter_rows()]
    told_apart = collisions.select("row", pl.Series("tail", tails, pl.String()))
    return (
        titled.join(told_apart, on="row", how="left", maintain_order="left")
        .with_columns(pl.concat_str("title", pl.col("tail").fill_null("")))
        .drop("row", "prefix", "noun", "tail")
    )
