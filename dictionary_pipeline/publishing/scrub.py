"""Literal scrubber: view SQL, defaults, CHECKs and comments can quote values of a withheld column.

Scrubbing works on the catalog before anything is derived from it, so definitions and graph inherit
the scrubbed texts. It touches only texts that concern a withheld column; doing it twice is harmless.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import polars as pl
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.publishing.sealed import Recogniser, Sealed
from dictionary_pipeline.sampling.privacy import hidden_of
from dictionary_pipeline.sampling.treatment import mask

MASK = "***"
_DIALECTS = {"sqlserver": "tsql", "generic": "", "mariadb": "mysql"}
_LITERALS = (
    exp.Literal,
    exp.National,
    exp.RawString,
    exp.ByteString,
    exp.HexString,
    exp.BitString,
    exp.UnicodeString,
    exp.Heredoc,
)
_SQL_TEXT = re.compile(
    r"--[^\n]*|/\*.*?\*/"  # comments
    r"|\$(\w*)\$.*?\$\1\$"  # dollar quotes
    r"|'(?:[^']|'')*'"
    r"|(?<![\w$\"`\[])[+-]?\d[\w.]*",
    re.DOTALL,
)
_LISTS = ("enum_values", "allowed_values")
_PROSE = re.compile(
    r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"|`[^`]*`|“[^”]*”|‘[^’]*’|«[^»]*»"  # quotations
    r"|\S+@\S+"  # addresses
    r"|(?<!\w)[\w.+#-]*\d[\w.+#-]*"  # anything with a digit
)


def dialect_of(engine: str) -> str:
    """sqlglot's name of an engine's SQL dialect; empty (ANSI) when it has none."""
    name = _DIALECTS.get(engine, engine)
    return name if name in {dialect.value for dialect in sqlglot.Dialects} else ""


def scrub_sql(sql: str, dialect: str) -> str:
    """Replace every literal of a statement or expression and drop its comments."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect or None)
    except (SqlglotError, RecursionError):
        return _scrub_unparsed(sql)
    if tree.find(exp.Command):  # sqlglot keeps what it does not understand as raw text
        return _scrub_unparsed(sql)
    for literal in list(tree.find_all(*_LITERALS)):
        if isinstance(literal.parent, exp.Interval):
            literal.parent.set("unit", None)  # `'1 day'` was split into a number and a unit
        if not _is_type_parameter(literal):
            literal.replace(exp.Literal.string(MASK))
    if isinstance(tree, _LITERALS):
        tree = exp.Literal.string(MASK)
    return tree.sql(dialect=dialect or None, comments=False)


def _is_type_parameter(literal: exp.Expr) -> bool:
    """Lengths and precisions, as in `varchar(20)`, say nothing about values."""
    return literal.find_ancestor(exp.DataType) is not None


def _scrub_unparsed(sql: str) -> str:
    def mask(match: re.Match[str]) -> str:
        text = match.group()
        return " " if text.startswith(("--", "/*")) else f"'{MASK}'"

    return _SQL_TEXT.sub(mask, sql)


def scrub_prose(text: str) -> str:
    """Replace quotations, addresses and everything with a digit in a comment."""
    return _PROSE.sub(MASK, text)


def scrub_catalog(catalog: Catalog, sensitivity: pl.DataFrame, sealed: Sealed | None = None) -> Catalog:
    """Scrub the texts of objects that touch a withheld or masked column, or that quote its values.

    Scrubbed are comment and default of the column itself, comments and defaults in its table and
    CHECKs that mention it, and the SQL and comments of views that have or mention such a column. Its
    allowed values (enum labels, domain and CHECK lists) are removed, or masked; those of other columns are
    removed where they name one of its values.

    Args:
        catalog: As introspected.
        sensitivity: `frames.SENSITIVITY`.
        sealed: Known values of such columns, which are scrubbed wherever they stand.
    """
    hidden = hidden_of(sensitivity)
    if hidden.is_empty():
        return catalog
    scrubber = _Scrubber(_Names(hidden), dialect_of(catalog.identity.engine), Recogniser(sealed) if sealed else None)
    return replace(
        catalog,
        tables=scrubber.tables(catalog.tables),
        columns=scrubber.columns(_without_lists(catalog.columns, sensitivity)),
        checks=_rewrite(
            catalog.checks,
            "expression",
            lambda row: scrubber.sql(row[2], scrubber.names.mentions(row[0], row[1], row[2])),
        ),
    )


def scrub_definitions(definitions: pl.DataFrame, withheld: pl.DataFrame) -> pl.DataFrame:
    """Scrub definitions that repeat a database's comment about a withheld column.

    Args:
        definitions: Table or column definitions (`frames.TABLE_DEFINITIONS`, `COLUMN_DEFINITIONS`).
        withheld: schema, table, column of withheld columns.
    """
    if withheld.is_empty() or definitions.is_empty():
        return definitions
    names = _Names(withheld)
    has_columns = "column" in definitions.columns

    def scrubbed(row: tuple[str, str, str, str, str | None]) -> str:
        schema, table, text, source, column = row
        from_database = source in ("database", "inherited")
        touches = (column is not None and names.has(schema, table, column)) or names.mentions(schema, table, text)
        return scrub_prose(text) if from_database and touches else text

    keys = pl.struct(
        "schema", "table", "definition", "definition_source", pl.col("column") if has_columns else pl.lit(None)
    )
    rows = definitions.select(keys.alias("row")).unnest("row").rows()
    texts = [row[2] if row[2] is None else scrubbed(row) for row in rows]
    return definitions.with_columns(pl.Series("definition", texts, dtype=pl.String()))


class _Names:
    """Withheld columns, for questions about texts."""

    def __init__(self, withheld: pl.DataFrame) -> None:
        by_table: dict[tuple[str, str], set[str]] = defaultdict(set)
        for schema, table, column in withheld.select("schema", "table", "column").iter_rows():
            by_table[schema, table].add(column)
        self._by_table = dict(by_table)
        self._patterns = {key: _any_of(columns) for key, columns in by_table.items()}
        self._everywhere = _any_of(column for columns in by_table.values() for column in columns)

    def has(self, schema: str, table: str, column: str) -> bool:
        return column in self._by_table.get((schema, table), ())

    def has_any(self, schema: str, table: str) -> bool:
        return (schema, table) in self._by_table

    def mentions(self, schema: str, table: str, text: str) -> bool:
        """Whether a text about a table mentions a withheld column of that table."""
        pattern = self._patterns.get((schema, table))
        return pattern is not None and pattern.search(text) is not None

    def mentions_any(self, text: str) -> bool:
        """Whether a text mentions a withheld column of any table."""
        return self._everywhere.search(text) is not None


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(name) for name in sorted(set(names), key=lambda name: (-len(name), name)))
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class _Scrubber:
    names: _Names
    dialect: str
    recogniser: Recogniser | None

    def sql(self, text: str, touches: bool) -> str:
        """Scrub SQL that touches a hidden column or quotes a value of one."""
        quotes = touches or (self.recogniser is not None and bool(self.recogniser.matches(text)))
        return scrub_sql(text, self.dialect) if quotes else text

    def prose(self, text: str, touches: bool) -> str:
        """Scrub prose that touches a hidden column, or only the values it quotes."""
        if touches:
            return scrub_prose(text)
        return self.recogniser.masked(text, MASK) if self.recogniser else text

    def tables(self, tables: pl.DataFrame) -> pl.DataFrame:
        names = self.names
        views = _rewrite(
            tables,
            "view_sql",
            lambda row: self.sql(row[2], names.has_any(row[0], row[1]) or names.mentions_any(row[2])),
        )
        return _rewrite(views, "comment", lambda row: self.prose(row[2], names.mentions(row[0], row[1], row[2])))

    def columns(self, columns: pl.DataFrame) -> pl.DataFrame:
        def touches(row: tuple[str, ...]) -> bool:
            return self.names.has(row[0], row[1], row[3]) or self.names.mentions(row[0], row[1], row[2])

        columns = self._without_quoting_lists(columns)
        defaults = _rewrite(columns, "default", lambda row: self.sql(row[2], touches(row)), "column")
        return _rewrite(defaults, "comment", lambda row: self.prose(row[2], touches(row)), "column")

    def _without_quoting_lists(self, columns: pl.DataFrame) -> pl.DataFrame:
        """Columns without the value lists that name a hidden value: what is left of one would be wrong."""
        if self.recogniser is None:
            return columns
        matches = self.recogniser.matches
        lists = columns.select(*_LISTS, "domain_checks").rows()
        quotes = pl.Series(
            [any(matches(text) for texts in row for text in texts or ()) for row in lists], dtype=pl.Boolean
        )
        emptied = (*_LISTS, "allowed_values_origin", "domain_checks")
        return columns.with_columns(pl.when(~quotes).then(name).alias(name) for name in emptied)


def _without_lists(columns: pl.DataFrame, sensitivity: pl.DataFrame) -> pl.DataFrame:
    """Columns without the value lists of withheld ones, and with masks in those of masked ones."""
    treatments = sensitivity.select("schema", "table", "column", "treatment")
    joined = columns.join(treatments, on=["schema", "table", "column"], how="left", maintain_order="left")
    shown = pl.col("treatment").is_null() | (pl.col("treatment") == "allow")
    masked = pl.col("treatment") == "mask"
    texts = pl.List(pl.String())
    masks = {
        name: pl.lit(pl.Series([_masked(values) for values in joined[name].to_list()], dtype=texts)) for name in _LISTS
    }
    return joined.with_columns(
        *(pl.when(shown).then(name).when(masked).then(masks[name]).alias(name) for name in masks),
        pl.when(shown).then("domain_checks").alias("domain_checks"),
        pl.when(shown | masked).then("allowed_values_origin").alias("allowed_values_origin"),
    ).drop("treatment")


def _masked(values: Iterable[str] | None) -> list[str] | None:
    return None if values is None else sorted(set(map(mask, values)))


def _rewrite(frame: pl.DataFrame, name: str, rewrite: Callable[[tuple[str, ...]], str], *context: str) -> pl.DataFrame:
    """Rewrite the non-null texts of one column from rows (schema, table, text, *context)."""
    rows = frame.select("schema", "table", name, *context).rows()
    texts = [None if row[2] is None else rewrite(row) for row in rows]
    return frame.with_columns(pl.Series(name, texts, dtype=pl.String()))
