"""The environment variables that the product itself reads, for the reference and `.env.example`."""

from __future__ import annotations

from typing import NamedTuple

from dictionary_pipeline.config.predecessor import variable_names
from dictionary_pipeline.config.predecessor_model import VARIABLES as MODEL_VARIABLES
from dictionary_pipeline.config.search_section import VARIABLES as SEARCH_VARIABLES
from dictionary_pipeline.config.targets import PROFILES_DIR_VARIABLE


class Variable(NamedTuple):
    """One environment variable."""

    name: str
    meaning: str


OWN: tuple[Variable, ...] = (
    Variable(
        "DICTIONARY_PIPELINE_PROJECT",
        "Project folder, for Dagster processes that do not start in or below it.",
    ),
    Variable("DICTIONARY_PIPELINE_DEBUG", "Set to 1, the command line shows the traceback of an unexpected error."),
    Variable("OPENAI_API_KEY", "Key of the language model; `api_key_env` of `model:` can name another variable."),
    Variable("AZURE_OPENAI_API_KEY", "The same for `provider: azure`."),
    Variable("DAGSTER_HOME", "Dagster's own: folder of its runs and settings; `make dev` uses `.dagster_home/`."),
    Variable(
        PROFILES_DIR_VARIABLE, "dbt's own: folder of `profiles.yml` for `build profile:NAME` outside a project folder."
    ),
)
"""Variables of the product and of the tools it stands on."""

_PARTS = {
    "Postgres__ConnectionString": "Connection URL, instead of the single variables.",
    "Tsql__ConnectionString": "ODBC connection string or URL, instead of the single variables.",
    "Sqlite__Database": "Database file.",
    "ServerHostname": "Host name.",
    "Port": "Port; the engine's usual one by default.",
    "User": "User name.",
    "Password": "Password.",
    "Database": "Database.",
    "Account": "Account identifier.",
    "Warehouse": "Warehouse.",
    "HttpPath": "HTTP path of the SQL warehouse.",
    "AccessToken": "Personal access token.",
    "Catalog": "Catalog.",
    "AzureSearchOptions__Endpoint": "For `push-search`: `https://NAME.search.windows.net`.",
    "AzureSearchOptions__Key": "For `push-search`: admin key of the service; not used with another `IdentityType`.",
    "AzureSearchOptions__Identity__ClientId": "For `push-search`: client id of a user-assigned identity.",
    "AzureSearchOptions__Text2SqlSchemaStore__Index": "For `push-search`: name of the index of tables and views.",
    "AzureSearchOptions__Text2SqlColumnValueStore__Index": "For `push-search`: name of the index of values.",
    "AzureSearchOptions__Text2SqlQueryCache__Index": "For `push-search`: name of the index of known questions.",
    "Endpoint": "For `-gen`: endpoint of the Azure OpenAI resource.",
    "ApiVersion": "For `-gen`: API version.",
    "MiniCompletionDeployment": "For `-gen`: deployment that writes the definitions.",
    "ApiKey": "For `-gen`: key of the resource.",
    "IdentityType": "For `-gen`: `key` (default), `system_assigned` or `user_assigned`.",
    "ClientId": "For `-gen`: client id of a user-assigned identity.",
}

PREDECESSOR: tuple[Variable, ...] = tuple(
    Variable(name, _PARTS.get(name.partition("__")[2]) or _PARTS[name.rpartition("__")[2]])
    for name in (*variable_names(), *MODEL_VARIABLES, *SEARCH_VARIABLES)
)
"""Variables of the Text2SQL accelerator, read by `build postgres` and the like."""
