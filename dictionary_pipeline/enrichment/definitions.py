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
from dictionary_pipeline.enrichment.given import GivenTexts, column_texts, table_texts
from dictionary_pipeline.enrichment.inherited import inherited_texts
from dictionary_pipeline.enrichment.model.outcome import no_texts
from dictionary_pipeline.enrichment.rejected import without_rejected
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


def given_texts(catalog: Catalog, graph: RelationshipGraph, human: HumanKnowledge) -> GivenTexts:
    """What people and the database say, so that nobody is asked for it again."""
    people = human_text.match(catalog, human)
    described, inherited = _described(catalog, graph, people.columns)
    return GivenTexts(
        people=table_texts(people.tables, "definition"),
        comments=table_texts(_comments(catalog.tables, _TABLE), "definition"),
        entity_names=table_texts(people.entity_names, "entity_name"),
        columns={**column_texts(inherited, "definition"), **column_texts(described, "definition")},
        own_columns=column_texts(described, "definition"),
    )


def define(
    catalog: Catalog,
    profiles: pl.DataFrame,
    graph: RelationshipGraph,
    human: HumanKnowledge,
    model: pl.DataFrame | None = None,
) -> Definitions:
    """Choose the definition of every table and column and the name of every entity.

    Sources are listed in order of trust; an additional one is one more line in each list.

    Args:
        profiles: `frames.PROFILES`.
        model: `enrichment.model.outcome.MODEL_TEXTS`.
    """
    people = human_text.match(catalog, human)
    written = no_texts() if model is None else without_rejected(model, human)
    derived_tables, derived_columns = derived.derive(catalog, gather(catalog, profiles, graph))
    tables = catalog.tables.select(*_TABLE)
    names = _winning(
        tables,
        "entity_name",
        [
            Source("human", people.entity_names),
            Source("model", _written(written, "entity_name", _TABLE)),
            Source("derived", _derived_names(tables)),
        ],
    )
    winning_texts = _winning(
        tables,
        "definition",
        [
            Source("human", people.tables),
            Source("database", _comments(catalog.tables, _TABLE)),
            Source("model", _written(written, "definition", _TABLE)),
            Source("derived", derived_tables),
        ],
    )
    _, inherited = _described(catalog, graph, people.columns)
    winning_columns = _winning(
        catalog.columns.select(*_COLUMN),
        "definition",
        [
            *_given(catalog, people.columns),
            Source("inherited", inherited),
            Source("model", _written(written, "column", _COLUMN)),
            Source("derived", derived_columns),
        ],
    )
    return Definitions(
        tables=frames.fit(
            names.join(winning_texts, on=_TABLE, how="left", maintain_order="left"), frames.TABLE_DEFINITIONS
        ),
        columns=frames.fit(winning_columns, frames.COLUMN_DEFINITIONS),
        unmatched=people.unmatched,
    )


def _given(catalog: Catalog, people: pl.DataFrame) -> list[Source]:
    return [Source("human", people), Source("database", _comments(catalog.columns, _COLUMN))]


def _described(catalog: Catalog, graph: RelationshipGraph, people: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Columns that people or the database describe, and what view columns inherit from them."""
    columns = catalog.columns.select(*_COLUMN)
    described = _winning(columns, "definition", _given(catalog, people)).select(*_COLUMN, "definition")
    return described, inherited_texts(graph.lineage, described)


def _written(model: pl.DataFrame, kind: str, key: Sequence[str]) -> pl.DataFrame:
    value = "entity_name" if kind == "entity_name" else "definition"
    return model.filter(pl.col("kind") == kind).select(*key, pl.col("text").alias(value))


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
