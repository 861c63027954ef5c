"""Patterns that name columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

from dictionary_pipeline.config.resolved import ColumnPatterns


class ColumnPattern:
    """A glob on `column`, `table.column` or `schema.table.column`, part by part.

    It ignores case, so that what is written in lower case fits a database that folds names to upper case.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = [re.compile(translate(part), re.IGNORECASE) for part in text.split(".")]

    def matches(self, schema: str, table: str, column: str) -> bool:
        """Whether the pattern names the column."""
        # A column's own name may hold dots.
        if self.text.casefold() == column.casefold():
            return True
        names = (schema, table, column)[-len(self._parts) :]
        return len(names) == len(self._parts) and all(
            part.match(name) for part, name in zip(self._parts, names, strict=True)
        )


class ColumnFilter:
    """`include` and `exclude` patterns together; exclusion wins."""

    def __init__(self, patterns: ColumnPatterns) -> None:
        self._include = _compiled(patterns.include)
        self._exclude = _compiled(patterns.exclude)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was configured."""
        return not self._include and not self._exclude

    def excludes(self, schema: str, table: str, column: str) -> bool:
        """Whether an `exclude` pattern names the column."""
        return any(pattern.matches(schema, table, column) for pattern in self._exclude)

    def includes(self, schema: str, table: str, column: str) -> bool:
        """Whether an `include` pattern names the column and no `exclude` pattern does."""
        return any(pattern.matches(schema, table, column) for pattern in self._include) and not self.excludes(
            schema, table, column
        )

    def keeps(self, schema: str, table: str, column: str) -> bool:
        """Whether the column is among what is included, which is everything without an `include` pattern."""
        if not self._include:
            return not self.excludes(schema, table, column)
        return self.includes(schema, table, column)


def _compiled(texts: Iterable[str]) -> list[ColumnPattern]:
    return [ColumnPattern(text) for text in texts]
