"""The role a table plays: fact, dimension, bridge, lookup or other, with the reason in words.

Views are `other`. A bridge links tables and says little else. A lookup is small, referred to, and refers to
nothing. Whether a table that refers to others is a fact is weighed: events, measures, several parents and
being a numbered part of a parent speak for it, a name of its own and many children against it. A dimension
is referred to or names what it describes.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.inference.words import tokens
from dictionary_pipeline.relationships.names import TableName
from dictionary_pipeline.relationships.role_facts import TableFacts, gather

_MAX_BRIDGE_EXTRAS = 2
"""Columns beyond its key and references that a bridge may have, such as a date and a rank."""
_MAX_LOOKUP_COLUMNS = 4
_MAX_LOOKUP_ROWS = 1_000
_FACT_WEIGHT = 3
"""Weight from which a table is a fact."""
_SAID = {
    **dict.fromkeys(("fact", "fct"), "fact"),
    **dict.fromkeys(("dim", "dimension"), "dimension"),
    **dict.fromkeys(("bridge", "xref"), "bridge"),
    **dict.fromkeys(("lkp", "lookup"), "lookup"),
}
"""First or last word of a table's name -> the role that its designers gave it."""


def table_roles(
    catalog: Catalog, relationships: pl.DataFrame, keys: pl.DataFrame, profiles: pl.DataFrame
) -> pl.DataFrame:
    """Role of every table and view.

    Args:
        relationships: `frames.RELATIONSHIPS`; proposed ones count too, since a role needs less certainty than a key.
        keys: `frames.KEYS`.
        profiles: `frames.PROFILES`; tells the size of small tables that the engine does not estimate.

    Returns:
        `frames.ROLES` in the order of the catalog's tables.
    """
    facts = gather(catalog, relationships, keys, profiles)
    rows = []
    for schema, table, kind in catalog.tables.select("schema", "table", "kind").iter_rows():
        name = TableName(schema, table)
        rows.append((*name, *_role(name, kind, facts[name])))
    return frames.from_rows(rows, frames.ROLES)


def _role(name: TableName, kind: str, facts: TableFacts) -> tuple[str, str]:
    if kind in ("view", "materialized_view"):
        return "other", f"It is a {kind.replace('_', ' ')}."
    spelled = tokens(name.table) or ("",)
    said = _SAID.get(spelled[0]) or _SAID.get(spelled[-1])
    if said:
        return said, f"Its name calls it a {said}."
    referenced = f"is referred to by {_several(facts.children)}"
    refers = f"refers to {_several(facts.parents)}"
    if _is_bridge(facts):
        how = "Its primary key consists of references" if facts.is_linked_by_key else "It holds little but references"
        return "bridge", f"{how}, and it {refers}."
    if facts.children and not facts.parents and _is_small(facts):
        return "lookup", f"It has {_count(len(facts.columns), 'column', 'columns')}, {referenced}, and {refers}."
    if _fact_weight(facts) >= _FACT_WEIGHT:
        held = [_count(facts.events, "date", "dates")] if facts.events else []
        held += [_count(facts.measures, "measure", "measures")] if facts.measures else []
        holds = f", holds {' and '.join(held)}," if held else ""
        return "fact", f"It {refers}{holds} and {referenced}."
    if facts.children:
        return "dimension", f"It {referenced}."
    if facts.label and (facts.references or facts.primary_key):
        return "dimension", f"It names what it describes in {facts.label}, and {refers}."
    return "other", f"It {referenced} and {refers}."


def _fact_weight(facts: TableFacts) -> int:
    """How much speaks for a fact. Numbers of rows do not count: roles must not change as tables grow."""
    if not facts.parents or not (facts.events or facts.measures):
        return 0
    weight = 2 * bool(facts.events) + bool(facts.measures) + min(len(facts.parents) - 1, 3)
    weight += max(2 - len(facts.children), -2) + 2 * facts.is_part
    return weight - 3 * bool(facts.label)


def _is_bridge(facts: TableFacts) -> bool:
    if facts.is_linked_by_key:
        return facts.extras <= _MAX_BRIDGE_EXTRAS
    says_little = facts.extras <= 1 and not facts.measures and not facts.label
    return len(facts.parents) >= 2 and not facts.children and says_little


def _is_small(facts: TableFacts) -> bool:
    return len(facts.columns) <= _MAX_LOOKUP_COLUMNS and (facts.rows is None or facts.rows <= _MAX_LOOKUP_ROWS)


def _several(names: Iterable[str]) -> str:
    ordered = sorted(names)
    if not ordered:
        return "no other table"
    if len(ordered) <= 3:
        return " and ".join([", ".join(ordered[:-1]), ordered[-1]] if len(ordered) > 1 else ordered)
    return f"{len(ordered)} other tables"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
