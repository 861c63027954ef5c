"""From row tuples of catalog statements to the frames of a `Catalog`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.problems import Problem, sorted_unique

STAGE = "schema_snapshot"
"""Stage that problems of reading a catalog are reported under."""

Row = Sequence[Any]


@dataclass
class CatalogRows:
    """Rows of each frame, in the column order of `dictionary_pipeline.frames`."""

    tables: list[Row] = field(default_factory=list)
    columns: list[Row] = field(default_factory=list)
    keys: list[Row] = field(default_factory=list)
    indexes: list[Row] = field(default_factory=list)
    foreign_keys: list[Row] = field(default_factory=list)
    checks: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    complete: bool = True

    def add_problem(self, object_name: str, error: DictionaryError) -> None:
        """Name an object that could not be read completely."""
        self.problems.append(error.as_problem(object_name, STAGE))

    def add_unclear_key(self, schema: str, table: str, columns: Sequence[str], parent: str) -> None:
        """Name a foreign key that gives no columns of its parent and cannot mean its primary key."""
        self.problems.append(
            Problem(
                f"{schema}.{table}",
                STAGE,
                None,
                f"the foreign key of {', '.join(columns)} names no columns of {parent} and fits no primary key of it",
                "Name the referenced columns in the key, or drop it.",
            )
        )

    def build(self, identity: Identity) -> Catalog:
        """Sorted frames of all rows; view dependencies are left to the parsing stage."""

        def frame(name: str, rows: Iterable[Row]) -> Any:
            schema, order = FRAME_SCHEMAS[name]
            return frames.fit(frames.from_rows(rows, schema), schema, sort_by=order)

        return Catalog(
            identity=identity,
            tables=frame("tables", self.tables),
            columns=frame("columns", self.columns),
            keys=frame("keys", self.keys),
            indexes=frame("indexes", self.indexes),
            foreign_keys=frame("foreign_keys", self.foreign_keys),
            checks=frame("checks", self.checks),
            lineage=frame("lineage", []),
            problems=sorted_unique(self.problems),
            complete=self.complete,
        )


def table_row(
    schema: str,
    table: str,
    kind: str,
    *,
    comment: str | None = None,
    row_estimate: int | None = None,
    view_sql: str | None = None,
    readable: bool = True,
) -> Row:
    """One row of `frames.TABLES`."""
    return (schema, table, kind, comment, row_estimate, None, view_sql, readable, None)


def column_row(
    schema: str,
    table: str,
    column: str,
    ordinal: int,
    data_type: str,
    type_class: str,
    *,
    is_nullable: bool,
    default: str | None = None,
    is_identity: bool = False,
    is_generated: bool = False,
    comment: str | None = None,
    enum_values: Sequence[str] | None = None,
) -> Row:
    """One row of `frames.COLUMNS`."""
    return (
        *(schema, table, column, ordinal, data_type, type_class),
        *(is_nullable, default, is_identity, is_generated, comment),
        *(None if enum_values is None else list(enum_values), None, None, None),
    )


def key_row(schema: str, table: str, name: str | None, kind: str, columns: Sequence[str]) -> Row:
    """One row of `frames.KEYS` for a declared key."""
    return (schema, table, name, kind, list(columns), "declared", 1.0)
