"""Whatever people paste as the server's address leads to the server."""

from __future__ import annotations

import pytest

from dictionary_pipeline.config.model_settings import ModelSettings, Provider
from dictionary_pipeline.enrichment.model.address import server_address
from dictionary_pipeline.errors import ConfigurationError

RESOURCE = "https://r.openai.azure.example"


@pytest.mark.parametrize(
    ("provider", "given", "version", "expected"),
    [
        ("openai", None, None, "https://api.openai.com/v1"),
        ("compatible", "http://gpu:8000/v1/", None, "http://gpu:8000/v1"),
        ("compatible", "http://gpu:8000/v1/chat/completions", None, "http://gpu:8000/v1"),
        ("azure", f"{RESOURCE}/", None, f"{RESOURCE}/openai/v1/"),
        ("azure", f"{RESOURCE}/openai", None, f"{RESOURCE}/openai/v1/"),
        ("azure", f"{RESOURCE}/openai/v1/", None, f"{RESOURCE}/openai/v1/"),
        ("azure", "https://gateway.example/llm/v1", None, "https://gateway.example/llm/v1/"),
        ("azure", f"{RESOURCE}/openai/v1", "2024-10-21", RESOURCE),
        ("azure", f"{RESOURCE}/openai/deployments/d/chat/completions?api-version=x", "2024-10-21", RESOURCE),
        ("azure", f"{RESOURCE}/openai/deployments/d/chat/completions?api-version=x", None, f"{RESOURCE}/openai/v1/"),
        ("azure", "https://gateway.example/openai-eu", "2024-10-21", "https://gateway.example/openai-eu"),
    ],
)
def test_an_address_is_brought_into_the_clients_form(
    provider: Provider, given: str | None, version: str | None, expected: str
) -> None:
    assert server_address(ModelSettings(provider, "m", base_url=given, api_version=version)) == expected


@pytest.mark.parametrize("given", ["127.0.0.1:8000/v1", "gpu/v1", "https:///v1", "ftp://gpu/v1"])
def test_what_is_no_http_address_is_a_mistake_in_the_configuration(given: str) -> None:
    with pytest.raises(ConfigurationError, match="https://"):
        server_address(ModelSettings("compatible", "m", base_url=given))
