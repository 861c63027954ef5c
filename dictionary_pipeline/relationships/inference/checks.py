"""What asset checks tell about keys: contradicted ones, mismatched types, lonely tables, open proposals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.inference.evidence import inclusion
from dictionary_pipeline.relationships.inference.facts import Facts
from dictionary_pipeline.relationships.inference.probes import Answers, Inclusion
from dictionary_pipeline.relationships.inference.scoring import from_samples
from dictionary_pipeline.relationships.inference.values import Texts
from dictionary_pipeline.relationships.names import TableName

_ENFORCING = frozenset({"postgres", "duckdb", "sqlserver", "tsql", "mysql", "mariadb"})
"""Engines that let no row break a declared, validated key; a sample could only catch rows in between."""
_FAMILIES = {"integer": "number", "decimal": "number", "float": "number", "string": "text", "uuid": "uuid"}

Declared = tuple[list[int], list[int], str]
"""Columns of a declared relationship that rows may break, those of its key, and its text for people."""


def breakable(facts: Facts, catalog: Catalog, relationships: pl.DataFrame) -> list[Declared]:
    """Declared relationships that the engine does not enforce: people's, not validated ones, informational ones."""
    validated = catalog.foreign_keys.filter(pl.col("is_validated").fill_null(True))
    trusted = {
        (*row[:2], tuple(row[2])) for row in validated.select("from_schema", "from_table", "from_columns").rows()
    }
    enforces = catalog.identity.engine in _ENFORCING
    found: list[Declared] = []
    for row in relationships.filter(~pl.col("to_stub")).iter_rows(named=True):
        child = (row["from_schema"], row["from_table"], tuple(row["from_columns"]))
        if enforces and row["origin"] == "declared" and child in trusted:
            continue
        ends = [
            [facts.numbers.get((row[f"{end}_schema"], row[f"{end}_table"], column)) for column in row[f"{end}_columns"]]
            for end in ("from", "to")
        ]
        children, keys = ([number for number in end if number is not None] for end in ends)
        if len(children) == len(keys) == len(row["from_columns"]):
            found.append((children, keys, described(row)))
    return found


def inclusions(facts: Facts, declared: Sequence[Declared]) -> list[Inclusion]:
    """Questions whether the rows keep declared relationships."""
    return [
        inclusion(facts, children, keys)
        for children, keys, _ in declared
        if not any(facts.columns[column].denied or facts.columns[column].failed for column in (*children, *keys))
    ]


def contradictions(facts: Facts, declared: Sequence[Declared], texts: Texts, answers: Answers) -> tuple[str, ...]:
    """One sentence per declared relationship that rows break: counted by the database, else seen in the samples."""
    known = texts.complete(column for children, keys, _ in declared for column in (*children, *keys))
    return tuple(
        f"{text}: {seen}"
        for children, keys, text in declared
        if (seen := _broken(facts, children, keys, known, answers)) is not None
    )


def _broken(
    facts: Facts, children: list[int], keys: list[int], texts: Mapping[int, list[str]], answers: Answers
) -> str | None:
    answer = answers.included.get(inclusion(facts, children, keys))
    if answer is not None:
        lost = answer.rows - answer.rows_found
        return f"{lost:,} of {answer.rows:,} rows refer to nothing" if lost else None
    if len(children) > 1:
        return None
    child, key = facts.columns[children[0]], facts.columns[keys[0]]
    data = from_samples(child, key, texts.get(child.number), texts.get(key.number))
    if data.contradicted or data.outside or data.placeholder:
        return "a sampled value is not among the values of the key"
    return None


def type_mismatches(catalog: Catalog, relationships: pl.DataFrame) -> tuple[str, ...]:
    """One sentence per accepted relationship whose columns differ in kind: text and numbers, dates and text."""
    columns = catalog.columns.select("schema", "table", "column", "type_class", "data_type")
    types = {row[:3]: row[3:] for row in columns.iter_rows()}
    return tuple(_mismatched(types, relationships.filter("accepted")))


def _mismatched(types: Mapping[tuple[str, ...], tuple[str, ...]], relationships: pl.DataFrame) -> Iterator[str]:
    for row in relationships.iter_rows(named=True):
        for column, to_column in zip(row["from_columns"], row["to_columns"], strict=False):
            child = types.get((row["from_schema"], row["from_table"], column))
            key = types.get((row["to_schema"], row["to_table"], to_column))
            if child and key and _FAMILIES.get(child[0], child[0]) != _FAMILIES.get(key[0], key[0]):
                yield f"{described(row)}: {child[1]} refers to {key[1]}"
                break


def tables_without_relationship(catalog: Catalog, relationships: pl.DataFrame) -> tuple[str, ...]:
    """Tables that no accepted relationship reaches."""
    accepted = relationships.filter("accepted")
    related = set(accepted.select("from_schema", "from_table").iter_rows())
    related |= set(accepted.select("to_schema", "to_table").iter_rows())
    tables = catalog.tables.filter(~pl.col("kind").str.contains("view")).select("schema", "table")
    return tuple(str(TableName(*name)) for name in tables.iter_rows() if name not in related)


def awaiting(relationships: pl.DataFrame) -> pl.DataFrame:
    """Inferred relationships that are listed but not accepted, the surest first."""
    return relationships.filter((pl.col("origin") == "inferred") & ~pl.col("accepted")).sort(
        "confidence", "from_schema", "from_table", descending=[True, False, False], maintain_order=True
    )


def described(row: Mapping[str, object]) -> str:
    """A relationship as people write it: `sales.orders(customer_id) -> crm.customer(id)`."""
    ends = []
    for end in ("from", "to"):
        columns = row[f"{end}_columns"]
        assert isinstance(columns, list)
        ends.append(f"{row[f'{end}_schema']}.{row[f'{end}_table']}({', '.join(columns)})")
    return " -> ".join(ends)
