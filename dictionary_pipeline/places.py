"""Where a configured database lives: its configuration, its store and what it shares with the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dictionary_pipeline.config.loader import CONFIG_FOLDER, find_project_folder, load_project
from dictionary_pipeline.config.resolved import DatabaseConfig, Project
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.manifest import read_manifest
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.run import database_store
from dictionary_pipeline.store import Store
from dictionary_pipeline.suggestions import did_you_mean


@dataclass(frozen=True)
class Place:
    """A configured database and its store."""

    config: DatabaseConfig
    store: Store
    folder: Path
    """The project folder."""

    @property
    def file(self) -> Path:
        """The database's YAML file."""
        return self.config.file or self.folder / CONFIG_FOLDER / "databases" / f"{self.config.name}.yml"


def configured_database(name: str, project: Path | None) -> Place:
    """The database that `dbt_like_configs/databases/<name>.yml` configures.

    Args:
        name: As a user gave it.
        project: The project folder; found from the working directory when null.

    Raises:
        ConfigurationError: there is no such file, it is invalid, or its store's credential is missing.
    """
    folder = find_project_folder(project or Path.cwd())
    config = database_config(load_project(folder), name)
    return Place(config, database_store(config, folder), folder)


def published_store(name: str, project: Path | None) -> Store:
    """Where the dictionary of a configured database lies, or of one whose file is gone.

    Raises:
        ConfigurationError: the name is neither configured nor published, or as of `configured_database`.
        StoreError: the project's store cannot be read.
    """
    folder = find_project_folder(project or Path.cwd())
    loaded = load_project(folder)
    if name in {*loaded.databases, *(item.name for item in loaded.invalid)}:
        return database_store(database_config(loaded, name), folder)
    store = open_store(loaded.publish, folder, name)
    if read_manifest(store) is None:
        raise unknown_database(loaded, name)
    return store


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
    raise unknown_database(project, name)


def unknown_database(project: Project, name: str) -> ConfigurationError:
    """The error that a name belongs to no file."""
    known = sorted({*project.databases, *(item.name for item in project.invalid)})
    listed = f"Choose one of: {', '.join(known)}." if known else "None is yet: run `data_dictionary add NAME`."
    return ConfigurationError(
        f"no database is configured under the name {name!r}",
        where=str(project.folder / CONFIG_FOLDER / "databases"),
        fix=did_you_mean(name, known, listed),
    )
