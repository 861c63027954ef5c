"""How people steer the inference of keys."""

from __future__ import annotations

from config_project import ProjectFolder

from dictionary_pipeline.config.resolved import HumanRelationship, InferenceSettings

REJECTED = """\
profile: shop
relationships_rejected:
  - {from: sales.orders, columns: rep, to: hr.employee, to_columns: [id]}
"""


def test_a_database_overrides_single_settings_of_the_project(project: ProjectFolder) -> None:
    project.write("project.yml", "inference: {accept_at: 0.95, probe: false}\n")
    config = project.config("profile: shop\ninference: {list_at: 0.7}\n")
    assert config.inference == InferenceSettings(enabled=True, accept_at=0.95, list_at=0.7, probe=False)


def test_by_default_keys_are_inferred(project: ProjectFolder) -> None:
    assert project.config("profile: shop\n").inference == InferenceSettings()


def test_a_confidence_is_a_share(project: ProjectFolder) -> None:
    assert "accept_at" in project.error("profile: shop\ninference: {accept_at: 90}\n")


def test_rejected_relationships_are_read_like_given_ones(project: ProjectFolder) -> None:
    human = project.config(REJECTED).human
    origin = "dbt_like_configs/databases/x.yml:3"
    assert human.rejected == (HumanRelationship("sales", "orders", ("rep",), "hr", "employee", ("id",), origin),)
    assert human.relationships == ()


def test_a_rejection_pairs_its_columns(project: ProjectFolder) -> None:
    assert "'columns' has 1 entries but 'to_columns' has 2" in project.error(REJECTED.replace("[id]", "[id, no]"))
