"""The derived text of a table or view: what one row is, and what it hangs together with."""

from __future__ import annotations

from collections.abc import Sequence

from dictionary_pipeline.enrichment.facts import ColumnFacts, Facts, Reference
from dictionary_pipeline.enrichment.prose import (
    capitalised,
    enumeration,
    joined,
    sentence,
    spoken,
    spoken_singular,
    value_list,
)
from dictionary_pipeline.enrichment.synonyms import gloss

LIMIT = 480
_LEAD_LIMIT = 300
_VIEW_KINDS = {"view": "View", "materialized_view": "Materialized view"}
_OPENINGS = {
    "fact": "Fact table with one row per",
    "dimension": "Dimension table with one row per",
    "lookup": "Lookup table with one row per",
    "foreign_table": "Foreign table with one row per",
    "external": "External table with one row per",
}
"""By kind, else by role."""
_NUMBERS = frozenset({"integer", "decimal", "float"})
_NOT_MEASURED = frozenset(
    [
        "id",
        "key",
        "code",
        "number",
        "no",
        "num",
        "nr",
        "year",
        "month",
        "day",
        "hour",
        "type",
        "status",
        "flag",
        "version",
        "line",
        "sequence",
        "seq",
        "ordinal",
        "rank",
        "position",
    ]
)
"""Last words of numeric columns that count or label rather than measure."""
_HOUSEKEEPING = frozenset(["created", "updated", "modified", "inserted", "deleted", "rowguid", "rowversion", "etl"])
"""First words of columns that say nothing about what a table is for."""


def table_text(schema: str, table: str, kind: str, columns: Sequence[ColumnFacts], facts: Facts) -> str:
    """One to a few sentences, at most 480 characters, that help to find the table."""
    sentences = [_view_lead(schema, table, kind, facts) if kind in _VIEW_KINDS else _lead(schema, table, kind, facts)]
    children = facts.children.get((schema, table))
    if children:
        names = list(dict.fromkeys(spoken_singular(child) for _, child in children))
        sentences.append(f"Referred to by {enumeration(names, 5)}.")
    sentences += [*filter(None, [gloss(table)]), *_contents(schema, table, columns, facts)]
    return joined(sentences, LIMIT)


def _lead(schema: str, table: str, kind: str, facts: Facts) -> str:
    key = facts.primary_keys.get((schema, table), ())
    parents = facts.parents.get((schema, table), ())
    role = facts.roles.get((schema, table), "other")
    row = spoken_singular(table)
    if role == "bridge" and len(parents) > 1:
        links = enumeration([_parent_phrase(parent) for parent in parents], 4)
        clauses = [f"Links {links}, one row per {row}{_identified(key)}"]
    else:
        opening = _OPENINGS.get(kind) or _OPENINGS.get(role, "One row per")
        clauses = [f"{opening} {row}{_identified(key)}", *_parent_clauses(schema, table, parents, key)]
    return sentence(joined(clauses, _LEAD_LIMIT, "; "))


def _identified(key: Sequence[str]) -> str:
    return f", identified by {enumeration([spoken(column) for column in key], 5)}" if key else ""


def _parent_clauses(schema: str, table: str, parents: Sequence[Reference], key: Sequence[str]) -> list[str]:
    """Keys inside the primary key say what a row belongs to, the others what it refers to."""
    belongs, refers, seems = [], [], []
    for parent in parents:
        itself = parent.is_self((schema, table))
        phrase = f"another {_parent_phrase(parent)}" if itself else _parent_phrase(parent)
        if parent.inferred:
            seems.append(phrase)
        elif not itself and set(parent.columns) <= set(key):
            belongs.append(phrase)
        else:
            refers.append(phrase)
    verbs = (("belongs to", belongs), ("refers to", refers), ("appears to refer to", seems))
    return [f"{verb} {enumeration(phrases, 4)}" for verb, phrases in verbs if phrases]


def _parent_phrase(parent: Reference) -> str:
    return f"{spoken_singular(parent.table)} ({', '.join(parent.columns)})"


def _view_lead(schema: str, view: str, kind: str, facts: Facts) -> str:
    sources = facts.view_sources.get((schema, view), ())
    over = f" over {enumeration([spoken(source) for _, source in sources], 5)}" if sources else f" {spoken(view)}"
    return f"{_VIEW_KINDS[kind]}{over}."


def _contents(schema: str, table: str, columns: Sequence[ColumnFacts], facts: Facts) -> list[str]:
    """What the columns beside the keys hold, and what the coded ones may be."""
    linking = {column for parent in facts.parents.get((schema, table), ()) for column in parent.columns}
    linking.update(facts.primary_keys.get((schema, table), ()))
    measures, coded, others = [], [], []
    for column in columns:
        name = spoken(column.name)
        if column.name in linking or name.split(" ")[0] in _HOUSEKEEPING:
            continue
        if allowed := facts.allowed_values.get((schema, table, column.name)):
            coded.append(f"{capitalised(name)} is one of {value_list(allowed, 6)}.")
        elif facts.roles.get((schema, table)) == "fact" and _is_measure(column):
            measures.append(name)
        else:
            others.append(name)
    measured = [f"Measures: {enumeration(measures, 6)}."] if measures else []
    held = [f"Holds {enumeration(others, 7)}."] if others else []
    return [*measured, *held, *coded]


def _is_measure(column: ColumnFacts) -> bool:
    return column.type_class in _NUMBERS and spoken(column.name).split(" ")[-1] not in _NOT_MEASURED
