"""What each command does; imported only when its command runs, so that `--help` stays quick."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from dictionary_pipeline.config.alert_settings import ChannelSettings
from dictionary_pipeline.config.generation import chosen_model, project_target
from dictionary_pipeline.config.loader import find_project_folder, load_project, validate_project
from dictionary_pipeline.config.resolved import DatabaseConfig, PublishTarget, Selection
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.config.templates import write_database, write_project
from dictionary_pipeline.diffing import show_diff
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.interrupts import stop_if_interrupted
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.places import unknown_database
from dictionary_pipeline.publishing.lease import forget_released
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.run import NO_OPTIONS, RunOptions, database_store, shared_store
from dictionary_pipeline.search_commands import push_after_run
from dictionary_pipeline.stages import STAGES
from dictionary_pipeline.store import Store
from dictionary_pipeline.terminal import complain, counted, errors, say
from dictionary_pipeline.unexpected import unexpected

_MOST_PROBLEMS = 20


@dataclass(frozen=True)
class BuildRequest:
    """Arguments of `build`."""

    target: str
    output: Path
    single_file: bool
    generate_definitions: bool
    selection: Selection
    name: str | None
    project: Path | None


def run_configured(names: Sequence[str], options: RunOptions, *, as_json: bool, project: Path | None) -> int:
    """`run`: every named database in turn; the worst exit code."""
    folder = _folder(project)
    loaded = load_project(folder)
    known = {**loaded.databases}
    broken = {item.name: item for item in loaded.invalid}
    wanted = list(names) or sorted({*known, *broken})
    for name in wanted:
        if name not in known and name not in broken:
            raise unknown_database(loaded, name)
    if not wanted:
        raise ConfigurationError("no database is configured", where=str(folder), fix="Run `data_dictionary add NAME`.")
    summaries: list[RunSummary] = []
    for name in wanted:
        if name in broken:
            failure = ConfigurationError(broken[name].error)
            summaries.append(RunSummary(name, "", str(broken[name].file), (), failure))
            continue
        try:
            store, shared = database_store(known[name], folder), shared_store(known[name], folder)
        except ConfigurationError as error:  # e.g. a credential that is not set; the other databases may need none
            summaries.append(RunSummary(name, "", "", (), error))
            continue
        summaries.append(_run_shown(known[name], store, options, shared))
    _finish(summaries, as_json=as_json)
    published = [known[summary.database] for summary in summaries if summary.error is None and not options.dry_run]
    codes = [summary.exit_code for summary in summaries]
    return max((*codes, push_after_run(published, folder, as_json=as_json)), key=_severity)


def _severity(code: int) -> int:
    """Order of exit codes from best to worst: complete, partial, configuration, failed."""
    return (0, 3, 2, 1).index(code)


def build_once(request: BuildRequest, *, as_json: bool) -> int:
    """`build`: one database into one folder."""
    folder = request.project or _folder_or_none()
    model = chosen_model(folder) if request.generate_definitions else None
    connection, default_name = resolve_target(request.target, folder=folder)
    config = DatabaseConfig(
        name=request.name or default_name,
        connection=connection,
        selection=request.selection,
        model=model,
        publish=PublishTarget(root=str(request.output), single_file=request.single_file),
    )
    # Spending counts for the project's limits where there is a project.
    shared = shared_store(replace(config, shared=project_target(folder)), folder) if folder and model else None
    summary = _run_shown(config, LocalStore(request.output), NO_OPTIONS, shared)
    _finish([summary], as_json=as_json)
    return summary.exit_code


def validate_configuration(project: Path | None, *, as_json: bool) -> int:
    """`validate`: all errors of all files."""
    folder = _folder(project)
    found = validate_project(folder)
    loaded = None if found else load_project(folder)
    databases = loaded.databases if loaded else {}
    warnings = [warning for config in databases.values() for warning in config.warnings]
    warnings += _unset(loaded.alerts.channels) if loaded else []
    if as_json:
        say(json.dumps({"errors": [str(error) for error in found], "warnings": warnings}))
    for error in found:
        complain("error", str(error))
    for warning in warnings:
        complain("warning", warning)
    if not found and not as_json:
        say(f"{folder / 'dbt_like_configs'}: {counted(len(databases), 'database')}, no error.")
    return ConfigurationError.exit_code if found else 0


def _unset(channels: Sequence[ChannelSettings]) -> list[str]:
    """A missing secret stops deliveries, not the pipeline, so it is no error of the configuration."""
    return [
        f"alert channel {channel.name}: the environment variable {name} is not set, so nothing can be delivered"
        for channel in channels
        for name in channel.variables
        if not os.environ.get(name)
    ]


def show_differences(before: str, after: str, project: Path | None, *, as_json: bool, as_markdown: bool) -> int:
    """`diff`: what differs between two bundles or databases."""
    folder = project or _folder_or_none()
    return show_diff(before, after, project=folder, as_json=as_json, as_markdown=as_markdown)


def init_project(folder: Path) -> int:
    """`init`: write the commented templates."""
    written = write_project(folder)
    for path in written:
        say(f"wrote {path}")
    if not written:
        say(f"{folder}: every file is there already and was left alone")
    say("Next: edit dbt_like_configs/profiles.yml, then `data_dictionary add NAME --profile PROFILE`.")
    return 0


def add_database(name: str, url: str | None, profile: str | None, project: Path | None) -> int:
    """`add`: write the database's file, connect, and tell what cannot be read."""
    if (url is None) == (profile is None):
        raise ConfigurationError("`add` needs --url env:VAR or --profile NAME, and only one of them")
    if url is not None and not url.startswith("env:"):
        raise ConfigurationError(
            "a URL on the command line would show its password in the process list",
            where="--url",
            fix="Put it into .env or the environment, e.g. SHOP_URL=postgresql://... or, for a file, "
            "SHOP_URL=sqlite:////folder/shop.db, and pass --url env:SHOP_URL.",
        )
    folder = _folder(project)
    path = write_database(folder, name, profile=profile, url_env=url.removeprefix("env:") if url else None)
    loaded = load_project(folder)
    if name not in loaded.databases:
        path.unlink()  # or the corrected command would be told that the database is configured already
        reason = next(item.error for item in loaded.invalid if item.name == name)
        raise ConfigurationError(f"{name} was not added, and its file is removed again: {reason}")
    say(f"wrote {path}")
    config = loaded.databases[name]
    engine = create_engine(config.connection)
    with engine.open() as session:
        catalog = take_snapshot(engine, session, config.selection)
    say(f"connected to {engine.server}: {catalog.tables.height} tables and views")
    for warning in engine.warnings:
        complain("warning", warning)
    for problem in catalog.problems[:_MOST_PROBLEMS]:
        complain("warning", f"{problem.object}: {problem.message}. {problem.hint}")
    say(f"Next: data_dictionary run {name}")
    return 0


def _folder(project: Path | None) -> Path:
    return find_project_folder(project or Path.cwd())


def _folder_or_none() -> Path | None:
    try:
        return find_project_folder(Path.cwd())
    except ConfigurationError:
        return None


def _run_shown(config: DatabaseConfig, store: Store, options: RunOptions, shared: Store | None) -> RunSummary:
    """Run one database with a progress bar on a terminal and say how it ended."""
    for warning in config.warnings:
        complain("warning", warning)
    with _progress(config.name) as (bar, task):

        def show(stage: str, done: int, total: int) -> None:
            stop_if_interrupted()
            bar.update(task, description=f"{config.name}: {stage}", completed=done, total=total)

        try:
            summary = run_database(config, store, options=options, progress=show, shared=shared)
        except Exception as error:  # noqa: BLE001 - a defect met in one database must not cost the others
            summary = RunSummary(config.name, "", store.location, (), unexpected(error))
    if summary.error is not None and isinstance(store, LocalStore):
        forget_released(store)
    return summary


@contextmanager
def _progress(name: str) -> Iterator[tuple[Progress, TaskID]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        yield bar, bar.add_task(f"{name}: connecting", total=len(STAGES))


def _finish(summaries: Sequence[RunSummary], *, as_json: bool) -> None:
    """Results to stdout, errors and problems to stderr."""
    if as_json:
        bodies = [summary.as_json() for summary in summaries]
        say(json.dumps(bodies[0] if len(bodies) == 1 else bodies))
    for summary in summaries:
        if summary.error is not None:
            complain(f"error: {summary.database}", f"{summary.error} ({summary.error.identifier})")
            continue
        for warning in summary.warnings[:_MOST_PROBLEMS]:
            complain("warning", warning)
        for problem in summary.problems[:_MOST_PROBLEMS]:
            complain("problem", f"{problem.object} ({problem.stage}): {problem.message}. {problem.hint}")
        if len(summary.problems) > _MOST_PROBLEMS:
            errors.print(f"... and {len(summary.problems) - _MOST_PROBLEMS} more; all are in manifest.json")
        if not as_json:
            say(_one_line(summary))


def _one_line(summary: RunSummary) -> str:
    metrics = {key: value for report in summary.reports for key, value in report.metrics.items()}
    withheld = f"; {counted(metrics['columns_withheld'], 'column')} withheld (see catalog/columns.parquet)"
    state = "complete" if summary.exit_code == 0 else f"partial, {len(summary.problems)} problems"
    state = "not published" if summary.held else state
    proposed = int(metrics["inferred_proposed"])  # not published before somebody confirms them
    relationships = counted(int(metrics["relationships"]) - proposed, "relationship")
    return (
        f"{summary.database}: {state}; {counted(metrics['tables'], 'table')}, {counted(metrics['views'], 'view')}, "
        f"{relationships}{f' and {proposed} to confirm' if proposed else ''}"
        f"{withheld if metrics['columns_withheld'] else ''}{_drift(metrics)}; {metrics['status']} at {summary.location}"
    )


def _drift(metrics: Mapping[str, int | float | str | bool]) -> str:
    """How many changes of the schema the run found, and how many of them matter."""
    if not metrics["drift_changes"]:
        return ""
    found = counted(metrics["drift_changes"], "change")
    return f"; drift: {found}, {metrics['drift_breaking']} breaking, {metrics['drift_risky']} risky"
