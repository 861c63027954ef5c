"""Roles that the product gives to the tables of a corpus, on keys that it inferred itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from dictionary_pipeline.relationships.roles import table_roles
from predictions.foreign_keys import LEAST, Related, with_data

_SHOWN = {"lookup": "dimension"}
"""The corpus knows no lookups: a lookup is a small dimension."""


def predict(corpus: Path, split: str) -> Mapping[str, Mapping[str, str]]:
    """Role of every table of the databases that `star/SPLIT.json` names."""
    wanted = json.loads((corpus / "star" / f"{split}.json").read_text(encoding="utf-8")).keys()
    folder = corpus / "fk" / split
    found: dict[str, Mapping[str, str]] = {}
    for schema_file in sorted(folder.glob("*/schema.json")):
        schema = json.loads(schema_file.read_text(encoding="utf-8"))
        if schema["name"] in wanted:
            found[schema["name"]] = roles_of(with_data(schema, schema_file.parent / "data"))
    return found


def roles_of(related: Related) -> Mapping[str, str]:
    """Roles with every predicted key taken for granted."""
    predicted = related.graph.relationships.with_columns(accepted=pl.col("confidence") >= LEAST)
    roles = table_roles(related.catalog, predicted, related.graph.keys, related.profiles)
    return {table: _SHOWN.get(role, role) for table, role in roles.select("table", "role").iter_rows()}
