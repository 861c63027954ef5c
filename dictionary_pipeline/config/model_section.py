"""`model:` of `project.yml` and of a database file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, get_args

from pydantic import Field, model_validator

from dictionary_pipeline.config.model_settings import (
    Identity,
    ModelBudget,
    ModelPrice,
    ModelSettings,
    Provider,
    ResponseFormat,
    SamplesMode,
    TokenParameter,
)
from dictionary_pipeline.config.section import Count, Section, mistake, one_of

_DEFAULT = ModelSettings("openai", "")
_KEY_VARIABLES: dict[str, str] = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_API_KEY"}
_Amount = Annotated[float, Field(ge=0)]
_Seconds = Annotated[float, Field(gt=0)]
_Samples = Annotated[SamplesMode, one_of(get_args(SamplesMode))]


class Price(Section):
    """Price of a million tokens of a model, in the currency of the limits."""

    input: _Amount = Field(description="Prompt tokens.")
    output: _Amount = Field(description="Answer tokens, hidden reasoning included.")
    cached_input: _Amount | None = Field(
        default=None, description="Prompt tokens that the provider had cached; as `input` by default."
    )


class Model(Section):
    """The language model that writes definitions; none is asked unless this is there."""

    provider: Annotated[Provider, one_of(get_args(Provider))] = Field(
        description="`openai`, `azure`, or `compatible` for any server with OpenAI's chat completions."
    )
    model: str = Field(min_length=1, description="Name of the model; for Azure, of the deployment.")
    base_url: str | None = Field(
        default=None,
        description="Address of the server, required for `compatible`; for `azure`, the resource's endpoint.",
    )
    api_version: str | None = Field(
        default=None, description="Azure only: the API version of a classic deployment; without it, the v1 address."
    )
    identity: Annotated[Identity, one_of(get_args(Identity))] = Field(
        default=_DEFAULT.identity, description="`key`, or `entra` for Entra ID (managed identity, Azure CLI, ...)."
    )
    api_key_env: str | None = Field(
        default=None,
        description="Environment variable that holds the key: by default `OPENAI_API_KEY` for `openai`, "
        "`AZURE_OPENAI_API_KEY` for `azure`, none for `compatible`.",
    )
    client_id: str | None = Field(default=None, description="Client id of a user-assigned managed identity.")
    entra_scope: str = Field(default=_DEFAULT.entra_scope, description="Scope of the Entra ID token.")
    temperature: _Amount | None = Field(
        default=None, description="Sent only when given: reasoning models refuse any but their own."
    )
    reasoning_effort: str | None = Field(default=None, description="For reasoning models, sent only when given.")
    reasoning_tokens: Annotated[int, Field(ge=0)] = Field(
        default=_DEFAULT.reasoning_tokens, description="Tokens of an answer that hidden reasoning may use in addition."
    )
    response_format: Annotated[ResponseFormat, one_of(get_args(ResponseFormat))] = Field(
        default=_DEFAULT.response_format,
        description="The strictest answer format to ask for: `json_schema`, `json_object` or `text`. A server that "
        "refuses one is asked for the next.",
    )
    token_parameter: Annotated[TokenParameter, one_of(get_args(TokenParameter))] = Field(
        default=_DEFAULT.token_parameter,
        description="Name of the limit on an answer's tokens; servers that refuse one name are sent the other.",
    )
    timeout_seconds: _Seconds = Field(
        default=_DEFAULT.timeout_seconds, description="Seconds to wait for an answer, or for more of it."
    )
    max_retries: Annotated[int, Field(ge=0)] = Field(
        default=_DEFAULT.max_retries, description="How often a request is repeated after 429, 5xx and lost connections."
    )
    concurrency: Count = Field(default=_DEFAULT.concurrency, description="Requests at the same time at most.")
    share_requests: bool = Field(
        default=_DEFAULT.share_requests,
        description="Whether small tables share a request; never with `samples: values`.",
    )
    batch: bool = Field(
        default=_DEFAULT.batch,
        description="Whether 20 requests or more are sent as a batch of the provider, which costs less and is answered "
        "within a day; the sensor `model_batch`, or the next run, takes the answers in.",
    )
    batch_model: str | None = Field(
        default=None,
        description="Azure: the deployment of a batch type of the same model; `model` answers single requests.",
    )
    language: str = Field(default=_DEFAULT.language, min_length=1, description="Language of the definitions.")
    glossary: dict[str, str] = Field(
        default={}, description="Terms and abbreviations of your trade and what they mean; part of every prompt."
    )
    samples: _Samples = Field(
        default=_DEFAULT.samples,
        description="What the model sees of values: `none`, `types`, `masked` (letters as `a`, digits as `9`) or "
        "`values`. Withheld columns show nothing in any mode.",
    )
    max_requests: Count | None = Field(default=None, description="Requests of a run at most.")
    max_tokens: Count | None = Field(default=None, description="Tokens of a run at most, prompts and answers.")
    max_cost: _Amount | None = Field(default=None, description="Cost of a run at most; needs a price.")
    max_cost_per_day: _Amount | None = Field(
        default=None, description="Cost of all databases in a calendar day (UTC) at most; needs a price."
    )
    max_cost_per_month: _Amount | None = Field(
        default=None, description="Cost of all databases in a calendar month (UTC) at most; needs a price."
    )
    prices: dict[str, Price] = Field(default={}, description="Model, as in `model`, and its price.")

    @model_validator(mode="after")
    def _is_whole(self) -> Model:
        if self.provider in ("azure", "compatible") and self.base_url is None:
            raise mistake(f"'base_url' is required for {self.provider}", "Add the server's address.")
        if self.provider != "azure" and (self.api_version or self.identity == "entra"):
            raise mistake("'api_version' and 'identity: entra' are for azure only", "Remove them.")
        limits = (self.max_cost, self.max_cost_per_day, self.max_cost_per_month)
        if any(limit is not None for limit in limits) and self.model not in self.prices:
            raise mistake(f"a cost limit needs the price of {self.model!r}", "Add it under 'prices'.")
        return self


class DatabaseModel(Section):
    """What a database changes about the project's model."""

    enabled: bool = Field(default=True, description="`false`: nothing about this database is sent to a model.")
    language: str | None = Field(default=None, min_length=1, description="Language of this database's definitions.")
    glossary: dict[str, str] = Field(default={}, description="Further terms; they win over the project's.")
    samples: _Samples | None = Field(default=None, description="What the model sees of this database's values.")


def model_settings(project: Model | None, own: DatabaseModel) -> ModelSettings | None:
    """The model that writes a database's definitions, or null when none does."""
    if project is None or not own.enabled:
        return None
    shared = ("base_url", "api_version", "identity", "client_id", "entra_scope", "temperature", "reasoning_effort")
    limits = ("max_requests", "max_tokens", "max_cost", "max_cost_per_day", "max_cost_per_month")
    sending = ("timeout_seconds", "max_retries", "concurrency", "share_requests", "batch", "batch_model")
    more = ("reasoning_tokens", "response_format", "token_parameter", *sending)
    price = project.prices.get(project.model)
    return replace(
        ModelSettings(project.provider, project.model),
        **{name: getattr(project, name) for name in (*shared, *more)},
        api_key_env=project.api_key_env or _KEY_VARIABLES.get(project.provider),
        language=own.language or project.language,
        glossary={**project.glossary, **own.glossary},
        samples=own.samples or project.samples,
        budget=ModelBudget(**{name: getattr(project, name) for name in limits}),
        price=ModelPrice(price.input, price.output, price.cached_input) if price else None,
    )
