"""Definitions for Azure AI Search: what the predecessor's readers rely on, and what existing indexes lack."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.resolved import AzurePlace, AzureTarget, ConnectionSpec, DatabaseConfig, PublishTarget
from dictionary_pipeline.config.search_settings import EmbeddingSettings, SearchSettings
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.publishing.search.definitions import FOLDER, definition_files
from dictionary_pipeline.publishing.search.evolve import evolved
from dictionary_pipeline.publishing.search.indexes import query_cache_index, schema_index, value_index

PLAIN = SearchSettings("https://acc.search.windows.net")
VECTORS = replace(PLAIN, embedding=EmbeddingSettings("our-deployment", 256, "text-embedding-3-small"))
AZURE_MODEL = ModelSettings("azure", "gpt", base_url="https://acc.openai.azure.com/openai/v1")
# Field -> (type, searchable) as the accelerator's deployment scripts make them.
PREDECESSOR = {
    "Id": ("Edm.String", False),
    "FQN": ("Edm.String", True),
    "EntityName": ("Edm.String", True),
    "Entity": ("Edm.String", True),
    "Schema": ("Edm.String", True),
    "Database": ("Edm.String", True),
    "Warehouse": ("Edm.String", True),
    "Catalog": ("Edm.String", True),
    "Definition": ("Edm.String", True),
    "ColumnNames": ("Collection(Edm.String)", True),
    "ColumnDefinitions": ("Collection(Edm.String)", True),
    "CompleteEntityRelationshipsGraph": ("Collection(Edm.String)", True),
    "DateLastModified": ("Edm.DateTimeOffset", False),
}


def fields(index: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {field["name"]: field for field in index["fields"]}


def config(settings: SearchSettings | None, **more: Any) -> DatabaseConfig:
    return DatabaseConfig("shop_1", ConnectionSpec("sqlite"), search=settings, **more)


def files(settings: SearchSettings, **more: Any) -> dict[str, Any]:
    found = definition_files(config(settings, **more))
    return {path.removeprefix(f"{FOLDER}/text-2-sql-"): json.loads(content) for path, content in found.items()}


def test_the_schema_index_has_the_predecessors_fields_and_what_they_lack() -> None:
    index = schema_index(PLAIN, None)
    found = fields(index)
    assert {name: (found[name]["type"], found[name]["searchable"]) for name in PREDECESSOR} == PREDECESSOR
    assert found["Id"]["key"] is True
    assert {name for name in found if found[name].get("analyzer") == "keyword"} == {"FQN", "Entity", "Schema"}
    assert {name for name in found if found[name].get("retrievable") is False} == {"ColumnNames", "ColumnDefinitions"}
    columns = {field["name"]: field["type"] for field in found["Columns"]["fields"]}
    assert columns["SampleValues"] == columns["AllowedValues"] == "Collection(Edm.String)"
    relationship = {field["name"] for field in found["EntityRelationships"]["fields"]}
    assert {
        "ForeignSchema",
        "ForeignDatabase",
        "ForeignCatalog",
        "ForeignWarehouse",
        "FQN",
        "ForeignFQN",
    } < relationship
    [semantic] = index["semantic"]["configurations"]
    assert semantic["name"] == "text-2-sql-schema-store-semantic-config"
    assert semantic["prioritizedFields"]["titleField"] == {"fieldName": "EntityName"}
    assert "DefinitionEmbedding" not in found and "vectorSearch" not in index


def test_vectors_bring_their_field_and_a_vectorizer_where_the_service_can_reach_the_model() -> None:
    index = schema_index(VECTORS, AZURE_MODEL)
    vector = fields(index)["DefinitionEmbedding"]
    assert (vector["dimensions"], vector["retrievable"], vector["stored"]) == (256, False, True)
    search = index["vectorSearch"]
    assert vector["vectorSearchProfile"] == search["profiles"][0]["name"]
    assert search["vectorizers"][0]["azureOpenAIParameters"] == {
        "resourceUri": "https://acc.openai.azure.com",
        "deploymentId": "our-deployment",
        "modelName": "text-embedding-3-small",
    }
    other = schema_index(VECTORS, ModelSettings("compatible", "m", base_url="http://10.0.0.1/v1"))
    assert "vectorizers" not in other["vectorSearch"] and "vectorizer" not in other["vectorSearch"]["profiles"][0]
    assert "QuestionEmbedding" in fields(query_cache_index(VECTORS, None))


def test_values_have_one_document_each_with_their_own_key() -> None:
    assert {name: field["searchable"] for name, field in fields(value_index(PLAIN)).items()} == {
        **dict.fromkeys(("Id", "FQN", "Entity", "Schema", "Database", "Warehouse", "Catalog", "Column"), False),
        "Value": True,
        **dict.fromkeys(("Synonyms", "Dictionary", "DictionaryKey", "DateLastModified"), False),
    }
    indexer = files(PLAIN)["column-value-store-indexer.json"]
    assert indexer["outputFieldMappings"][0] == {"sourceFieldName": "/document/Id", "targetFieldName": "Id"}
    assert indexer["parameters"]["configuration"]["parsingMode"] == "jsonLines"


def test_a_database_without_search_publishes_no_definition() -> None:
    assert definition_files(config(None)) == {}


def test_definitions_are_the_same_every_time_and_hold_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", "canary-key")
    settings = replace(VECTORS, api_key_env="SEARCH_KEY", query_cache_container="questions")
    model = replace(AZURE_MODEL, api_key_env="SEARCH_KEY")
    target = PublishTarget(azure=AzureTarget("c", connection_string_env="SEARCH_KEY"))
    first = definition_files(config(settings, model=model, publish=target))
    assert first == definition_files(config(settings, model=model, publish=target))
    assert not any(b"canary" in content or b"apiKey" in content for content in first.values())
    assert {path.removeprefix(f"{FOLDER}/text-2-sql-").removesuffix(".json") for path in first} == {
        *(f"schema-store-{part}" for part in ("index", "data-source", "skillset", "indexer")),
        *(f"column-value-store-{part}" for part in ("index", "data-source", "indexer")),
        *(f"query-cache-{part}" for part in ("index", "data-source", "skillset", "indexer")),
    }


def test_an_indexer_reads_where_the_files_are_published() -> None:
    azure = AzureTarget("all", "prod", "https://acc.blob.core.windows.net", schema_store=AzurePlace("entries", "x"))
    found = files(PLAIN, publish=PublishTarget(azure=azure))
    source = found["schema-store-data-source.json"]
    assert source["container"] == {"name": "entries", "query": "x/shop_1"}
    assert source["credentials"]["connectionString"].endswith("/storageAccounts/acc;")
    assert source["dataDeletionDetectionPolicy"]["@odata.type"].endswith("NativeBlobSoftDeleteDeletionDetectionPolicy")
    assert source["name"] == "text-2-sql-schema-store-data-source-shop-1"
    assert found["column-value-store-data-source.json"]["container"] == {
        "name": "all",
        "query": "prod/shop_1/column_value_store",
    }
    resource = "/subscriptions/1/resourceGroups/2/providers/Microsoft.Storage/storageAccounts/three"
    named = files(replace(PLAIN, storage_resource_id=resource))
    assert named["schema-store-data-source.json"]["credentials"] == {"connectionString": f"ResourceId={resource};"}


def test_the_parts_of_an_indexer_name_each_other() -> None:
    found = files(VECTORS, model=AZURE_MODEL)
    indexer = found["schema-store-indexer.json"]
    assert indexer["dataSourceName"] == found["schema-store-data-source.json"]["name"]
    assert indexer["skillsetName"] == found["schema-store-skillset.json"]["name"]
    assert indexer["targetIndexName"] == found["schema-store-index.json"]["name"]
    targets = {item["targetFieldName"] for item in indexer["outputFieldMappings"]}
    assert targets <= set(fields(found["schema-store-index.json"])) and "DefinitionEmbedding" in targets
    single = files(PLAIN, publish=PublishTarget(single_file=True))
    assert single["schema-store-indexer.json"]["parameters"]["configuration"]["parsingMode"] == "jsonArray"
    assert "dataDeletionDetectionPolicy" not in single["schema-store-data-source.json"]
    assert "skillsetName" not in single["schema-store-indexer.json"]


def test_a_deleted_file_is_found_by_a_key_that_comes_from_its_properties() -> None:
    for kind in ("schema-store", "query-cache"):
        indexer = files(replace(PLAIN, query_cache_container="questions"))[f"{kind}-indexer.json"]
        keys = [item for item in indexer["fieldMappings"] if item["targetFieldName"] == "Id"]
        assert [(item["sourceFieldName"], item["mappingFunction"]["name"]) for item in keys] == [
            ("metadata_storage_path", "base64Encode")
        ]
        assert "Id" not in {item["targetFieldName"] for item in indexer["outputFieldMappings"]}
    values = files(PLAIN)["column-value-store-indexer.json"]
    assert values["outputFieldMappings"][0] == {"sourceFieldName": "/document/Id", "targetFieldName": "Id"}
    single = files(PLAIN, publish=PublishTarget(single_file=True))["schema-store-indexer.json"]
    assert single["outputFieldMappings"][0]["sourceFieldName"] == "/document/FQN"


def test_names_are_those_that_the_service_allows() -> None:
    names = []
    for database in ("a--b", "a-b", "a__b", "end-", "end", "x" * 59 + "-y", "x" * 100):
        found = definition_files(replace(config(PLAIN), name=database))
        names += [json.loads(content)["name"] for path, content in found.items() if not path.endswith("index.json")]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"(?=.{2,128}$)[a-z0-9]+(-[a-z0-9]+)*", name)] == []


def refused(field: str, what: str) -> DictionaryError:
    return DictionaryError(f"{field} {what}")


def test_an_index_that_lacks_nothing_stays_as_it_is() -> None:
    index = schema_index(VECTORS, AZURE_MODEL)
    assert evolved(index, index, refused) == index


def test_vectors_are_added_to_an_index_without_them() -> None:
    result = evolved(schema_index(PLAIN, None), schema_index(VECTORS, AZURE_MODEL), refused)
    assert result["vectorSearch"] == schema_index(VECTORS, AZURE_MODEL)["vectorSearch"]
    assert "DefinitionEmbedding" in fields(result)
    assert len(result["semantic"]["configurations"]) == 1


def test_vectors_of_other_dimensions_are_a_conflict() -> None:
    other = replace(VECTORS, embedding=EmbeddingSettings("e", 1536))
    with pytest.raises(DictionaryError, match="DefinitionEmbedding has 256 dimensions, not 1536"):
        evolved(schema_index(VECTORS, None), schema_index(other, None), refused)
