"""`graph/README.md`: what lies in the folder and the commands to use it."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dictionary_pipeline.extraction.graphrag import GraphRagSet
from dictionary_pipeline.extraction.model import SQL_TYPES


class ReportCalls(NamedTuple):
    """How many model calls GraphRAG's community reports take: one per community."""

    fewest: int
    most: int

    @property
    def told(self) -> str:
        """For people: `3 to about 12`."""
        return str(self.most) if self.fewest == self.most else f"{self.fewest} to about {self.most}"


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


def graph_readme(rag: GraphRagSet, entities: pl.DataFrame, edges: pl.DataFrame) -> str:
    """The text of the file.

    Args:
        entities: `frames.GRAPH_ENTITIES`.
        edges: `frames.GRAPH_EDGES`.
    """
    calls = expected_report_calls(rag.relationships)
    is_business = not entities["type"].is_in(SQL_TYPES).all()
    return _TEXT.format(
        origin=_PARTLY_BY_MODEL if is_business else _PROVEN,
        entities=rag.entities.height,
        detail="with columns" if rag.entities["type"].is_in(["SQLCOLUMN"]).any() else "without columns",
        relationships=rag.relationships.height,
        calls=calls.told,
        entity_rows=_rows(entities["type"]),
        edge_rows=_rows(edges["type"]),
    )


def _rows(types: pl.Series) -> str:
    return "\n".join(f"| {kind} | {count} |" for kind, count in types.value_counts().sort("type").iter_rows())


_PROVEN = "Every edge follows from the catalog and the data; no model was asked for it."
_PARTLY_BY_MODEL = """\
Tables, views, columns and the edges between them follow from the catalog and the data. All other entities were found
by a model in definitions, comments and documents. They cite their texts; the `evidence` of their edges begins with
`llm:`."""

_TEXT = """\
# Knowledge graph

{origin}

| Type of entity | Entities |
| --- | --- |
{entity_rows}

| Type of edge | Edges |
| --- | --- |
{edge_rows}

## GraphRAG, with this graph

`output/` is a GraphRAG 3.x graph of {entities} entities ({detail}) and {relationships} relationships. Work in a copy of
this folder, with `GRAPHRAG_API_KEY` in the environment or in a file `.env`:

```
pip install graphrag==3.3.0
graphrag index --root . --skip-validation
graphrag query "How do orders relate to customers?" --root . --method global
graphrag query "Which column links orders to customers?" --root . --method local
```

`graphrag index` clusters the graph, asks the model for one report per community, and embeds the texts. Expect
{calls} report calls; in practice about one for every five to ten connected entities. An unchanged graph costs none
again, as long as the folder `cache` is kept. The command's exit code says whether it succeeded, its last line does not.

`graph: {{granularity: column}}` in the configuration of the database puts columns into `output/`, which answers local
questions about single columns and asks for many more reports; `granularity: table` is the default.

## GraphRAG, extracting its own graph

`input/` has one text per table and view, `prompts/extract_graph.txt` a prompt that knows SQL. In another copy of
this folder, empty `output/`, take the lines about it in `settings.yaml` into use and run the same command. It asks the
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
