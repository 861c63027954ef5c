"""Which language model writes definitions, what it may see and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Provider = Literal["openai", "azure", "compatible"]
SamplesMode = Literal["none", "types", "masked", "values"]
Identity = Literal["key", "entra"]
ResponseFormat = Literal["json_schema", "json_object", "text"]
TokenParameter = Literal["max_completion_tokens", "max_tokens"]


@dataclass(frozen=True)
class ModelPrice:
    """What a million tokens cost, in the currency of the limits."""

    input: float
    output: float
    cached_input: float | None = None
    """Null: as much as other input."""


@dataclass(frozen=True)
class ModelBudget:
    """What may be spent; null: no limit."""

    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    """Of one run over one database."""
    max_cost_per_day: float | None = None
    max_cost_per_month: float | None = None
    """Of all databases of the project together, by UTC calendar."""


@dataclass(frozen=True)
class ModelSettings:
    """The configured language model."""

    provider: Provider
    model: str
    """Name of the model, or of the Azure deployment."""
    base_url: str | None = None
    """Azure: the resource's endpoint."""
    api_version: str | None = None
    """Azure: set for classic deployments, null for the v1 address."""
    identity: Identity = "key"
    api_key_env: str | None = "OPENAI_API_KEY"
    """Variable that holds the key, read when the first request is made; null: the server wants none."""
    client_id: str | None = None
    """Of a user-assigned managed identity."""
    entra_scope: str = "https://cognitiveservices.azure.com/.default"
    temperature: float | None = None
    reasoning_effort: str | None = None
    response_format: ResponseFormat = "json_schema"
    """The strictest format to ask for; a server that refuses it is asked for the next one."""
    token_parameter: TokenParameter = "max_completion_tokens"
    reasoning_tokens: int = 0
    """Room for hidden reasoning beside the answer."""
    timeout_seconds: float = 90.0
    max_retries: int = 6
    concurrency: int = 4
    share_requests: bool = True
    """Small tables may share a request."""
    batch: bool = False
    """Many requests go to the provider as one batch, which is answered later."""
    batch_model: str | None = None
    """Azure: the deployment of a batch type; null: the same name."""
    language: str = "English"
    glossary: Mapping[str, str] = field(default_factory=dict)
    samples: SamplesMode = "masked"
    budget: ModelBudget = ModelBudget()
    price: ModelPrice | None = None
