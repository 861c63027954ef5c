"""Cached queries that may be wrong by now: those that touch tables which changed, or whose values are withheld."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from dictionary_pipeline.drift.log import is_log, parse
from dictionary_pipeline.publishing.catalog_frames import MASKED_NOTE
from dictionary_pipeline.publishing.reading import PublishedBundle

_HARMLESS = frozenset({"safe", "cosmetic"})
_QUOTES = re.compile(r"[\"'`\[\]]")


class Stale(NamedTuple):
    """What cached queries must not rely on any more."""

    entities: frozenset[tuple[str, ...]]
    """Names of tables and views, case-folded: the parts of their FQN."""
    drift: dict[str, int]
    """File of the drift log -> lines that were taken into account."""


def stale_entities(bundle: PublishedBundle, seen: Mapping[str, int] | None) -> Stale:
    """Tables and views that changed since the last push in a way that queries may notice.

    Args:
        seen: Lines of the drift log that earlier pushes took into account; null when nobody knows. Then
            every change counts, and so does every table with hidden values, as samples of a column that was
            hidden since may stand in the cache.
    """
    names: set[tuple[str, ...]] = set()
    counts: dict[str, int] = {}
    for path in filter(is_log, bundle.paths):
        lines = bundle.read(path).splitlines()
        counts[path] = len(lines)
        for line in lines[(seen or {}).get(path, 0) :]:
            entry = parse(line)
            if entry is not None and entry.severity not in _HARMLESS:
                names.add((entry.schema, entry.table))  # of a rename, the old name
    if seen is None:
        names |= set(_hiding(bundle))
    lead = _lead(bundle)
    return Stale(frozenset(_folded((*lead, *name)) for name in names), counts)


def touches(query: Mapping[str, Any], stale: Iterable[tuple[str, ...]]) -> bool:
    """Whether a cached question's SQL uses one of some tables.

    A table is recognised by its full name or the end of it, as agents cache either.

    Args:
        query: `SqlQueryDecomposition` of a document of the query cache.
    """
    parts = query.get("SqlQueryDecomposition") or []
    entities = [entity for part in parts for schema in part.get("Schemas") or [] if (entity := schema.get("Entity"))]
    names = [_folded(_QUOTES.sub("", entity).split(".")) for entity in entities]
    if names:
        return any(name == table[-len(name) :] for name in names for table in stale)
    text = " ".join(part.get("SqlQuery") or "" for part in parts).casefold()
    return any(re.search(rf"(?<!\w){re.escape(table[-1])}(?!\w)", text) for table in stale)


def _hiding(bundle: PublishedBundle) -> Iterator[tuple[str, str]]:
    hidden = pl.col("withheld") | pl.col("sensitivity_reason").str.ends_with(MASKED_NOTE).fill_null(False)
    yield from bundle.frame("catalog/columns").filter(hidden).select("schema", "table").unique().iter_rows()


def _lead(bundle: PublishedBundle) -> tuple[str, ...]:
    """What stands before the schema in the FQNs of this bundle."""
    tables = bundle.frame("catalog/tables").select("schema", "table", "fqn").head(1).rows()
    for schema, table, fqn in tables:
        lead = fqn.removesuffix(f"{schema}.{table}").rstrip(".")
        return tuple(lead.split(".")) if lead else ()
    return ()


def _folded(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.strip().casefold() for part in parts)
