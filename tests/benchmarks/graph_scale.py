"""Measure the graph stage on one large schema, alone in a process of its own.

    python tests/benchmarks/graph_scale.py [TABLES] [COLUMNS]

Builds a DuckDB file of TABLES tables (1,000) with COLUMNS columns (20), each table with a primary
key and a foreign key, and a view per ten tables; runs all stages once; then, in a new process, only
the stage `knowledge_graph` on what the stages before left, and after it the files of `graph/`.
Prints one JSON line: CPU seconds of the stage and of the files, start-up excluded, and the peak
resident size of the process, imports included.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from dictionary_pipeline import handover
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.extraction.documents import input_documents
from dictionary_pipeline.extraction.exports import graph_texts
from dictionary_pipeline.extraction.graphrag import graphrag_frames
from dictionary_pipeline.handover import DEFINITIONS, GRAPH, RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.run import open_run
from dictionary_pipeline.stages.graph import knowledge_graph
from dictionary_pipeline.state import require_stages


def build(path: Path, tables: int, columns: int) -> None:
    """Write the database."""
    with duckdb.connect(str(path)) as database:
        for number in range(tables):
            parent = f" REFERENCES table_{number // 7} (id)" if number else ""
            others = ", ".join(f"column_{place} VARCHAR" for place in range(columns - 2))
            database.execute(
                f"CREATE TABLE table_{number} (id INTEGER PRIMARY KEY, parent_id INTEGER{parent}, {others})"
            )
        for number in range(0, tables, 10):
            database.execute(
                f"CREATE VIEW view_{number} AS SELECT a.id, b.column_1 FROM table_{number} a "
                f"JOIN table_{number // 7} b ON b.id = a.parent_id"
            )


def configured(folder: Path) -> tuple[DatabaseConfig, LocalStore]:
    """The database of the folder and where it is published."""
    connection, name = resolve_target(str(folder / "large.duckdb"), folder=None)
    return DatabaseConfig(name=name, connection=connection), LocalStore(folder / "out")


def measure(folder: Path) -> dict[str, float]:
    """Run the stage on what is there."""
    config, store = configured(folder)
    started = time.process_time()
    with open_run(config, store, run_id="benchmark") as run:
        report = knowledge_graph(run)
        staged = time.process_time()
        upstream = require_stages(store, SNAPSHOT, SAMPLES, RELATIONS, DEFINITIONS, GRAPH)
        graph = handover.graph_from(upstream[GRAPH])
        documents = input_documents(
            handover.catalog_from(upstream[SNAPSHOT]),
            handover.samples_from(upstream[SAMPLES]).profiles,
            handover.relations_from(upstream[RELATIONS]),
            handover.definitions_from(upstream[DEFINITIONS]),
        )
        rag = graphrag_frames(graph.entities, graph.edges, graph.ids)
        texts = graph_texts(graph, rag, documents)
    return {
        "entities": int(report.metrics["entities"]),
        "edges": int(report.metrics["edges"]),
        "stage_cpu_s": round(staged - started, 2),
        "files_cpu_s": round(time.process_time() - staged, 2),
        "text_mb": round(sum(map(len, texts.values())) / 1e6, 1),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def main() -> int:
    """Build and measure, or, called with a folder, only measure."""
    if len(sys.argv) == 2 and Path(sys.argv[1]).is_dir():
        print(json.dumps(measure(Path(sys.argv[1]))))  # noqa: T201
        return 0
    tables, columns = (int(argument) for argument in (sys.argv[1:] + ["1000", "20"][len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as name:
        build(Path(name) / "large.duckdb", tables, columns)
        summary = run_database(*configured(Path(name)))
        if summary.error:
            raise summary.error
        return subprocess.run([sys.executable, __file__, name], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
