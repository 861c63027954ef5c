"""Loading a whole project: defaults, overrides, and mistakes that stay where they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.loader import find_project_folder, load_project, validate_project
from dictionary_pipeline.config.resolved import (
    AutomationConfig,
    PathLimits,
    PublishTarget,
    SamplingLimits,
    Selection,
)
from dictionary_pipeline.errors import ConfigurationError


def test_a_database_file_with_a_profile_alone_gets_all_defaults(project: ProjectFolder) -> None:
    config = project.config("profile: shop\n")
    assert config.name == "x"
    assert config.connection.type == "duckdb"
    assert config.connection.options == {"path": str(project.root / "data/shop.duckdb")}
    assert "profiles.yml:4 (profile shop, target dev)" in config.connection.origin
    assert (config.selection, config.sampling, config.paths) == (Selection(), SamplingLimits(), PathLimits())
    assert (config.publish, config.withhold, config.warnings) == (PublishTarget(), (), ())


def test_a_database_overrides_the_project_field_by_field_and_privacy_adds_up(project: ProjectFolder) -> None:
    project.write(
        "project.yml",
        """
        publish: {root: out}
        sampling: {row_limit: 100, max_values: 5, paths: {max_hops: 3}}
        privacy: {withhold: ["*email"], allow: token_count}
        automation: {nightly_cron: "30 1 * * mon-fri", timezone: Europe/Berlin, max_runs_per_server: 1}
        """,
    )
    config = project.config(
        """
        profile: shop
        schemas: {include: sales, exclude: [tmp_*]}
        entities: {include: [orders], exclude: ["*_old"]}
        limits: {row_limit: 7, paths: {max_paths: 9}}
        privacy: {withhold: [birth_date]}
        publish: {single_file: yes}
        database_name: Shop
        """
    )
    assert config.sampling == SamplingLimits(row_limit=7, max_values=5)
    assert config.paths == PathLimits(max_paths=9, max_hops=3)
    assert config.publish == PublishTarget("out", True)
    assert config.selection == Selection(("sales",), ("tmp_*",), ("orders",), ("*_old",))
    assert (config.withhold, config.allow) == (("*email", "birth_date"), ("token_count",))
    assert config.fqn_database == config.connection.options["fqn_database"] == "Shop"
    assert project.load().automation == AutomationConfig(
        nightly_cron="30 1 * * mon-fri", timezone="Europe/Berlin", max_runs_per_server=1
    )


def test_sections_without_content_count_as_not_given(project: ProjectFolder) -> None:
    project.write("project.yml", "publish:\nsampling:\n")
    assert project.config("profile: shop\nlimits:\nsources:\n").sampling == SamplingLimits()


def test_one_bad_database_file_does_not_touch_another(project: ProjectFolder) -> None:
    project.database("profile: shop\n", "good")
    project.database("profile: [\n", "broken")
    project.database("profile: other\n", "astray")
    loaded = project.load()
    assert set(loaded.databases) == {"good"}
    assert [item.name for item in loaded.invalid] == ["astray", "broken"]
    assert loaded.invalid[1].file == project.root / "dbt_like_configs/databases/broken.yml"


def test_a_file_name_that_cannot_be_a_partition_is_named(project: ProjectFolder) -> None:
    project.database("profile: shop\n", "My Shop")
    (invalid,) = project.load().invalid
    assert "'My Shop.yml' cannot name a database" in invalid.error
    assert "Rename it" in invalid.error


def test_two_spellings_of_one_database_are_refused(project: ProjectFolder) -> None:
    project.write("databases/x.yaml", "profile: shop\n")
    assert "x.yaml describes the same database" in project.error("profile: shop\n")


def test_a_broken_project_file_is_an_error_of_the_whole_project(project: ProjectFolder) -> None:
    project.write("project.yml", "sampling:\n  row_limits: 5\n  table_seconds: 0\n")
    with pytest.raises(ConfigurationError) as caught:
        project.load()
    assert str(caught.value).splitlines() == [
        "dbt_like_configs/project.yml:3: sampling.table_seconds: must be more than 0."
        " Choose a larger value, or remove the key for the default.",
        "dbt_like_configs/project.yml:2: sampling.row_limits: unknown key. Did you mean 'row_limit'?",
    ]


def test_a_broken_profiles_file_costs_only_the_databases_that_use_it(project: ProjectFolder) -> None:
    project.write("profiles.yml", "shop: [\n")
    project.database("connection: {type: sqlite, path: a.db}\n", "own")
    project.database("profile: shop\n", "user")
    loaded = project.load()
    assert set(loaded.databases) == {"own"}
    assert loaded.invalid[0].error.startswith("dbt_like_configs/profiles.yml:2: not valid YAML")


def test_a_missing_profiles_file_is_named_with_the_fix(project: ProjectFolder) -> None:
    project.write("project.yml", "profiles_path: nowhere.yml\n")
    assert project.error("profile: shop\n") == (
        "nowhere.yml: the file cannot be read (No such file or directory). Check that it exists and its permissions."
    )


def test_profiles_path_may_start_in_the_home_folder(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    home = project.root / "home"
    (home / ".dbt").mkdir(parents=True)
    (home / ".dbt/profiles.yml").write_text("mine: {outputs: {default: {type: sqlite, path: /a.db}}}\n")
    monkeypatch.setenv("HOME", str(home))
    project.write("project.yml", "profiles_path: ~/.dbt/profiles.yml\n")
    assert project.config("profile: mine\n").connection.options == {"path": "/a.db"}


def test_validate_lists_every_mistake_of_every_file_once(project: ProjectFolder) -> None:
    project.write("project.yml", "automation: {nightly_cron: '0 25 * * *', timezone: Europe/Berlyn}\n")
    project.write("profiles.yml", "shop: {outputs: {default: {type: postgers}}}\n")
    project.database("profile: shop\nlimit: 3\n", "a")
    project.database("profile: shop\n", "b")
    project.database("profile: shop\n", "c")
    assert project.errors() == [
        "dbt_like_configs/project.yml:1: automation.nightly_cron: '25' is not a valid hour (0-23) in a cron expression."
        ' Write five fields in quotes, e.g. "0 2 * * *" for every night at two.',
        "dbt_like_configs/project.yml:1: automation.timezone: unknown time zone 'Europe/Berlyn'."
        " Did you mean 'Europe/Berlin'?",
        "dbt_like_configs/databases/a.yml:2: limit: unknown key. Did you mean 'limits'?",
        "dbt_like_configs/profiles.yml:1: shop.outputs.default.type: unknown connection type 'postgers'."
        " Did you mean 'postgres'?",
    ]


def test_validate_accepts_a_good_project(project: ProjectFolder) -> None:
    project.database("profile: shop\n")
    assert validate_project(project.root) == ()


def test_the_project_folder_is_found_from_below(project: ProjectFolder) -> None:
    deep = project.root / "a" / "b"
    deep.mkdir(parents=True)
    assert find_project_folder(deep) == project.root.resolve()


def test_without_a_configuration_the_way_to_one_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="data_dictionary init"):
        find_project_folder(tmp_path)
    with pytest.raises(ConfigurationError, match="data_dictionary init"):
        load_project(tmp_path)


def test_an_edited_file_is_read_again(project: ProjectFolder) -> None:
    assert project.config("profile: shop\n").sampling.row_limit == SamplingLimits().row_limit
    assert project.config("profile: shop\nlimits: {row_limit: 1}\n").sampling.row_limit == 1
