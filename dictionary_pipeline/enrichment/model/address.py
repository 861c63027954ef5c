"""The model server's address, from what people paste: a resource, a base URL, or the URL of a whole request."""

from __future__ import annotations

import re

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.errors import ConfigurationError

_OPENAI = "https://api.openai.com/v1"
_REQUEST = re.compile(r"/chat/completions/?$")
_AZURE_PATH = re.compile(r"/openai(?:/v1|/deployments(?:/[^/]+)?)?$")


def server_address(settings: ModelSettings) -> str:
    """Base URL for the client; for a classic Azure deployment, the resource's endpoint.

    Raises:
        ConfigurationError: it is no http address.
    """
    given = settings.base_url or _OPENAI
    if not re.match(r"https?://[^/]", given, re.IGNORECASE):
        raise ConfigurationError(
            "'base_url' is no address of a server",
            where="the language model",
            fix="Begin it with https:// or http://, then the host.",
        )
    address = _REQUEST.sub("", given.partition("?")[0]).rstrip("/")
    if settings.provider != "azure":
        return address
    endpoint = _AZURE_PATH.sub("", address)
    if settings.api_version is not None:
        return endpoint
    return f"{endpoint}/" if endpoint.endswith("/v1") else f"{endpoint}/openai/v1/"
