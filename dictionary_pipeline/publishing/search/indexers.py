"""Data sources, skillsets and indexers for those who let the service read the published files itself.

Without a secret: the service logs in to the storage account and to Azure OpenAI by its managed identity.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.resolved import AzurePlace, AzureTarget, DatabaseConfig
from dictionary_pipeline.config.search_settings import QUERY_CACHE, SCHEMA_STORE, VALUE_STORE, SearchSettings
from dictionary_pipeline.publishing.search.indexes import (
    DEFINITION_VECTOR,
    QUESTION_VECTOR,
    Definition,
    embedding_model,
)

_ENGINE_FIELDS = ("Database", "Warehouse", "Catalog")
_PLACEHOLDER = "/subscriptions/<subscription>/resourceGroups/<group>/providers/Microsoft.Storage/storageAccounts/"
_BATCH = 16
_LONGEST = 60
"""Characters of a database's name within names of the service, which may have 128."""
_MODIFIED = "metadata_storage_last_modified"
_PATH = "metadata_storage_path"
"""Of a deleted file the service knows only properties like this: no key from its content finds the document."""
_ENCODED = {"name": "base64Encode", "parameters": {"useHttpServerUtilityUrlTokenEncode": False}}


class _Source(NamedTuple):
    """What an indexer reads, and what it makes of it."""

    kind: str
    target: str
    """The index."""
    place: AzurePlace
    parsing_mode: str
    ending: str
    fields: tuple[str, ...]
    """Taken over as they are."""
    derived: tuple[tuple[str, str], ...] = ()
    """Path in the document -> field."""
    key: str = "/document/Id"
    """Path of the key in a file of several documents."""
    embedded: str = ""
    """The field that becomes a vector."""
    vector: str = ""
    suffix: str = ""


def indexer_definitions(config: DatabaseConfig, settings: SearchSettings) -> dict[str, Definition]:
    """File name -> definition of everything that the service's indexers need for one database."""
    found: dict[str, Definition] = {}
    for source in _sources(config, settings):
        found[f"{source.kind}-data-source.json"] = _data_source(source, config.publish.azure, settings)
        skillset = _skillset(source, settings, config.model)
        if skillset is not None:
            found[f"{source.kind}-skillset.json"] = skillset
        found[f"{source.kind}-indexer.json"] = _indexer(source, has_skillset=skillset is not None)
    return found


def _sources(config: DatabaseConfig, settings: SearchSettings) -> list[_Source]:
    suffix = f"-{_part(config.name)}{settings.suffix}"
    names, azure = settings.indexes, config.publish.azure
    single = config.publish.single_file
    entity = _Source(
        SCHEMA_STORE,
        names.schema_store,
        _place(azure, "schema_store", config.name),
        "jsonArray" if single else "json",
        ".json",
        ("FQN", "EntityName", "Entity", "Schema", *_ENGINE_FIELDS, "Definition", "Columns", "EntityRelationships"),
        (
            ("/document/Columns/*/Name", "ColumnNames"),
            ("/document/Columns/*/Definition", "ColumnDefinitions"),
            ("/document/CompleteEntityRelationshipsGraph/*", "CompleteEntityRelationshipsGraph"),
        ),
        "/document/FQN",
        "Definition",
        DEFINITION_VECTOR,
        suffix,
    )
    value = _Source(
        VALUE_STORE,
        names.column_value_store,
        _place(azure, "column_value_store", config.name),
        "jsonLines",
        ".jsonl",
        ("FQN", "Entity", "Schema", *_ENGINE_FIELDS, "Column", "Value", "Synonyms"),
        suffix=suffix,
    )
    query = _Source(
        QUERY_CACHE,
        names.query_cache,
        AzurePlace(settings.query_cache_container or ""),
        "json",
        ".json",
        ("Question", "SqlQueryDecomposition"),
        embedded="Question",
        vector=QUESTION_VECTOR,
        suffix=settings.suffix,
    )
    return [entity, *([value] if settings.column_values else []), *([query] if settings.query_cache_container else [])]


def _part(database: str) -> str:
    """A database's name as part of the service's names: no underscore, no `-` at the end or beside another."""
    plain = database.replace("_", "-")
    part = re.sub(r"-+", "-", plain)[:_LONGEST].strip("-")
    return part if part == plain else f"{part}-{hashlib.sha256(database.encode()).hexdigest()[:10]}"


def _place(azure: AzureTarget | None, folder: str, database: str) -> AzurePlace:
    """Where the files of a folder lie under their plain paths."""
    if azure is None:
        return AzurePlace("<container>", f"{database}/{folder}")
    own: AzurePlace | None = getattr(azure, folder)
    parts = (own.prefix, database) if own else (azure.prefix, database, folder)
    return AzurePlace(own.container if own else azure.container, "/".join(part for part in parts if part))


def _data_source(source: _Source, azure: AzureTarget | None, settings: SearchSettings) -> Definition:
    account = (urlsplit(azure.account_url).hostname or "").partition(".")[0] if azure and azure.account_url else ""
    resource = settings.storage_resource_id or f"{_PLACEHOLDER}{account or '<account>'}"
    container: dict[str, Any] = {"name": source.place.container}
    if source.place.prefix:
        container["query"] = source.place.prefix
    change = {
        "@odata.type": "#Microsoft.Azure.Search.HighWaterMarkChangeDetectionPolicy",
        "highWaterMarkColumnName": _MODIFIED,
    }
    # Needs soft delete on the account, and one document per file: `push-search` needs neither.
    native = {"@odata.type": "#Microsoft.Azure.Search.NativeBlobSoftDeleteDeletionDetectionPolicy"}
    deletion = {"dataDeletionDetectionPolicy": native} if source.parsing_mode == "json" else {}
    return {
        "name": f"{source.kind}-data-source{source.suffix}",
        "type": "azureblob",
        "credentials": {"connectionString": f"ResourceId={resource};"},
        "container": container,
        "dataChangeDetectionPolicy": change,
        **deletion,
    }


def _skillset(source: _Source, settings: SearchSettings, model: ModelSettings | None) -> Definition | None:
    """Turns text into a vector; null where none is wanted, or only the pipeline can reach the model."""
    if not source.embedded or settings.embedding is None or model is None or model.provider != "azure":
        return None
    skill = {
        "@odata.type": "#Microsoft.Skills.Text.AzureOpenAIEmbeddingSkill",
        "name": "Vector Skill",
        "context": "/document",
        **embedding_model(settings.embedding, model),
        "dimensions": settings.embedding.dimensions,
        "inputs": [{"name": "text", "source": f"/document/{source.embedded}"}],
        "outputs": [{"name": "embedding", "targetName": source.vector}],
    }
    return {"name": f"{source.kind}-skillset{source.suffix}", "skills": [skill]}


def _indexer(source: _Source, *, has_skillset: bool) -> Definition:
    mapped = [*((f"/document/{name}", name) for name in source.fields), *source.derived]
    if has_skillset:
        mapped.append((f"/document/{source.vector}", source.vector))
    mapped.append(("/document/DateLastModified", "DateLastModified"))
    outputs: list[Definition] = [{"sourceFieldName": path, "targetFieldName": name} for path, name in mapped]
    inputs: list[Definition] = [{"sourceFieldName": _MODIFIED, "targetFieldName": "DateLastModified"}]
    if source.parsing_mode == "json":
        inputs.append({"sourceFieldName": _PATH, "targetFieldName": "Id", "mappingFunction": _ENCODED})
    else:
        encoded = {} if source.key == "/document/Id" else {"mappingFunction": _ENCODED}
        outputs.insert(0, {"sourceFieldName": source.key, "targetFieldName": "Id", **encoded})
    return {
        "name": f"{source.kind}-indexer{source.suffix}",
        "dataSourceName": f"{source.kind}-data-source{source.suffix}",
        "targetIndexName": source.target,
        **({"skillsetName": f"{source.kind}-skillset{source.suffix}"} if has_skillset else {}),
        "schedule": {"interval": "PT24H"},
        "parameters": {
            "batchSize": _BATCH,
            "maxFailedItems": 5,
            "configuration": {
                "dataToExtract": "contentAndMetadata",
                "parsingMode": source.parsing_mode,
                "indexedFileNameExtensions": source.ending,
                "failOnUnsupportedContentType": False,
                "failOnUnprocessableDocument": False,
                "indexStorageMetadataOnlyForOversizedDocuments": True,
            },
        },
        "fieldMappings": inputs,
        "outputFieldMappings": outputs,
    }
