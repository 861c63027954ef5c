"""Where dictionaries are pushed to Azure AI Search."""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA_STORE, VALUE_STORE, QUERY_CACHE = (
    "text-2-sql-schema-store",
    "text-2-sql-column-value-store",
    "text-2-sql-query-cache",
)
"""What the Text2SQL accelerator calls its three kinds of index."""


@dataclass(frozen=True)
class IndexNames:
    """Names of the indexes."""

    schema_store: str = f"{SCHEMA_STORE}-index"
    column_value_store: str = f"{VALUE_STORE}-index"
    query_cache: str = f"{QUERY_CACHE}-index"


@dataclass(frozen=True)
class EmbeddingSettings:
    """The model that turns definitions into vectors; it is asked where the language model is."""

    model: str
    """Name of the model, or of the Azure deployment."""
    dimensions: int = 1536
    model_name: str | None = None
    """What a deployment is made of, for the service's own vectorizer; null: what the deployment is called."""
    price: float | None = None
    """Of a million tokens."""


@dataclass(frozen=True)
class SearchSettings:
    """A search service and what of a dictionary it gets. Secrets stand in the environment."""

    endpoint: str
    api_key_env: str | None = None
    """Variable that holds the admin key; null: Entra ID is asked."""
    client_id: str | None = None
    """Of a user-assigned managed identity."""
    indexes: IndexNames = IndexNames()
    suffix: str = ""
    """Appended to the names of everything that has no name of its own; begins with `-` or is empty."""
    column_values: bool = True
    automatic: bool = True
    """Whether whoever publishes also pushes."""
    embedding: EmbeddingSettings | None = None
    storage_resource_id: str | None = None
    """Azure resource id of the storage account, for the service's own indexers."""
    query_cache_container: str | None = None
    """Container with questions and their SQL, which an indexer reads; null: only the index is described."""
