"""Where the code location finds its project folder, read again at every use.

The YAML is read when a run, sensor tick or schedule tick needs it, so that an edit needs no reload.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from dictionary_pipeline.config.last_good import good_content, load_good
from dictionary_pipeline.config.loader import find_project_folder, load_project
from dictionary_pipeline.config.resolved import DatabaseConfig, Project
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.places import database_config
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.store import Store

FOLDER_VARIABLE = "DICTIONARY_PIPELINE_PROJECT"
"""Names the folder that holds `dbt_like_configs/`; the working directory and its parents otherwise."""


LAST_GOOD_KEY = ".state/configuration.json"


class RunConfig(NamedTuple):
    """What a run works with."""

    config: DatabaseConfig
    fault: str | None = None
    """What is wrong with the database's file, whose last good content is used instead."""


def project_folder() -> Path:
    """The project folder of this process."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).resolve() if named else find_project_folder(Path.cwd())


def current_project(only: str | None = None) -> Project:
    """The configuration as it is on disk now.

    Args:
        only: Name of the one database that is wanted; the files of others are not read.

    Raises:
        ConfigurationError: the folder is missing or `project.yml` is wrong.
    """
    return load_project(project_folder(), only=only)


def run_config(project: Project, name: str) -> RunConfig:
    """One database's configuration for a run that nobody watches: while its file is invalid, the last good one.

    Raises:
        ConfigurationError: the file is missing, or invalid and there is no last good content.
        StoreError: the store that keeps it cannot be read.
    """
    fault = next((item.error for item in project.invalid if item.name == name), None)
    if fault is not None:
        kept = open_store(project.publish, project.folder, name).read(LAST_GOOD_KEY)
        if kept is not None:
            try:
                return RunConfig(load_good(project.folder, name, kept), fault)
            except ConfigurationError:
                raise ConfigurationError(fault) from None
    return RunConfig(database_config(project, name))


def keep_last_good(store: Store, project: Project, name: str) -> None:
    """Keep the content of a valid database file in the database's store, unless it holds a secret."""
    try:
        content = good_content(project.folder, name)
    except ConfigurationError:  # edited since this run read it; the next run reports it
        return
    if content is None:
        store.delete([LAST_GOOD_KEY])
    elif store.read(LAST_GOOD_KEY) != content:
        store.write(LAST_GOOD_KEY, content)
