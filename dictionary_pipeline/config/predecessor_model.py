"""The language model from the environment variables of the Text2SQL accelerator, for `build -gen`."""

from __future__ import annotations

import os

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.errors import ConfigurationError

ENDPOINT, VERSION = "OpenAI__Endpoint", "OpenAI__ApiVersion"
DEPLOYMENT, KEY = "OpenAI__MiniCompletionDeployment", "OpenAI__ApiKey"
IDENTITY, CLIENT = "IdentityType", "ClientId"
VARIABLES = (ENDPOINT, VERSION, DEPLOYMENT, KEY, IDENTITY, CLIENT)
_IDENTITIES = ("key", "system_assigned", "user_assigned")


def predecessor_model() -> ModelSettings:
    """The Azure OpenAI deployment that the predecessor would ask.

    Raises:
        ConfigurationError: variables are missing, all of them named, or one has no meaning.
    """
    identity = os.environ.get(IDENTITY, "key").strip().lower()
    if identity not in _IDENTITIES:
        raise ConfigurationError(
            f"{IDENTITY} must be {', '.join(_IDENTITIES[:-1])} or {_IDENTITIES[-1]}",
            where="the environment",
            fix="Correct it in .env or the environment.",
        )
    needed = [ENDPOINT, VERSION, DEPLOYMENT]
    needed += [KEY] if identity == "key" else [CLIENT] if identity == "user_assigned" else []
    missing = [name for name in needed if not os.environ.get(name)]
    if missing:
        raise ConfigurationError(
            f"no language model is configured: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set",
            where="-gen",
            fix="Set them in .env or the environment, or add a 'model:' block to dbt_like_configs/project.yml.",
        )
    return ModelSettings(
        provider="azure",
        model=os.environ[DEPLOYMENT],
        base_url=os.environ[ENDPOINT],
        api_version=os.environ[VERSION],
        identity="key" if identity == "key" else "entra",
        api_key_env=KEY,
        client_id=os.environ[CLIENT] if identity == "user_assigned" else None,
    )
