"""Ids of graph objects: append-only, so that an unchanged object keeps its id and number for ever.

GraphRAG puts the number into its prompts, hence into its cache keys: a number that moved would
cost a model call.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence

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
        pl.Series("id", [_id(kind, key) for kind, key in new.iter_rows()], pl.String()),
    )
    return frames.fit(pl.concat([known, frames.fit(numbered, IDS)]), IDS, sort_by=["kind", "human_readable_id"])


def without_withheld(
    previous: pl.DataFrame, keys: Sequence[tuple[str, str]], is_withheld: Callable[[str], bool]
) -> pl.DataFrame:
    """Take the names of objects that are no more out of the map when they are values that may not be shown by now.

    Their numbers stay taken: a number that came back would stand for two objects.

    Args:
        previous: The map published last time (`IDS`).
        keys: (kind, key) of every object of the graph; these stay.
        is_withheld: Whether a text holds a value of a withheld column.
    """
    wanted = set(keys)
    rows = list(frames.fit(previous, IDS).iter_rows())
    hidden = [(kind, key) not in wanted and any(map(is_withheld, _names(kind, key))) for kind, key, _, _ in rows]
    if not any(hidden):
        return previous
    kept = [
        (kind, name := f"withheld {number}", _id(kind, name), number) if is_hidden else (kind, key, known, number)
        for (kind, key, known, number), is_hidden in zip(rows, hidden, strict=True)
    ]
    return frames.from_rows(kept, IDS)


def _names(kind: str, key: str) -> Iterator[str]:
    """The names in a key: that of a relationship holds those of both ends, as `graphrag` writes it."""
    yield key
    if kind == "relationship":
        yield from (end.replace("-\\>", "->").replace("\\\\", "\\") for end in key.split("->"))


def _id(kind: str, key: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{kind}:{key}"))
