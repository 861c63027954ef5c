"""`search:` of `project.yml` and of a database file, and the same from the predecessor's environment."""

from __future__ import annotations

import os
import re
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from dictionary_pipeline.config.model_section import Model
from dictionary_pipeline.config.search_settings import (
    QUERY_CACHE,
    SCHEMA_STORE,
    VALUE_STORE,
    EmbeddingSettings,
    IndexNames,
    SearchSettings,
)
from dictionary_pipeline.config.section import Section, mistake
from dictionary_pipeline.errors import ConfigurationError

_OPTIONS = "AIService__AzureSearchOptions__"
ENDPOINT, KEY, CLIENT = f"{_OPTIONS}Endpoint", f"{_OPTIONS}Key", f"{_OPTIONS}Identity__ClientId"
IDENTITY = "IdentityType"
INDEX_VARIABLES = {
    "schema_store": f"{_OPTIONS}Text2SqlSchemaStore__Index",
    "column_value_store": f"{_OPTIONS}Text2SqlColumnValueStore__Index",
    "query_cache": f"{_OPTIONS}Text2SqlQueryCache__Index",
}
VARIABLES = (ENDPOINT, KEY, CLIENT, *INDEX_VARIABLES.values())
_TYPES = {"schema_store": SCHEMA_STORE, "column_value_store": VALUE_STORE, "query_cache": QUERY_CACHE}
_ADDRESS = re.compile(r"https://[^/?#@\s]+/?")
_INDEX = re.compile(r"(?=.{2,128}$)[a-z0-9]+(?:[_-][a-z0-9]+)*")
_SUFFIX = re.compile(r"-?[a-z0-9]+(?:-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESOURCE = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Storage/storageAccounts/[^/;]+", re.I
)
_ENDPOINT_FIX = "Write https://NAME.search.windows.net."


class SearchIndexes(Section):
    """Names of indexes that are not called as the predecessor calls them."""

    schema_store: str | None = Field(default=None, description=f"`{SCHEMA_STORE}-index` by default.")
    column_value_store: str | None = Field(default=None, description=f"`{VALUE_STORE}-index` by default.")
    query_cache: str | None = Field(default=None, description=f"`{QUERY_CACHE}-index` by default.")

    @field_validator("*")
    @classmethod
    def _is_name(cls, value: str | None) -> str | None:
        if value is not None and not _INDEX.fullmatch(value):
            raise mistake(
                "is not the name of an index",
                "Use 2 to 128 lower-case letters, digits and single '-' or '_' between them.",
            )
        return value


class Embedding(Section):
    """A vector for every definition, by the server that `model:` names."""

    model: str = Field(min_length=1, description="Name of the embedding model; for Azure, of its deployment.")
    dimensions: Annotated[int, Field(ge=2, le=4096)] = Field(
        default=1536, description="Numbers in a vector; an existing index keeps those that it was made with."
    )
    model_name: str | None = Field(
        default=None,
        description="Azure: what the deployment is made of, e.g. `text-embedding-3-small`; as `model` by default.",
    )
    price: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="Price of a million tokens; counts for the limits of `model:`."
    )


class Search(Section):
    """The Azure AI Search service that gets the dictionaries; docs/search.md tells what is sent."""

    endpoint: str | None = Field(
        default=None, description=f"`https://NAME.search.windows.net`; that in `{ENDPOINT}` by default."
    )
    api_key_env: str | None = Field(
        default=None,
        description=f"Environment variable that holds an admin key; `{KEY}` by default where that is set, else Entra "
        "ID is asked (managed identity, Azure CLI, ...).",
    )
    client_id: str | None = Field(default=None, description="Client id of a user-assigned managed identity.")
    suffix: str = Field(default="", description="Appended to all default names, e.g. `dev`.")
    indexes: SearchIndexes = Field(default=SearchIndexes(), description="Names of the indexes.")
    column_values: bool = Field(default=True, description="Whether the values of columns are pushed too.")
    automatic: bool = Field(
        default=True,
        description="Whether `data_dictionary run` and Dagster push what they publish; with `false` only "
        "`data_dictionary push-search` does.",
    )
    embedding: Embedding | None = Field(default=None, description="Vectors of the definitions; none by default.")
    storage_resource_id: str | None = Field(
        default=None,
        description="For the definitions of indexers: `/subscriptions/.../storageAccounts/NAME` of the account that "
        "bundles are published to.",
    )
    query_cache_container: str | None = Field(
        default=None, description="For the definitions of indexers: container with questions and their SQL."
    )

    @field_validator("endpoint")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None and not _ADDRESS.fullmatch(value):
            raise mistake("is not the https address of a search service", _ENDPOINT_FIX)
        return value.rstrip("/") if value else value

    @field_validator("api_key_env")
    @classmethod
    def _is_variable(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            # Not quoted: it may be the key itself.
            raise mistake("is not the name of an environment variable", "Put the key into a variable, e.g. in .env.")
        return value

    @field_validator("suffix")
    @classmethod
    def _is_suffix(cls, value: str) -> str:
        if value and not _SUFFIX.fullmatch(value):
            raise mistake("cannot end a name", "Use lower-case letters, digits and single '-' between them.")
        return f"-{value.removeprefix('-')}" if value else ""

    @field_validator("storage_resource_id")
    @classmethod
    def _is_resource(cls, value: str | None) -> str | None:
        if value is not None and not _RESOURCE.fullmatch(value):
            raise mistake(
                "is not the resource id of a storage account",
                "Copy it from the Azure portal (the account's Endpoints page); it begins with /subscriptions/.",
            )
        return value

    @model_validator(mode="after")
    def _names_a_service(self) -> Search:
        named = os.environ.get(ENDPOINT, "").strip()
        if self.endpoint is None and not named:
            raise mistake(
                "does not name the service", f"Add 'endpoint: https://NAME.search.windows.net', or set {ENDPOINT}."
            )
        if self.endpoint is None and not _ADDRESS.fullmatch(named):
            raise mistake(f"what {ENDPOINT} holds is not the https address of a search service", _ENDPOINT_FIX)
        names = vars(_index_names(self))
        if len(set(names.values())) < len(names):
            raise mistake("two indexes have the same name", "Give each of 'indexes:' its own.")
        return self


class DatabaseSearch(Section):
    """What a database changes about the project's search."""

    enabled: bool = Field(default=True, description="`false`: nothing of this database is pushed.")


def require_model(search: Search | None, model: Model | None) -> Search | None:
    """Check that vectors can be made and paid as `model:` says; raises a mistake otherwise."""
    if search is None or search.embedding is None:
        return search
    if model is None:
        raise mistake("'embedding' needs a 'model:' section, whose server makes the vectors", "Add one, or remove it.")
    limits = (model.max_cost, model.max_cost_per_day, model.max_cost_per_month)
    if search.embedding.price is None and any(limit is not None for limit in limits):
        raise mistake("a cost limit of 'model:' needs the price of the embedding", "Add 'price' to 'embedding:'.")
    return search


def search_settings(project: Search | None, own: DatabaseSearch | None = None) -> SearchSettings | None:
    """The search service that gets a database's dictionary, or null when none does."""
    if project is None or (own is not None and not own.enabled):
        return None
    embedding = project.embedding
    return SearchSettings(
        endpoint=project.endpoint or os.environ[ENDPOINT].strip().rstrip("/"),
        api_key_env=project.api_key_env or _key_variable(),
        client_id=project.client_id or os.environ.get(CLIENT),
        indexes=_index_names(project),
        suffix=project.suffix,
        column_values=project.column_values,
        automatic=project.automatic,
        embedding=EmbeddingSettings(**embedding.model_dump()) if embedding else None,
        storage_resource_id=project.storage_resource_id,
        query_cache_container=project.query_cache_container,
    )


def predecessor_search() -> SearchSettings:
    """The search service that the predecessor's variables name.

    Raises:
        ConfigurationError: they name none.
    """
    endpoint = os.environ.get(ENDPOINT, "").strip()
    if not endpoint:
        raise ConfigurationError(
            "no search service is configured",
            where="dbt_like_configs/project.yml",
            fix=f"Add 'search: {{endpoint: https://NAME.search.windows.net}}', or set {ENDPOINT}.",
        )
    if not _ADDRESS.fullmatch(endpoint):
        raise ConfigurationError("is not the https address of a search service", where=ENDPOINT, fix=_ENDPOINT_FIX)
    return SearchSettings(
        endpoint=endpoint.rstrip("/"),
        api_key_env=_key_variable(),
        client_id=os.environ.get(CLIENT),
        indexes=_index_names(None),
    )


def _key_variable() -> str | None:
    """The predecessor's variable, where it is to be used: not beside an identity, which it prefers then."""
    is_identity = os.environ.get(IDENTITY, "key").strip().lower() not in ("", "key")
    return KEY if os.environ.get(KEY) and not is_identity else None


def _index_names(search: Search | None) -> IndexNames:
    own = search.indexes if search else SearchIndexes()
    suffix = search.suffix if search else ""
    names = {
        kind: getattr(own, kind) or os.environ.get(INDEX_VARIABLES[kind]) or f"{name}-index{suffix}"
        for kind, name in _TYPES.items()
    }
    return IndexNames(**names)
