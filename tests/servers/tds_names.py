"""Declared names and the plain ones under which the test server keeps their data in DuckDB.

DuckDB compares names without case; a server with a case-sensitive collation, which the double
plays, does not. So data lies in `data.t<number>` with columns `c<position>`.
"""

from __future__ import annotations

from conformance.model import Declaration


class Names:
    """The objects of a declaration by number."""

    def __init__(self, declaration: Declaration) -> None:
        objects = [(table.schema, table.name, [c.name for c in table.columns]) for table in declaration.tables]
        objects += [(view.schema, view.name, [c.name for c in view.columns]) for view in declaration.views]
        self._numbers = {(schema, name): number for number, (schema, name, _) in enumerate(objects, 1000)}
        self._columns = {(schema, name): columns for schema, name, columns in objects}

    def number(self, schema: str, name: str) -> int:
        """object_id of a table or view."""
        return self._numbers[schema, name]

    def find(self, schema: str, name: str) -> str | None:
        """Where the data of an object lies; null when there is no such object."""
        number = self._numbers.get((schema, name))
        return None if number is None else f"t{number}"

    def column(self, schema: str, name: str, column: str) -> str | None:
        """Where a column's data lies; null when there is no such column."""
        columns = self._columns[schema, name]
        return f"c{columns.index(column)}" if column in columns else None

    def forget(self, schema: str, name: str) -> None:
        """The object was dropped."""
        self._numbers.pop((schema, name))
