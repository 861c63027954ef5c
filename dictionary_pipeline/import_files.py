"""The files that `import` reads: a schema store and a value store, of a folder, a single file, or kept hand edits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.hand_edits import BASES, KEPT
from dictionary_pipeline.store import Store

_SCHEMA, _VALUES = "schema_store", "column_value_store"


class _File(NamedTuple):
    """One file, and what it said before a person edited it, if that is known."""

    label: str
    text: str
    base: str | None


class Edited(NamedTuple):
    """An entry of a file."""

    content: dict[str, Any]
    base: dict[str, Any]
    """What the entry said before a person edited it; empty when that is not known."""


@dataclass(frozen=True)
class ImportFiles:
    """What there is to import."""

    label: str
    """Where it is, for messages."""
    schema: tuple[_File, ...]
    values: tuple[_File, ...]
    is_single: bool
    """One file was named, so each of its entries must be one."""

    def entries(self) -> Iterator[Edited]:
        """Tables and views.

        Raises:
            ConfigurationError: there is none, or a file is not one of a schema store.
        """
        found = not self.schema and bool(self.values)
        for file in self.schema:
            before = {_identity(entry): entry for entry in _listed(file.label, file.base or "[]")}
            for entry in _listed(file.label, file.text):
                if isinstance(entry, dict) and "Entity" in entry and "Columns" in entry:
                    found = True
                    yield Edited(entry, before.get(_identity(entry), {}))
                elif self.is_single:
                    raise wrong_file(file.label, "an entry has no 'Entity' and 'Columns'")
        if not found:
            raise ConfigurationError(
                "no schema store is here",
                where=self.label,
                fix="Name the folder with one JSON file per entity, the folder around it, or the single file.",
            )

    def value_lines(self) -> Iterator[Edited]:
        """Values with their synonyms.

        Raises:
            ConfigurationError: a file is not one of a value store.
        """
        for file in self.values:
            before = {str(line.get("Value")): line for line in _lines(file.label, file.base or "")}
            for line in _lines(file.label, file.text):
                yield Edited(line, before.get(str(line.get("Value")), {}))


def find_files(path: Path, store: Store) -> ImportFiles:
    """Find what a path names.

    Args:
        path: A schema store's folder, the folder around it, a single file of either store, or the
            `.state/hand_edits/...` of the database's store that a run has named.
        store: The database's.

    Raises:
        ConfigurationError: a file cannot be read, or no such hand edit is kept.
        StoreError: the store cannot be read.
    """
    key = path.as_posix()
    if f"{key}/".startswith(KEPT) and not path.exists():
        return _kept(key, store)
    schema, values = _local_paths(path)
    files = [[_File(str(file), _text(file), _local_base(file)) for file in found] for found in (schema, values)]
    return ImportFiles(str(path), tuple(files[0]), tuple(files[1]), path.is_file())


def wrong_file(where: str, what: str) -> ConfigurationError:
    """What is said of a file that cannot be used."""
    return ConfigurationError(what, where=where, fix="Name files that a data dictionary wrote, and repair this one.")


def _kept(key: str, store: Store) -> ImportFiles:
    """Hand edits that the store keeps, wherever it is."""
    found: dict[str, list[_File]] = {_SCHEMA: [], _VALUES: []}
    for item in store.list(KEPT):
        name = item.key.removeprefix(KEPT)
        folder = name.partition("/")[0]
        if folder in found and (item.key == key or f"{item.key}/".startswith(f"{key}/")):
            label = f"{store.location}/{item.key}"
            base = store.read(BASES + name)
            text = _decoded(label, store.read(item.key) or b"")
            found[folder].append(_File(label, text, None if base is None else _decoded(label, base)))
    if not any(found.values()):
        raise ConfigurationError(
            "no hand edit is kept there", where=f"{store.location}/{key}", fix="Runs name those that they keep."
        )
    return ImportFiles(f"{store.location}/{key}", tuple(found[_SCHEMA]), tuple(found[_VALUES]), False)


def _local_paths(path: Path) -> tuple[list[Path], list[Path]]:
    """Files of the schema store and of the value store beside it."""
    if not path.exists():
        return [], []
    if path.suffix == ".jsonl":
        return [], [path]
    folder = path / _SCHEMA if (path / _SCHEMA).is_dir() else path
    schema = [path] if path.is_file() else sorted(folder.glob("*.json"))
    base = path.parent if path.is_file() else path
    beside = next(found for found in (base / _VALUES, base.parent / _VALUES, base) if found.is_dir())
    return schema, sorted(beside.glob("*.jsonl"))


def _local_base(file: Path) -> str | None:
    """What a kept hand edit said before, for one that is named by its place on this machine."""
    before, kept, name = file.absolute().as_posix().rpartition(f"/{KEPT}")
    base = Path(f"{before}/{BASES}{name}")
    return _text(base) if kept and base.is_file() else None


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise wrong_file(str(file), f"it cannot be read ({error.strerror or 'input/output error'})") from None
    return _decoded(str(file), data)


def _decoded(label: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise wrong_file(label, "it is not UTF-8 text") from None


def _identity(entry: Any) -> tuple[str, str]:
    if not isinstance(entry, dict):
        return "", ""
    return str(entry.get("Schema")), str(entry.get("Entity"))


def _listed(label: str, text: str) -> list[Any]:
    content = _parsed(label, text)
    return content if isinstance(content, list) else [content]


def _lines(label: str, text: str) -> Iterator[dict[str, Any]]:
    parsed = (_parsed(label, line) for line in text.split("\n") if line.strip())
    return (line for line in parsed if isinstance(line, dict))


def _parsed(label: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise wrong_file(label, "it is not valid JSON") from None
