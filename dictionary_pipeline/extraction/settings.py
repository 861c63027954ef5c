"""`graph/settings.yaml`: how GraphRAG works on the published graph."""

from __future__ import annotations


def graphrag_settings() -> str:
    """`settings.yaml` for the folder above `output/`: reports and searches over this graph.

    The model key is read by GraphRAG from its environment; nothing of it is written here.
    """
    return _SETTINGS


_SETTINGS = """\
# Settings of GraphRAG 3.x for the graph in output/. Run in a copy of this folder, with
# GRAPHRAG_API_KEY in the environment or in a file .env (another endpoint: add api_base to the models):
#
#   graphrag index --root . --skip-validation
#   graphrag query "How do orders relate to customers?" --root . --method global
#
# Do not run the workflows extract_graph or finalize_graph on it: they would replace ids and types.
completion_models:
  default_completion_model:
    model_provider: openai
    model: gpt-4.1-mini
    auth_method: api_key
    api_key: ${GRAPHRAG_API_KEY}
embedding_models:
  default_embedding_model:
    model_provider: openai
    model: text-embedding-3-small
    auth_method: api_key
    api_key: ${GRAPHRAG_API_KEY}
input_storage:
  type: file
  base_dir: input
output_storage:
  type: file
  base_dir: output
reporting:
  type: file
  base_dir: logs
cache:
  type: json
  storage:
    type: file
    base_dir: cache
vector_store:
  type: lancedb
  db_uri: output/lancedb
  # Length of the embedding model's vectors; delete output/lancedb after changing it.
  vector_size: 1536
workflows: [create_communities, create_community_reports, generate_text_embeddings]
# To extract another graph from input/ with a model instead, in another copy of this folder, replace the line above by:
#
# workflows: [load_input_documents, create_base_text_units, create_final_documents, extract_graph, finalize_graph,
#             create_communities, create_final_text_units, create_community_reports, generate_text_embeddings]
# extract_graph:
#   prompt: prompts/extract_graph.txt
#   entity_types: [SQLTABLE, SQLVIEW, SQLCOLUMN, ORGANIZATION, PERSON, GROUP, GEO, FACILITY, PROCESS, PRODUCT, METRIC]
#   max_gleanings: 0
# chunking:
#   size: 4000  # tokens; a table must fit into one chunk
#   overlap: 0
cluster_graph:
  max_cluster_size: 50
  # true would drop every table outside the largest connected part of the schema.
  use_lcc: false
  seed: 42
"""
