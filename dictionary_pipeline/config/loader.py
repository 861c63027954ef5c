"""Reads `dbt_like_configs/` into the frozen values of `resolved`.

A broken database file costs that database only; a broken `project.yml` holds defaults of all of
them and is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dictionary_pipeline.config.alerts_section import alert_settings
from dictionary_pipeline.config.connections import Connection, read_connection
from dictionary_pipeline.config.drift_section import drift_settings
from dictionary_pipeline.config.environment import load_env_file, render
from dictionary_pipeline.config.faults import each
from dictionary_pipeline.config.graph_section import graph_settings
from dictionary_pipeline.config.knowledge import IsForeign, Told, read_knowledge
from dictionary_pipeline.config.manifest import read_manifest
from dictionary_pipeline.config.merge import merge_knowledge
from dictionary_pipeline.config.model_section import model_settings
from dictionary_pipeline.config.models import DatabaseFile, Limits, Privacy, ProjectFile
from dictionary_pipeline.config.profiles import Profiles, UnknownName
from dictionary_pipeline.config.publish_section import publish_target
from dictionary_pipeline.config.resolved import (
    AutomationConfig,
    ColumnPatterns,
    ColumnRule,
    ConnectionSpec,
    DatabaseConfig,
    HumanKnowledge,
    InferenceSettings,
    InvalidDatabase,
    PathLimits,
    PrivacyPolicy,
    Project,
    SamplingLimits,
    Selection,
)
from dictionary_pipeline.config.schedule_section import probe_settings, schedule_settings
from dictionary_pipeline.config.search_section import search_settings
from dictionary_pipeline.config.validation import validate
from dictionary_pipeline.config.yamlfile import Document, read_yaml, shown_path, user_path
from dictionary_pipeline.errors import ConfigurationError

CONFIG_FOLDER = "dbt_like_configs"
DATABASE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_DATABASE_OPTION = {"postgres": "dbname", "snowflake": "database", "databricks": "catalog", "sqlserver": "database"}


def find_project_folder(start: Path) -> Path:
    """The nearest folder, from `start` upwards, that holds `dbt_like_configs/`.

    Raises:
        ConfigurationError: there is none.
    """
    begin = start.resolve()
    for folder in (begin, *begin.parents):
        if (folder / CONFIG_FOLDER).is_dir():
            return folder
    raise ConfigurationError(
        f"neither this folder nor one above it holds {CONFIG_FOLDER}/",
        where=str(begin),
        fix="Change into the project folder, or create a configuration with 'data_dictionary init .'.",
    )


def load_project(folder: Path, only: str | None = None) -> Project:
    """Read the whole configuration.

    Args:
        folder: The project folder, i.e. the parent of `dbt_like_configs/`.
        only: Name of the one database that is wanted; the files of others are not read.

    Raises:
        ConfigurationError: the folder is missing or `project.yml` is wrong. What is wrong with a
            database's file or profile is in the result's `invalid`.
    """
    root = folder.resolve()
    _require_folder(root)
    load_env_file(root)
    file = read_project_file(root)
    databases: dict[str, DatabaseConfig] = {}
    invalid: list[InvalidDatabase] = []
    for path in _database_files(root):
        if only not in (None, path.stem):
            continue
        try:
            databases[path.stem] = _read_database(path, root, file)
        except ConfigurationError as error:
            invalid.append(InvalidDatabase(path.stem, path, str(error)))
    return Project(
        folder=root,
        databases=databases,
        invalid=tuple(invalid),
        automation=AutomationConfig(**file.automation.model_dump()),
        publish=publish_target(file.publish),
        alerts=alert_settings(file.alerts),
        search=search_settings(file.search),
    )


def validate_project(folder: Path) -> tuple[ConfigurationError, ...]:
    """Everything that is wrong with the configuration, each mistake once; connects to nothing."""
    root = folder.resolve()
    errors: list[ConfigurationError] = []
    file = ProjectFile()
    try:
        _require_folder(root)
        load_env_file(root)
        file = read_project_file(root)
    except ConfigurationError as error:
        errors += each(error)
    profiles = profiles_of(file, root)
    steps: list[Callable[[], object]] = (
        [profiles.document] if profiles.path.is_relative_to(root / CONFIG_FOLDER) else []
    )
    steps += [partial(_read_database, path, root, file) for path in _database_files(root)]
    for step in steps:
        try:
            step()
        except ConfigurationError as error:
            errors += each(error)
    return tuple({str(error): error for error in errors}.values())


def project_profiles(folder: Path) -> Profiles:
    """The profiles file of a project folder. Raises ConfigurationError when `project.yml` is wrong."""
    return profiles_of(read_project_file(folder.resolve()), folder.resolve())


def profiles_of(file: ProjectFile, root: Path) -> Profiles:
    """The profiles file that `project.yml` names."""
    return Profiles((root / user_path(file.profiles_path)).absolute(), root)


def _require_folder(root: Path) -> None:
    if not (root / CONFIG_FOLDER).is_dir():
        raise ConfigurationError(
            f"there is no folder {CONFIG_FOLDER}/",
            where=str(root),
            fix="Create a configuration with 'data_dictionary init .'.",
        )


def read_project_file(root: Path) -> ProjectFile:
    """`project.yml`, the defaults when there is none. Raises ConfigurationError."""
    path = root / CONFIG_FOLDER / "project.yml"
    if not path.exists():
        return ProjectFile()
    document = read_yaml(path, folder=root)
    return validate(ProjectFile, render(document.data, document, ()), document)


def _database_files(root: Path) -> list[Path]:
    folder = root / CONFIG_FOLDER / "databases"
    found = [path for path in folder.glob("*") if path.suffix in (".yml", ".yaml") and path.name[0] not in "._"]
    return sorted({path.stem: path for path in sorted(found)}.values())


def _read_database(path: Path, root: Path, project: ProjectFile) -> DatabaseConfig:
    label = shown_path(path, root)
    if not DATABASE_NAME.fullmatch(path.stem):
        raise ConfigurationError(
            f"the file name {path.name!r} cannot name a database",
            where=label,
            fix="Rename it: lower-case letters, digits, '-' and '_', a letter or digit first.",
        )
    twin = path.with_suffix(".yaml" if path.suffix == ".yml" else ".yml")
    if twin.exists():
        raise ConfigurationError(
            f"{twin.name} describes the same database", where=label, fix=f"Keep one of {path.name} and {twin.name}."
        )
    return resolve_database(read_yaml(path, folder=root), path.stem, root, project)


def resolve_database(document: Document, name: str, root: Path, project: ProjectFile) -> DatabaseConfig:
    """Evaluate the content of a database's file.

    Raises:
        ConfigurationError: everything that is wrong with it.
    """
    file = validate(DatabaseFile, _rendered(document), document)
    connection = _connection(file, document, root, project)
    is_foreign = _is_foreign(connection.spec)
    told = read_knowledge(file, document, is_foreign)
    from_dbt = _manifest(file, document, root, is_foreign)
    schedule = schedule_settings(project.automation, file.schedule)
    sampling = _over(_over(SamplingLimits(), project.sampling), file.limits)
    return DatabaseConfig(
        name=name,
        connection=_named(connection.spec, file.database_name),
        selection=Selection(
            file.schemas.include,
            file.schemas.exclude,
            file.entities.include,
            file.entities.exclude,
            ColumnPatterns(file.columns.include, file.columns.exclude),
        ),
        sampling=sampling,
        value_store=ColumnPatterns(file.value_store.include, file.value_store.exclude),
        paths=_over_paths(_over_paths(PathLimits(), project.sampling), file.limits),
        inference=replace(
            InferenceSettings(**project.inference.model_dump()), **file.inference.model_dump(exclude_unset=True)
        ),
        model=model_settings(project.model, file.model),
        graph=graph_settings(project.graph, file.graph, document, root),
        search=search_settings(project.search, file.search),
        human=merge_knowledge(told.knowledge, from_dbt.knowledge),
        publish=publish_target(project.publish, file.publish),
        shared=publish_target(project.publish),
        withhold=tuple(dict.fromkeys((*project.privacy.withhold, *file.privacy.withhold))),
        allow=tuple(dict.fromkeys((*project.privacy.allow, *file.privacy.allow))),
        privacy=_privacy(project.privacy, file.privacy),
        probe=probe_settings(file.probe, schedule.timezone),
        schedule=schedule,
        drift=drift_settings(project.drift, file.drift),
        file=document.path,
        fqn_database=file.database_name,
        warnings=(*connection.warnings, *told.warnings, *from_dbt.warnings),
    )


def _rendered(document: Document) -> Mapping[str, Any]:
    """Environment variables everywhere but in `sources`, where text is prose, and the connection, whose
    secrets stay unevaluated."""
    late = ("sources", "connection")
    return {key: value if key in late else render(value, document, (key,)) for key, value in document.data.items()}


def _connection(file: DatabaseFile, document: Document, root: Path, project: ProjectFile) -> Connection:
    if file.connection is not None:
        for key in ("profile", "target"):
            if getattr(file, key) is not None:
                raise document.error((key,), "cannot stand beside 'connection'", "Keep one of the two.")
        return read_connection(file.connection, document, ("connection",), folder=root, label="connection", strict=True)
    if file.profile is None:
        fix = "Add 'profile: NAME' with a profile of profiles.yml, or a 'connection:'."
        raise document.error((), "the file does not say how to connect", fix)
    try:
        return profiles_of(project, root).connection(file.profile, file.target)
    except UnknownName as error:
        raise document.error((error.key,), f"{error.what} in {error.where}", error.fix or "") from None


def _named(spec: ConnectionSpec, database_name: str | None) -> ConnectionSpec:
    """Engines put the database into fully qualified names, so they must know an override."""
    return spec if database_name is None else replace(spec, options={**spec.options, "fqn_database": database_name})


def _manifest(file: DatabaseFile, document: Document, root: Path, is_foreign: IsForeign) -> Told:
    if file.dbt_manifest is None:
        return Told(HumanKnowledge(), ())
    path = root / user_path(file.dbt_manifest)
    return read_manifest(path, document, ("dbt_manifest",), is_foreign)


def _is_foreign(spec: ConnectionSpec) -> IsForeign:
    """Only engines whose connection names its database can tell; embedded files have no fixed name."""
    own = spec.options.get(_DATABASE_OPTION.get(spec.type, ""))
    return lambda name: own is not None and name.casefold() != str(own).casefold()


def _privacy(project: Privacy, own: Privacy) -> PrivacyPolicy:
    return PrivacyPolicy(
        own.default if "default" in own.model_fields_set else project.default,
        tuple(ColumnRule(rule.match, rule.treat) for rule in (*own.columns, *project.columns)),
        {**project.categories, **own.categories},
    )


def _over(base: SamplingLimits, limits: Limits) -> SamplingLimits:
    return replace(base, **limits.model_dump(exclude_unset=True, exclude={"paths"}))


def _over_paths(base: PathLimits, limits: Limits) -> PathLimits:
    return replace(base, **limits.paths.model_dump(exclude_unset=True))
