"""`publish:`: a local folder or Azure, with no secret in any message."""

from __future__ import annotations

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.resolved import AZURE_PLAIN, AzurePlace, AzureTarget, PublishTarget
from dictionary_pipeline.errors import ConfigurationError

URL = "https://acc.blob.core.windows.net"


def test_azure_with_entra_needs_the_account_and_a_container_only(project: ProjectFolder) -> None:
    project.write("project.yml", f"publish: {{azure: {{account_url: {URL}/, container: dictionaries}}}}")
    config = project.config("profile: shop\n")
    assert config.publish.azure == AzureTarget("dictionaries", account_url=URL)
    assert config.publish.plain_folders == AZURE_PLAIN
    assert project.load().publish.azure == config.publish.azure == config.shared.azure


def test_a_database_keeps_the_projects_container_unless_it_names_a_place_itself(project: ProjectFolder) -> None:
    project.write(
        "project.yml",
        f"publish: {{plain: [site], azure: {{account_url: {URL}, container: all, prefix: /a/b/, sas_env: SAS}}}}",
    )
    same = project.config("profile: shop\npublish: {single_file: true, plain: schema_store}\n").publish
    assert same.azure == AzureTarget("all", "a/b", URL, sas_env="SAS")
    assert same.single_file and same.plain_folders == {"schema_store"}
    assert project.config("profile: shop\npublish: {root: here}\n").publish == PublishTarget("here", plain=("site",))
    other = project.config("profile: shop\npublish: {azure: {connection_string_env: CS, container: own}}\n").publish
    assert other.azure == AzureTarget("own", connection_string_env="CS")


def test_folders_may_have_places_of_their_own(project: ProjectFolder) -> None:
    project.write(
        "project.yml",
        f"""
        publish:
          azure:
            account_url: {URL}
            container: all
            schema_store: {{container: search, prefix: entries}}
            state: {{prefix: private}}
        """,
    )
    azure = project.config("profile: shop\n").publish.azure
    assert azure is not None
    assert azure.schema_store == AzurePlace("search", "entries")
    assert (azure.column_value_store, azure.state) == (None, AzurePlace("all", "private"))


@pytest.mark.parametrize(
    ("azure", "message"),
    [
        ("{container: all}", "needs either 'account_url' or 'connection_string_env'"),
        (f"{{container: all, account_url: {URL}, connection_string_env: A}}", "needs either"),
        (f"{{container: all, account_url: {URL}, account_key_env: A, sas_env: B}}", "exclude each other"),
        (f"{{container: All_, account_url: {URL}}}", "is not the name of a container"),
        (f"{{container: all, account_url: {URL}, prefix: a/../b}}", "is not a path within a container"),
        (f"{{container: all, account_url: {URL}, state: {{prefix: ''}}}}", "need places that differ"),
        ("{container: all, account_url: 'acc'}", "is not the address of a storage account"),
        (f"{{container: all, account_url: '{URL}?sig=s3cret'}}", "a SAS token goes into the variable"),
        (f"{{container: all, account_url: {URL}, sas_env: 'sv=1&sig=s3cret'}}", "not the name of an environment"),
        (f"{{container: all, account_url: {URL}, account_key: s3cret}}", "unknown key"),
    ],
)
def test_mistakes_are_named_without_the_value(project: ProjectFolder, azure: str, message: str) -> None:
    project.write("project.yml", f"publish: {{azure: {azure}}}")
    with pytest.raises(ConfigurationError, match=message) as raised:
        project.load()
    assert "project.yml:1" in str(raised.value) and "s3cret" not in str(raised.value)
