"""Talks to the language model: OpenAI, Azure OpenAI, or any server with the same chat completions.

The openai package is imported by the first request. It repeats requests after 429, 5xx and lost
connections and obeys Retry-After; nothing here repeats them again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dictionary_pipeline.config.environment import variable
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.model.address import server_address
from dictionary_pipeline.enrichment.model.asking import Message, Request, format_text, prompt_tokens
from dictionary_pipeline.enrichment.model.budget import Usage
from dictionary_pipeline.enrichment.model.pace import Pace
from dictionary_pipeline.enrichment.model.texts import without_reasoning
from dictionary_pipeline.errors import ConfigurationError, DictionaryError

if TYPE_CHECKING:
    import openai

_FORMATS = ("json_schema", "json_schema without lengths", "json_object", "text")
_WHERE = "the language model"
_MOST_ADAPTATIONS = 6
_UNKNOWN_MODEL = "model_not_found"
"""Some servers say so with another status than 404."""
_clients: dict[tuple[object, ...], openai.OpenAI] = {}
_clients_lock = threading.Lock()


class ModelUnavailable(DictionaryError):
    """The server did not answer, also not after the client's retries."""

    identifier = "DD-MODEL"
    scope = "model"
    retryable = True


class QuotaUsedUp(DictionaryError):
    """The account may ask no more; waiting a moment does not help."""

    identifier = "DD-MODEL-QUOTA"
    scope = "model"


class RequestRefused(DictionaryError):
    """The server refuses this request as it is."""

    identifier = "DD-MODEL-REQUEST"
    scope = "model"


@dataclass(frozen=True)
class Reply:
    """An answer as it came."""

    text: str
    ending: str
    """stop | length | content_filter | refusal"""
    usage: Usage


class ModelClient:
    """Asks questions of one configured model; threads may share it."""

    def __init__(self, settings: ModelSettings, pace: Pace | None = None) -> None:
        self._settings = settings
        self._pace = pace or Pace()
        self._lock = threading.Lock()
        self._level = _FORMATS.index(settings.response_format)
        self._token_parameter: str = settings.token_parameter
        self._with_temperature = settings.temperature is not None

    def ask(self, question: Request, messages: Sequence[Message]) -> Reply:
        """Ask once; formats and parameters that the server refuses are given up for the rest of the run.

        Raises:
            ConfigurationError: key, model or address are wrong, or the key's variable is not set.
            ModelUnavailable: the server did not answer.
            QuotaUsedUp: the account's quota is used up.
            RequestRefused: the server refuses the request for another reason.
        """
        import openai

        client = connected(self._settings)
        self._pace.wait(prompt_tokens(messages) + question.max_tokens)
        for _ in range(_MOST_ADAPTATIONS):
            arguments, state = self._arguments(question, messages)
            refusal: openai.APIStatusError | None = None
            failure: DictionaryError | None = None
            try:
                raw = client.chat.completions.with_raw_response.create(**arguments)
                self._pace.note(raw.headers)
                return _reply(raw.parse())
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if error.code == _UNKNOWN_MODEL:
                    failure = as_failure(error, self._settings)
                else:
                    refusal = error
            except openai.OpenAIError as error:
                failure = as_failure(error, self._settings)
            except ValueError:  # a body that is not JSON, or not that of a completion
                failure = ModelUnavailable("the server's answer is not one of a model", where=_WHERE, fix=_RUN_AGAIN)
            # Raised outside the handler: the server's text can quote the prompt and must not become the context.
            if failure is not None:
                raise failure
            ended = _ending(refusal) if refusal else None
            if ended:
                return Reply("", ended, Usage(1))
            if refusal is None or not self._adapt(refusal, state):
                code = str(refusal.status_code) if refusal else None
                raise RequestRefused("the server refuses the request", where=_WHERE, fix=_CHECK, code=code)
        raise RequestRefused("the server refuses every form of the request", where=_WHERE, fix=_CHECK)

    def body(self, question: Request, messages: Sequence[Message]) -> dict[str, Any]:
        """A request as it would be sent."""
        return self._arguments(question, messages)[0]

    def _arguments(self, question: Request, messages: Sequence[Message]) -> tuple[dict[str, Any], tuple[object, ...]]:
        """Arguments of a request, and the state of the adaptations that they were made under."""
        with self._lock:
            level, parameter, with_temperature = self._level, self._token_parameter, self._with_temperature
        settings = self._settings
        schema = question.schema(limits=level == 0)
        told = list(messages)
        arguments: dict[str, Any] = {"model": settings.model}
        if schema is not None and level <= 1:
            arguments["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
        elif schema is not None:
            place = next(at for at, message in enumerate(told) if message["role"] != "system")
            told.insert(place, {"role": "system", "content": format_text(schema)})
            if level == 2:
                arguments["response_format"] = {"type": "json_object"}
        arguments["messages"] = told
        arguments[parameter] = question.max_tokens + settings.reasoning_tokens
        if with_temperature:
            arguments["temperature"] = settings.temperature
        if settings.reasoning_effort:
            arguments["reasoning_effort"] = settings.reasoning_effort
        return arguments, (level, parameter, with_temperature)

    def _adapt(self, error: openai.APIStatusError, state: tuple[object, ...]) -> bool:
        """Give up what the server refused; whether another attempt makes sense."""
        named = _named(error)
        with self._lock:
            if state != (self._level, self._token_parameter, self._with_temperature):
                return True  # another thread has adapted meanwhile
            if "max_completion_tokens" in named or "max_tokens" in named:
                other = "max_tokens" if self._token_parameter == "max_completion_tokens" else "max_completion_tokens"
                if self._token_parameter == self._settings.token_parameter:
                    self._token_parameter = other
                    return True
                return False
            if "temperature" in named and self._with_temperature:
                self._with_temperature = False
                return True
            about_format = any(word in named for word in ("response_format", "schema", "grammar", "json_object"))
            if about_format and self._level < len(_FORMATS) - 1:
                self._level += 1
                return True
        return False


_RUN_AGAIN = "Run again later; what was answered is kept."
_CHECK = "Check 'model:' in project.yml against what the server offers."


def _reply(completion: Any) -> Reply:
    """What a completion says, whatever a server leaves out."""
    choices = getattr(completion, "choices", None)
    if not choices:
        raise ValueError("no choice")
    message, ending = choices[0].message, choices[0].finish_reason or "stop"
    if message is None:
        raise ValueError("no message")
    told = getattr(completion, "usage", None)
    details = getattr(told, "prompt_tokens_details", None)
    usage = Usage(
        1,
        getattr(told, "prompt_tokens", 0) or 0,
        getattr(details, "cached_tokens", 0) or 0,
        getattr(told, "completion_tokens", 0) or 0,
    )
    if getattr(message, "refusal", None):
        ending = "refusal"
    return Reply(without_reasoning(_text(message.content)), ending, usage)


def _text(content: Any) -> str:
    """What a message says; some servers split it in parts, of which reasoning is no answer."""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if isinstance(part, dict) and _is_text(part))
    return content if isinstance(content, str) else ""


def _is_text(part: dict[str, Any]) -> bool:
    return part.get("type", "text") == "text" and isinstance(part.get("text"), str)


def reply_of(body: Any) -> Reply:
    """What the parsed body of a completion says.

    Raises:
        ValueError: it is not one.
    """
    from openai.types.chat import ChatCompletion

    if not isinstance(body, dict):
        raise ValueError("not a completion")
    return _reply(ChatCompletion.construct(**body))


def _named(error: openai.APIStatusError) -> str:
    """What an error is about, for decisions only: its text can quote the prompt and is never shown."""
    return " ".join([str(error.param), str(error.code), error.message, *_told(error.body)]).casefold()


def _told(body: object) -> Iterator[str]:
    """The texts of an error; servers nest them in their own ways, and some repeat the request as `input`."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict):
        for key, value in body.items():
            if key != "input":
                yield from _told(value)
    elif isinstance(body, list):
        for value in body:
            yield from _told(value)


def _ending(error: openai.APIStatusError) -> str | None:
    """How an answer ended that a server reports as an error."""
    code, named = str(error.code or "").casefold(), _named(error)
    if code == "content_filter" or "content management policy" in named:
        return "content_filter"
    if code == "context_length_exceeded" or "context length" in named or "context size" in named:
        return "length"
    return None


def as_failure(error: openai.OpenAIError, settings: ModelSettings) -> DictionaryError:
    """The product's own error for a client's."""
    import openai

    if isinstance(error, openai.APIStatusError):
        status = str(error.status_code)
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            fix = f"Check the key in {settings.api_key_env}." if settings.identity == "key" else "Check its role."
            return ConfigurationError("the server refuses the credentials", where=_WHERE, fix=fix, code=status)
        if isinstance(error, openai.NotFoundError) or error.code == _UNKNOWN_MODEL:
            what = f"the server does not know the model {settings.model!r}, or the address is wrong"
            return ConfigurationError(what, where=_WHERE, fix=_CHECK, code=status)
        if error.code in ("insufficient_quota", "billing_hard_limit_reached"):
            return QuotaUsedUp("the account's quota is used up", where=_WHERE, fix="Raise it, then run again.")
        if error.status_code < 500 and error.status_code not in (408, 409, 429):
            return RequestRefused("the server refuses the request", where=_WHERE, fix=_CHECK, code=status)
        return ModelUnavailable("the server is overloaded or failing", where=_WHERE, fix=_RUN_AGAIN, code=status)
    if isinstance(error, openai.APITimeoutError):
        what = f"no answer within {settings.timeout_seconds:g} seconds"
        return ModelUnavailable(what, where=_WHERE, fix="Raise 'timeout_seconds' of 'model:', or run again later.")
    return ModelUnavailable("the server cannot be reached", where=_WHERE, fix=_RUN_AGAIN)


def connected(settings: ModelSettings) -> openai.OpenAI:
    """The process's client for these settings; connections are reused."""
    key: tuple[object, ...] = (settings.provider, settings.base_url, settings.api_version, settings.identity)
    key += (settings.api_key_env, settings.client_id, settings.entra_scope)
    key += (settings.timeout_seconds, settings.max_retries)
    require_key(settings)
    with _clients_lock:
        if key not in _clients:
            _clients[key] = _new_client(settings)
        return _clients[key]


def require_key(settings: ModelSettings) -> None:
    """Check that the key's variable is set.

    Raises:
        ConfigurationError: it is not.
    """
    if settings.identity == "key" and settings.api_key_env and not os.environ.get(settings.api_key_env):
        variable(settings.api_key_env, _WHERE)
        raise ConfigurationError(
            f"the environment variable {settings.api_key_env} is empty", where=_WHERE, fix="Set it to the key."
        )


def _new_client(settings: ModelSettings) -> openai.OpenAI:
    import openai

    address, credential = server_address(settings), _credential(settings)
    limits: dict[str, Any] = {"timeout": settings.timeout_seconds, "max_retries": settings.max_retries}
    if settings.provider != "azure" or settings.api_version is None:
        return openai.OpenAI(api_key=credential, base_url=address, **limits)
    if settings.identity == "entra":
        return openai.AzureOpenAI(
            azure_endpoint=address, api_version=settings.api_version, azure_ad_token_provider=credential, **limits
        )
    return openai.AzureOpenAI(azure_endpoint=address, api_version=settings.api_version, api_key=credential, **limits)


def _credential(settings: ModelSettings) -> Callable[[], str]:
    """Gives the key or token for each request, so that a renewed one is used."""
    if settings.identity == "key":
        name = settings.api_key_env
        return (lambda: variable(name, _WHERE)) if name else (lambda: "none")
    try:
        from azure.core.exceptions import AzureError
        from azure.identity import DefaultAzureCredential, get_bearer_token_provider
    except ImportError:
        raise ConfigurationError(
            "Entra ID needs the package azure-identity", where=_WHERE, fix="Install azure-identity."
        ) from None
    provider = get_bearer_token_provider(
        DefaultAzureCredential(managed_identity_client_id=settings.client_id), settings.entra_scope
    )

    def token() -> str:
        with suppress(AzureError):  # raised outside, so that its text does not travel along
            return provider()
        raise ConfigurationError(
            "Entra ID gives no token", where=_WHERE, fix="Sign in, or check the identity and its role on the resource."
        )

    return token
