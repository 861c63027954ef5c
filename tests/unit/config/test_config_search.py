"""`search:`: the service, its indexes and its login, with no secret in any message."""

from __future__ import annotations

import os

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config import search_section
from dictionary_pipeline.config.search_section import (
    CLIENT,
    ENDPOINT,
    IDENTITY,
    INDEX_VARIABLES,
    KEY,
    predecessor_search,
)
from dictionary_pipeline.config.search_settings import EmbeddingSettings, IndexNames, SearchSettings
from dictionary_pipeline.errors import ConfigurationError

URL = "https://acc.search.windows.net"
MODEL = "model: {provider: openai, model: gpt}"


@pytest.fixture(autouse=True)
def _no_variables(environment: None) -> None:
    for name in (*search_section.VARIABLES, IDENTITY):
        os.environ.pop(name, None)


def test_nothing_is_pushed_unless_it_is_configured(project: ProjectFolder) -> None:
    os.environ[ENDPOINT], os.environ[KEY] = URL, "key"
    assert project.config("profile: shop\n").search is None
    assert project.load().search is None


def test_an_endpoint_is_enough_and_means_entra_id(project: ProjectFolder) -> None:
    project.write("project.yml", f"search: {{endpoint: {URL}/}}")
    config = project.config("profile: shop\n")
    assert config.search == project.load().search == SearchSettings(URL)
    assert IndexNames() == IndexNames(
        "text-2-sql-schema-store-index", "text-2-sql-column-value-store-index", "text-2-sql-query-cache-index"
    )


def test_a_database_may_opt_out(project: ProjectFolder) -> None:
    project.write("project.yml", f"search: {{endpoint: {URL}}}")
    assert project.config("profile: shop\nsearch: {enabled: false}\n").search is None


def test_names_may_have_a_suffix_or_be_given(project: ProjectFolder) -> None:
    os.environ[INDEX_VARIABLES["query_cache"]] = "from-the-predecessor"
    project.write("project.yml", f"search: {{endpoint: {URL}, suffix: dev, indexes: {{schema_store: mine}}}}")
    settings = project.load().search
    assert settings is not None and settings.suffix == "-dev"
    assert settings.indexes == IndexNames("mine", "text-2-sql-column-value-store-index-dev", "from-the-predecessor")


def test_the_predecessors_variables_fill_in_what_is_not_given(project: ProjectFolder) -> None:
    os.environ |= {ENDPOINT: f"{URL}/", KEY: "secret-key", CLIENT: "me"}
    project.write("project.yml", "search: {column_values: false}")
    expected = SearchSettings(URL, KEY, "me", column_values=False)
    assert project.load().search == expected
    assert predecessor_search() == SearchSettings(URL, KEY, "me")
    os.environ[IDENTITY] = "user_assigned"
    assert predecessor_search() == SearchSettings(URL, None, "me")  # as the predecessor has it


def test_vectors_come_from_the_server_of_the_model(project: ProjectFolder) -> None:
    project.write("project.yml", f"{MODEL}\nsearch: {{endpoint: {URL}, embedding: {{model: e, dimensions: 256}}}}")
    settings = project.load().search
    assert settings is not None and settings.embedding == EmbeddingSettings("e", 256)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            "{suffix: dev}",
            f"search: does not name the service. Add 'endpoint: https://NAME.search.windows.net', or set {ENDPOINT}.",
        ),
        (
            "{endpoint: 'http://acc.search.windows.net'}",
            "search.endpoint: is not the https address of a search service.",
        ),
        (f"{{endpoint: '{URL}?api-key=secret'}}", "search.endpoint: is not the https address"),
        (
            f"{{endpoint: {URL}, api_key_env: 'ab+cd/secret=='}}",
            "search.api_key_env: is not the name of an environment",
        ),
        (f"{{endpoint: {URL}, suffix: Dev_1}}", "search.suffix: cannot end a name."),
        (
            f"{{endpoint: {URL}, indexes: {{schema_store: A b}}}}",
            "search.indexes.schema_store: is not the name of an index.",
        ),
        (f"{{endpoint: {URL}, indexes: {{schema_store: a1, query_cache: a1}}}}", "two indexes have the same name."),
        (f"{{endpoint: {URL}, storage_resource_id: mine}}", "search.storage_resource_id: is not the resource id of"),
        (f"{{endpoint: {URL}, embedding: {{model: e}}}}", "search: 'embedding' needs a 'model:' section"),
        (f"{{endpoint: {URL}, embedding: {{dimensions: 3}}}}", "search.embedding.model: is required."),
        (f"{{endpoint: {URL}, endpont: x}}", "search.endpont: unknown key. Did you mean 'endpoint'?"),
        (f"{{endpoint: {URL}, api_key: secret}}", "search.api_key: unknown key. Did you mean 'api_key_env'?"),
    ],
)
def test_a_mistake_is_reported_with_its_line_and_repair(project: ProjectFolder, section: str, message: str) -> None:
    project.write("project.yml", f"# a comment\nsearch: {section}")
    (error,) = project.errors()
    assert error.startswith("dbt_like_configs/project.yml:2: ") and message in error
    assert "secret" not in error


@pytest.mark.parametrize("address", ["http://acc.search.windows.net", "  ", f"{URL}?api-key=secret"])
def test_an_address_from_the_environment_must_be_one_too(project: ProjectFolder, address: str) -> None:
    os.environ[ENDPOINT] = address
    project.write("project.yml", "search: {suffix: dev}")
    (error,) = project.errors()
    assert ENDPOINT in error and "secret" not in error


def test_a_cost_limit_needs_the_price_of_vectors(project: ProjectFolder) -> None:
    project.write(
        "project.yml",
        f"""
        model: {{provider: openai, model: gpt, max_cost: 1, prices: {{gpt: {{input: 1, output: 1}}}}}}
        search: {{endpoint: {URL}, embedding: {{model: e}}}}
        """,
    )
    (error,) = project.errors()
    assert "a cost limit of 'model:' needs the price of the embedding. Add 'price' to 'embedding:'." in error


def test_without_any_configuration_the_error_says_both_ways() -> None:
    with pytest.raises(
        ConfigurationError, match=rf"no search service is configured\. Add 'search: .* or set {ENDPOINT}"
    ):
        predecessor_search()
    os.environ[ENDPOINT] = "http://plain"
    with pytest.raises(ConfigurationError, match=f"{ENDPOINT}: is not the https address"):
        predecessor_search()
