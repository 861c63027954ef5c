"""Merging human knowledge: the first source wins wherever both say something."""

from __future__ import annotations

from collections.abc import Iterable

from dictionary_pipeline.config.resolved import HumanColumn, HumanKnowledge, HumanRelationship, HumanTable


def merge_knowledge(first: HumanKnowledge, second: HumanKnowledge) -> HumanKnowledge:
    """Merge two sources per field, so that every table and every column is named at most once.

    A relationship of `second` gives way when `first` says where the same columns lead.
    """
    tables: dict[tuple[str, str], HumanTable] = {}
    for table in (*first.tables, *second.tables):
        place = (table.schema, table.table)
        tables[place] = _table(tables[place], table) if place in tables else table
    spoken_for = {_child(relationship) for relationship in first.relationships}
    added = [item for item in second.relationships if _child(item) not in spoken_for]
    return HumanKnowledge(
        tuple(tables.values()),
        tuple(dict.fromkeys((*first.keys, *second.keys))),
        _unique((*first.relationships, *added)),
        first.rejected + second.rejected,
    )


def _child(relationship: HumanRelationship) -> tuple[str, str, tuple[str, ...]]:
    return relationship.from_schema, relationship.from_table, relationship.from_columns


def _unique(relationships: Iterable[HumanRelationship]) -> tuple[HumanRelationship, ...]:
    """The same statement once, wherever it was made."""
    seen: dict[tuple[object, ...], HumanRelationship] = {}
    for item in relationships:
        seen.setdefault((_child(item), item.to_schema, item.to_table, item.to_columns), item)
    return tuple(seen.values())


def _table(first: HumanTable, second: HumanTable) -> HumanTable:
    return HumanTable(
        schema=first.schema,
        table=first.table,
        description=first.description or second.description,
        entity_name=first.entity_name or second.entity_name,
        columns=_columns((*first.columns, *second.columns)),
        origin=first.origin,
        rejected=first.rejected + second.rejected,
        approval=(first if first.description or first.entity_name else second).approval,
    )


def _columns(columns: Iterable[HumanColumn]) -> tuple[HumanColumn, ...]:
    merged: dict[str, HumanColumn] = {}
    for column in columns:
        known = merged.get(column.name)
        merged[column.name] = column if known is None else _column(known, column)
    return tuple(merged.values())


def _column(first: HumanColumn, second: HumanColumn) -> HumanColumn:
    values = first if first.allowed_values is not None else second
    return HumanColumn(
        name=first.name,
        description=first.description or second.description,
        allowed_values=values.allowed_values,
        allowed_values_origin=values.allowed_values_origin,
        value_synonyms=first.value_synonyms or second.value_synonyms,
        rejected=first.rejected + second.rejected,
        approval=(first if first.description else second).approval,
    )
