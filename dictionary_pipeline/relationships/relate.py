"""The relationship stage: keys, relationships, lineage, roles and join graph of one database."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge, PathLimits
from dictionary_pipeline.relationships.declared import declared_keys, declared_relationships
from dictionary_pipeline.relationships.lineage import view_lineage
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.relationships.names import Names
from dictionary_pipeline.relationships.paths import join_graph
from dictionary_pipeline.relationships.roles import table_roles


def relate(catalog: Catalog, profiles: pl.DataFrame, human: HumanKnowledge, paths: PathLimits) -> RelationshipGraph:
    """Work out how the tables of a database relate.

    Args:
        catalog: The selected catalog.
        profiles: `frames.PROFILES`.
        human: Keys and relationships that people declared; names that do not exist become warnings.
        paths: Limits of the join graph.
    """
    names = Names(catalog)
    keys, unmatched_keys = declared_keys(catalog, names, human.keys)
    relationships, unmatched = declared_relationships(catalog, names, keys, human.relationships)
    lineage, unresolved = view_lineage(catalog, names)
    return RelationshipGraph(
        relationships=relationships,
        keys=keys,
        lineage=lineage,
        roles=table_roles(catalog, relationships, keys, profiles),
        join_graph=join_graph(catalog, relationships, paths),
        unmatched=tuple(sorted({*unmatched_keys, *unmatched})),
        unresolved=unresolved,
    )
