"""The commented configuration, the reference and `.env.example` fit the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from config_project import ProjectFolder
from ruamel.yaml import YAML

from dictionary_pipeline.config.loader import load_project, validate_project
from dictionary_pipeline.config.reference import configuration_markdown
from dictionary_pipeline.config.resolved import AutomationConfig, SamplingLimits
from dictionary_pipeline.config.templates import env_example, template, write_database, write_project
from dictionary_pipeline.config.variables import OWN, PREDECESSOR
from dictionary_pipeline.errors import ConfigurationError

REPOSITORY = Path(__file__).parents[3]


def test_init_writes_a_valid_project_and_overwrites_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    written = write_project(folder)
    assert {path.relative_to(folder).as_posix() for path in written} == {
        "dbt_like_configs/project.yml",
        "dbt_like_configs/profiles.yml",
        "dbt_like_configs/databases/example.yml.disabled",
        ".env.example",
        ".gitignore",
    }
    assert ".env" in (folder / ".gitignore").read_text().splitlines()
    assert validate_project(folder) == ()
    assert load_project(folder).databases == {}
    (folder / "dbt_like_configs/project.yml").write_text("publish: {root: mine}\n")
    assert write_project(folder) == ()
    assert load_project(folder).publish.root == "mine"


def test_the_template_of_the_project_file_says_the_defaults(tmp_path: Path) -> None:
    write_project(tmp_path)
    write_database(tmp_path, "d", profile="demo", url_env=None)
    loaded = load_project(tmp_path)
    assert loaded.automation == AutomationConfig()
    assert loaded.databases["d"].sampling == SamplingLimits()


def uncommented(text: str) -> str:
    """Examples switched on: comment lines that look like YAML lose their '#'."""
    lines = [re.sub(r"^(\s*)# ?(?=\s*(- |[\w$]+:( |$)|\S+: \[))", r"\1", line) for line in text.splitlines()]
    return "\n".join(lines)


def test_every_commented_profile_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ProjectFolder(tmp_path)
    text = uncommented(template("profiles.yml"))
    folder.write("profiles.yml", text)
    for name in re.findall(r"env_var\('(\w+)'\)", text):
        monkeypatch.setenv(name, "postgresql://h/d" if name == "DATABASE_URL" else "x")
    profiles = list(YAML(typ="safe").load(text))
    for name in profiles:
        folder.database(f"profile: {name}\n", name)
    loaded = folder.load()
    assert loaded.invalid == ()
    assert {config.connection.type for config in loaded.databases.values()} == {
        "duckdb", "postgres", "snowflake", "databricks", "sqlserver", "mysql", "sqlite",
    }  # fmt: skip
    assert all(config.warnings == () for config in loaded.databases.values())


def test_the_commented_examples_of_a_database_file_are_valid(tmp_path: Path) -> None:
    folder = ProjectFolder(tmp_path)
    write_project(tmp_path)
    text = uncommented(write_database(tmp_path, "d", profile="demo", url_env=None).read_text())
    text = text.replace("target: prod", "").replace("dbt_manifest:", "# ")
    folder.database(text, "d")
    loaded = folder.load()
    assert loaded.invalid == ()
    config = loaded.databases["d"]
    assert config.selection.exclude_schemas == ("staging",)
    assert config.human.tables[0].entity_name == "Sales Order"
    assert [len(item.from_columns) for item in config.human.relationships] == [1, 2]


def test_a_database_may_be_added_by_the_name_of_a_variable_with_its_url(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_database(project.root, "web-shop", profile=None, url_env="SHOP_URL")
    assert path == project.root / "dbt_like_configs/databases/web-shop.yml"
    monkeypatch.setenv("SHOP_URL", "mysql://u:p@h/d")
    assert project.load().databases["web-shop"].connection.type == "mysql"


def test_a_database_is_not_overwritten_and_needs_a_good_name(project: ProjectFolder) -> None:
    path = write_database(project.root, "shop", profile=None, url_env=None)
    assert project.load().databases["shop"].connection.type == "duckdb"
    before = path.read_text()
    with pytest.raises(ConfigurationError, match="already configured"):
        write_database(project.root, "shop", profile="other", url_env=None)
    assert path.read_text() == before
    with pytest.raises(ConfigurationError, match="cannot name a database"):
        write_database(project.root, "My Shop", profile="shop", url_env=None)
    with pytest.raises(ConfigurationError) as caught:
        write_database(project.root, "b", profile=None, url_env="postgresql://u:secret@h/d")
    assert "secret" not in str(caught.value)


def test_a_profile_of_any_name_is_quoted_as_needed(project: ProjectFolder) -> None:
    project.write("profiles.yml", '"a: \\"b\\"": {outputs: {default: {type: sqlite, path: /a}}}\n')
    write_database(project.root, "odd", profile='a: "b"', url_env=None)
    assert "odd" in project.load().databases


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError) as caught:
        write_project(tmp_path / "file")
    assert "\n" not in str(caught.value)


def test_the_repositorys_own_files_are_the_templates() -> None:
    for name in ("project.yml", "profiles.yml"):
        assert (REPOSITORY / "dbt_like_configs" / name).read_text() == template(name)
    assert (REPOSITORY / ".env.example").read_text() == env_example()


def test_the_reference_in_docs_is_what_the_models_say() -> None:
    assert (REPOSITORY / "docs/configuration.md").read_text() == configuration_markdown(), (
        "Run: python -m dictionary_pipeline.config.reference > docs/configuration.md"
    )


def test_env_example_lists_every_variable_of_templates_and_product() -> None:
    listed = set(re.findall(r"^#?(\w+)=", env_example(), re.MULTILINE))
    in_templates = {
        name
        for file in ("profiles.yml", "project.yml", "database.yml")
        for name in re.findall(r"env_var\('(\w+)'", template(file))
    }
    assert in_templates | {variable.name for variable in (*OWN, *PREDECESSOR)} == listed | {"NAME"}


def test_every_variable_of_the_product_is_documented() -> None:
    sources = "".join(path.read_text() for path in (REPOSITORY / "dictionary_pipeline").rglob("*.py"))
    used = set(re.findall(r"""["'](DICTIONARY_PIPELINE_\w+)["']""", sources))
    assert used == {variable.name for variable in OWN if variable.name.startswith("DICTIONARY_PIPELINE_")}


def test_an_uncommented_line_of_env_example_has_an_empty_value(project: ProjectFolder) -> None:
    from dotenv import dotenv_values

    path = project.root / ".env"
    path.write_text(re.sub(r"^#(?=\w+=)", "", env_example(), flags=re.MULTILINE))
    assert {name for name, value in dotenv_values(path).items() if value} == {"POSTGRES_HOST", "DATABASE_URL"}
