"""The gate: no value of a withheld or masked column may stand anywhere in a bundle.

It does not ask what was found sensitive or how that was treated: it knows the values, under seal, and
looks for them in every file. The values of a column that is not sealed are that column's own data; a
value that occurs there legitimately is no leak, wherever else it stands.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl

from dictionary_pipeline.jsontext import leaves
from dictionary_pipeline.naming import title_words
from dictionary_pipeline.publishing import schema_store, value_store
from dictionary_pipeline.publishing.bundle import Bundle
from dictionary_pipeline.publishing.sealed import Name, Recogniser, Sealed

PROFILES = "catalog/value_profiles.parquet"
_NAME = ["schema", "table", "column"]
_DATA_KEYS = ("SampleValues", "AllowedValues")
_SHOWN = ("min", "max", "allowed_values")

Report = Callable[[str, Name], None]
"""Reports a finding: (path, column whose value is shown)."""


class ValueSearch:
    """Looks for sealed values in the files of one bundle.

    Files that the caller has parsed anyway are handed in; `finish` searches the others.
    """

    def __init__(self, bundle: Bundle, sealed: Sealed) -> None:
        self._bundle = bundle
        self._columns = frozenset(sealed.columns)
        self._recogniser = Recogniser(sealed)
        self._searched: set[str] = set()
        self._hits: dict[tuple[str, Name], set[str]] = {}
        """(Path, column) -> the texts that match."""
        self._done: set[str] = set()

    def entries(self, path: str, entries: Iterable[Any]) -> None:
        """Search schema-store entries: all their texts, and the data of sealed columns."""
        self._done.add(path)
        for entry in entries:
            for text in self._entry_texts(entry):
                self._search(path, text)

    def document(self, path: str, content: Any) -> None:
        """Search any other parsed JSON."""
        self._done.add(path)
        for text in leaves(content):
            self._search(path, text)

    def value_lines(self, path: str, data: bytes) -> None:
        """Search a value file, if it is that of a sealed column."""
        self._done.add(path)
        if _column_of(data) in self._columns:
            for value in _values(data):
                self._search(path, value)

    def finish(self) -> list[tuple[str, Name]]:
        """Search what is left.

        Returns:
            (path, column) of each finding, those in schema-store entries first: they name the object.
        """
        for problem in self._bundle.facts.problems:
            for text in (problem.object, problem.message, problem.hint):
                self._search("manifest.json", text)
        for path in self._bundle.files:
            if path.endswith(".parquet"):
                for text in self._frame_texts(path):
                    self._search(path, text)
            elif path not in self._done:
                for text in _plain_texts(self._bundle.read(path)):
                    self._search(path, text)
        return self._findings()

    def _search(self, path: str, text: str) -> None:
        # The same text stands in several files: the first one names it.
        if text in self._searched:
            return
        self._searched.add(text)
        for match in self._recogniser.matches(text):
            self._hits.setdefault((path, match.column), set()).add(text[match.start : match.end].casefold())

    def _entry_texts(self, entry: Any) -> Iterator[str]:
        if not isinstance(entry, dict):
            yield from leaves(entry)
            return
        for key, value in entry.items():
            if key != "Columns":
                yield from leaves(value)
        for name, column in _columns_of(entry):
            for key, value in column.items():
                if name in self._columns or key not in _DATA_KEYS:
                    yield from leaves(value)

    def _frame_texts(self, path: str) -> Iterator[str]:
        frame = self._bundle.frame(path)
        if path == PROFILES:
            names = pl.DataFrame(list(self._columns), schema=dict.fromkeys(_NAME, pl.String()), orient="row")
            frame = frame.join(names, on=_NAME, how="semi").select(_SHOWN)
        for column in frame:
            while isinstance(column.dtype, pl.List):
                column = column.explode()
            if column.dtype == pl.String:
                yield from column.drop_nulls().unique(maintain_order=True)

    def _findings(self) -> list[tuple[str, Name]]:
        if not self._hits:
            return []
        harmless = self._harmless(set().union(*self._hits.values()))
        found = [place for place, texts in self._hits.items() if texts - harmless]
        return sorted(found, key=lambda place: (not place[0].startswith(schema_store.FOLDER), place))

    def _harmless(self, texts: set[str]) -> set[str]:
        """Those of the texts that are names of the catalog, or data of columns that are not sealed."""
        columns = self._bundle.frame("catalog/columns.parquet").select(_NAME)
        names = {name for column in columns for name in column.unique()}
        found = texts & {form.casefold() for name in names for form in (name, title_words(name))}
        for path in self._bundle.files:
            if len(found) == len(texts):
                break
            found |= texts & {text.casefold() for text in self._own_data(path)}
        return found

    def _own_data(self, path: str) -> Iterator[str]:
        """Values in a file that are shown as data of columns that are not sealed."""
        folder = path.partition("/")[0]
        if folder == value_store.FOLDER:
            data = self._bundle.read(path)
            if _column_of(data) not in self._columns:
                yield from _values(data)
        elif folder == schema_store.FOLDER:
            content = json.loads(self._bundle.read(path))
            for entry in content if isinstance(content, list) else [content]:
                for name, column in _columns_of(entry):
                    if name not in self._columns:
                        yield from leaves([column.get(key) for key in _DATA_KEYS])
        elif path == PROFILES:
            for row in self._bundle.frame(path).select(*_NAME, *_SHOWN).iter_rows():
                if row[:3] not in self._columns:
                    yield from leaves(list(row[3:]))


def _columns_of(entry: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Name and content of an entry's columns; what is no column is reported by the check of the structure."""
    columns = entry.get("Columns") if isinstance(entry, dict) else None
    for column in columns if isinstance(columns, list) else ():
        if isinstance(column, dict):
            yield (entry.get("Schema"), entry.get("Entity"), column.get("Name")), column


def _column_of(data: bytes) -> tuple[Any, ...]:
    """The column of a value file, by its first line."""
    line = _parsed(data.partition(b"\n")[0])
    return tuple(map(line.get, ("Schema", "Entity", "Column"))) if isinstance(line, dict) else ()


def _values(data: bytes) -> Iterator[str]:
    for line in data.splitlines():
        parsed = _parsed(line)
        if isinstance(parsed, dict):
            yield from leaves(parsed.get("Value"))


def _plain_texts(data: bytes) -> Iterator[str]:
    """Texts of a file of any kind: the leaves of lines that are JSON, else the lines."""
    for line in data.split(b"\n"):
        parsed = _parsed(line) if line[:1] in (b"{", b"[") else None
        yield from leaves(line.decode(errors="replace") if parsed is None else parsed)


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:  # what is not JSON is reported by the check for strict JSON
        return None
