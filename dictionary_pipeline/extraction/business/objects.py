"""The tables, views and columns of the exact part, as ends of relationships that a model may name."""

from __future__ import annotations

import unicodedata
from collections import defaultdict

import polars as pl

from dictionary_pipeline.extraction.business.names import title_of
from dictionary_pipeline.naming import words

_NOUNS = {"SQLTABLE": "table", "SQLVIEW": "view", "SQLCOLUMN": "column"}


class Objects:
    """Finds database objects by name.

    Args:
        entities: `frames.GRAPH_ENTITIES` of the exact part.
    """

    def __init__(self, entities: pl.DataFrame) -> None:
        self._labels: dict[str, str] = {}
        self._exact: defaultdict[str, set[str]] = defaultdict(set)
        self._folded: defaultdict[str, set[str]] = defaultdict(set)
        self._identifiers: set[str] = set()
        for title, kind, name in entities.select("title", "type", "qualified_name").iter_rows():
            self._labels[title] = f"{_NOUNS[kind]} {name}"
            for spelling in (title, name):
                self._exact[spelling].add(title)
                self._folded[_fold(spelling)].add(title)
            identifier = name.rsplit(".", 1)[-1]
            if len(words(identifier)) > 1 and " " not in identifier:
                self._identifiers.add(_fold(identifier))

    def title(self, name: str) -> str | None:
        """Title of the object of a qualified name or title; its case counts only where it must."""
        name = name.strip()
        for titles in (self._exact.get(name, ()), self._folded.get(_fold(name), ())):
            if len(titles) == 1:
                return next(iter(titles))
        return None

    def label(self, title: str) -> str:
        """Kind and exact name of an object, for sentences."""
        return self._labels[title]

    def is_object(self, name: str) -> bool:
        """Whether a name is one of the database rather than of the business: qualified, or an identifier."""
        folded = _fold(name.strip())
        return folded in self._folded or folded in self._identifiers or title_of(name) in self._labels


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", name).upper().casefold()
