"""Compare the SQL part of the knowledge graph with what the databases themselves say.

    python tests/benchmarks/graph_truth.py SOURCE...

SOURCE is a PostgreSQL URL, a DuckDB or SQLite file, or a folder of the foreign key corpus: one
database per subfolder (`schema.json`, `truth.json`), and `*.schemas.json` with `*.truth.json`. A
database of the corpus is built without rows, in DuckDB, or in SQLite where DuckDB cannot declare
its keys. Prints one JSON line per database and one for all: per type of relationship the edges of
the truth, those of the graph, precision and recall; also the inferred edges, which no catalog has,
and the requests to a model. Ends with 1 when anything differs.

The truth is read by `graph_sources.py`, and for the corpus also from its `truth.json`.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from graph_sources import Edge, Truth, duckdb_truth, key_edges, postgres_truth, published_edges, sqlite_truth

URL_VARIABLE = "DD_BENCHMARK_URL"
BUILD = (sys.executable, "-m", "dictionary_pipeline", "build")
TYPES = (
    "REFERENCES",
    "IS_CREATED_USING",
    "IS_FOREIGN_KEY_REF_FOR",
    "IS_DERIVED_FROM",
    "IS_FOREIGN_KEY_IN",
    "IS_PRIMARY_KEY_OF",
    "HAS_COLUMN",
)


@dataclass
class Score:
    """Edges of one type."""

    truth: int = 0
    graph: int = 0
    both: int = 0

    def add(self, other: Score) -> None:
        self.truth, self.graph, self.both = self.truth + other.truth, self.graph + other.graph, self.both + other.both

    def as_json(self) -> dict[str, float | None]:
        return {
            "truth": self.truth,
            "graph": self.graph,
            "precision": self.both / self.graph if self.graph else None,
            "recall": self.both / self.truth if self.truth else None,
        }


@dataclass(frozen=True)
class Outcome:
    """One database compared."""

    scores: Mapping[str, Score]
    inferred: int
    model_requests: int
    differences: tuple[str, ...]


def compare(target: str, truth: Truth, folder: Path) -> Outcome:
    """Build the dictionary of a target into the folder and compare its graph."""
    environment = {**os.environ, URL_VARIABLE: target} if "://" in target else None
    wanted = f"env:{URL_VARIABLE}" if environment else target
    done = subprocess.run(
        [*BUILD, wanted, "-o", str(folder), "--json"], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    stages = json.loads(done.stdout)["stages"]
    found, inferred = published_edges(folder / "graph")
    expected, judged = truth.named(), truth.judgeable(found)
    scores = {
        kind: Score(
            sum(edge[0] == kind for edge in expected),
            sum(edge[0] == kind for edge in judged),
            sum(edge[0] == kind for edge in expected & judged),
        )
        for kind in TYPES
    }
    wrong = [f"missing {edge}" for edge in sorted(expected - judged)]
    wrong += [f"invented {edge}" for edge in sorted(judged - expected)]
    requests = sum(int(metrics.get("model_requests", 0)) for metrics in stages.values())
    return Outcome(scores, inferred, requests, tuple(wrong))


def sources(names: Iterable[str], folder: Path) -> Iterator[tuple[str, str, Truth]]:
    """(name to print, target of `build`, truth) of every database."""
    for name in names:
        if "://" in name:
            yield name.rpartition("/")[2], name, postgres_truth(name)
        elif Path(name).is_dir():
            yield from corpus(Path(name), folder)
        else:
            yield Path(name).stem, name, file_truth(Path(name))


def file_truth(path: Path) -> Truth:
    """The truth of a database file."""
    return sqlite_truth(path) if path.read_bytes()[:6] == b"SQLite" else duckdb_truth(path)


def corpus(root: Path, folder: Path) -> Iterator[tuple[str, str, Truth]]:
    """Databases of the corpus, built with the keys of their truth."""
    pairs = [
        (json.loads((path / "schema.json").read_text()), json.loads((path / "truth.json").read_text()))
        for path in sorted(root.iterdir())
        if (path / "truth.json").is_file()
    ]
    for schemas in sorted(root.glob("*.schemas.json")):
        truths = json.loads(schemas.with_name(schemas.name.replace(".schemas.", ".truth.")).read_text())
        by_name = {truth["name"]: truth for truth in truths}
        pairs += [(schema, by_name[schema["name"]]) for schema in json.loads(schemas.read_text())]
    for number, (schema, keys) in enumerate(pairs):
        path = folder / f"corpus{number}.duckdb"
        try:
            with duckdb.connect(str(path)) as database:
                for statement in statements(schema, keys, ordered=True):
                    database.execute(statement)
            truth = duckdb_truth(path)
        except (duckdb.Error, ValueError):
            path.unlink(missing_ok=True)
            path = path.with_suffix(".sqlite")
            write_sqlite(path, statements(schema, keys, ordered=False))
            truth = sqlite_truth(path)
        declared = {edge for edge in truth.edges if edge[0] == "REFERENCES"}
        told = {edge for edge in told_edges(keys, truth) if edge[0] == "REFERENCES"}
        assert declared == told, f"{schema['name']}: the database has other keys than truth.json"
        yield schema["name"], str(path), truth


def told_edges(keys: Mapping[str, Any], truth: Truth) -> Iterator[Edge]:
    """The foreign keys of a `truth.json`."""
    home = next(iter(truth.edges))[1]
    prefix = home[:2] if home[0].startswith("corpus") else home[:1]
    for key in keys["foreign_keys"]:
        yield from key_edges(
            (*prefix, key["from_table"]), key["from_columns"], (*prefix, key["to_table"]), key["to_columns"]
        )


def write_sqlite(path: Path, script: Iterable[str]) -> None:
    """Build a SQLite file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(";\n".join(script))


def statements(schema: Mapping[str, Any], keys: Mapping[str, Any], *, ordered: bool) -> Iterator[str]:
    """CREATE TABLE statements; parents first when `ordered`.

    Raises:
        ValueError: the tables refer to each other in a circle.
    """
    foreign = keys["foreign_keys"]
    waiting = {table["name"]: table for table in schema["tables"]}
    while waiting:
        ready = [
            name
            for name in waiting
            if not ordered or not any(k["from_table"] == name != k["to_table"] in waiting for k in foreign)
        ]
        if not ready:
            raise ValueError("the tables refer to each other in a circle")
        for name in ready:
            yield statement_of(waiting.pop(name), keys)


def statement_of(table: Mapping[str, Any], keys: Mapping[str, Any]) -> str:
    """One CREATE TABLE; what is referred to but no primary key becomes unique."""
    name = table["name"]
    primary = keys["primary_keys"].get(name, [])
    lines = [f"{quoted([column['name']])} {column.get('base') or column['type']}" for column in table["columns"]]
    lines += [f"PRIMARY KEY ({quoted(primary)})"] if primary else []
    referred = {tuple(key["to_columns"]) for key in keys["foreign_keys"] if key["to_table"] == name}
    lines += [f"UNIQUE ({quoted(columns)})" for columns in sorted(referred) if list(columns) != primary]
    for key in keys["foreign_keys"]:
        if key["from_table"] == name:
            parent = f"{quoted([key['to_table']])} ({quoted(key['to_columns'])})"
            lines.append(f"FOREIGN KEY ({quoted(key['from_columns'])}) REFERENCES {parent}")
    return f"CREATE TABLE {quoted([name])} ({', '.join(lines)})"


def quoted(names: Iterable[str]) -> str:
    """Names for a list in SQL."""
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def main() -> int:
    """Compare every source."""
    total = {kind: Score() for kind in TYPES}
    inferred = requests = databases = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, target, truth in sources(sys.argv[1:], Path(folder)):
            outcome = compare(target, truth, Path(folder) / f"out{databases}")
            databases += 1
            inferred, requests = inferred + outcome.inferred, requests + outcome.model_requests
            wrong += len(outcome.differences)
            for kind in TYPES:
                total[kind].add(outcome.scores[kind])
            print(line(name, outcome.scores, outcome.inferred, outcome.model_requests))  # noqa: T201
            for difference in outcome.differences[:20]:
                print(f"  {difference}", file=sys.stderr)  # noqa: T201
    print(line(f"{databases} databases", total, inferred, requests))  # noqa: T201
    return 1 if wrong else 0


def line(name: str, scores: Mapping[str, Score], inferred: int, requests: int) -> str:
    """One line of the output."""
    types = {kind: score.as_json() for kind, score in scores.items() if score.truth or score.graph}
    return json.dumps({"database": name, "types": types, "inferred_edges": inferred, "model_requests": requests})


if __name__ == "__main__":
    raise SystemExit(main())
