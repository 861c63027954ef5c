"""The commands for all databases at once, and for one that goes: `status` and `retire`."""

from __future__ import annotations

import io
import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dictionary_pipeline.config.loader import DATABASE_NAME, find_project_folder, load_project
from dictionary_pipeline.diffing import printable
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.fleet import Fleet, survey
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.retiring import delete_bundle, retire
from dictionary_pipeline.terminal import complain, say

_WIDTH = 160


def show_status(project: Path | None, *, as_json: bool) -> int:
    """`status`: how all dictionaries are doing; 1 when any is stale, so that cron notices a dead daemon.

    Raises:
        ConfigurationError: there is no project, or its `project.yml` is invalid.
    """
    fleet = survey(load_project(find_project_folder(project or Path.cwd())), datetime.now(UTC))
    if as_json:
        say(json.dumps(fleet.as_json(), ensure_ascii=False, indent=1))
    else:
        _print(fleet)
    if fleet.fault is not None:
        complain("error", fleet.fault)
    return fleet.exit_code


def retire_database(name: str, project: Path | None, *, delete: bool, sure: bool) -> int:
    """`retire`: a database that is no longer configured keeps its dictionary, marked, or loses it.

    Raises:
        ConfigurationError: it is still configured, was never published, or `--delete` stands without `--yes`.
        LeaseHeld: a run works on it.
        StoreError: the store cannot be used.
    """
    folder = find_project_folder(project or Path.cwd())
    loaded = load_project(folder)
    if not DATABASE_NAME.fullmatch(name):
        raise ConfigurationError(f"{name!r} cannot name a database", fix="Names are like shop or shop_2.")
    if name in loaded.databases or name in {item.name for item in loaded.invalid}:
        raise ConfigurationError(
            f"{name} is still configured, so the next run would publish it again",
            where=str(folder / "dbt_like_configs" / "databases"),
            fix=f"Remove {name}.yml first.",
        )
    store, shared = (open_store(loaded.publish, folder, part) for part in (name, ""))
    if delete and not sure:
        raise ConfigurationError(
            f"--delete removes the dictionary of {name} for good",
            where=store.location,
            fix="Add --yes, or leave --delete out.",
        )
    deleted = delete_bundle(store, shared, name) if delete else None
    plain = loaded.publish.plain_folders
    since = None if delete else retire(store, shared, name, datetime.now(UTC), plain=plain)
    if deleted is None and since is None:
        raise ConfigurationError(
            f"no dictionary of {name} is published there",
            where=store.location,
            fix="Check the name; `data_dictionary status` lists those that are known.",
        )
    if delete:
        say(f"{name}: {deleted} objects deleted at {store.location}.")
    else:
        say(f"{name}: retired since {since}. Its dictionary stays at {store.location}; its state is gone.")
    return 0


def _print(fleet: Fleet) -> None:
    frame = fleet.frame()
    table = Table(*frame.columns)
    for row in frame.iter_rows():
        table.add_row(*(Text(printable(cell)) for cell in row))
    page = io.StringIO()
    width = shutil.get_terminal_size((_WIDTH, 0)).columns if sys.stdout.isatty() else _WIDTH
    Console(file=page, width=width).print(table)
    say(page.getvalue().rstrip("\n"))
    for failure in fleet.failing_alerts:
        say(f"alert channel {printable(failure.channel)} does not take messages: {printable(failure.error)}")
    if fleet.cost_this_month is not None:
        say(f"spent on the language model this month, all databases: {fleet.cost_this_month:.2f}")
    counts = fleet.counts()
    stale = f": {', '.join(fleet.stale)}" if fleet.stale else ""
    noun = "database" if counts["databases"] == 1 else "databases"
    say(f"{counts['databases']} {noun}, {counts['fresh']} fresh, {counts['stale']} to look after{stale}")
