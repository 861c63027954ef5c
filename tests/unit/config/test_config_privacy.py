"""`privacy:` in project and database files."""

from __future__ import annotations

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.resolved import ColumnRule, PrivacyPolicy


def test_a_databases_decisions_come_before_the_projects(project: ProjectFolder) -> None:
    project.write(
        "project.yml",
        """
        privacy:
          default: mask
          categories: {EMAIL_ADDRESS: mask, PERSON: allow}
          columns: [{match: "*", treat: allow}]
        """,
    )
    given = project.config(
        """
        profile: shop
        privacy:
          categories: {PERSON: withhold}
          columns: [{match: customer.email, treat: deny}]
        """
    ).privacy
    rules = (ColumnRule("customer.email", "deny"), ColumnRule("*", "allow"))
    assert given == PrivacyPolicy("mask", rules, {"EMAIL_ADDRESS": "mask", "PERSON": "withhold"})
    assert project.config("profile: shop\nprivacy: {default: withhold}\n").privacy.default == "withhold"


@pytest.mark.parametrize(
    ("privacy", "expected"),
    [
        ("{default: deny}", "privacy.default: must be withhold, mask or allow."),
        ("{default: hide}", "privacy.default: must be withhold, mask or allow. Choose one of them."),
        ("{columns: [{match: a, treat: maks}]}", "must be deny, withhold, mask or allow. Did you mean 'mask'?"),
        ("{columns: [{match: a}]}", "treat: is required."),
        ("{categories: {EMAIL_ADDRESS: deny}}", "must be withhold, mask or allow."),
        ("{categories: {email_address: mask}}", "Categories are upper case: EMAIL_ADDRESS."),
    ],
)
def test_a_wrong_decision_is_named_with_line_key_and_repair(
    privacy: str, expected: str, project: ProjectFolder
) -> None:
    error = project.error(f"profile: shop\nprivacy: {privacy}\n")
    assert "x.yml:2" in error
    assert expected in error
