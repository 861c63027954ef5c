"""`drift:` of `project.yml` and of a database file."""

from __future__ import annotations

from pathlib import Path

import pytest

from dictionary_pipeline.config.drift_settings import DriftSettings
from dictionary_pipeline.config.loader import load_project, validate_project


def settings(folder: Path, project: str, database: str) -> DriftSettings:
    (folder / "dbt_like_configs" / "databases").mkdir(parents=True)
    (folder / "dbt_like_configs" / "project.yml").write_text(project)
    (folder / "dbt_like_configs" / "databases" / "a.yml").write_text(
        f"connection: {{type: sqlite, path: a.db}}\n{database}"
    )
    loaded = load_project(folder)
    assert loaded.invalid == ()
    return loaded.databases["a"].drift


def test_without_a_word_breaking_drift_is_published(tmp_path: Path) -> None:
    assert settings(tmp_path, "", "") == DriftSettings()
    assert DriftSettings().on_breaking == "publish"


def test_a_database_adds_to_the_project_and_wins(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        "drift:\n  on_breaking: hold\n  suspicious_share: 0.2\n  severity: {index_added: cosmetic, fk_added: risky}\n",
        "drift:\n  on_breaking: publish\n  severity: {'column_removed:tmp.*': safe, fk_added: safe}\n",
    )
    assert found == DriftSettings(
        {"column_removed:tmp.*": "safe", "fk_added": "safe", "index_added": "cosmetic"}, suspicious_share=0.2
    )
    assert list(found.severity) == ["column_removed:tmp.*", "fk_added", "index_added"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("severity: {colum_removed: safe}", "Did you mean 'column_removed'?"),
        ("severity: {'colum_removed:s.*': safe}", "Did you mean 'column_removed'?"),
        ("severity: {column_removed: riskey}", "Did you mean 'risky'?"),
        ("severity: {'column_removed:': safe}", "Write column_removed, or column_removed:schema.table."),
        ("on_breaking: holds", "Did you mean 'hold'?"),
        ("suspicious_share: 0", "suspicious_share"),
        ("on_braking: hold", "Did you mean 'on_breaking'?"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_fix(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "dbt_like_configs" / "databases").mkdir(parents=True)
    (tmp_path / "dbt_like_configs" / "project.yml").write_text(f"drift:\n  {text}\n")
    (tmp_path / "dbt_like_configs" / "profiles.yml").write_text("{}\n")
    (error,) = validate_project(tmp_path)
    assert "project.yml:2" in str(error)
    assert told in str(error)
