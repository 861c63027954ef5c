"""The knowledge graph: exact SQL entities and edges, and its GraphRAG form."""
