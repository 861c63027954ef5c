"""Writes people's words into a database's YAML file and leaves everything else in it as it was."""

from __future__ import annotations

import difflib
import io
import re
import shutil
import textwrap
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, FoldedScalarString, LiteralScalarString

from dictionary_pipeline.config.environment import render
from dictionary_pipeline.config.resolved import HumanRelationship
from dictionary_pipeline.config.yamlfile import Document, read_yaml, scalar_text
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.yaml_aliases import mark_shared, own

_LINE = 100
_VERY_WIDE = 1_000_000
_ONLY_QUOTED = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Control characters and Unicode's line ends, which a folded or literal text cannot hold."""


@dataclass(frozen=True)
class HumanEdit:
    """What is to be written about one table, or one of its columns. Null and empty leave what is there."""

    schema: str
    table: str
    column: str | None = None
    """Null: about the table itself."""
    description: str | None = None
    entity_name: str | None = None
    approved_from: str | None = None
    """Whose text a person approved, `model` or `derived`; of edits with a text, null says that a person wrote it."""
    approved_for: str | None = None
    """Hash of the object's structure at that moment."""
    withdrawn: Literal["description", "entity_name"] | None = None
    """A text that was approved earlier and is not to stay."""
    rejected: tuple[str, ...] = ()
    """Hashes of drafts that are not to be proposed again."""
    allowed_values: tuple[Any, ...] | None = None
    value_synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def write_human(
    path: Path,
    edits: Iterable[HumanEdit],
    relationships: Iterable[HumanRelationship] = (),
    *,
    folder: Path,
    any_case: bool = True,
) -> bool:
    """Write edits into `dbt_like_configs/databases/<name>.yml`, atomically, keeping comments and order.

    Args:
        path: The file; it must exist.
        edits: In the order in which new entries are to stand.
        relationships: Added below `relationships:`.
        folder: The project folder, for messages.
        any_case: Whether an entry may spell a name in another case; not where names differ in nothing else.

    Returns:
        Whether the file was changed.

    Raises:
        ConfigurationError: it is not valid YAML, or cannot be written.
    """
    path = path.resolve()
    document = read_yaml(path, folder=folder)  # says what is wrong with a file better than the writer could
    raw = path.read_bytes().decode("utf-8")
    mark, ending = ("\ufeff" if raw.startswith("\ufeff") else ""), ("\r\n" if "\r\n" in raw else "\n")
    before = raw.removeprefix(mark).replace("\r\n", "\n")
    yaml = _yaml(before)
    root = yaml.load(before)
    unedited = "" if root is None else _dump(yaml, root)
    root = CommentedMap() if root is None else root
    mark_shared(root)
    finder = _Finder(document, (str, str.casefold) if any_case else (str,))
    for edit in edits:
        _apply(root, edit, finder)
    for relationship in relationships:
        _add_relationship(root, relationship)
    edited = _dump(yaml, root)
    if edited == unedited or not root:
        return False
    after = _transferred(yaml, before, unedited, edited)
    _replace(path, (mark + after.replace("\n", ending)).encode())
    return True


def _yaml(text: str) -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = _VERY_WIDE
    dash = re.search(r"^( *)[\w-]+:[^\S\n]*(?:#.*)?\n(?:\s*#.*\n|\s*\n)*( *)- ", text, re.MULTILINE)
    offset = 2 if dash is None else max(0, len(dash[2]) - len(dash[1]))
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    return yaml


def _dump(yaml: YAML, root: CommentedMap) -> str:
    page = io.StringIO()
    yaml.dump(root, page)
    return page.getvalue()


def _apply(root: CommentedMap, edit: HumanEdit, finder: _Finder) -> None:
    node = finder.table(root, edit.schema, edit.table)
    if edit.column is not None:
        node = finder.named(_sequence(node, "columns"), edit.column)
    if edit.withdrawn is not None:
        _withdraw(node, edit.withdrawn)
    if edit.description is not None:
        _set(node, "description", _prose(edit.description), after="name")
    if edit.entity_name is not None:
        _set(_meta(node), "entity_name", edit.entity_name)
    if edit.approved_from is not None:
        _set(_meta(node), "approved_from", edit.approved_from)
        if edit.approved_for is not None:
            _set(_meta(node), "approved_for", edit.approved_for, after="approved_from")
    elif edit.description or edit.entity_name:
        _forget_approval(node)
    if edit.rejected:
        known = _sequence(_meta(node), "rejected")
        for item in edit.rejected:
            if item not in known:
                known.append(item)
    if edit.allowed_values is not None:
        _set(_meta(node), "allowed_values", _flow(edit.allowed_values))
    if edit.value_synonyms:
        synonyms = _mapping(_meta(node), "value_synonyms")
        for value, words in edit.value_synonyms.items():
            _set(synonyms, value, _flow(words))


class _Finder:
    """Finds the entries of tables and columns, and adds those that are missing."""

    def __init__(self, document: Document, spellings: Sequence[Callable[[str], str]]) -> None:
        self._document = document
        self._spellings = spellings

    def table(self, root: CommentedMap, schema: str, table: str) -> CommentedMap:
        """The entry of a table, below a source of its schema."""
        sources = _sequence(root, "sources")
        of_schema: list[CommentedMap] = []
        for spelled in self._spellings:
            of_schema = of_schema or [
                source for source in sources if spelled(self._text(source, "schema", "name")) == spelled(schema)
            ]
            for source in of_schema:
                for at, item in enumerate(source.get("tables") or ()):
                    if spelled(self._text(item, "identifier", "name")) == spelled(table):
                        return _as_map(own(_sequence(source, "tables"), at))
        if not of_schema:
            taken = {source.get("name") for source in sources}
            of_schema = [CommentedMap(name=schema if schema not in taken else f"{schema}_tables")]
            if of_schema[0]["name"] != schema:
                of_schema[0]["schema"] = schema
            sources.append(of_schema[0])
        return self.named(_sequence(of_schema[0], "tables"), table)

    def named(self, items: CommentedSeq, name: str) -> CommentedMap:
        """The item of that name."""
        for spelled in self._spellings:
            for at, item in enumerate(items):
                if spelled(str(item["name"])) == spelled(name):
                    return _as_map(own(items, at))
        new = CommentedMap({"name": name})
        items.append(new)
        return new

    def _text(self, node: CommentedMap, key: str, otherwise: str) -> str:
        """The name that an entry has in the database; it may come from an environment variable."""
        text = node.get(key)
        return str(node[otherwise]) if text is None else scalar_text(render(text, self._document, (key,)))


def _as_map(node: Any) -> CommentedMap:
    assert isinstance(node, CommentedMap)
    return node


def _meta(node: CommentedMap) -> CommentedMap:
    config = node.get("config")
    inside = isinstance(config, CommentedMap) and isinstance(config.get("meta"), CommentedMap)
    return _mapping(own(node, "config") if inside else node, "meta", after="description")


def _withdraw(node: CommentedMap, key: str) -> None:
    """Take an approved text back; the approval goes with the last of the entry's texts."""
    if key == "description":
        node.pop("description", None)
    else:
        _forget(node, key)
    meta = [owner.get("meta") for owner in (node.get("config"), node) if isinstance(owner, CommentedMap)]
    if "description" not in node and not any(isinstance(item, CommentedMap) and "entity_name" in item for item in meta):
        _forget_approval(node)


def _forget_approval(node: CommentedMap) -> None:
    _forget(node, "approved_from")
    _forget(node, "approved_for")


def _forget(node: CommentedMap, key: str) -> None:
    for owner in (own(node, "config") if "config" in node else None, node):
        meta = owner.get("meta") if isinstance(owner, CommentedMap) else None
        if isinstance(owner, CommentedMap) and isinstance(meta, CommentedMap) and key in meta:
            meta = own(owner, "meta")
            del meta[key]
            if not meta:
                del owner["meta"]
            if not owner:
                del node["config"]


def _mapping(node: CommentedMap, key: str, after: str | None = None) -> CommentedMap:
    if not isinstance(node.get(key), CommentedMap):
        _set(node, key, CommentedMap(), after=after)
    return _as_map(own(node, key))


def _sequence(node: CommentedMap, key: str) -> CommentedSeq:
    if not isinstance(node.get(key), CommentedSeq):
        _set(node, key, CommentedSeq())
    found = own(node, key)
    assert isinstance(found, CommentedSeq)
    return found


def _add_relationship(root: CommentedMap, given: HumanRelationship) -> None:
    item = CommentedMap()
    item["from"] = f"{given.from_schema}.{given.from_table}"
    item["columns"] = _flow(given.from_columns)
    item["to"] = f"{given.to_schema}.{given.to_table}"
    item["to_columns"] = _flow(given.to_columns)
    _sequence(root, "relationships").append(item)


def _flow(values: Sequence[Any]) -> CommentedSeq:
    found = CommentedSeq(values)
    found.fa.set_flow_style()
    return found


def _prose(text: str) -> str:
    """A text as people would write it: one line, folded over lines, or as it is when it has lines of its own.

    With signs that only a quoted text can hold it stays one line, with escapes.
    """
    text = text.strip()
    if _ONLY_QUOTED.search(text):
        quoted: str = DoubleQuotedScalarString(text)
        return quoted
    if "\n" in text:
        literal: str = LiteralScalarString(text)
        return literal
    if len(text) <= _LINE:
        return text
    folds, at = [], -1
    text = " ".join(text.split())
    for line in textwrap.wrap(text, _LINE, break_long_words=False, break_on_hyphens=False)[:-1]:
        at += len(line) + 1
        folds.append(at)
    if not folds or any(text[place] != " " for place in folds):
        return text
    folded: str = FoldedScalarString(text)
    folded.fold_pos = folds  # type: ignore[attr-defined]
    return folded


def _set(node: CommentedMap, key: str, value: Any, after: str | None = None) -> None:
    """Set a key; a new one stands behind `after`, else at the end."""
    keys = list(node)
    comment = getattr(node.get(key), "comment", None)
    if comment is not None:  # a comment below a folded or literal text belongs to that text's object
        value = value if isinstance(value, FoldedScalarString | LiteralScalarString) else LiteralScalarString(value)
        value.comment = comment
    if key not in node and after in keys:
        node.insert(keys.index(after) + 1, key, value)
    else:
        node[key] = value


def _transferred(yaml: YAML, before: str, unedited: str, edited: str) -> str:
    """The edits as changes of the text as it was, whose layout the YAML library may not keep everywhere.

    Where that would say something else than the library's own text, or nothing, the latter is taken.
    """
    patched = _patched(_lines(before), _lines(unedited), _lines(edited))
    text = "\n".join(patched) + "\n"
    meant = yaml.load(edited)
    try:
        return text if yaml.load(text) == meant else edited
    except YAMLError:  # lists of the file are indented in several ways
        return edited


def _lines(text: str) -> list[str]:
    """`splitlines` would also split at signs within texts."""
    return text.removesuffix("\n").split("\n") if text else []


def _patched(before: list[str], unedited: list[str], edited: list[str]) -> list[str]:
    """`before` with the changes that lead from `unedited` to `edited`."""
    lines = _line_map(before, unedited)
    result: list[str] = []
    done = 0
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(None, unedited, edited, False).get_opcodes():
        if kind == "equal":
            continue
        new = edited[new_start:new_end]
        at, until = lines[start], lines[end]
        if kind == "insert":
            at = until = _before_comments(before, at, _indent(new[0]))
            if new[0][:1].isalpha() and before[at - 1 : at] and before[at - 1].strip():
                new = ["", *new]  # a block of its own, as people would write it
        kept = [line for line in _comments_at_end(before[max(at, done) : until]) if line not in new]
        result += [*before[done : max(at, done)], *new, *kept]
        done = max(until, done)
    return [*result, *before[done:]]


def _comments_at_end(lines: list[str]) -> list[str]:
    """Comments below what goes belong to what follows; the YAML library drops them with it."""
    at = len(lines)
    while at > 0 and lines[at - 1].strip()[:1] in ("", "#"):
        at -= 1
    return lines[at:]


def _line_map(before: list[str], unedited: list[str]) -> list[int]:
    """For each line of `unedited`, and its end, where it is in `before`."""
    found = [len(before)] * (len(unedited) + 1)
    for _, start, end, other, other_end in difflib.SequenceMatcher(None, before, unedited, False).get_opcodes():
        for offset in range(other_end - other):
            found[other + offset] = min(start + offset, end)
    return found


def _before_comments(lines: list[str], at: int, indent: int) -> int:
    """Where a block goes so that comments on what follows stay with it."""
    while at > 0:
        line = lines[at - 1].strip()
        if line and not (line.startswith("#") and _indent(lines[at - 1]) <= indent):
            break
        at -= 1
    return at


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _replace(path: Path, content: bytes) -> None:
    """Write under a temporary name in the same folder, then rename, keeping the permissions."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        temporary.write_bytes(content)
        shutil.copymode(path, temporary)
        temporary.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"the file cannot be written ({error.strerror or 'input/output error'})",
            where=str(path),
            fix="Check the permissions of the file and its folder.",
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
