"""Tables that information_schema does not describe, one DESCRIBE each: hive_metastore and foreign catalogs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dictionary_pipeline.engines.assembly import STAGE, CatalogRows, column_row, table_row
from dictionary_pipeline.engines.base import Session
from dictionary_pipeline.engines.databricks_sampling import class_of
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError
from dictionary_pipeline.problems import Problem

MAX_DESCRIBED = 2_000
"""Tables to describe one by one at most."""

_SYSTEM = ("information_schema", "sys")


class Describer:
    """Adds what SHOW and DESCRIBE tell to the rows of a catalog."""

    def __init__(self, session: Session, catalog: str, quote: Callable[[str], str], rows: CatalogRows) -> None:
        self._session = session
        self._catalog = catalog
        self._quote = quote
        self._rows = rows

    def describe_all(self) -> None:
        """All tables and views of a catalog that has no information_schema, and so no keys."""
        names = []
        for (schema,) in self._session.rows(f"SHOW SCHEMAS IN {self._quote(self._catalog)}"):
            if schema in _SYSTEM:
                continue
            place = f"{self._quote(self._catalog)}.{self._quote(schema)}"
            # Views are listed among the tables; temporary ones belong to the session.
            shown = self._try(schema, f"SHOW TABLES IN {place}")
            names += [(schema, str(row[1])) for row in shown or [] if str(row[2]).lower() != "true"]
        for schema, table in self._bounded(sorted(names)):
            facts = self._describe(schema, table)
            kind, comment, text = _details(facts or [])
            self._rows.tables.append(
                table_row(schema, table, kind, comment=comment, view_sql=text, readable=facts is not None)
            )

    def describe(self, names: Sequence[tuple[str, str]]) -> None:
        """Columns of tables that information_schema lists without any."""
        for schema, table in self._bounded(sorted(names)):
            self._describe(schema, table)

    def _bounded(self, names: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        for schema, table in names[MAX_DESCRIBED:]:
            self._add_problem(
                f"{schema}.{table}",
                None,
                f"only {MAX_DESCRIBED:,} tables are described one by one",
                "Move the table to Unity Catalog, or divide the catalog's schemas over several databases.",
            )
        return names[:MAX_DESCRIBED]

    def _describe(self, schema: str, table: str) -> list[tuple[Any, ...]] | None:
        place = ".".join(self._quote(part) for part in (self._catalog, schema, table))
        rows = self._try(f"{schema}.{table}", f"DESCRIBE TABLE EXTENDED {place}")
        for ordinal, (column, data_type, comment) in enumerate(_columns(rows or []), 1):
            self._rows.columns.append(
                column_row(
                    *(schema, table, column, ordinal, data_type, class_of(data_type)),
                    is_nullable=True,
                    comment=comment or None,
                )
            )
        return rows

    def _try(self, name: str, sql: str) -> list[tuple[Any, ...]] | None:
        try:
            return self._session.rows(sql)
        except ConnectionFailed:
            raise
        except DictionaryError as error:
            self._add_problem(name, error.code, error.what, error.fix or "")
            return None

    def _add_problem(self, name: str, code: str | None, message: str, hint: str) -> None:
        self._rows.complete = False
        self._rows.problems.append(Problem(name, STAGE, code, message, hint))


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, str, str | None]]:
    """The columns of a DESCRIBE report: they end at the first empty name or heading."""
    found = []
    for name, data_type, comment, *_ in rows:
        if not name or name.startswith("# "):
            break
        found.append((name, data_type, comment))
    return found


def _details(rows: Sequence[tuple[Any, ...]]) -> tuple[str, str | None, str | None]:
    """Kind, comment and view text from the part of a report after `# Detailed Table Information`."""
    headings = [place for place, row in enumerate(rows) if row[0] == "# Detailed Table Information"]
    facts = {row[0]: row[1] for row in rows[headings[0] :]} if headings else {}
    kinds = {
        "VIEW": "view",
        "MATERIALIZED_VIEW": "materialized_view",
        "EXTERNAL": "external",
        "FOREIGN": "foreign_table",
    }
    return kinds.get(facts.get("Type") or "", "table"), facts.get("Comment") or None, facts.get("View Text") or None
