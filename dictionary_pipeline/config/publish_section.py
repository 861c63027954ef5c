"""`publish:` of `project.yml` and of a database file."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from dictionary_pipeline.config.resolved import AzurePlace, AzureTarget, PublishTarget
from dictionary_pipeline.config.section import Section, mistake

_DEFAULT = PublishTarget()
_CONTAINER = re.compile(r"(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN_PLACES = ("schema_store", "column_value_store", "state")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class AzureFolder(Section):
    """A container and a prefix of their own for one part of every bundle."""

    container: str | None = Field(default=None, description="Container; that of the bundles by default.")
    prefix: str = Field(default="", description="Folder within it; files go to `<prefix>/<database>/`.")

    @field_validator("container")
    @classmethod
    def _is_container(cls, value: str | None) -> str | None:
        return None if value is None else _container(value)

    @field_validator("prefix")
    @classmethod
    def _is_prefix(cls, value: str) -> str:
        return _prefix(value)


class AzurePublish(Section):
    """Azure Blob Storage instead of a folder."""

    container: str = Field(description="Container; it must exist.")
    prefix: str = Field(default="", description="Folder within it; a bundle goes to `<prefix>/<database>/`.")
    account_url: str | None = Field(
        default=None, description="`https://ACCOUNT.blob.core.windows.net`; not needed with a connection string."
    )
    connection_string_env: str | None = Field(
        default=None, description="Environment variable that holds the connection string."
    )
    account_key_env: str | None = Field(
        default=None, description="Environment variable that holds the account key, for `account_url`."
    )
    sas_env: str | None = Field(
        default=None,
        description="Environment variable that holds a SAS token, or a URL that ends with one, for `account_url`. With "
        "none of the three variables, Entra ID is asked (managed identity, Azure CLI, `AZURE_CLIENT_ID`, ...).",
    )
    client_id: str | None = Field(default=None, description="Client id of a user-assigned managed identity.")
    api_version: str | None = Field(
        default=None, description="Version of the service's REST API, for emulators that do not know the newest."
    )
    schema_store: AzureFolder | None = Field(
        default=None, description="Where `schema_store/` goes instead, e.g. for a search indexer."
    )
    column_value_store: AzureFolder | None = Field(default=None, description="Where `column_value_store/` goes.")
    state: AzureFolder | None = Field(default=None, description="Where `.state/`, private to the pipeline, goes.")

    @field_validator("container")
    @classmethod
    def _is_container(cls, value: str) -> str:
        return _container(value)

    @field_validator("prefix")
    @classmethod
    def _is_prefix(cls, value: str) -> str:
        return _prefix(value)

    @field_validator("connection_string_env", "account_key_env", "sas_env")
    @classmethod
    def _is_variable(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            # Not quoted: it may be the secret itself.
            raise mistake("is not the name of an environment variable", "Put the secret into a variable, e.g. in .env.")
        return value

    @field_validator("account_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None and (not re.match(r"https?://[^/?#@]", value) or "?" in value):
            raise mistake(
                "is not the address of a storage account",
                "Write https://ACCOUNT.blob.core.windows.net; a SAS token goes into the variable that 'sas_env' names.",
            )
        return value.rstrip("/") if value else value

    @model_validator(mode="after")
    def _says_how_to_log_in(self) -> AzurePublish:
        if (self.account_url is None) == (self.connection_string_env is None):
            raise mistake(
                "needs either 'account_url' or 'connection_string_env'",
                "Write account_url: https://ACCOUNT.blob.core.windows.net, or the name of the variable that holds the "
                "connection string.",
            )
        logins = [self.connection_string_env, self.account_key_env, self.sas_env]
        if sum(login is not None for login in logins) > 1:
            raise mistake(
                "'connection_string_env', 'account_key_env' and 'sas_env' exclude each other", "Keep one of them."
            )
        places = [(self.container, self.prefix)]
        for folder in (self.schema_store, self.column_value_store, self.state):
            if folder is not None:
                places.append((folder.container or self.container, folder.prefix))
        if len(set(places)) < len(places):
            raise mistake(
                f"the bundles, {', '.join(_OWN_PLACES)} need places that differ",
                "Give each its own container or prefix.",
            )
        return self

    def target(self) -> AzureTarget:
        """As the rest of the product sees it."""
        values: dict[str, Any] = {name: getattr(self, name) for name in AzurePublish.model_fields}
        values |= {name: self._place(values[name]) for name in _OWN_PLACES}
        return AzureTarget(**values)

    def _place(self, folder: AzureFolder | None) -> AzurePlace | None:
        return AzurePlace(folder.container or self.container, folder.prefix) if folder else None


class Publish(Section):
    """Where bundles go."""

    root: str = Field(
        default=_DEFAULT.root,
        description="Folder, relative to the project folder; a database's bundle goes to `<root>/<database>/`.",
    )
    azure: AzurePublish | None = Field(
        default=None, description="Azure Blob Storage, instead of `root`; see docs/azure.md."
    )
    plain: Annotated[tuple[str, ...] | None, BeforeValidator(_as_list)] = Field(
        default=None,
        description="Folders of a bundle that are also written under their plain paths; the rest is found through "
        "`manifest.json`. By default all in a local folder; `schema_store`, `column_value_store` and `site` on Azure.",
    )
    single_file: bool = Field(
        default=_DEFAULT.single_file,
        description="Write `schema_store/entities.json` instead of one file per entity.",
    )


def publish_target(project: Publish, own: Publish | None = None) -> PublishTarget:
    """The target of a project, or of a database whose file says `own` about it."""
    given = {name: getattr(project, name) for name in project.model_fields_set}
    if own is not None:
        if "root" in own.model_fields_set:
            given.pop("azure", None)
        given |= {name: getattr(own, name) for name in own.model_fields_set}
    azure = given.pop("azure", None)
    return PublishTarget(**given, azure=azure.target() if azure else None)


def _container(value: str) -> str:
    if not _CONTAINER.fullmatch(value):
        raise mistake(
            "is not the name of a container", "Use 3 to 63 lower-case letters, digits and single hyphens between them."
        )
    return value


def _prefix(value: str) -> str:
    parts = value.strip("/").split("/")
    if parts != [""] and any(part in ("", ".", "..") for part in parts):
        raise mistake("is not a path within a container", "Write folder names with '/' between them.")
    return "/".join(parts)
