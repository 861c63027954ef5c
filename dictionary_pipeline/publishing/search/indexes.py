"""The three indexes as the service's REST API takes them.

Fields, names and attributes are those of the predecessor's indexes, whose readers rely on them. Added are
what its indexes lack: all parts of a relationship, `AllowedValues`, and two fields that say whose document
one is, so that several dictionaries can share an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.search_settings import (
    QUERY_CACHE,
    SCHEMA_STORE,
    EmbeddingSettings,
    SearchSettings,
)

Definition = dict[str, Any]
"""A body of the REST API."""

OWNER, OWNER_KEY = "Dictionary", "DictionaryKey"
"""Name of the database whose dictionary a document belongs to, and the document's key once more: the
predecessor's `Id` can be neither filtered nor sorted by, and an existing field cannot be changed."""
DEFINITION_VECTOR, QUESTION_VECTOR = "DefinitionEmbedding", "QuestionEmbedding"


def schema_index(settings: SearchSettings, model: ModelSettings | None) -> Definition:
    """Index of tables and views, one document each."""
    column = [_text("Name"), _text("Definition"), _text("DataType"), _values("AllowedValues"), _values("SampleValues")]
    keys = [_text("Column"), _text("ForeignColumn")]
    relationship = [
        _text("ForeignEntity"),
        _text("ForeignSchema"),
        _text("ForeignWarehouse"),
        _text("ForeignCatalog"),
        _text("ForeignDatabase"),
        _objects("ForeignKeys", keys),
        _text("FQN"),
        _text("ForeignFQN"),
        _plain("Origin"),
        _plain("Confidence", "Edm.Double"),
    ]
    fields = [
        _key(),
        _text("FQN", analyzer="keyword"),
        _text("EntityName", filterable=True),
        _text("Entity", analyzer="keyword"),
        _text("Schema", analyzer="keyword"),
        _text("Database"),
        _text("Warehouse"),
        _text("Catalog"),
        _text("Definition"),
        *_vector(DEFINITION_VECTOR, SCHEMA_STORE, settings),
        _objects("Columns", column),
        _text("ColumnNames", collection=True, retrievable=False),
        _text("ColumnDefinitions", collection=True, retrievable=False),
        _objects("EntityRelationships", relationship),
        _text("CompleteEntityRelationshipsGraph", collection=True),
        *_ownership(),
        _modified(),
    ]
    ranked = {
        "titleField": _named("EntityName"),
        "prioritizedContentFields": [_named("Definition"), _named("ColumnDefinitions")],
        "prioritizedKeywordsFields": [_named("ColumnNames"), _named("Entity")],
    }
    return {
        "name": settings.indexes.schema_store,
        "fields": fields,
        **_semantic(SCHEMA_STORE, settings, ranked),
        **_vector_search(SCHEMA_STORE, settings, model),
    }


def value_index(settings: SearchSettings) -> Definition:
    """Index of the values of describing columns, one document each."""
    names = ("FQN", "Entity", "Schema", "Database", "Warehouse", "Catalog", "Column")
    return {
        "name": settings.indexes.column_value_store,
        "fields": [
            _key(),
            *(_plain(name) for name in names),
            _text("Value"),
            _plain("Synonyms", "Collection(Edm.String)"),
            *_ownership(),
            _modified(),
        ],
    }


def query_cache_index(settings: SearchSettings, model: ModelSettings | None) -> Definition:
    """Index of questions that were answered before, written by the agents that read the dictionary."""
    column = [_text("Name"), _text("Definition"), _text("DataType"), _values("SampleValues")]
    query = [
        _text("SqlQuery", filterable=True),
        _objects("Schemas", [_text("Entity", filterable=True), _objects("Columns", column)]),
    ]
    return {
        "name": settings.indexes.query_cache,
        "fields": [
            _key(),
            _text("Question", analyzer="keyword"),
            *_vector(QUESTION_VECTOR, QUERY_CACHE, settings),
            _objects("SqlQueryDecomposition", query),
            _modified(),
        ],
        **_semantic(QUERY_CACHE, settings, {"prioritizedContentFields": [_named("Question")]}),
        **_vector_search(QUERY_CACHE, settings, model),
    }


def embedding_model(embedding: EmbeddingSettings, model: ModelSettings) -> Definition:
    """How the service itself asks the embedding model: as its managed identity, so without a key."""
    return {
        "resourceUri": (model.base_url or "").removesuffix("/v1").removesuffix("/openai").rstrip("/"),
        "deploymentId": embedding.model,
        "modelName": embedding.model_name or embedding.model,
    }


def _field(name: str, kind: str, **attributes: Any) -> Definition:
    common = {"searchable": False, "filterable": False, "sortable": False, "facetable": False, "retrievable": True}
    return {"name": name, "type": kind, **common, **attributes}


def _key() -> Definition:
    return _field("Id", "Edm.String", key=True)


def _text(
    name: str, *, collection: bool = False, filterable: bool = False, retrievable: bool = True, analyzer: str = ""
) -> Definition:
    """A field for full-text search."""
    kind = "Collection(Edm.String)" if collection else "Edm.String"
    extra = {"analyzer": analyzer} if analyzer else {}
    return _field(name, kind, searchable=True, filterable=filterable, retrievable=retrievable, **extra)


def _plain(name: str, kind: str = "Edm.String") -> Definition:
    """A field that is only returned."""
    return _field(name, kind)


def _values(name: str) -> Definition:
    return _plain(name, "Collection(Edm.String)")


def _objects(name: str, fields: list[Definition]) -> Definition:
    return {"name": name, "type": "Collection(Edm.ComplexType)", "fields": fields}


def _modified() -> Definition:
    return _field("DateLastModified", "Edm.DateTimeOffset", filterable=True)


def _ownership() -> list[Definition]:
    return [
        _field(OWNER, "Edm.String", filterable=True, facetable=True),
        _field(OWNER_KEY, "Edm.String", filterable=True, sortable=True),
    ]


def _vector(name: str, kind: str, settings: SearchSettings) -> Iterator[Definition]:
    """A vector field. It stays stored, though never returned: a merge would otherwise lose it."""
    if settings.embedding is not None:
        yield {
            "name": name,
            "type": "Collection(Edm.Single)",
            "searchable": True,
            "retrievable": False,
            "stored": True,
            "dimensions": settings.embedding.dimensions,
            "vectorSearchProfile": f"{kind}-vector-search-profile{settings.suffix}",
        }


def _named(field: str) -> Definition:
    return {"fieldName": field}


def _semantic(kind: str, settings: SearchSettings, fields: Definition) -> Definition:
    name = f"{kind}-semantic-config{settings.suffix}"
    return {"semantic": {"configurations": [{"name": name, "prioritizedFields": fields}]}}


def _vector_search(kind: str, settings: SearchSettings, model: ModelSettings | None) -> Definition:
    """HNSW by cosine; Azure OpenAI also turns questions into vectors, where the model is there."""
    if settings.embedding is None:
        return {}
    algorithm, vectorizer = f"{kind}-algorithm{settings.suffix}", f"{kind}-vectorizer{settings.suffix}"
    profile = {"name": f"{kind}-vector-search-profile{settings.suffix}", "algorithm": algorithm}
    vectorizers = []
    if model is not None and model.provider == "azure":
        profile["vectorizer"] = vectorizer
        parameters = embedding_model(settings.embedding, model)
        vectorizers.append({"name": vectorizer, "kind": "azureOpenAI", "azureOpenAIParameters": parameters})
    algorithms = [{"name": algorithm, "kind": "hnsw", "hnswParameters": {"metric": "cosine"}}]
    found: Definition = {"algorithms": algorithms, "profiles": [profile]}
    return {"vectorSearch": found | ({"vectorizers": vectorizers} if vectorizers else {})}
