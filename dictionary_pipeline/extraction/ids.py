"""Ids of graph objects: append-only, so that an unchanged object keeps its id and number for ever.

GraphRAG puts the number into its prompts, hence into its cache keys: a number that moved would
cost a model call.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import polars as pl

from dictionary_pipeline import frames

IDS: frames.Schema = {
    "kind": pl.String(),  # entity | relationship | text_unit | document
    "key": pl.String(),
    "id": pl.String(),  # uuid5 of kind and key
    "human_readable_id": pl.Int64(),  # from 0, per kind
}

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:dictionary-pipeline:knowledge-graph")


def extend_ids(previous: pl.DataFrame | None, keys: Sequence[tuple[str, str]]) -> pl.DataFrame:
    """Add the objects that have no id yet; rows that exist never change and never go.

    Args:
        previous: The map published last time (`IDS`), null at first.
        keys: (kind, key) of every object of the graph; those that are new get the next numbers of
            their kind in key order.

    Returns:
        `IDS`, sorted by kind and number.
    """
    known = frames.empty(IDS) if previous is None else frames.fit(previous, IDS)
    wanted = pl.DataFrame(keys, schema={"kind": pl.String(), "key": pl.String()}, orient="row").unique()
    new = wanted.join(known, on=["kind", "key"], how="anti").sort("kind", "key")
    used = known.group_by("kind").agg((pl.col("human_readable_id").max() + 1).alias("used"))
    numbered = new.join(used, on="kind", how="left", maintain_order="left").with_columns(
        (pl.col("used").fill_null(0) + pl.int_range(pl.len()).over("kind")).alias("human_readable_id"),
        pl.Series("id", [str(uuid.uuid5(_NAMESPACE, f"{kind}:{key}")) for kind, key in new.iter_rows()], pl.String()),
    )
    return frames.fit(pl.concat([known, frames.fit(numbered, IDS)]), IDS, sort_by=["kind", "human_readable_id"])
