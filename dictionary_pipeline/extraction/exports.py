"""The text files of the published graph folder."""

from __future__ import annotations

from collections.abc import Mapping

from dictionary_pipeline.extraction.documents import extraction_prompt
from dictionary_pipeline.extraction.graphml import graphml
from dictionary_pipeline.extraction.graphrag import GraphRagSet
from dictionary_pipeline.extraction.model import KnowledgeGraph
from dictionary_pipeline.extraction.neo4j import neo4j_files
from dictionary_pipeline.extraction.readme import graph_readme


def graph_texts(graph: KnowledgeGraph, rag: GraphRagSet, documents: Mapping[str, str]) -> dict[str, str]:
    """Path within `graph/` -> text: README, GraphML, Neo4j files, input documents and prompt.

    Args:
        documents: Of `documents.input_documents`.
    """
    return {
        "README.md": graph_readme(rag, graph.entities, graph.edges),
        "graph.graphml": graphml(graph),
        "prompts/extract_graph.txt": extraction_prompt(),
        **{f"neo4j/{name}": text for name, text in neo4j_files(graph).items()},
        **{f"input/{name}": text for name, text in documents.items()},
    }
