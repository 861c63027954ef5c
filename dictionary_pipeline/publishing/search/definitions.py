"""The definitions as files of the bundle, for those who deploy them by other means."""

from __future__ import annotations

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.config.search_settings import QUERY_CACHE, SCHEMA_STORE, VALUE_STORE
from dictionary_pipeline.publishing.search.indexers import indexer_definitions
from dictionary_pipeline.publishing.search.indexes import Definition, query_cache_index, schema_index, value_index

FOLDER = "exports/azure_ai_search"


def definition_files(config: DatabaseConfig) -> dict[str, bytes]:
    """Path -> content of every definition; none where no search service is configured."""
    settings = config.search
    if settings is None:
        return {}
    found: dict[str, Definition] = {
        f"{SCHEMA_STORE}-index.json": schema_index(settings, config.model),
        f"{QUERY_CACHE}-index.json": query_cache_index(settings, config.model),
        **indexer_definitions(config, settings),
    }
    if settings.column_values:
        found[f"{VALUE_STORE}-index.json"] = value_index(settings)
    return {f"{FOLDER}/{name}": jsontext.pretty(found[name]).encode() for name in sorted(found)}
