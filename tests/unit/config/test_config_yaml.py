"""Mistakes in YAML are told in one line that names the place and the repair."""

from __future__ import annotations

import pytest
from config_project import ProjectFolder

FILE = "dbt_like_configs/databases/x.yml"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("profile: shop\nprofile: demo\n", 2, ["'profile' is given twice", "Keep one"]),
        ("profile: shop\nentities: {include: [a, b}\n", 2, ["not closed", "Close the bracket"]),
        ("profile: shop: x\n", 1, ["':' stands where", "in quotes"]),
        ("profile: shop\n\tschemas: x\n", 2, ["tab", "spaces"]),
        ("profile: \"{{ env_var('P') }}\"\nschemas:\t# x\n", 2, ["tab", "spaces"]),
        ("profile: *shop\n", 1, ["alias", "in quotes"]),
        ("profile: @shop\n", 1, ["reserves", "in quotes"]),
        ("profile: !shop x\n", 1, ["tag", "in quotes"]),
        ("profile: 'shop\nschemas:\n", 1, ["never closed", "closing quote"]),
        ("profile: shop\nschemas:\n  include: a\n exclude: b\n", 4, ["indentation"]),
        ("profile: shop\n---\nprofile: y\n", 2, ["more than one YAML document"]),
        ("profile: shop\nlimits: a\x01b\n", 2, ["control character"]),
        ("- profile: shop\n", 1, ["'key: value' lines"]),
        ("just text\n", 1, ["'key: value' lines"]),
        ("profile: {{ env_var('P') }}\n", 1, ["Put it in quotes"]),
        ("profile: {{ env_var('P', 'x') }}\n", 1, ["Put it in quotes"]),
    ],
)
def test_a_syntax_error_is_one_line_with_place_and_repair(
    project: ProjectFolder, text: str, line: int, words: list[str]
) -> None:
    project.write("databases/x.yml", "")
    (project.root / FILE).write_text(text)
    (invalid,) = project.load().invalid
    assert invalid.error.startswith(f"{FILE}:{line}:"), invalid.error
    assert "\n" not in invalid.error
    for word in words:
        assert word in invalid.error


def test_a_file_that_is_not_utf8_is_named_with_its_line(project: ProjectFolder) -> None:
    project.database("profile: shop\n")
    (project.root / FILE).write_bytes(b"profile: shop\ndatabase_name: B\xe4r\n")
    (invalid,) = project.load().invalid
    assert invalid.error == f"{FILE}:2: the file is not UTF-8 text. Save it as UTF-8."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("profil: shop\n", "1: profil: unknown key. Did you mean 'profile'?"),
        ("profile: shopp\n", "1: profile: there is no profile 'shopp' in dbt_like_configs/profiles.yml."),
        ("profile: shop\ntarget: deve\n", "2: target: the profile 'shop' has no target 'deve'"),
        ("target: dev\n", "1: the file does not say how to connect. Add 'profile: NAME'"),
        ("profile: shop\nconnection: {type: sqlite}\n", "1: profile: cannot stand beside 'connection'"),
        ("profile: shop\nlimits:\n  row_limit: many\n", "3: limits.row_limit: must be a whole number. Write digits"),
        ("profile: shop\nlimits:\n  max_connections: 0\n", "3: limits.max_connections: must be at least 1."),
        ("profile: shop\nlimits: fast\n", "2: limits: must be 'key: value' lines. Indent its keys"),
        ("profile: shop\nschemas:\n  include:\n    a: b\n", "3: schemas.include: must be a list. Write one entry"),
        ("profile: shop\nschemas: {includes: a}\n", "2: schemas.includes: unknown key. Did you mean 'include'?"),
        ("profile: [shop]\n", "1: profile: must be text."),
        ("profile: shop\npublish: {single_file: maybe}\n", "2: publish.single_file: must be true or false."),
        (
            "profile: shop\nsources:\n  - name: s\n    tables:\n    - name: t\n      columns:\n      - nam: c\n",
            "7: sources[0].tables[0].columns[0].name: is required. Add a line 'name: ...'.",
        ),
        (
            "profile: shop\nsources:\n  - name: s\n    table: []\n",
            "4: sources[0].table: unknown key. Did you mean 'tables'?",
        ),
        (
            "profile: shop\nrelationships:\n  - {from: s.a, columns: [x, y], to: s.b, to_columns: [x]}\n",
            "3: relationships[0]: 'columns' has 2 entries but 'to_columns' has 1.",
        ),
        ("profile: shop\nquux: 1\n", "2: quux: unknown key. Known keys here: columns, connection, database_name"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_line_key_and_repair(
    project: ProjectFolder, text: str, expected: str
) -> None:
    assert f"{FILE}:{expected}" in project.error(text)


@pytest.mark.parametrize(
    "cron", ["* * *", "61 * * * *", "0 2 * * * *", "@daily", "0 2 0 * *", "0/0 2 * * *", "5-1 * * * *"]
)
def test_a_cron_expression_that_dagster_would_refuse_is_refused(project: ProjectFolder, cron: str) -> None:
    project.write("project.yml", f"automation: {{nightly_cron: '{cron}'}}\n")
    assert "automation.nightly_cron" in project.errors()[0]


@pytest.mark.parametrize("cron", ["*/15 0-6 * jan,dec mon-fri", "0 2 * * 7", "5 4 1,15 * *"])
def test_usual_cron_expressions_are_accepted(project: ProjectFolder, cron: str) -> None:
    project.write("project.yml", f"automation: {{nightly_cron: '{cron}'}}\n")
    assert project.errors() == []


@pytest.mark.parametrize("text", ["sources: " + "[" * 1_000, "sources: " + "[" * 400 + "]" * 400])
def test_a_file_nested_without_end_costs_its_own_database_only(project: ProjectFolder, text: str) -> None:
    project.database("profile: shop\n", "good")
    project.database(text)
    loaded = project.load()
    assert list(loaded.databases) == ["good"]
    assert "nested too deeply" in loaded.invalid[0].error


def test_a_home_folder_that_nobody_has_is_a_missing_file(project: ProjectFolder) -> None:
    project.database("connection: {type: duckdb, path: '~nobody-of-that-name/x.duckdb'}\n")
    assert str(project.load().databases["x"].connection.options["path"]).endswith("~nobody-of-that-name/x.duckdb")
