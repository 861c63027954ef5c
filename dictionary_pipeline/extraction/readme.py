"""`graph/README.md`: what lies in the folder and the commands to use it."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dictionary_pipeline.extraction.graphrag import GraphRagSet


class ReportCalls(NamedTuple):
    """How many model calls GraphRAG's community reports take: one per community."""

    fewest: int
    most: int


def expected_report_calls(pairs: pl.DataFrame) -> ReportCalls:
    """Bounds on the number of communities, without running the clustering.

    Every connected group of entities is at least one community, and a community of the first level
    holds at least two entities. Groups above the maximum size are split further, which the upper
    bound does not count; entities without an edge are in no community.

    Args:
        pairs: source, target of every relationship that GraphRAG gets.
    """
    parents: dict[str, str] = {}

    def root(title: str) -> str:
        while parents.setdefault(title, title) != title:
            parents[title] = parents[parents[title]]
            title = parents[title]
        return title

    for source, target in pairs.select("source", "target").iter_rows():
        if source != target:
            parents[root(source)] = root(target)
    groups = sum(title == parent for title, parent in parents.items())
    return ReportCalls(groups, max(groups, len(parents) // 2))


def graph_readme(rag: GraphRagSet, edges: pl.DataFrame) -> str:
    """The text of the file.

    Args:
        edges: `frames.GRAPH_EDGES`.
    """
    calls = expected_report_calls(rag.relationships)
    counts = edges["type"].value_counts().sort("type").iter_rows()
    return _TEXT.format(
        entities=rag.entities.height,
        relationships=rag.relationships.height,
        fewest=calls.fewest,
        most=calls.most,
        rows="\n".join(f"| {kind} | {count} |" for kind, count in counts),
    )


_TEXT = """\
# Knowledge graph

Every edge follows from the catalog and the data; no model was asked for it.

| Type of edge | Edges |
| --- | --- |
{rows}

## GraphRAG, with this graph

`output/` is a GraphRAG 3.x graph of {entities} entities and {relationships} relationships. Work in a copy of this
folder, with `GRAPHRAG_API_KEY` in the environment or in a file `.env`:

```
pip install graphrag==3.3.0
graphrag index --root . --skip-validation
graphrag query "How do orders relate to customers?" --root . --method global
graphrag query "Which column links orders to customers?" --root . --method local
```

`graphrag index` clusters the graph, asks the model for one report per community, and embeds the texts. Expect {fewest}
to about {most} report calls; in practice about one for every four connected tables. An unchanged graph costs none
again, as long as the folder `cache` is kept. The command's exit code says whether it succeeded, its last line does not.

## GraphRAG, extracting its own graph

`input/` has one text per table and view, `prompts/extract_graph.txt` a prompt that knows SQL. Take the lines marked
with `extract_graph` in `settings.yaml` into use and run the same command in another copy of this folder. It asks the
model at least once per text, and what it finds is not proven.

## Neo4j

```
neo4j-admin database import full neo4j --multiline-fields=true --nodes=neo4j/entities.csv \\
  --relationships=neo4j/relationships.csv
```

## Other tools

- `graph.graphml` opens in Gephi and yEd, and in Python with `networkx.read_graphml("graph.graphml")`.
- `edges.parquet` has every edge with its type, evidence and confidence; `ids.parquet` keeps the ids stable.
"""
