"""`graph:` in project and database files, and prompts of the user's own."""

from __future__ import annotations

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.graph_prompt import PLACEHOLDERS, fill_in, template_fault
from dictionary_pipeline.config.graph_settings import ENTITY_TYPES, GraphSettings


def test_no_business_entities_are_extracted_unless_it_says_so(project: ProjectFolder) -> None:
    graph = project.config("profile: shop\n").graph
    assert graph == GraphSettings(folder=project.root)
    assert graph.entity_types == ENTITY_TYPES and not graph.entities


def test_a_databases_keys_win_and_aliases_add_up(project: ProjectFolder) -> None:
    project.write(
        "project.yml", "graph: {entities: true, format: delimited, max_gleanings: 2, aliases: {Acme: [AC], Bolt: B}}"
    )
    graph = project.config(
        "profile: shop\ngraph: {format: json, aliases: {Acme: AX}, entity_types: [TEAM, COST_CENTER]}\n"
    ).graph
    assert (graph.entities, graph.format, graph.max_gleanings) == (True, "json", 2)
    assert graph.aliases == {"Acme": ("AX",), "Bolt": ("B",)}
    assert graph.entity_types == ("TEAM", "COST_CENTER")


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("{entity_types: [team]}", "'team' is not a type"),
        ("{entity_types: [SQLTABLE]}", "'SQLTABLE' is a type of the catalog"),
        ("{entity_types: []}", "must not be empty"),
        ("{format: xml}", "must be json or delimited"),
        ("{max_gleanings: -1}", "must be at least 0"),
        ("{granularity: schema}", "must be table or column"),
        ("{documents: ../secrets/*.md}", "must lie within the project folder"),
        ("{documents: /etc/*.txt}", "must lie within the project folder"),
        ("{documents: 'docs/../../x.md'}", "must lie within the project folder"),
        ("{documents: 'C:\\docs\\*.md'}", "must lie within the project folder"),
        ("{documents: 'docs/**.md'}", "has '**' inside a name"),
        ("{prompt: ../prompt.md}", "must lie within the project folder"),
        ("{prompt: missing.md}", "missing.md cannot be read"),
        ("{entitys: true}", "Did you mean 'entities'?"),
    ],
)
def test_a_mistake_is_named_with_its_place(project: ProjectFolder, graph: str, expected: str) -> None:
    project.database(f"profile: shop\ngraph: {graph}\n")
    (invalid,) = project.load().invalid
    assert expected in invalid.error
    assert "databases/x.yml:2" in invalid.error


def test_a_prompt_of_ones_own_is_read_and_checked(project: ProjectFolder) -> None:
    (project.root / "mine.md").write_text('Find {entity_types}: {"entities": [{"name": "x"}]}\n', encoding="utf-8")
    assert project.config("profile: shop\ngraph: {prompt: mine.md}\n").graph.prompt == (
        'Find {entity_types}: {"entities": [{"name": "x"}]}'
    )
    (project.root / "mine.md").write_text("Find {entity_type}.", encoding="utf-8")
    (invalid,) = project.load().invalid
    assert "unknown placeholder {entity_type}" in invalid.error


def test_a_prompt_that_leads_out_of_the_project_is_refused(project: ProjectFolder) -> None:
    outside = project.root.parent / f"{project.root.name}-prompt.md"
    outside.write_text("{entity_types}", encoding="utf-8")
    (project.root / "mine.md").symlink_to(outside)
    project.database("profile: shop\ngraph: {prompt: mine.md}\n")
    (invalid,) = project.load().invalid
    assert "leads out of the project folder" in invalid.error


def test_saving_a_document_shows_in_the_configuration(project: ProjectFolder) -> None:
    text = "profile: shop\ngraph: {documents: 'docs/*.md'}\n"
    before = project.config(text).graph.documents_mark
    (project.root / "docs").mkdir()
    (project.root / "docs" / "a.md").write_text("One.", encoding="utf-8")
    assert project.config(text).graph.documents_mark != before
    assert project.config(text).graph.documents_mark == project.config(text).graph.documents_mark


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{entity_types} {language} {relationship_types}", None),
        ('{entity_types} {"a": {"b": [1]}} {} { x }', None),
        ("no place at all", "lacks the placeholder {entity_types}"),
        ("{entity_types} {input_text}", "unknown placeholder {input_text}"),
        ("{entity_types} {tuple_delimiter>", "never closed: {tuple_delimiter"),
        ("{entity_types entity_types}", "never closed: {entity_types"),
        ("{entity_types} language}", "never opened: language}"),
        ("{entity_types}" + "x" * 60_000, "longer than"),
    ],
)
def test_a_template_is_checked_before_it_is_used(text: str, fault: str | None) -> None:
    found = template_fault(text)
    assert (found is None) == (fault is None)
    assert fault is None or fault in str(found)


def test_filling_in_leaves_other_braces_and_those_of_values_alone() -> None:
    values = dict.fromkeys(PLACEHOLDERS, "{entity_types}")
    assert fill_in('{"a": {language}} {relationship_types}', values) == '{"a": {entity_types}} {entity_types}'
