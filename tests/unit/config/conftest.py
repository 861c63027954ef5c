"""A project folder in a temporary place, and an environment that forgets what a test puts into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from config_project import ProjectFolder


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """`.env` files change the process environment."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture
def project(tmp_path: Path) -> ProjectFolder:
    """A project whose profile `shop` reads a DuckDB file."""
    folder = ProjectFolder(tmp_path / "project")
    folder.write(
        "profiles.yml", "shop:\n  target: dev\n  outputs:\n    dev:\n      type: duckdb\n      path: data/shop.duckdb\n"
    )
    return folder
