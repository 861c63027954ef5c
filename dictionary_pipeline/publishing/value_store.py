"""Column value store: the values of describing columns, one JSON object a line, for value search."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import jsontext, naming
from dictionary_pipeline.catalog import Identity
from dictionary_pipeline.config.resolved import HumanKnowledge
from dictionary_pipeline.publishing.inputs import BundleInputs
from dictionary_pipeline.publishing.manifest import Limit
from dictionary_pipeline.publishing.staging import Staging
from dictionary_pipeline.publishing.value_policy import value_store_policy

FOLDER = "column_value_store"
_MAX_CHARS = 200
_COLUMN = ["schema", "table", "column"]
_BATCH = 5_000

Synonyms = Mapping[tuple[str, str, str], Mapping[str, tuple[str, ...]]]
_quote = json.JSONEncoder(ensure_ascii=False).encode


class ValueStoreResult(NamedTuple):
    """What was staged."""

    files: int
    values: int
    limits: tuple[Limit, ...]


def stage_value_store(inputs: BundleInputs, staging: Staging) -> ValueStoreResult:
    """Stage one file per eligible column that has at least one value."""
    identity, limit = inputs.catalog.identity, inputs.config.sampling.max_values
    eligible = eligible_columns(inputs)
    parts = [(*identity.fields().values(), *name) for name in eligible.iter_rows()]
    files = naming.file_names(parts, suffix=".jsonl")
    values = (
        inputs.values.join(eligible, on=_COLUMN, how="semi", maintain_order="left")
        .filter(pl.col("value").is_not_null() & (pl.col("value").str.len_chars() <= _MAX_CHARS))
        .sort(_COLUMN, maintain_order=True)
    )
    found = values.group_by(_COLUMN, maintain_order=True).len()
    synonyms = _synonyms(inputs.config.human)
    offset = written = 0
    for schema, table, column, count in found.iter_rows():
        kept = values["value"].slice(offset, min(count, limit))
        lines = _lines(identity, (schema, table, column), kept, synonyms.get((schema, table, column), {}))
        staging.add_chunks(f"{FOLDER}/{files[(*identity.fields().values(), schema, table, column)]}", lines)
        offset, written = offset + count, written + kept.len()
    return ValueStoreResult(found.height, written, _truncations(inputs, found))


def eligible_columns(inputs: BundleInputs) -> pl.DataFrame:
    """schema, table, column of the columns whose values are published."""
    policy = value_store_policy(inputs.catalog, inputs.roles, inputs.withheld, inputs.config)
    return policy.filter("stored").select(_COLUMN)


def _lines(
    identity: Identity, name: tuple[str, str, str], values: pl.Series, synonyms: Mapping[str, tuple[str, ...]]
) -> Iterator[bytes]:
    """File content in batches of lines.

    The Id is the first 32 hex digits of the sha256 of the compact JSON array of the FQN's parts and
    the value. Only the value differs from line to line, so the rest is encoded and hashed once.
    """
    schema, table, column = name
    fields = identity.fields()
    start = {"Entity": table, "Schema": schema, **fields, "FQN": identity.fqn(*name), "Column": column}
    head = jsontext.compact(start)[:-1]
    hashed_name = hashlib.sha256(jsontext.canonical([*fields.values(), *name])[:-1] + b",")
    for batch in range(0, values.len(), _BATCH):
        lines = []
        for value in values.slice(batch, _BATCH).to_list():
            text = _quote(value)
            hashed = hashed_name.copy()
            hashed.update(text.encode() + b"]")
            words = synonyms.get(value)
            same = jsontext.compact(list(words)) if words else "[]"
            lines.append(f'{head}, "Value": {text}, "Synonyms": {same}, "Id": "{hashed.hexdigest()[:32]}"}}\n')
        yield "".join(lines).encode()


def _synonyms(human: HumanKnowledge) -> Synonyms:
    return {
        (table.schema, table.table, column.name): column.value_synonyms
        for table in human.tables
        for column in table.columns
        if column.value_synonyms
    }


def _truncations(inputs: BundleInputs, found: pl.DataFrame) -> tuple[Limit, ...]:
    """Columns with more values than are published, as far as the sample can tell."""
    limit = inputs.config.sampling.max_values
    profiles = inputs.profiles.select(*_COLUMN, "distinct_estimate")
    cut = found.join(profiles, on=_COLUMN, how="left").filter(
        (pl.col("len") > limit)
        | ((pl.col("len") == limit) & (pl.col("distinct_estimate").fill_null(limit + 1) > limit))
    )
    return tuple(Limit(".".join(name), "max_values", limit) for name in cut.select(_COLUMN).iter_rows())
