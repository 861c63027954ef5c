"""Foreign keys that the product infers for the databases of a corpus, whose keys it never sees."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.config.resolved import (
    ConnectionSpec,
    DatabaseConfig,
    HumanKnowledge,
    InferenceSettings,
    PathLimits,
    Selection,
)
from dictionary_pipeline.engines.duckdb import DuckDBEngine
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.relationships.relate import Evidence, relate
from dictionary_pipeline.sampling.sample import sample_tables

Edge = dict[str, Any]


class Related(NamedTuple):
    """A database of the corpus as the product sees it."""

    catalog: Catalog
    profiles: pl.DataFrame
    graph: RelationshipGraph


LEAST = 0.5
_TYPES = {
    "INTEGER": "BIGINT",
    "DECIMAL": "DECIMAL(18,4)",
    "REAL": "DOUBLE",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "BOOLEAN": "BOOLEAN",
    "BLOB": "BLOB",
}
_CLASSES = {
    "INTEGER": "integer",
    "DECIMAL": "decimal",
    "REAL": "float",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "BOOLEAN": "boolean",
    "BLOB": "binary",
}


def predict(corpus: Path, split: str) -> Mapping[str, Sequence[Edge]]:
    """Edges of confidence >= 0.5 per database: with data through DuckDB, the others from names alone."""
    return {name: edges_of(related.graph) for name, related in _every(corpus / "fk" / split)}


def _every(folder: Path) -> Iterator[tuple[str, Related]]:
    for schema_file in sorted(folder.glob("*/schema.json")):
        schema = json.loads(schema_file.read_text(encoding="utf-8"))
        yield schema["name"], with_data(schema, schema_file.parent / "data")
    for schemas_file in sorted(folder.glob("*.schemas.json")):
        for schema in json.loads(schemas_file.read_text(encoding="utf-8")):
            evidence = Evidence(frames.empty(frames.VALUES), frames.empty(frames.SENSITIVITY), InferenceSettings())
            yield schema["name"], _related(names_only(schema), frames.empty(frames.PROFILES), evidence)


def edges_of(graph: RelationshipGraph) -> list[Edge]:
    """The inferred relationships in the scorer's form."""
    inferred = graph.relationships.filter((pl.col("origin") == "inferred") & (pl.col("confidence") >= LEAST))
    fields = ("from_table", "from_columns", "to_table", "to_columns", "confidence")
    return list(inferred.select(fields).iter_rows(named=True))


def with_data(schema: Mapping[str, Any], data: Path) -> Related:
    """Load a database into DuckDB without keys and run the product's stages on it."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        path = Path(folder) / "corpus.duckdb"
        _load(path, schema, data)
        spec = ConnectionSpec("duckdb", {"path": str(path)})
        config = DatabaseConfig(name="corpus", connection=spec)
        engine = DuckDBEngine(spec)
        with engine.open() as session:
            catalog = take_snapshot(engine, session, Selection())
        samples = sample_tables(engine, catalog, config)
        evidence = Evidence(samples.values, samples.sensitivity, config.inference, engine)
        return _related(catalog, samples.profiles, evidence)


def _related(catalog: Catalog, profiles: pl.DataFrame, evidence: Evidence) -> Related:
    return Related(catalog, profiles, relate(catalog, profiles, HumanKnowledge(), PathLimits(), evidence))


def _load(path: Path, schema: Mapping[str, Any], data: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        for table in schema["tables"]:
            columns = [(_quoted(column["name"]), _TYPES.get(column["base"], "VARCHAR")) for column in table["columns"]]
            name = _quoted(table["name"])
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in columns)})")
            file = data / f"{table['name']}.csv.gz"
            if file.exists():
                cells = ", ".join(f"TRY_CAST({column} AS {kind})" for column, kind in columns)
                connection.execute(
                    f"INSERT INTO {name} SELECT {cells} FROM"
                    " read_csv(?, header = true, all_varchar = true, nullstr = '\\N')",
                    [str(file)],
                )


def _quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def names_only(schema: Mapping[str, Any]) -> Catalog:
    """The catalog of a database of which only names and types are known."""
    tables = [(table.get("schema") or "main", table) for table in schema["tables"]]
    built = {name: frames.empty(frame) for name, (frame, _) in FRAME_SCHEMAS.items()}
    built["tables"] = pl.DataFrame(
        [{"schema": place, "table": table["name"], "kind": "table", "readable": True} for place, table in tables]
    )
    built["columns"] = pl.DataFrame(
        [
            {
                "schema": place,
                "table": table["name"],
                "column": column["name"],
                "ordinal": ordinal,
                "data_type": column["type"],
                "type_class": _CLASSES.get(column["base"], "string"),
                "is_nullable": True,
            }
            for place, table in tables
            for ordinal, column in enumerate(table["columns"], start=1)
        ]
    )
    fitted: dict[str, Any] = {
        name: frames.fit(built[name], frame, sort_by=order) for name, (frame, order) in FRAME_SCHEMAS.items()
    }
    return Catalog(identity=Identity("duckdb", database=schema["name"]), **fitted)
