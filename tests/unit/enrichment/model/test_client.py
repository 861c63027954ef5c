"""How each provider is addressed, and what a request holds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from servers.openai_stub import KEY, KEY_VARIABLE, OpenAIStub, Reply, running_stub

from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.model.asking import Question, messages
from dictionary_pipeline.enrichment.model.client import ModelClient, ModelUnavailable, RequestRefused, reply_of
from dictionary_pipeline.enrichment.model.facts import ColumnFacts, TableFacts
from dictionary_pipeline.errors import ConfigurationError

COLUMN = ColumnFacts("id", "id", "integer", False, None, None, (), ())
QUESTION = Question(TableFacts("main", "t", "table", None, None, None, (COLUMN,)), True, True, (COLUMN,))


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with running_stub() as server:
        yield server


def ask(settings: ModelSettings) -> Any:
    return ModelClient(settings).ask(QUESTION, messages(QUESTION, settings, {}))


@pytest.mark.parametrize(
    ("changes", "path", "header"),
    [
        ({"provider": "openai"}, "/v1/chat/completions", ("authorization", f"Bearer {KEY}")),
        ({"provider": "azure"}, "/openai/v1/chat/completions", ("authorization", f"Bearer {KEY}")),
        (
            {"provider": "azure", "api_version": "2024-10-21"},
            "/openai/deployments/stub-model/chat/completions?api-version=2024-10-21",
            ("api-key", KEY),
        ),
        ({"api_key_env": None}, "/v1/chat/completions", ("authorization", "Bearer none")),
    ],
    ids=["openai", "azure v1", "azure classic", "compatible without key"],
)
def test_each_provider_is_addressed_its_way(
    stub: OpenAIStub, changes: dict[str, Any], path: str, header: tuple[str, str]
) -> None:
    base = {"base_url": stub.url.removesuffix("/v1")} if changes.get("provider") == "azure" else {}
    settings = stub.settings()
    ask(type(settings)(**{**vars(settings), **base, **changes}))
    (asked,) = stub.asked
    assert (asked.path, asked.headers[header[0]]) == (path, header[1])


@pytest.mark.parametrize("version", [None, "2024-10-21"])
def test_entra_id_gives_the_token(stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    asked_for: list[tuple[object, ...]] = []

    def provider(credential: object, *scopes: str) -> Any:
        asked_for.append(scopes)
        return lambda: "token-1"

    monkeypatch.setattr("azure.identity.get_bearer_token_provider", provider)
    changes = {"provider": "azure", "identity": "entra", "base_url": stub.url.removesuffix("/v1")}
    ask(ModelSettings(**{**vars(stub.settings()), **changes, "api_version": version}))
    assert stub.asked[0].headers["authorization"] == "Bearer token-1"
    assert asked_for == [("https://cognitiveservices.azure.com/.default",)]


def test_a_renewed_key_is_used_by_the_next_request(stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(stub.settings())
    monkeypatch.setenv(KEY_VARIABLE, "another")
    ask(stub.settings())
    assert [asked.headers["authorization"] for asked in stub.asked] == [f"Bearer {KEY}", "Bearer another"]


def test_a_request_states_the_schema_and_the_limits(stub: OpenAIStub) -> None:
    ask(stub.settings(reasoning_effort="low", reasoning_tokens=1000))
    body = stub.asked[0].body
    wanted = body["response_format"]["json_schema"]
    assert wanted["strict"] and wanted["schema"]["properties"]["columns"]["required"] == ["id"]
    assert wanted["schema"]["properties"]["columns"]["properties"]["id"]["maxLength"] == 300
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (1320, "low")
    assert "temperature" not in body and "max_tokens" not in body


@pytest.mark.parametrize(
    ("error", "parameter"),
    [
        ({"error": "'response_format.type' must be 'text'"}, "response_format"),
        ({"detail": [{"loc": ["body", "response_format", "type"], "msg": "unexpected value"}]}, "response_format"),
        ({"message": {"detail": [{"loc": ["body", "max_completion_tokens"]}]}}, "max_completion_tokens"),
    ],
    ids=["a text", "detail", "message with detail"],
)
def test_what_a_server_refuses_is_found_wherever_its_error_says_so(
    stub: OpenAIStub, error: dict[str, Any], parameter: str
) -> None:
    raw = json.dumps(error).encode()
    stub.script = lambda asked: Reply(status=422, raw=raw) if parameter in asked.body else None
    assert ask(stub.settings()).text
    assert parameter not in stub.asked[-1].body


def test_the_request_that_an_error_repeats_is_not_what_it_refuses(stub: OpenAIStub) -> None:
    raw = json.dumps({"detail": [{"loc": ["body", "user"], "input": {"response_format": {}}}]}).encode()
    stub.script = lambda asked: Reply(status=422, raw=raw)
    with pytest.raises(RequestRefused):
        ask(stub.settings())
    assert len(stub.asked) == 1


def test_an_unknown_model_is_a_mistake_in_the_configuration_whatever_the_status(stub: OpenAIStub) -> None:
    stub.script = lambda asked: Reply(status=400, error={"message": "invalid model ID", "code": "model_not_found"})
    with pytest.raises(ConfigurationError, match="does not know the model"):
        ask(stub.settings())


def test_a_message_in_parts_is_read_without_its_reasoning(stub: OpenAIStub) -> None:
    parts = [{"type": "thinking", "thinking": [{"text": "{"}]}, {"type": "text", "text": '{"a": '}, {"text": "1}"}]
    stub.script = lambda asked: Reply(raw=json.dumps({"choices": [{"message": {"content": parts}}]}).encode())
    assert ask(stub.settings()).text == '{"a": 1}'


def test_a_choice_without_a_message_is_no_answer(stub: OpenAIStub) -> None:
    stub.script = lambda asked: Reply(raw=b'{"choices": [{"index": 0, "message": null}]}')
    with pytest.raises(ModelUnavailable, match="not one of a model"):
        ask(stub.settings())


def test_a_long_retry_after_is_an_outage_and_not_waited_for(stub: OpenAIStub) -> None:
    stub.script = lambda asked: Reply(429, headers={"Retry-After": "3600"})
    with pytest.raises(ModelUnavailable):
        ask(stub.settings())
    assert len(stub.asked) == 1


def test_an_unreachable_server_is_told_without_its_text() -> None:
    settings = ModelSettings(
        "compatible", "m", base_url="http://127.0.0.1:9/v1", api_key_env=None, max_retries=0, timeout_seconds=2
    )
    with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
        ask(settings)
    assert caught.value.retryable and caught.value.__context__ is None


def test_the_clients_package_is_imported_by_the_first_request_only() -> None:
    code = (
        "import sys, dictionary_pipeline.stages, dictionary_pipeline.enrichment.model.write as w;"
        "sys.exit('openai' in sys.modules or 'azure.identity' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ('<think>\n{"draft": 1}\n</think>\n\n{"a": 1}', '{"a": 1}'),
        ("Let me see ...</think>Y", "Y"),
        ("<THINKING>Perhaps.</THINKING> N", "N"),
        ("The <think> tag opens.", "The <think> tag opens."),
        ('{"a": "It says </think>."}', '{"a": "It says </think>."}'),
        ('<think>a</think> {"a": "It says </think>."}', '{"a": "It says </think>."}'),
    ],
)
def test_the_thoughts_that_some_servers_send_along_are_no_part_of_the_answer(content: str, answer: str) -> None:
    body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    assert reply_of(body).text.strip() == answer
