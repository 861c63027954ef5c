"""What the relationship stage tells about itself: metrics, tables and checks."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.diagram.diagrams import er_diagrams, main_pictures
from dictionary_pipeline.relationships.inference.checks import (
    awaiting,
    described,
    tables_without_relationship,
    type_mismatches,
)
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.report import MAX_IMAGE_BYTES, MAX_TABLE_ROWS, Check, StageReport

CHECKS = (
    "given_relationships_match_catalog",
    "declared_keys_hold",
    "key_types_match",
    "tables_are_related",
    "inferred_keys_are_confirmed",
)


def relationship_report(stage: str, catalog: Catalog, graph: RelationshipGraph, output: str) -> StageReport:
    """Metrics, tables, warnings and checks of the stage.

    Args:
        output: Hash of the stage's output.
    """
    relationships = graph.relationships
    origins = dict(relationships["origin"].value_counts().iter_rows())
    proposals = awaiting(relationships)
    lonely = tables_without_relationship(catalog, relationships)
    inferred = relationships.filter(pl.col("origin") == "inferred")
    diagrams = er_diagrams(catalog, relationships, graph.keys, graph.roles)
    return StageReport(
        stage,
        metrics={
            "relationships": relationships.height,
            "declared": origins.get("declared", 0),
            "from_dbt": origins.get("dbt", 0),
            "inferred_accepted": int(inferred["accepted"].sum()),
            "inferred_proposed": proposals.height,
            "probe_statements": graph.answers.statements,
            "to_outside": relationships.filter("to_stub").height,
            "lineage_edges": graph.lineage.height,
            "unresolved_view_sources": len(graph.unresolved),
            "tables_without_relationship": len(lonely),
            "unmatched_declarations": len(graph.unmatched),
        },
        tables={"relationship_list": _shown(relationships), "proposed_relationships": _shown(proposals)},
        images=main_pictures(diagrams, MAX_IMAGE_BYTES),
        warnings=(*graph.unmatched, *graph.answers.warnings),
        checks=_checks(catalog, graph, proposals, lonely),
        output=output,
    )


def _checks(
    catalog: Catalog, graph: RelationshipGraph, proposals: pl.DataFrame, lonely: Sequence[str]
) -> tuple[Check, ...]:
    asked = (
        (
            "given_relationships_match_catalog",
            "Every relationship given in YAML or dbt names existing columns",
            graph.unmatched,
        ),
        ("declared_keys_hold", "No sampled row breaks a declared relationship", graph.contradicted),
        (
            "key_types_match",
            "Columns of relationships and of their keys are of one kind",
            type_mismatches(catalog, graph.relationships),
        ),
        ("tables_are_related", "Every table has a relationship", lonely),
        (
            "inferred_keys_are_confirmed",
            "No inferred relationship waits to be confirmed under `relationships` or `relationships_rejected`",
            [described(row) for row in proposals.iter_rows(named=True)],
        ),
    )
    assert tuple(name for name, _, _ in asked) == CHECKS
    return tuple(_check(name, claim, found) for name, claim, found in asked)


def _check(name: str, claim: str, found: Sequence[str]) -> Check:
    if not found:
        return Check(name, True, f"{claim}.")
    return Check(name, False, f"{claim}: no, first of {len(found)}: {found[0]}", len(found))


def _shown(relationships: pl.DataFrame) -> pl.DataFrame:
    return relationships.head(MAX_TABLE_ROWS).select(
        pl.concat_str("from_schema", "from_table", separator=".").alias("from"),
        pl.col("from_columns").list.join(", "),
        pl.concat_str("to_schema", "to_table", separator=".").alias("to"),
        pl.col("to_columns").list.join(", "),
        "origin",
        "confidence",
        "cardinality",
        "evidence",
    )
