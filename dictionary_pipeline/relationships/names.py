"""Finding the tables and columns of a catalog by the names that people and SQL use for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.suggestions import did_you_mean


class TableName(NamedTuple):
    """Schema and name of a table or view, exactly as in the database."""

    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


class NameMismatch(Exception):
    """A declaration that does not fit the catalog; `what` goes on after its subject, `hint` says the fix."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class Names:
    """The tables and columns of a catalog, found by exact name or, when unambiguous, whatever the case."""

    def __init__(self, catalog: Catalog) -> None:
        tables = catalog.tables.select("schema", "table").iter_rows()
        grouped = catalog.columns.select("schema", "table", "column").group_by("schema", "table", maintain_order=True)
        self.columns: Mapping[TableName, list[str]] = {
            **{TableName(*name): [] for name in tables},
            **{TableName(schema, table): columns for schema, table, columns in grouped.all().iter_rows()},
        }
        self._folded: dict[tuple[str, str], list[TableName]] = defaultdict(list)
        for name in self.columns:
            self._folded[name.schema.casefold(), name.table.casefold()].append(name)

    def exact(self, schema: str, table: str) -> TableName | None:
        """The table of exactly this name."""
        name = TableName(schema, table)
        return name if name in self.columns else None

    def any_case(self, schema: str, table: str) -> TableName | None:
        """The table of exactly this name, else the only one that differs in case."""
        folded = self._folded.get((schema.casefold(), table.casefold()), [])
        return self.exact(schema, table) or (folded[0] if len(folded) == 1 else None)

    def table(self, schema: str, table: str) -> TableName:
        """Like `any_case`.

        Raises:
            NameMismatch: There is no such table or view.
        """
        found = self.any_case(schema, table)
        if found is None:
            near = did_you_mean(f"{schema}.{table}", map(str, self.columns), "Check the name and the selection.")
            raise NameMismatch(f"names the unknown table `{schema}.{table}`", near)
        return found

    def columns_of(self, table: TableName, columns: Iterable[str]) -> list[str]:
        """The table's columns of these names, exact or, when unambiguous, whatever the case.

        Raises:
            NameMismatch: The table has no such column.
        """
        return [self._column(table, column) for column in columns]

    def _column(self, table: TableName, column: str) -> str:
        known = self.columns[table]
        if column in known:
            return column
        folded = [name for name in known if name.casefold() == column.casefold()]
        if len(folded) != 1:
            near = did_you_mean(column, known, "Check the column's name.")
            raise NameMismatch(f"names the unknown column `{table}.{column}`", near)
        return folded[0]
