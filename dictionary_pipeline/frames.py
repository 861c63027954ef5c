"""Schemas of the polars frames that flow between stages.

Lists keep their meaningful order (key columns by position). Identifiers are exactly as in the
database. `fit` gives a frame the columns, types and row order that its consumers rely on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

Schema = Mapping[str, pl.DataType]

_S = pl.String()
_LS = pl.List(pl.String())
_B = pl.Boolean()
_I = pl.Int64()
_F = pl.Float64()

TABLES: Schema = {
    "schema": _S,
    "table": _S,
    "kind": _S,  # table | view | materialized_view | foreign_table | external
    "comment": _S,
    "row_estimate": _I,  # null when the engine does not know
    "size_bytes": _I,
    "view_sql": _S,
    "readable": _B,  # false: the account may see but not SELECT it
    "fingerprint": _S,  # filled by introspection
}
COLUMNS: Schema = {
    "schema": _S,
    "table": _S,
    "column": _S,
    "ordinal": _I,  # 1-based position
    "data_type": _S,  # full native text
    "type_class": _S,  # see engines.base.TypeClass
    "is_nullable": _B,
    "default": _S,
    "is_identity": _B,
    "is_generated": _B,
    "comment": _S,
    "enum_values": _LS,  # labels in declared order
    "domain_checks": _LS,  # validated CHECK expressions of the column's domain, on VALUE
    "allowed_values": _LS,  # texts, decoded by type_class; filled by introspection
    "allowed_values_origin": _S,  # enum | domain | check | boolean
}
KEYS: Schema = {
    "schema": _S,
    "table": _S,
    "name": _S,
    "kind": _S,  # primary | unique
    "columns": _LS,
    "origin": _S,  # declared | dbt | inferred
    "confidence": _F,
}
INDEXES: Schema = {"schema": _S, "table": _S, "name": _S, "columns": _LS, "is_unique": _B}
FOREIGN_KEYS: Schema = {
    "from_schema": _S,
    "from_table": _S,
    "from_columns": _LS,
    "to_database": _S,  # null: the same database
    "to_schema": _S,
    "to_table": _S,
    "to_columns": _LS,
    "name": _S,
    "is_validated": _B,  # false: NOT VALID, disabled or not trusted
    "on_update": _S,
    "on_delete": _S,
}
CHECKS: Schema = {"schema": _S, "table": _S, "name": _S, "expression": _S, "is_validated": _B}
LINEAGE: Schema = {
    "view_schema": _S,
    "view": _S,
    "view_column": _S,  # null: table level
    "source_schema": _S,
    "source_table": _S,
    "source_column": _S,
    "origin": _S,  # catalog | parsed
}
VIEW_LINEAGE: Schema = {
    **LINEAGE,
    "is_plain": _B,  # the view's column is the source column unchanged; null at table level; not published
}
PROFILES: Schema = {
    "schema": _S,
    "table": _S,
    "column": _S,
    "status": _S,  # ok | withheld | failed | unread (the run chose not to read it)
    "sampled_rows": _I,
    "null_fraction": _F,
    "distinct_estimate": _I,
    "samples": _LS,  # JSON texts, at most 5; null when failed or withheld
    "allowed_values": _LS,  # JSON texts; null unless known to be complete
    "allowed_values_origin": _S,  # enum | domain | check | boolean | dbt | human | lookup | scan
    "complete": _B,  # every row of the table was read
    "min": _S,
    "max": _S,
    "mean_length": _F,  # characters per non-null value
}
VERIFICATIONS: Schema = {
    "schema": _S,
    "table": _S,
    "column": _S,
    "outcome": _S,  # set (its values are all known) | open (too many) | unfinished (out of time)
    "mark": _S,  # moves with changes of the table's rows; null when nothing tells
    "seconds": _F,  # time that the statement was given
}
VALUES: Schema = {"schema": _S, "table": _S, "column": _S, "value": _S, "count": _I}
SENSITIVITY: Schema = {
    "schema": _S,
    "table": _S,
    "column": _S,
    "category": _S,  # Presidio's entity names where they exist, else the product's
    "confidence": _F,  # 0..1
    "reason": _S,  # for people; never a value
    "treatment": _S,  # deny (never read) | withhold (read in memory, not published) | mask | allow
}
RELATIONSHIPS: Schema = {
    "from_schema": _S,
    "from_table": _S,
    "from_columns": _LS,
    "to_database": _S,  # null: the same database
    "to_schema": _S,
    "to_table": _S,
    "to_columns": _LS,
    "name": _S,
    "origin": _S,  # declared | dbt | inferred
    "confidence": _F,
    "cardinality": _S,  # one_to_one | many_to_one | many_to_many
    "evidence": _S,
    "accepted": _B,
    "to_stub": _B,  # the parent is outside the selection, unreadable or in another database
}
ROLES: Schema = {"schema": _S, "table": _S, "role": _S, "role_reason": _S}
JOIN_GRAPH: Schema = {"schema": _S, "table": _S, "paths": _LS, "aborted": _B}
TABLE_DEFINITIONS: Schema = {
    "schema": _S,
    "table": _S,
    "entity_name": _S,
    "entity_name_source": _S,  # human | model | derived
    "definition": _S,
    "definition_source": _S,  # human | database | inherited | model | derived | none
}
COLUMN_DEFINITIONS: Schema = {
    "schema": _S,
    "table": _S,
    "column": _S,
    "definition": _S,
    "definition_source": _S,
}
GRAPH_ENTITIES: Schema = {
    "title": _S,  # unique, upper case, qualified
    "type": _S,
    "qualified_name": _S,  # exact case
    "database": _S,
    "schema_name": _S,
    "data_type": _S,
    "description": _S,
    "is_stub": _B,
    "text_units": _LS,  # keys of the units a business entity is named in; null: tables, views and columns
}
GRAPH_EDGES: Schema = {
    "source": _S,
    "target": _S,
    "type": _S,
    "description": _S,
    "weight": _F,  # 1..10
    "evidence": _S,
    "confidence": _F,
    "is_inferred": _B,
    "constraint_name": _S,
    "ordinal": _I,
    "text_units": _LS,  # keys of the units that state a business edge; null: edges of the catalog
}
GRAPH_UNITS: Schema = {
    "key": _S,  # a table's title is never one
    "document": _S,
    "text": _S,
}


def from_rows(rows: Iterable[Sequence[Any]], schema: Schema) -> pl.DataFrame:
    """Build a frame from row tuples given in the order of `schema`."""
    return pl.DataFrame(list(rows), schema=dict(schema), orient="row", strict=True)


def empty(schema: Schema) -> pl.DataFrame:
    """An empty frame of the schema."""
    return pl.DataFrame(schema=dict(schema))


def fit(frame: pl.DataFrame, schema: Schema, *, sort_by: Sequence[str] = ()) -> pl.DataFrame:
    """Give `frame` exactly the columns and types of `schema`, missing ones null, rows sorted."""
    missing = [pl.lit(None, dtype=dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns]
    fitted = frame.with_columns(missing).select([pl.col(name).cast(dtype) for name, dtype in schema.items()])
    return fitted.sort(list(sort_by), maintain_order=True) if sort_by else fitted
