"""The edit of a database's YAML file that follows renames: what people wrote of the old name moves to the new one.

Names are replaced where they stand, so that the rest of the file, comments included, stays as it is.
The edit is proposed as a patch; only a person applies it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from dictionary_pipeline.config.loader import CONFIG_FOLDER
from dictionary_pipeline.drift.model import Change
from dictionary_pipeline.drift.record import Entry
from dictionary_pipeline.drift.renames import CERTAIN_AT

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? ")
_OF_TABLES = ("table_renamed", "view_renamed")
_RELATIONSHIPS = ("relationships", "relationships_rejected")
_COLUMN_PATTERNS = (
    ("privacy", "withhold"),
    ("privacy", "allow"),
    *((s, k) for s in ("columns", "value_store") for k in ("include", "exclude")),
)
_TABLE_PATTERNS = (("entities", "include"), ("entities", "exclude"))


class Rename(NamedTuple):
    """A table or column that is called otherwise now; names as they were before any of the renames."""

    schema: str
    table: str
    column: str
    """Empty: the table."""
    new: str


class _Edit(NamedTuple):
    """A scalar of the file and what it becomes."""

    node: CommentedMap | CommentedSeq
    key: str | int
    new: str

    @property
    def old(self) -> str:
        return str(self.node[self.key])

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of its first character."""
        lc = self.node.lc
        line, column = lc.value(self.key) if isinstance(self.node, CommentedMap) else lc.item(self.key)
        return int(line), int(column)


def renames_of(changes: Iterable[Change | Entry]) -> tuple[Rename, ...]:
    """The nearly certain renames among some changes that happened in one step.

    A table that moved to another schema is left out: what people wrote of it belongs below another source.
    """
    sure = [change for change in changes if change.confidence >= CERTAIN_AT]
    tables = [change for change in sure if change.kind in _OF_TABLES and "." not in change.after]
    earlier = {(change.schema, change.after): change.table for change in tables}
    found = [Rename(change.schema, change.table, "", change.after) for change in tables]
    for change in sure:
        if change.kind == "column_renamed":
            table = earlier.get((change.schema, change.table), change.table)
            found.append(Rename(change.schema, table, change.before, change.after))
    return tuple(found)


def rename_patch(file: Path | None, renames: Sequence[Rename]) -> str:
    """A unified patch that `git apply` takes; empty where the file says nothing about what was renamed.

    The lines around a change never show the file's connection, which may hold a password; where that cannot
    be avoided nothing is proposed.

    Args:
        file: The database's YAML file.
        renames: As `renames_of` finds them.
    """
    if file is None or not renames or not file.is_file():
        return ""
    raw = file.read_bytes().decode("utf-8", errors="replace")
    mark = "\ufeff" if raw.startswith("\ufeff") else ""
    text = raw.removeprefix(mark)
    root = _parsed(text)
    if not isinstance(root, CommentedMap):
        return ""
    lines = text.split("\n")
    edited = _replaced(lines, list(_edits(root, renames)))
    if edited is None or edited == lines or _parsed("\n".join(edited)) != root:
        return ""
    old, new = ([mark + content[0], *content[1:]] for content in (lines, edited))
    secret = set(_connection_lines(root, len(lines)))
    for context in (3, 2, 1):
        patch = list(_unified(old, new, f"{CONFIG_FOLDER}/databases/{file.name}", context))
        if secret.isdisjoint(_shown_lines(patch)):
            return "".join(patch)
    return ""


def _parsed(text: str) -> Any:
    """A YAML document; null where it is invalid, which everything that reads the configuration reports."""
    try:
        return YAML(typ="rt").load(text)
    except YAMLError:
        return None


def _edits(root: CommentedMap, renames: Sequence[Rename]) -> Iterator[_Edit]:
    for rename in renames:
        for source in _maps(root.get("sources")):
            if _same(source.get("schema", source.get("name")), rename.schema):
                yield from _in_source(source, rename)
    yield from _in_relationships(root, renames)
    yield from _in_patterns(root, renames)


def _in_source(source: CommentedMap, rename: Rename) -> Iterator[_Edit]:
    tables = {_table_name(item): item for item in _maps(source.get("tables"))}
    for name, item in tables.items():
        if not _same(name, rename.table):
            continue
        if not rename.column:
            if rename.new not in tables:
                yield _Edit(item, "identifier" if "identifier" in item else "name", rename.new)
            continue
        columns = list(_maps(item.get("columns")))
        if not any(column.get("name") == rename.new for column in columns):
            yield from (
                _Edit(column, "name", rename.new) for column in columns if _same(column.get("name"), rename.column)
            )


def _in_relationships(root: CommentedMap, renames: Sequence[Rename]) -> Iterator[_Edit]:
    for item in (item for key in _RELATIONSHIPS for item in _maps(root.get(key))):
        for end, names in (("from", "columns"), ("to", "to_columns")):
            schema, _, table = str(item.get(end)).partition(".")
            for rename in renames:
                if not (_same(schema, rename.schema) and _same(table, rename.table)):
                    continue
                if not rename.column:
                    yield _Edit(item, end, f"{schema}.{rename.new}")
                else:
                    yield from _scalars(item, names, {rename.column.casefold(): rename.new})


def _in_patterns(root: CommentedMap, renames: Sequence[Rename]) -> Iterator[_Edit]:
    """Patterns that name the table or column itself: one that is withheld stays withheld under its new name."""
    columns: dict[str, str] = {}
    tables: dict[str, str] = {}
    new_tables = {(r.schema, r.table): r.new for r in renames if not r.column}
    for rename in renames:
        table = new_tables.get((rename.schema, rename.table), rename.table)
        for prefix in ("", f"{rename.schema}."):
            if rename.column:
                columns[f"{prefix}{rename.table}.{rename.column}".casefold()] = f"{prefix}{table}.{rename.new}"
            else:
                tables[f"{prefix}{rename.table}".casefold()] = f"{prefix}{rename.new}"
                columns[f"{prefix}{rename.table}.*".casefold()] = f"{prefix}{rename.new}.*"
    for paths, names in ((_COLUMN_PATTERNS, columns), (_TABLE_PATTERNS, tables)):
        for section, key in paths:
            if isinstance(root.get(section), CommentedMap):
                yield from _scalars(root[section], key, names)
    privacy = root.get("privacy")
    for rule in _maps(privacy.get("columns")) if isinstance(privacy, CommentedMap) else ():
        yield from _scalars(rule, "match", columns)


def _scalars(node: CommentedMap, key: str, names: Mapping[str, str]) -> Iterator[_Edit]:
    """Edits of a value, or of the items of a list, that is one of some names in lower case."""
    value = node.get(key)
    if isinstance(value, CommentedSeq):
        places: list[tuple[CommentedMap | CommentedSeq, str | int]] = [(value, index) for index in range(len(value))]
    else:
        places = [(node, key)] if isinstance(value, str) else []
    for owner, at in places:
        new = names.get(str(owner[at]).casefold())
        if new is not None:
            yield _Edit(owner, at, new)


def _replaced(lines: Sequence[str], edits: Sequence[_Edit]) -> list[str] | None:
    """The lines with every scalar replaced, and the edits made in the parsed file too; null when one is not found."""
    result = list(lines)
    for edit in sorted(edits, key=lambda edit: edit.place, reverse=True):
        line, column = edit.place
        old = _token(result[line][column:], edit.old)
        if old is None:
            return None
        quote = old[0] if old[0] in "'\"" else ""
        new = f"{quote}{edit.new}{quote}" if quote and not set(edit.new) & set("'\"\\") else _scalar(edit.new)
        result[line] = result[line][:column] + new + result[line][column + len(old) :]
        edit.node[edit.key] = edit.new
    return result


def _token(text: str, value: str) -> str | None:
    """How a scalar of that value is written at the beginning of a text."""
    doubled = value.replace("'", "''")
    return next((form for form in (f'"{value}"', f"'{doubled}'", value) if text.startswith(form)), None)


def _scalar(name: str) -> str:
    """A name as a YAML scalar."""
    plain = name.replace("_", "a").replace(".", "a").isalnum() and name.isascii() and not name[0].isdigit()
    words = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
    return name if plain and name.lower() not in words else "'" + name.replace("'", "''") + "'"


def _connection_lines(root: CommentedMap, end: int) -> range:
    """Numbers, from 1, of the lines from `connection` to the next key."""
    if "connection" not in root:
        return range(0)
    starts = sorted(int(root.lc.key(key)[0]) for key in root)
    first = int(root.lc.key("connection")[0])
    return range(first + 1, next((start for start in starts if start > first), end) + 1)


def _shown_lines(patch: Iterable[str]) -> Iterator[int]:
    """Numbers, from 1, of the lines of the old file that a patch shows."""
    for line in patch:
        if found := _HUNK.match(line):
            yield from range(int(found[1]), int(found[1]) + int(found[2] or 1))


def _unified(old: Sequence[str], new: Sequence[str], label: str, context: int) -> Iterator[str]:
    """Lines of a unified diff; text that does not end with a line end is told as `git` tells it."""
    before, after = ([f"{line}\n" for line in side[:-1]] + ([side[-1]] if side[-1] else []) for side in (old, new))
    for line in difflib.unified_diff(before, after, f"a/{label}", f"b/{label}", n=context):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _maps(items: Any) -> Iterator[CommentedMap]:
    yield from (item for item in items if isinstance(item, CommentedMap)) if isinstance(items, CommentedSeq) else ()


def _table_name(item: CommentedMap) -> str:
    return str(item.get("identifier", item.get("name")))


def _same(one: object, other: str) -> bool:
    return str(one).casefold() == other.casefold()
