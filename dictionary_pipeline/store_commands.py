"""The commands that work on what is published: `show`, `restore` and `gc`."""

from __future__ import annotations

import io
import json
import shutil
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dictionary_pipeline.config.loader import DATABASE_NAME
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.places import configured_database, published_store
from dictionary_pipeline.publishing import gc as collecting
from dictionary_pipeline.publishing.hand_edits import edit_sentence
from dictionary_pipeline.publishing.lease import hold_lease
from dictionary_pipeline.publishing.publish import check_target
from dictionary_pipeline.publishing.reading import PublishedBundle, bundle_in, open_bundle
from dictionary_pipeline.publishing.restore import restore
from dictionary_pipeline.run import new_run_id
from dictionary_pipeline.store import Store
from dictionary_pipeline.terminal import complain, counted, say

_WIDTH = 160


def show_bundle(location: str, entity: str | None, project: Path | None, *, as_json: bool) -> int:
    """`show`: a published dictionary, or one of its entries."""
    bundle = open_published(location, project)
    if entity is not None:
        entry = bundle.entry(entity)
        if as_json:
            say(json.dumps(entry, ensure_ascii=False))
        else:
            _print_entry(entry)
        return 0
    tables = bundle.frame("catalog/tables").select("fqn", "kind", "role", "row_estimate", "definition")
    if as_json:
        said = json.loads(bundle.manifest.to_bytes())
        del said["files"]
        say(json.dumps({"location": bundle.location, **said, "entities": tables["fqn"].to_list()}, ensure_ascii=False))
        return 0
    _print_bundle(bundle, tables.rows())
    return 0


def restore_manifest(name: str, manifest: str, project: Path | None) -> int:
    """`restore`: an archived manifest of a configured database becomes the current one."""
    config, store = _configured(name, project)
    with hold_lease(store, owner=new_run_id(), host=socket.gethostname()) as lease:
        check_target(store, name)
        restored, plain = restore(store, manifest, lease, plain=config.publish.plain_folders)
    for path in plain.hand_edited:
        complain("warning", edit_sentence(path, name, purged=False))
    say(
        f"{name}: the bundle published at {restored.manifest.published_at} by run {restored.manifest.run_id} is back; "
        f"{plain.written} plain files written, {plain.deleted} deleted. The next run publishes what it finds then."
    )
    return 0


def collect_garbage(name: str, project: Path | None) -> int:
    """`gc`: remove objects of a configured database that no recent manifest needs."""
    _, store = _configured(name, project)
    with hold_lease(store, owner=new_run_id(), host=socket.gethostname()) as lease:
        check_target(store, name)
        report = collecting.gc(store, lease, datetime.now(UTC))
    say(
        f"{name}: {report.objects_deleted} objects deleted, {report.bytes_freed} bytes freed; "
        f"{report.objects_kept} objects kept."
    )
    return 0


def open_published(location: str, project: Path | None) -> PublishedBundle:
    """A folder or address, or the name of a configured or retired database."""
    if DATABASE_NAME.fullmatch(location) and not Path(location).exists():
        return bundle_in(published_store(location, project))
    return open_bundle(location)


def _configured(name: str, project: Path | None) -> tuple[DatabaseConfig, Store]:
    place = configured_database(name, project)
    return place.config, place.store


def _print_bundle(bundle: PublishedBundle, rows: list[tuple[Any, ...]]) -> None:
    manifest = bundle.manifest
    state = "complete" if manifest.complete else f"partial, {counted(len(manifest.problems), 'problem')}"
    state += f"; retired since {manifest.retired}" if manifest.retired else ""
    say(f"{manifest.database} ({manifest.engine}), published {manifest.published_at} by run {manifest.run_id}: {state}")
    relationships = counted(manifest.counts.get("relationships", 0), "relationship")
    say(f"{bundle.location}: {counted(len(manifest.files), 'file')}, {relationships}")
    _print_table(("entity", "kind", "role", "rows", "definition"), rows)


def _print_entry(entry: dict[str, Any]) -> None:
    say(_shown(f"{entry['FQN']}: {entry['EntityName']}"))
    say(_shown(entry["Definition"] or "no definition"))
    keys = ("Name", "DataType", "Definition", "SampleValues")
    _print_table(
        ("column", "type", "definition", "samples"), [tuple(column[key] for key in keys) for column in entry["Columns"]]
    )
    for item in entry["EntityRelationships"]:
        pairs = ", ".join(f"{pair['Column']} = {pair['ForeignColumn']}" for pair in item["ForeignKeys"])
        say(_shown(f"-> {item['ForeignFQN']} ({pairs}){' inferred' if item.get('Origin') else ''}"))


def _print_table(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    table = Table(*heads)
    for row in rows:
        table.add_row(*(Text(_shown(cell)) for cell in row))
    page = io.StringIO()
    width = shutil.get_terminal_size((_WIDTH, 0)).columns if sys.stdout.isatty() else _WIDTH
    Console(file=page, width=width).print(table)
    say(page.getvalue().rstrip("\n"))


def _shown(cell: Any) -> str:
    """A cell in one line of text; control characters, which could steer the terminal, are escaped."""
    text = cell if isinstance(cell, str) else "" if cell is None else json.dumps(cell, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
