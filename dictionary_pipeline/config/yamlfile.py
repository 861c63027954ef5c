"""One YAML file as plain values that remember their lines.

No text of a file's values reaches an error from here: a value may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase, CommentedMap, CommentedSeq, TaggedScalar
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from dictionary_pipeline.errors import ConfigurationError

Loc = tuple[str | int, ...]
"""Path of keys and list positions to a value of a file."""

_UNQUOTED_JINJA = re.compile(r"[:,\[-][^\S\n]*\{\{")
_QUOTE_JINJA = "Put it in quotes: \"{{ env_var('NAME') }}\"."
_SYNTAX: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a ':' stands where YAML allows none",
        "Put a value that contains ': ' in quotes, and check the indentation of this line and the one before.",
    ),
    ("'\\t'", "a tab stands where YAML takes spaces only", "Replace it by spaces."),
    (
        "cannot start any token",
        "a value begins with a character that YAML reserves",
        "Put the value in quotes.",
    ),
    ("undefined alias", "a value begins with '*', which YAML reads as an alias", "Put the value in quotes."),
    ("alias", "a value begins with '*' or '&', which YAML reads as an alias or anchor", "Put the value in quotes."),
    ("unexpected end of stream", "a quoted text is never closed", "Add the closing quote."),
    ("expected ','", "a '[' or '{' is not closed, or a comma is missing", "Close the bracket and check the commas."),
    (
        "could not find expected ':'",
        "a line is neither 'key: value' nor part of the value before it",
        "Add the ':' or indent the line.",
    ),
    ("another document", "the file holds more than one YAML document", "Remove the line '---' in its middle."),
    ("expected <block end>", "the indentation does not fit the lines above", "Align the keys that belong together."),
    ("unknown escape", "an unknown escape in a double-quoted text", "Use single quotes for a text with backslashes."),
    ("tag", "a value begins with '!', which YAML reads as a tag", "Put the value in quotes."),
)


@dataclass(frozen=True)
class Document:
    """The content of one file."""

    path: Path
    label: str
    """The path as shown to people."""
    data: Mapping[str, Any] = field(repr=False)
    lines: Mapping[Loc, int] = field(repr=False)

    def line(self, loc: Loc) -> int:
        """Line of the value at `loc`, or of the nearest value around it."""
        for length in range(len(loc), 0, -1):
            if loc[:length] in self.lines:
                return self.lines[loc[:length]]
        return 1

    def where(self, loc: Loc = ()) -> str:
        """File and line of a value, for messages."""
        return f"{self.label}:{self.line(loc)}"

    def error(self, loc: Loc, what: str, fix: str) -> ConfigurationError:
        """An error about the value at `loc`; its text names file, line and key path."""
        key = key_path(loc)
        return ConfigurationError(f"{key}: {what}" if key else what, where=self.where(loc), fix=fix)


def key_path(loc: Loc) -> str:
    """A location as people write it: `sources[0].tables[2].name`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return text.removeprefix(".")


def shown_path(path: Path, folder: Path) -> str:
    """A path for messages: relative to the project folder where it lies inside."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def user_path(text: str) -> Path:
    """A configured path, `~` resolved; a user whose home is not known stays, and is then a missing file."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def read_yaml(path: Path, *, folder: Path) -> Document:
    """Read one YAML file whose top level is a mapping; an empty file is an empty mapping.

    Raises:
        ConfigurationError: the file cannot be read or is not such YAML; one line with its place.
    """
    label = shown_path(path, folder)
    try:
        raw = path.read_bytes()
    except OSError as error:
        reason = error.strerror or "input/output error"
        raise ConfigurationError(
            f"the file cannot be read ({reason})", where=label, fix="Check that it exists and its permissions."
        ) from None
    return _parse(path, label, raw)


@lru_cache(maxsize=512)
def _parse(path: Path, label: str, raw: bytes) -> Document:
    """Cached by content, because sensors read the same files again at every tick."""
    failure: ConfigurationError | None = None
    root: Any = None
    try:
        text = raw.decode("utf-8-sig")
        root = YAML(typ="rt").load(text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        failure = ConfigurationError("the file is not UTF-8 text", where=f"{label}:{line}", fix="Save it as UTF-8.")
    except YAMLError as error:
        failure = _syntax_error(error, label, text)
    except RecursionError:
        failure = _too_deep(label)
    # Raised here rather than above: the parser's exception quotes the file, and would travel along as the context.
    if failure is not None:
        raise failure
    lines: dict[Loc, int] = {}
    data: Any = None
    try:
        data = _Plain(label, lines).convert({} if root is None else root, (), 1)
    except RecursionError:
        failure = _too_deep(label)
    if failure is not None:
        raise failure
    if not isinstance(data, dict):
        raise ConfigurationError(
            "the top level must be 'key: value' lines", where=f"{label}:1", fix="Remove the leading '-' or text."
        )
    return Document(path, label, data, lines)


def _too_deep(label: str) -> ConfigurationError:
    what = "lists and mappings are nested too deeply, or an alias holds itself"
    return ConfigurationError(what, where=label, fix="Close the brackets, and write aliases out.")


def _syntax_error(error: YAMLError, label: str, text: str) -> ConfigurationError:
    line, problem = 1, ""
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        what, fix = "the line holds a control character", "Remove it, or write it as an escape in double quotes."
        return ConfigurationError(what, where=f"{label}:{line}", fix=fix)
    if isinstance(error, MarkedYAMLError):
        problem = error.problem or ""
        mark = error.problem_mark
        if "end of stream" in problem and error.context_mark is not None:
            mark = error.context_mark
        line = mark.line + 1 if mark is not None else 1
    place = f"{label}:{line}"
    if isinstance(error, DuplicateKeyError):
        found = re.match(r'found duplicate key "(.*?)" with value', problem, re.DOTALL)
        key = f"the key {found[1]!r}" if found else "a key"
        return ConfigurationError(
            f"{key} is given twice in one mapping", where=place, fix="Keep one of them, or check the indentation."
        )
    if _UNQUOTED_JINJA.search("\n".join(text.splitlines()[max(0, line - 2) : line])):
        what = "'{{' begins a YAML mapping unless it is quoted"
        return ConfigurationError(what, where=place, fix=_QUOTE_JINJA)
    for sign, what, fix in _SYNTAX:
        if sign in problem:
            return ConfigurationError(f"not valid YAML: {what}", where=place, fix=fix)
    return ConfigurationError("not valid YAML at this line", where=place, fix="Check indentation, quotes and colons.")


class _Plain:
    """Turns ruamel's nodes into builtin values and notes the line of each."""

    def __init__(self, label: str, lines: dict[Loc, int]) -> None:
        self._label = label
        self._lines = lines

    def convert(self, node: Any, loc: Loc, line: int) -> Any:
        self._lines[loc] = line
        if isinstance(node, TaggedScalar):
            raise self._error(line, "a value begins with '!', which YAML reads as a tag", "Put the value in quotes.")
        if isinstance(node, dict | list):
            return self._collection(node, loc, line)
        if isinstance(node, CommentedBase):
            raise self._error(line, "this kind of YAML collection is not used here", "Write a list or a mapping.")
        return _scalar(node)

    def _collection(self, node: Any, loc: Loc, line: int) -> Any:
        if isinstance(node, dict):
            return {
                (name := self._key(key, line)): self.convert(value, (*loc, name), self._line(node, key, line))
                for key, value in node.items()
            }
        return [self.convert(item, (*loc, at), self._line(node, at, line)) for at, item in enumerate(node)]

    def _key(self, key: Any, line: int) -> str:
        if isinstance(key, dict | list | tuple | CommentedBase):
            raise self._error(line, "'{' inside '{' makes a mapping the key of a mapping", _QUOTE_JINJA)
        return scalar_text(_scalar(key))

    def _line(self, node: Any, key: Any, fallback: int) -> int:
        if isinstance(node, CommentedMap | CommentedSeq) and node.lc.data and key in node.lc.data:
            return int(node.lc.data[key][0]) + 1
        return fallback

    def _error(self, line: int, what: str, fix: str) -> ConfigurationError:
        return ConfigurationError(what, where=f"{self._label}:{line}", fix=fix)


def _scalar(node: Any) -> Any:
    """A builtin scalar; dates as the ISO text that a database would show."""
    if node is None or isinstance(node, bool):
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    if isinstance(node, date):
        return node.isoformat()
    return str(node)


def scalar_text(value: Any) -> str:
    """A scalar as YAML writes it: `true`, `null`, `1`, text as it is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
