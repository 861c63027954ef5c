"""Columns that may be a withheld one under another name: a pattern must not lose its column by a rename."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.engines.types import type_class
from dictionary_pipeline.sampling.privacy import CONFIGURED, Name, Policy

_NAME = ["schema", "table", "column"]
_MARK = "may be the former "


class _Lost(NamedTuple):
    """A column that a pattern withholds and that is gone."""

    name: Name
    type_class: str
    reason: str


def with_successors(policy: Policy, catalog: Catalog, published: pl.DataFrame | None) -> Policy:
    """The policy, which also denies new columns that may be a withheld one that is gone.

    That is a column of the same table and class of type, or one of the same name in a new table where the
    table is gone. It stays so until a pattern names it, or none names the former column.

    Args:
        published: `catalog/columns.parquet` of the current bundle; null before the first publish.
    """
    if published is None:
        return policy
    policy = policy.after(published)
    marked = published.filter(pl.col("sensitivity") == CONFIGURED)
    if marked.is_empty():
        return policy
    types = {row[:3]: row[3] for row in catalog.columns.select(*_NAME, "data_type").iter_rows()}
    reasons: dict[Name, str] = {}
    lost = []
    for *parts, data_type, told in marked.select(*_NAME, "data_type", "sensitivity_reason").iter_rows():
        name = (parts[0], parts[1], parts[2])
        pattern = policy.pattern_reason(name)
        reason = f"{_MARK}{'.'.join(name)}, which {pattern}" if pattern else told
        if reason.startswith(_MARK) and any(f"`{text}`" in reason for text in policy.patterns):
            if name not in types:
                lost.append(_Lost(name, type_class(data_type), reason))
            elif not pattern:
                reasons[name] = reason
    if lost:
        known = set(published.select(_NAME).iter_rows())
        tables = {name[:2] for name in known}, {name[:2] for name in types}
        for name, data_type in types.items():
            if name not in known:
                gone = next((gone for gone in lost if _may_be(gone, name, data_type, *tables)), None)
                reasons |= {name: gone.reason} if gone else {}
    return policy.denying({name: reason for name, reason in reasons.items() if not policy.names(name)})


def successor_warnings(policy: Policy) -> tuple[str, ...]:
    """What a person is to decide."""
    return tuple(
        f"{'.'.join(name)} is withheld: it {reason}. Move the pattern to the new name, or release it with "
        f"`privacy: {{allow: [{'.'.join(name)}]}}`."
        for name, reason in sorted(policy.successors.items())
    )


def _may_be(gone: _Lost, name: Name, data_type: str, before: set[tuple[str, ...]], after: set[tuple[str, ...]]) -> bool:
    if name[:2] == gone.name[:2]:
        return type_class(data_type) == gone.type_class
    is_moved = gone.name[:2] not in after and name[:2] not in before
    return is_moved and name[2].casefold() == gone.name[2].casefold()
