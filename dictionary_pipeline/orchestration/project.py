"""Where the code location finds its project folder, read again at every use.

The YAML is read when a run, sensor tick or schedule tick needs it, so that an edit needs no reload.
"""

from __future__ import annotations

import os
from pathlib import Path

from dictionary_pipeline.config.loader import find_project_folder, load_project
from dictionary_pipeline.config.resolved import DatabaseConfig, Project
from dictionary_pipeline.errors import ConfigurationError

FOLDER_VARIABLE = "DICTIONARY_PIPELINE_PROJECT"
"""Names the folder that holds `dbt_like_configs/`; the working directory and its parents otherwise."""


def project_folder() -> Path:
    """The project folder of this process."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).resolve() if named else find_project_folder(Path.cwd())


def current_project() -> Project:
    """The configuration as it is on disk now."""
    return load_project(project_folder())


def database_config(project: Project, name: str) -> DatabaseConfig:
    """One database's configuration.

    Raises:
        ConfigurationError: the file is missing or invalid; the text says what and where.
    """
    if name in project.databases:
        return project.databases[name]
    for invalid in project.invalid:
        if invalid.name == name:
            raise ConfigurationError(invalid.error)
    raise ConfigurationError(
        f"no database is configured under the name {name!r}",
        where=str(project.folder / "dbt_like_configs" / "databases"),
        fix=f"Add {name}.yml there, or choose one of: {', '.join(sorted(project.databases)) or 'none yet'}.",
    )
