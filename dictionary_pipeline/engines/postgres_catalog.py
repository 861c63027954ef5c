"""PostgreSQL's catalog as frames: one statement per kind of fact, whatever the size.

The SQL lies in `sql/postgres_*.sql`; each statement starts with `postgres_described.sql`. Source:
PostgreSQL documentation, chapter "System Catalogs".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.engines.assembly import STAGE
from dictionary_pipeline.engines.base import Session, TypeClass
from dictionary_pipeline.engines.postgres_details import DetailReader
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError
from dictionary_pipeline.problems import Problem, sorted_unique

_Rows = list[tuple[Any, ...]]
_I, _S, _B, _L = pl.Int64(), pl.String(), pl.Boolean(), pl.List(pl.String())

_RELATIONS: frames.Schema = {
    "oid": _I,
    "schema": _S,
    "table": _S,
    "kind": _S,
    "comment": _S,
    "row_estimate": _I,
    "readable": _B,
    "refused": _L,
}
_COLUMNS: frames.Schema = {
    "oid": _I,
    "number": _I,
    "column": _S,
    "typid": _I,
    "typmod": _I,
    "not_null": _B,
    "is_identity": _B,
    "is_generated": _B,
    "comment": _S,
}
_TYPES: frames.Schema = {
    "typid": _I,
    "typmod": _I,
    "data_type": _S,
    "type_class": _S,
    "domain_not_null": _B,
    "enum_values": _L,
    "domain_checks": _L,
}
_CONSTRAINTS: frames.Schema = {
    "number": _I,
    "oid": _I,
    "name": _S,
    "contype": _S,
    "is_validated": _B,
    "columns": _L,
    "to_schema": _S,
    "to_table": _S,
    "to_columns": _L,
    "on_update": _S,
    "on_delete": _S,
}
_INDEXES: frames.Schema = {"oid": _I, "name": _S, "columns": _L, "is_unique": _B}
_DEPENDENCIES: frames.Schema = {"oid": _I, "source_oid": _I}
_DETAILS: frames.Schema = {"fact": _S, "oid": _I, "number": _I, "text": _S}

_ACTIONS = {"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}

_TYPE_CLASSES: dict[str, TypeClass] = {
    "char": "string",
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "oid": "integer",
    "float4": "float",
    "float8": "float",
    "numeric": "decimal",
    "bool": "boolean",
    "date": "date",
    "time": "time",
    "timetz": "time",
    "timestamp": "timestamp",
    "timestamptz": "timestamp",
    "interval": "interval",
    "uuid": "uuid",
    "json": "json",
    "jsonb": "json",
    "xml": "xml",
    "bytea": "binary",
}


@cache
def statement(name: str) -> str:
    """The catalog statement `sql/postgres_<name>.sql`, complete with its common start."""
    folder = resources.files(__package__) / "sql"
    start = (folder / "postgres_described.sql").read_text(encoding="utf-8")
    return start + (folder / f"postgres_{name}.sql").read_text(encoding="utf-8")


@cache
def free_statement(name: str) -> str:
    """A statement of `sql/` that stands by itself."""
    return (resources.files(__package__) / "sql" / f"postgres_{name}.sql").read_text(encoding="utf-8")


def read_probe(session: Session) -> str:
    """The cheap change signal."""
    return str(session.rows(free_statement("probe"))[0][0])


def read_change_marks(session: Session) -> dict[tuple[str, str], str]:
    """(schema, table) -> how often its rows were changed; nothing where the server does not count."""
    return {(schema, table): mark for schema, table, mark in session.rows(statement("changes"))}


def type_class(kind: str, category: str, name: str) -> TypeClass:
    """Class of a base type from pg_type's typtype, typcategory and typname."""
    if kind == "e" or (kind == "b" and category == "S"):
        return "string"
    if kind == "c" or category == "A":
        return "array"
    return _TYPE_CLASSES.get(name, "other") if kind == "b" else "other"


class CatalogReader:
    """Reads one catalog; what cannot be read becomes a problem and leaves the rest alone."""

    def __init__(self, session: Session, identity: Identity) -> None:
        self._session = session
        self._identity = identity
        self._problems: list[Problem] = []
        self._complete = True

    def read(self) -> Catalog:
        """Read everything; without relations, columns and their types there is no catalog, so those must succeed."""
        relations = _frame(self._session.rows(statement("relations")), _RELATIONS)
        columns = _frame(self._session.rows(statement("columns")), _COLUMNS)
        types = _types(self._session.rows(statement("types")))
        constraints = _frame(self._rows("constraints", "keys and CHECK constraints"), _CONSTRAINTS)
        indexes = _frame(self._rows("indexes", "indexes"), _INDEXES)
        dependencies = _frame(self._rows("dependencies", "view dependencies"), _DEPENDENCIES)
        details = self._details(relations, dependencies)
        self._note_refused_columns(relations)
        names = relations.select("oid", "schema", "table")
        parts = {
            "tables": _tables(relations, details),
            "columns": _columns(columns, types, details).join(names, on="oid"),
            "keys": _keys(constraints).join(names, on="oid"),
            "indexes": indexes.join(names, on="oid"),
            "foreign_keys": _foreign_keys(constraints.join(names, on="oid")),
            "checks": _checks(constraints, details).join(names, on="oid"),
            "lineage": _lineage(dependencies, names),
        }
        fitted = {
            name: frames.fit(parts[name], schema, sort_by=sort_by) for name, (schema, sort_by) in FRAME_SCHEMAS.items()
        }
        return Catalog(
            self._identity,
            tables=fitted["tables"],
            columns=fitted["columns"],
            keys=fitted["keys"],
            indexes=fitted["indexes"],
            foreign_keys=fitted["foreign_keys"],
            checks=fitted["checks"],
            lineage=fitted["lineage"],
            problems=sorted_unique(self._problems),
            complete=self._complete,
        )

    def _rows(self, name: str, subject: str) -> _Rows:
        try:
            return self._session.rows(statement(name))
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            self._add_problem(self._identity.database or "", error, f"{subject} could not be read")
            return []

    def _details(self, relations: pl.DataFrame, dependencies: pl.DataFrame) -> pl.DataFrame:
        reader = DetailReader(self._session, statement("details"), free_statement("locked"))
        rows, failed = reader.read(relations["oid"].to_list(), dependencies.rows())
        if failed:
            names = {
                oid: f"{schema}.{table}"
                for oid, schema, table in relations.select("oid", "schema", "table").iter_rows()
            }
            for oid, error in failed.items():
                self._add_problem(names[oid], error, "defaults, CHECK expressions or view text could not be read")
        return _frame(rows, _DETAILS)

    def _add_problem(self, name: str, error: DictionaryError, subject: str) -> None:
        self._complete = False
        self._problems.append(Problem(name, STAGE, error.code, f"{subject}: {error.what}", error.fix or ""))

    def _note_refused_columns(self, relations: pl.DataFrame) -> None:
        partly = relations.filter(pl.col("refused").list.len() > 0)
        for schema, table, refused in partly.select("schema", "table", "refused").iter_rows():
            self._problems.append(
                Problem(
                    f"{schema}.{table}",
                    STAGE,
                    "42501",
                    f"the account may not read the columns {', '.join(refused)}",
                    "Grant SELECT on the table, or withhold these columns so that the others are sampled.",
                )
            )


def _frame(rows: Sequence[Sequence[Any]], schema: frames.Schema) -> pl.DataFrame:
    """Rows as a frame, column by column: half the cost of handing polars the rows.

    Lists arrive as JSON text, which polars decodes much faster than it takes Python lists.
    """
    series = []
    for place, (name, dtype) in enumerate(schema.items()):
        values = [row[place] for row in rows]
        series.append(
            pl.Series(name, values, _S).str.json_decode(_L) if dtype == _L else pl.Series(name, values, dtype)
        )
    return pl.DataFrame(series)


def _types(rows: _Rows) -> pl.DataFrame:
    return _frame(
        [
            (typid, typmod, text, type_class(kind, category, name), not_null, labels, checks)
            for typid, typmod, text, kind, category, name, not_null, labels, checks in rows
        ],
        _TYPES,
    )


def _facts(details: pl.DataFrame, fact: str, name: str, *, on: Sequence[str] = ("oid",)) -> pl.DataFrame:
    return details.filter(pl.col("fact") == fact).select(*on, pl.col("text").alias(name))


def _tables(relations: pl.DataFrame, details: pl.DataFrame) -> pl.DataFrame:
    view_sql = _facts(details, "view", "view_sql").with_columns(pl.col("view_sql").str.strip_chars(" \n;"))
    sizes = _facts(details, "size", "size_bytes").with_columns(pl.col("size_bytes").cast(_I))
    return relations.join(view_sql, on="oid", how="left").join(sizes, on="oid", how="left")


def _columns(columns: pl.DataFrame, types: pl.DataFrame, details: pl.DataFrame) -> pl.DataFrame:
    defaults = _facts(details, "default", "default", on=("oid", "number"))
    return (
        columns.join(types, on=("typid", "typmod"), how="left", maintain_order="left")
        .join(defaults, on=("oid", "number"), how="left", maintain_order="left")
        .with_columns(
            # Numbers of dropped columns are never used again, so positions are counted anew.
            ordinal=pl.int_range(1, pl.len() + 1).over("oid"),
            type_class=pl.col("type_class").fill_null("other"),
            is_nullable=~(pl.col("not_null") | pl.col("domain_not_null").fill_null(False)),
        )
    )


def _keys(constraints: pl.DataFrame) -> pl.DataFrame:
    return constraints.filter(pl.col("contype").is_in(["p", "u"])).with_columns(
        kind=pl.col("contype").replace_strict({"p": "primary", "u": "unique"}, return_dtype=_S),
        origin=pl.lit("declared"),
        confidence=pl.lit(1.0),
    )


def _foreign_keys(constraints: pl.DataFrame) -> pl.DataFrame:
    return (
        constraints.filter(pl.col("contype") == "f")
        .rename({"schema": "from_schema", "table": "from_table", "columns": "from_columns"})
        .with_columns(pl.col("on_update", "on_delete").replace_strict(_ACTIONS, return_dtype=_S))
    )


def _checks(constraints: pl.DataFrame, details: pl.DataFrame) -> pl.DataFrame:
    expressions = _facts(details, "check", "expression", on=("oid", "number"))
    return constraints.filter(pl.col("contype") == "c").join(expressions, on=("oid", "number"))


def _lineage(dependencies: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    views = names.rename({"schema": "view_schema", "table": "view"})
    sources = names.rename({"oid": "source_oid", "schema": "source_schema", "table": "source_table"})
    return dependencies.join(views, on="oid").join(sources, on="source_oid").with_columns(origin=pl.lit("catalog"))
