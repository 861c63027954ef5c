"""Definitions and entity names: of all that is known about an object, the most trusted word wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge
from dictionary_pipeline.enrichment import derived, human_text
from dictionary_pipeline.enrichment.facts import gather
from dictionary_pipeline.enrichment.inherited import inherited_texts
from dictionary_pipeline.naming import title_words
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.relationships.model import RelationshipGraph

_TABLE = ("schema", "table")
_COLUMN = ("schema", "table", "column")


@dataclass(frozen=True)
class Definitions:
    """The winning texts of all tables and columns, with their sources."""

    tables: pl.DataFrame
    """`frames.TABLE_DEFINITIONS`, sorted by schema, table."""
    columns: pl.DataFrame
    """`frames.COLUMN_DEFINITIONS`, in the order of the catalog's columns."""
    problems: tuple[Problem, ...] = ()
    unmatched: tuple[str, ...] = ()
    """One sentence per piece of human knowledge that found no object; warnings, not problems."""


class Source(NamedTuple):
    """Texts of one origin: a frame of the object's name columns and the text."""

    name: str
    """As published in `definition_source`."""
    texts: pl.DataFrame


def define(catalog: Catalog, profiles: pl.DataFrame, graph: RelationshipGraph, human: HumanKnowledge) -> Definitions:
    """Choose the definition of every table and column and the name of every entity.

    Sources are listed in order of trust; an additional one is one more line in each list.

    Args:
        profiles: `frames.PROFILES`.
    """
    people = human_text.match(catalog, human)
    derived_tables, derived_columns = derived.derive(catalog, gather(catalog, profiles, graph))
    tables = catalog.tables.select(*_TABLE)
    names = _winning(
        tables,
        "entity_name",
        [Source("human", people.entity_names), Source("derived", _derived_names(tables))],
    )
    table_texts = _winning(
        tables,
        "definition",
        [
            Source("human", people.tables),
            Source("database", _comments(catalog.tables, _TABLE)),
            Source("derived", derived_tables),
        ],
    )
    given = [Source("human", people.columns), Source("database", _comments(catalog.columns, _COLUMN))]
    columns = catalog.columns.select(*_COLUMN)
    described = _winning(columns, "definition", given).select(*_COLUMN, "definition")
    inherited = Source("inherited", inherited_texts(graph.lineage, described))
    column_texts = _winning(columns, "definition", [*given, inherited, Source("derived", derived_columns)])
    return Definitions(
        tables=frames.fit(
            names.join(table_texts, on=_TABLE, how="left", maintain_order="left"), frames.TABLE_DEFINITIONS
        ),
        columns=frames.fit(column_texts, frames.COLUMN_DEFINITIONS),
        unmatched=people.unmatched,
    )


def _winning(objects: pl.DataFrame, value: str, sources: Sequence[Source]) -> pl.DataFrame:
    """Give each object the first text that is not null, and the name of its source (else `none`)."""
    key = objects.columns
    joined = objects
    for source in sources:
        texts = source.texts.select(*key, pl.col(value).alias(source.name))
        joined = joined.join(texts, on=key, how="left", maintain_order="left", validate="1:1")
    origins = [pl.when(pl.col(source.name).is_not_null()).then(pl.lit(source.name)) for source in sources]
    return joined.select(
        *key,
        pl.coalesce([source.name for source in sources]).alias(value),
        pl.coalesce([*origins, pl.lit("none")]).alias(f"{value}_source"),
    )


def _comments(objects: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    text = pl.col("comment").str.strip_chars()
    return objects.select(*key, definition=pl.when(text != "").then(text))


def _derived_names(tables: pl.DataFrame) -> pl.DataFrame:
    names = pl.Series([title_words(table) for table in tables["table"]], dtype=pl.String())
    return tables.with_columns(names.alias("entity_name"))
