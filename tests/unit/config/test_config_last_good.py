"""What is kept of a valid database file, and what is not."""

from __future__ import annotations

import os

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.last_good import good_content, load_good
from dictionary_pipeline.errors import ConfigurationError


def test_kept_content_gives_the_configuration_again(project: ProjectFolder) -> None:
    project.database(
        """
        profile: shop
        entities: {exclude: ["*_tmp"]}
        limits: {row_limit: 5}
        sources:
          - name: sales
            tables: [{name: t, description: "all of {{ them }}", columns: [{name: day, description: 2024-01-01}]}]
        """
    )
    before = project.load().databases["x"]
    content = good_content(project.root, "x")
    assert content is not None
    after = load_good(project.root, "x", content)
    assert (after.selection, after.sampling) == (before.selection, before.sampling)
    assert after.human.tables[0].description == "all of {{ them }}"
    assert after.connection.options["path"] == before.connection.options["path"]


def test_comments_and_values_of_variables_are_not_kept(project: ProjectFolder) -> None:
    os.environ["SHOP_URL"] = "postgresql://u:canary-71@h/d"
    project.database("# canary-72\nconnection:\n  url: \"{{ env_var('SHOP_URL') }}\"\n")
    content = good_content(project.root, "x")
    assert content is not None
    assert b"canary" not in content
    assert b"env_var('SHOP_URL')" in content


@pytest.mark.parametrize(
    "connection",
    [
        "{type: postgres, host: h, user: u, dbname: d, password: canary}",
        "{type: postgres, host: h, user: u, dbname: d, password: \"{{ env_var('P', 'canary') }}\"}",
        "{url: 'postgresql://u:canary@h/d'}",
        "{url: 'postgresql://u@h/d', password: canary}",
        "{type: databricks, host: h, http_path: p, catalog: c, token: \"{{ env_var('T') }}\", client_secret: canary}",
    ],
)
def test_a_file_with_a_secret_in_it_is_not_kept(project: ProjectFolder, connection: str) -> None:
    os.environ["T"] = "t"
    project.database(f"connection: {connection}\n")
    assert good_content(project.root, "x") is None


def test_an_invalid_file_is_an_error(project: ProjectFolder) -> None:
    project.database("profil: shop\n")
    with pytest.raises(ConfigurationError, match="profil"):
        good_content(project.root, "x")


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"profile": "gone"}'])
def test_kept_content_that_no_longer_fits_is_an_error(project: ProjectFolder, content: bytes) -> None:
    with pytest.raises(ConfigurationError):
        load_good(project.root, "x", content)
