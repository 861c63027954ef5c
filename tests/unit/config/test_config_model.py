"""`model:` in project and database files, and the predecessor's variables."""

from __future__ import annotations

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.generation import chosen_model
from dictionary_pipeline.config.model_settings import ModelBudget, ModelPrice, ModelSettings
from dictionary_pipeline.config.predecessor_model import VARIABLES, predecessor_model
from dictionary_pipeline.errors import ConfigurationError

FULL = """
    model:
      provider: openai
      model: gpt-5-mini
      glossary: {SKU: stock keeping unit}
      samples: types
      max_requests: 10
      max_cost_per_day: 1.5
      prices: {gpt-5-mini: {input: 0.25, output: 2}}
"""


def test_no_model_is_asked_unless_one_is_configured(project: ProjectFolder) -> None:
    assert project.config("profile: shop\n").model is None


def test_a_model_has_its_price_its_limits_and_its_key_variable(project: ProjectFolder) -> None:
    project.write("project.yml", FULL)
    assert project.config("profile: shop\n").model == ModelSettings(
        "openai",
        "gpt-5-mini",
        glossary={"SKU": "stock keeping unit"},
        samples="types",
        budget=ModelBudget(max_requests=10, max_cost_per_day=1.5),
        price=ModelPrice(0.25, 2.0),
    )


def test_a_database_changes_language_glossary_and_samples_or_opts_out(project: ProjectFolder) -> None:
    project.write("project.yml", FULL)
    own = project.config("profile: shop\nmodel: {language: German, samples: none, glossary: {SKU: Artikel, X: y}}\n")
    assert own.model is not None
    assert (own.model.language, own.model.samples) == ("German", "none")
    assert own.model.glossary == {"SKU": "Artikel", "X": "y"}
    assert project.config("profile: shop\nmodel: {enabled: false}\n").model is None


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("{provider: openai}", "model.model: is required"),
        ("{provider: opanai, model: m}", "Did you mean 'openai'?"),
        ("{provider: compatible, model: m}", "'base_url' is required for compatible"),
        ("{provider: openai, model: m, identity: entra}", "for azure only"),
        ("{provider: openai, model: m, max_cost: 1}", "a cost limit needs the price of 'm'"),
        ("{provider: openai, model: m, samples: all}", "must be none, types, masked or values"),
        ("{provider: openai, model: m, api_key: x}", "unknown key. Did you mean 'api_key_env'?"),
        ("{provider: openai, model: m, concurrency: 0}", "must be at least 1"),
    ],
)
def test_a_mistake_names_the_key_and_the_repair(project: ProjectFolder, model: str, expected: str) -> None:
    project.write("project.yml", f"model: {model}\n")
    (error,) = project.errors()
    assert "project.yml:1" in error and expected in error


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OpenAI__Endpoint", "https://r.openai.azure.com")
    monkeypatch.setenv("OpenAI__ApiVersion", "2024-10-21")
    monkeypatch.setenv("OpenAI__MiniCompletionDeployment", "mini")
    return monkeypatch


def test_the_predecessors_variables_lead_to_its_deployment(variables: pytest.MonkeyPatch) -> None:
    variables.setenv("OpenAI__ApiKey", "canary-key")
    found = predecessor_model()
    assert (found.provider, found.model, found.api_version) == ("azure", "mini", "2024-10-21")
    assert (found.identity, found.api_key_env) == ("key", "OpenAI__ApiKey")
    assert "canary-key" not in repr(found)


@pytest.mark.parametrize(("kind", "client"), [("system_assigned", None), ("User_Assigned", "c-1")])
def test_a_managed_identity_needs_no_key(variables: pytest.MonkeyPatch, kind: str, client: str | None) -> None:
    variables.setenv("IdentityType", kind)
    variables.setenv("ClientId", "c-1")
    found = predecessor_model()
    assert (found.identity, found.client_id) == ("entra", client)


def test_every_missing_variable_is_named(variables: pytest.MonkeyPatch) -> None:
    variables.delenv("OpenAI__Endpoint")
    with pytest.raises(ConfigurationError, match="OpenAI__Endpoint, OpenAI__ApiKey are not set"):
        predecessor_model()
    variables.setenv("IdentityType", "magic")
    with pytest.raises(ConfigurationError, match="IdentityType must be key, system_assigned or user_assigned"):
        predecessor_model()


def test_project_yml_comes_before_the_predecessors_variables(
    project: ProjectFolder, variables: pytest.MonkeyPatch
) -> None:
    variables.setenv("OpenAI__ApiKey", "x")
    project.write("project.yml", "profiles_path: x.yml\n")
    assert chosen_model(project.root).model == "mini"
    project.write("project.yml", FULL)
    assert chosen_model(project.root).model == "gpt-5-mini"
