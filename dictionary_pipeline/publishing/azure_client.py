"""Logging in to Azure Blob Storage. The client library is imported only when such a target is used."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from azure.core.exceptions import AzureError
from azure.storage.blob import BlobServiceClient, ExponentialRetry

from dictionary_pipeline.config.environment import variable
from dictionary_pipeline.config.resolved import AzureTarget
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.azure_errors import Login, sas_expiry

_WHERE = "publish: azure:"
_ENTRA = Login("Entra ID", "")


def connect(target: AzureTarget, **options: Any) -> tuple[BlobServiceClient, Login]:
    """A client for the account of a target; nothing is sent yet.

    Args:
        options: For the client library, e.g. the certificate of a test server.

    Raises:
        ConfigurationError: a variable is not set, or what it holds cannot be used.
    """
    # The library's own pauses start at 15 seconds.
    retry = ExponentialRetry(initial_backoff=1, increment_base=2, retry_total=4, random_jitter_range=1)
    options = {"retry_policy": retry, "connection_timeout": 10, "read_timeout": 60, **options}
    if target.api_version:
        options["api_version"] = target.api_version
    if target.connection_string_env:
        return _from_connection_string(target.connection_string_env, options)
    url = target.account_url or ""
    if target.account_key_env:
        key = variable(target.account_key_env, _WHERE).strip()
        named = {"account_name": _account_name(url), "account_key": key}
        return _usable(target.account_key_env, lambda: BlobServiceClient(url, named, **options)), Login(
            "account key", target.account_key_env
        )
    if target.sas_env:
        token = variable(target.sas_env, _WHERE).strip().rpartition("?")[2]
        login = Login("SAS", target.sas_env, sas_expiry(token))
        return _usable(target.sas_env, lambda: BlobServiceClient(url, token, **options)), login
    return BlobServiceClient(url, entra_credential(url, target.client_id), **options), _ENTRA


def entra_credential(url: str, client_id: str | None) -> Any:
    """Whatever Entra ID login this machine has: managed identity, variables, Azure CLI and others.

    Raises:
        ConfigurationError: the address would send its token unprotected.
    """
    from azure.identity import DefaultAzureCredential

    if not url.startswith("https://"):
        raise ConfigurationError(
            "Entra ID needs an https address", where=_WHERE, fix="Write 'account_url' with https://, or use a key."
        )
    return DefaultAzureCredential(managed_identity_client_id=client_id) if client_id else DefaultAzureCredential()


def _from_connection_string(name: str, options: dict[str, Any]) -> tuple[BlobServiceClient, Login]:
    text = variable(name, _WHERE).strip()
    parts = dict(part.partition("=")[::2] for part in text.split(";"))
    token = next((value for key, value in parts.items() if key.lower() == "sharedaccesssignature"), "")
    client = _usable(name, lambda: BlobServiceClient.from_connection_string(text, **options))
    return client, Login("SAS" if token else "connection string", name, sas_expiry(token) if token else None)


def _usable(name: str, make: Callable[[], BlobServiceClient]) -> BlobServiceClient:
    """The client, or an error that does not quote what the variable holds."""
    try:
        return make()
    except (ValueError, KeyError, AzureError):
        pass
    raise ConfigurationError(
        f"the content of {name} cannot be used",
        where=_WHERE,
        fix="Copy the whole value again from the Azure portal, without quotes.",
    )


def _account_name(url: str) -> str:
    """First label of the host; for an emulator without one, the first part of the path."""
    parts = urlsplit(url)
    return parts.path.strip("/").partition("/")[0] or (parts.hostname or "").partition(".")[0]


def environment_target(account_url: str, container: str, prefix: str) -> AzureTarget:
    """A target for an address that nothing configures: the Azure command line's variables, else Entra ID."""
    found: dict[str, str] = {}
    for field, name in (("account_key_env", "AZURE_STORAGE_KEY"), ("sas_env", "AZURE_STORAGE_SAS_TOKEN")):
        if os.environ.get(name) and not found:
            found[field] = name
    return AzureTarget(
        container, prefix, account_url, api_version=os.environ.get("AZURE_STORAGE_API_VERSION") or None, **found
    )
