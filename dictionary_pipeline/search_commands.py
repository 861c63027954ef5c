"""The command that pushes published dictionaries to a search service: `push-search`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dictionary_pipeline.config.loader import find_project_folder, load_project
from dictionary_pipeline.config.resolved import DatabaseConfig, Project
from dictionary_pipeline.config.search_section import predecessor_search
from dictionary_pipeline.config.search_settings import SearchSettings
from dictionary_pipeline.errors import ConfigurationError, DictionaryError
from dictionary_pipeline.places import unknown_database
from dictionary_pipeline.run import database_store, new_run_id, shared_store
from dictionary_pipeline.searching import push_published
from dictionary_pipeline.terminal import complain, errors, say

if TYPE_CHECKING:
    from dictionary_pipeline.publishing.search.push import PushReport

_MOST_PROBLEMS = 20
PARTIAL = 3
_SEVERITY = (0, PARTIAL, 2, 1)
"""Exit codes from best to worst."""


def push_named(names: Sequence[str], project: Path | None, *, full: bool, as_json: bool) -> int:
    """`push-search`: every named database in turn; the worst exit code."""
    folder = find_project_folder(project or Path.cwd())
    loaded = load_project(folder)
    # A project without the section may use the predecessor's variables; who has neither is told at once.
    settings = loaded.search or predecessor_search()
    reports: list[PushReport] = []
    codes = [0]
    for name in _wanted(loaded, names):
        try:
            report = _push(_config(loaded, name), settings, folder, full=full)
        except DictionaryError as error:  # the other databases may have none
            complain(f"error: {name}", f"{error} ({error.identifier})")
            codes.append(error.exit_code)
            continue
        reports.append(report)
        codes.append(report.exit_code)
        _show(report, settings.endpoint, quiet=as_json)
    if as_json:
        bodies = [_as_json(report) for report in reports]
        say(json.dumps(bodies[0] if len(bodies) == 1 else bodies, ensure_ascii=False))
    return max(codes, key=_SEVERITY.index)


def push_after_run(configs: Sequence[DatabaseConfig], folder: Path, *, as_json: bool) -> int:
    """Push what a run published, where that is configured.

    Returns:
        0, or 3 when something was not pushed: the dictionaries are published all the same.
    """
    code = 0
    for config in configs:
        if config.search is None or not config.search.automatic:
            continue
        try:
            report = _push(config, config.search, folder)
        except DictionaryError as error:
            complain(f"error: {config.name} is published, but not pushed", f"{error} ({error.identifier})")
            code = PARTIAL
            continue
        code = max(code, report.exit_code)
        _show(report, config.search.endpoint, quiet=as_json)
    return code


def _push(config: DatabaseConfig, settings: SearchSettings, folder: Path, *, full: bool = False) -> PushReport:
    store, shared = database_store(config, folder), shared_store(config, folder)
    return push_published(config, settings, store, shared, owner=new_run_id(), full=full)


def _wanted(project: Project, names: Sequence[str]) -> list[str]:
    """The databases to push: those that are named, else all that have not opted out.

    Raises:
        ConfigurationError: one is not configured, or none is.
    """
    known = sorted({*project.databases, *(item.name for item in project.invalid)})
    for name in names:
        if name not in known:
            raise unknown_database(project, name)
    wanted = list(names) or [name for name in known if name not in _opted_out(project)]
    if not wanted:
        raise ConfigurationError(
            "no database is to be pushed", where=str(_files(project)), fix="Run `data_dictionary add NAME`."
        )
    return wanted


def _config(project: Project, name: str) -> DatabaseConfig:
    """A database's configuration. Raises ConfigurationError: its file is wrong, or says not to push it."""
    for item in project.invalid:
        if item.name == name:
            raise ConfigurationError(item.error)
    if name in _opted_out(project):
        fix = "Remove 'search: {enabled: false}' to push it."
        raise ConfigurationError("this database is not to be pushed", where=str(_files(project) / name), fix=fix)
    return project.databases[name]


def _opted_out(project: Project) -> set[str]:
    return {name for name, config in project.databases.items() if project.search and config.search is None}


def _files(project: Project) -> Path:
    return project.folder / "dbt_like_configs" / "databases"


def _show(report: PushReport, endpoint: str, *, quiet: bool) -> None:
    for problem in report.problems[:_MOST_PROBLEMS]:
        complain("problem", f"{problem.object}: {problem.message}. {problem.hint}")
    if len(report.problems) > _MOST_PROBLEMS:
        errors.print(f"... and {len(report.problems) - _MOST_PROBLEMS} more")
    if not quiet:
        dropped = f"; {report.queries_dropped} cached queries dropped" if report.queries_dropped else ""
        say(
            f"{report.database}: {report.sent} documents pushed, {report.deleted} deleted, "
            f"{report.unchanged} unchanged at {endpoint}{dropped}"
        )


def _as_json(report: PushReport) -> dict[str, object]:
    return {**asdict(report), "problems": [problem._asdict() for problem in report.problems]}
