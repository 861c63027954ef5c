"""Schema store: one JSON entry per table or view, in the key order that its readers rely on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from dictionary_pipeline import jsontext, naming
from dictionary_pipeline.catalog import Identity
from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.publishing.inputs import BundleInputs, TableRows
from dictionary_pipeline.publishing.staging import Staging

FOLDER = "schema_store"
SINGLE_FILE = f"{FOLDER}/entities.json"
_TABLE = ["schema", "table"]
_COLUMN = ["schema", "table", "column"]


def _finite(text: str) -> float | str:
    """A number of a nested JSON value; one too large for a float keeps the engine's text."""
    number = float(text)
    return number if math.isfinite(number) else text


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse)


class _Link(NamedTuple):
    """A relationship as seen from one of its tables; order of fields = order of the frame."""

    foreign_database: str | None
    foreign_schema: str
    foreign_table: str
    columns: list[str]
    foreign_columns: list[str] | None
    """Null or too short when the parent is outside and its columns are unknown."""
    name: str | None
    origin: str
    confidence: float | None

    def pairs(self) -> list[tuple[str, str | None]]:
        """Columns that are equal in a join, in the key's order."""
        known: list[str | None] = [*(self.foreign_columns or ())]
        return list(zip(self.columns, known + [None] * (len(self.columns) - len(known)), strict=True))


def stage_schema_store(inputs: BundleInputs, staging: Staging) -> None:
    """Stage one file per table or view, or all in one array sorted by FQN."""
    identity = inputs.catalog.identity
    names = list(inputs.catalog.tables.select(_TABLE).iter_rows())
    if inputs.config.publish.single_file:
        names.sort(key=lambda name: (identity.fqn(*name), name))
        staging.add_chunks(SINGLE_FILE, _array(entry for _, entry in iterate_entries(inputs, names)))
        return
    files = naming.file_names([_parts(identity, *name) for name in names], suffix=".json")
    for name, entry in iterate_entries(inputs, names):
        staging.add(f"{FOLDER}/{files[_parts(identity, *name)]}", _text(entry).encode())


def iterate_entries(
    inputs: BundleInputs, names: Iterable[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Yield (schema, table) and its entry, one at a time, in the order of `names`."""
    identity = inputs.catalog.identity
    definitions = TableRows(inputs.table_definitions.select(*_TABLE, "entity_name", "definition"))
    columns = TableRows(_columns(inputs))
    links = TableRows(_links(inputs.relationships))
    paths = TableRows(inputs.join_graph.select(*_TABLE, "paths"))
    for schema, table in names:
        (entity_name, definition) = next(iter(definitions.of(schema, table)), (None, None))
        found_paths = paths.of(schema, table)
        yield (
            (schema, table),
            {
                "Entity": table,
                "Definition": definition,
                "Schema": schema,
                "EntityName": entity_name or naming.title_words(table),
                **identity.fields(),
                "EntityRelationships": _relationships(identity, schema, table, links),
                "CompleteEntityRelationshipsGraph": list(found_paths[0][0] or ()) if found_paths else [],
                "Columns": [_column(identity.fqn(schema, table), *row) for row in columns.of(schema, table)],
                "FQN": identity.fqn(schema, table),
            },
        )


def foreign_identity(identity: Identity, database: str | None) -> Identity:
    """Identity of the database that a key points to; null: the same."""
    if database is None:
        return identity
    if identity.catalog is not None:
        return replace(identity, catalog=database)
    return replace(identity, database=database)


def _parts(identity: Identity, *names: str) -> tuple[str, ...]:
    return (*identity.fields().values(), *names)


def _columns(inputs: BundleInputs) -> pl.DataFrame:
    profiles = inputs.profiles.select(
        *_COLUMN, pl.when(pl.col("status") == "ok").then(pl.col("samples")).alias("samples"), "allowed_values"
    )
    definitions = inputs.column_definitions.select(*_COLUMN, "definition")
    return (
        inputs.catalog.columns.select(*_COLUMN, "ordinal", "data_type")
        .join(definitions, on=_COLUMN, how="left", validate="m:1")
        .join(profiles, on=_COLUMN, how="left", validate="m:1")
        .sort(*_TABLE, "ordinal")
        .select(*_COLUMN, "data_type", "definition", "samples", "allowed_values")
    )


def _column(
    fqn: str,
    name: str,
    data_type: str,
    definition: str | None,
    samples: list[str] | None,
    allowed_values: list[str] | None,
) -> dict[str, Any]:
    column: dict[str, Any] = {"Name": name, "DataType": data_type, "Definition": definition}
    try:
        if allowed_values is not None:
            column["AllowedValues"] = _decode(allowed_values)
        column["SampleValues"] = None if samples is None else _decode(samples)
    except ValueError:
        raise ContractViolation(
            "a value of this column is not valid JSON",
            where=f"{fqn}.{name}",
            fix="This is a defect of the product; withhold the column until it is fixed.",
        ) from None
    return column


def _decode(texts: list[str]) -> list[Any]:
    values: list[Any] = _DECODER.decode(f"[{','.join(texts)}]")
    return values


def _links(relationships: pl.DataFrame) -> pl.DataFrame:
    """Accepted relationships as rows of both tables: child to parent, and turned round."""
    accepted = relationships.filter("accepted")
    is_self = (
        (pl.col("from_schema") == pl.col("to_schema"))
        & (pl.col("from_table") == pl.col("to_table"))
        & pl.col("to_database").is_null()
    )
    common = ["name", "origin", "confidence"]
    forward = accepted.select(
        pl.col("from_schema").alias("schema"),
        pl.col("from_table").alias("table"),
        pl.col("to_database").alias("foreign_database"),
        pl.col("to_schema").alias("foreign_schema"),
        pl.col("to_table").alias("foreign_table"),
        pl.col("from_columns").alias("columns"),
        pl.col("to_columns").alias("foreign_columns"),
        *common,
    )
    turned = accepted.filter(~pl.col("to_stub") & ~is_self).select(
        pl.col("to_schema").alias("schema"),
        pl.col("to_table").alias("table"),
        pl.lit(None, pl.String()).alias("foreign_database"),
        pl.col("from_schema").alias("foreign_schema"),
        pl.col("from_table").alias("foreign_table"),
        pl.col("to_columns").alias("columns"),
        pl.col("from_columns").alias("foreign_columns"),
        *common,
    )
    return pl.concat([forward, turned])


def _relationships(identity: Identity, schema: str, table: str, links: TableRows) -> list[dict[str, Any]]:
    items = []
    for row in links.of(schema, table):
        link = _Link(*row)
        foreign = foreign_identity(identity, link.foreign_database)
        item: dict[str, Any] = {
            "ForeignEntity": link.foreign_table,
            "ForeignSchema": link.foreign_schema,
            "ForeignKeys": [{"Column": own, "ForeignColumn": other} for own, other in link.pairs()],
            **foreign.fields("Foreign"),
            "FQN": identity.fqn(schema, table),
            "ForeignFQN": foreign.fqn(link.foreign_schema, link.foreign_table),
        }
        if link.origin == "inferred":
            item |= {"Origin": "inferred", "Confidence": link.confidence}
        items.append((_order(item, link), item))
    return [item for _, item in sorted(items, key=lambda pair: pair[0])]


def _order(item: dict[str, Any], link: _Link) -> tuple[str, list[tuple[str, str]], str, str]:
    """By ForeignFQN, then ForeignKeys, then the key's name; ties (circular keys) are equal items."""
    pairs = [(own, other or "") for own, other in link.pairs()]
    return item["ForeignFQN"], pairs, link.name or "", link.origin


def _text(entry: dict[str, Any]) -> str:
    return jsontext.pretty(entry)


def _array(entries: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """The bytes of `jsontext.pretty(list(entries))` without holding the list."""
    separator = "["
    for entry in entries:
        lines = _text(entry).rstrip("\n").split("\n")
        yield (separator + "\n" + "\n".join(f"    {line}" for line in lines)).encode()
        separator = ","
    yield b"[]\n" if separator == "[" else b"\n]\n"
