"""The graph as the CSV files that `neo4j-admin database import` reads, and other graph stores too."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline.extraction.model import KnowledgeGraph


def neo4j_files(graph: KnowledgeGraph) -> dict[str, str]:
    """`entities.csv` and `relationships.csv`; the title of an entity is its id."""
    entities = graph.entities.select(
        pl.col("title").alias("title:ID"),
        "qualified_name",
        "database",
        "schema_name",
        "data_type",
        "description",
        pl.col("is_stub").alias("is_stub:boolean"),
        pl.col("type").alias(":LABEL"),
    )
    relationships = graph.edges.select(
        pl.col("source").alias(":START_ID"),
        pl.col("target").alias(":END_ID"),
        pl.col("type").alias(":TYPE"),
        "description",
        pl.col("weight").alias("weight:double"),
        "evidence",
        pl.col("confidence").alias("confidence:double"),
        pl.col("is_inferred").alias("is_inferred:boolean"),
        "constraint_name",
        pl.col("ordinal").alias("ordinal:long"),
    )
    return {"entities.csv": entities.write_csv(), "relationships.csv": relationships.write_csv()}
