"""Logging in to Azure Blob Storage. The client library is imported only when such a target is used."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from azure.core.credentials import AccessToken
from azure.core.exceptions import AzureError, ClientAuthenticationError
from azure.storage.blob import BlobServiceClient, ExponentialRetry

from dictionary_pipeline.config.environment import variable
from dictionary_pipeline.config.resolved import AzureTarget
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.azure_errors import Login, no_identity, sas_expiry

_WHERE = "publish: azure:"
_ENTRA = Login("Entra ID", "")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_TOO_MANY = 429
_MOST_WAIT = 60.0


def connect(target: AzureTarget, **options: Any) -> tuple[BlobServiceClient, Login]:
    """A client for the account of a target; nothing is sent yet.

    Args:
        options: For the client library, e.g. the certificate of a test server.

    Raises:
        ConfigurationError: a variable is not set, or what it holds cannot be used.
    """
    options = _options(target, options)
    url = target.account_url or ""
    if target.connection_string_env:
        return _from_connection_string(target.connection_string_env, options)
    if target.account_key_env:
        source = target.account_key_env
        credential = {"account_name": _account_name(url), "account_key": variable(source, _WHERE).strip()}
        client = _usable(source, lambda: BlobServiceClient(url, credential, **options))
        return client, Login("account key", source)
    if target.sas_env:
        return connect_with_sas(target, variable(target.sas_env, _WHERE).strip(), **options)
    return BlobServiceClient(url, _entra(url, target.client_id), **options), _ENTRA


def connect_with_sas(target: AzureTarget, sas: str, **options: Any) -> tuple[BlobServiceClient, Login]:
    """A client that logs in by a SAS.

    Args:
        sas: The token, or a URL that ends with it.

    Raises:
        ConfigurationError: it cannot be used.
    """
    token, source = sas.rpartition("?")[2], target.sas_env or ""
    _require_protection(target.account_url or "")
    client = _usable(
        source or "the SAS", lambda: BlobServiceClient(target.account_url or "", token, **_options(target, options))
    )
    return client, Login("SAS", source, sas_expiry(token))


def _options(target: AzureTarget, given: dict[str, Any]) -> dict[str, Any]:
    # The library's own pauses start at 15 seconds.
    retry = _Patience(initial_backoff=1, increment_base=2, retry_total=4, random_jitter_range=1)
    version = {"api_version": target.api_version} if target.api_version else {}
    return {"retry_policy": retry, "connection_timeout": 10, "read_timeout": 60, **version, **given}


class _Patience(ExponentialRetry):
    """The library's repetitions, also of requests that are too many at once, and as late as the service asks."""

    def send(self, request: Any) -> Any:
        """Send a request."""
        body = request.http_request.body
        start = body.tell() if hasattr(body, "tell") else None
        response = super().send(request)  # type: ignore[no-untyped-call]
        for _ in range(self.status_retries):
            if response.http_response.status_code != _TOO_MANY:
                break
            request.context.transport.sleep(_asked_to_wait(response.http_response) or self.initial_backoff)
            if start is not None:
                body.seek(start)
            response = super().send(request)  # type: ignore[no-untyped-call]
        return response

    def get_backoff_time(self, settings: dict[str, Any]) -> float:
        """Seconds to wait before the next repetition."""
        refused = settings["history"][-1].http_response
        return max(super().get_backoff_time(settings), _asked_to_wait(refused))


def _asked_to_wait(response: Any) -> float:
    """Seconds that the service asks to wait; 0 when it does not, or did not answer."""
    text = str(response.headers.get("Retry-After", "")) if response is not None else ""
    return min(float(text), _MOST_WAIT) if text.isdecimal() else 0.0


class _Identity:
    """An Entra ID login whose failure ends the request at once: the client would try it again for half a minute."""

    def __init__(self, url: str, client_id: str | None) -> None:
        from azure.identity import DefaultAzureCredential

        named = {"managed_identity_client_id": client_id} if client_id else {}
        self._credential = DefaultAzureCredential(**named)
        self._url = url

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        with suppress(ClientAuthenticationError):  # raised outside, so that its text does not travel along
            return self._credential.get_token(*scopes, **options)
        raise no_identity(self._url)


def _entra(url: str, client_id: str | None) -> _Identity:
    """Whatever Entra ID login this machine has: managed identity, variables, Azure CLI and others."""
    if not url.startswith("https://"):
        raise ConfigurationError(
            "Entra ID needs an https address", where=_WHERE, fix="Write 'account_url' with https://, or use a key."
        )
    return _Identity(url, client_id)


def _from_connection_string(name: str, options: dict[str, Any]) -> tuple[BlobServiceClient, Login]:
    text = variable(name, _WHERE).strip()
    parts = dict(part.partition("=")[::2] for part in text.split(";"))
    token = next((value for key, value in parts.items() if key.lower() == "sharedaccesssignature"), "")
    client = _usable(name, lambda: BlobServiceClient.from_connection_string(text, **options))
    if token:
        _require_protection(client.url)
    return client, Login("SAS" if token else "connection string", name, sas_expiry(token) if token else None)


def _require_protection(url: str) -> None:
    """Make sure that a SAS, which is part of every address, crosses no network in the clear."""
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ConfigurationError(
            f"a SAS needs an https address, as anyone on the way to {parts.hostname} could read it",
            where=_WHERE,
            fix="Write the account's address with https://, or use an account key.",
        )


def _usable(name: str, make: Callable[[], BlobServiceClient]) -> BlobServiceClient:
    """The client, or an error that does not quote what the variable holds."""
    with suppress(ValueError, KeyError, AzureError):
        return make()
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
    target = AzureTarget(container, prefix, account_url)
    if os.environ.get("AZURE_STORAGE_KEY"):
        return replace(target, account_key_env="AZURE_STORAGE_KEY")
    return replace(target, sas_env="AZURE_STORAGE_SAS_TOKEN" if os.environ.get("AZURE_STORAGE_SAS_TOKEN") else None)
