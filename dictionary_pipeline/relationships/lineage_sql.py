"""A view's SQL made ready for lineage: parsed, names as the engine stores them, tables found in the catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.optimizer.scope import traverse_scope

from dictionary_pipeline.catalog import Identity
from dictionary_pipeline.introspection.sql import PARSE_ERRORS, dialect_of, parse
from dictionary_pipeline.relationships.names import Names, TableName

_MAX_LENGTH = 100_000
"""Longer SQL is left alone. At this length parsing takes about a second, and a limit on the text gives
the same result everywhere, which a limit on time would not."""
_MAX_CLIMB = 8_000_000
"""Levels between the columns of a query and its root, added up: sqlglot climbs them, about two seconds' worth."""
_MAX_DEPTH = 10_000
"""Frames of recursion: `pg_get_viewdef` nests a pair of parentheses per operand of a chain."""
_DEFAULT_SCHEMAS = {"duckdb": "main", "tsql": "dbo"}
"""Dialect -> where an unqualified name is looked up after the view's own schema."""
_ANY_CASE_COLUMNS = ("mysql",)
"""Dialects that sqlglot calls case-sensitive, which is true of their table names only."""
_CASE_INSENSITIVE = (NormalizationStrategy.CASE_INSENSITIVE, NormalizationStrategy.CASE_INSENSITIVE_UPPERCASE)
_IMPLICIT_RECURSION = ("tsql", "oracle", "snowflake", "databricks")
"""Dialects whose common table expressions may read themselves without the word RECURSIVE."""
_XML_METHODS = ("value", "query", "exist", "nodes")
_REFERENCE = "reference"
ODD_SQL = (*PARSE_ERRORS, AssertionError)
"""What sqlglot and walking its trees raise on SQL that nobody has thought of."""
_GENERATORS = (exp.UDTF, exp.GenerateSeries, exp.GenerateDateArray, exp.Explode, exp.Posexplode, exp.Inline, exp.Unnest)
_GENERATOR_NAMES = frozenset(
    (
        "explode",
        "explode_outer",
        "flatten",
        "generate_series",
        "generate_subscripts",
        "inline",
        "json_array_elements",
        "json_array_elements_text",
        "json_each",
        "json_each_text",
        "json_object_keys",
        "json_populate_recordset",
        "json_table",
        "json_to_record",
        "json_to_recordset",
        "json_tree",
        "jsonb_array_elements",
        "jsonb_array_elements_text",
        "jsonb_each",
        "jsonb_each_text",
        "jsonb_object_keys",
        "jsonb_path_query",
        "jsonb_populate_recordset",
        "jsonb_to_record",
        "jsonb_to_recordset",
        "jsonb_tree",
        "jsontable",
        "openjson",
        "posexplode",
        "posexplode_outer",
        "range",
        "regexp_matches",
        "regexp_split_to_table",
        "string_split",
        "string_to_table",
        "unnest",
        "xmltable",
    )
)
"""Table functions that read nothing but their arguments."""


class Reader(NamedTuple):
    """What names in a view's SQL mean."""

    names: Names
    identity: Identity
    dialect: str
    any_case: bool
    """The engine finds a column whatever the case of its name, quoted or not."""
    any_case_tables: bool
    """The same of tables."""
    strategy: NormalizationStrategy

    def fold(self, identifier: exp.Identifier) -> str:
        """The name that the engine compares."""
        name = identifier.name
        if self.any_case:
            return name.lower()
        if identifier.quoted or self.strategy is NormalizationStrategy.CASE_SENSITIVE:
            return name
        return name.upper() if self.strategy is NormalizationStrategy.UPPERCASE else name.lower()

    def stored(self, identifier: exp.Expr | None) -> str | None:
        """An identifier as the engine stores it; where any case finds it, as it is written."""
        if not isinstance(identifier, exp.Identifier) or not identifier.name:
            return None
        return identifier.name if self.any_case else self.fold(identifier)


class Reference(NamedTuple):
    """A table as a view's SQL names it."""

    catalog: str | None
    schema: str | None
    table: str
    written: str


@dataclass(frozen=True)
class ViewQuery:
    """The query of a view whose identifiers are folded and whose known tables are called by a number of their own."""

    tree: exp.Query
    columns: tuple[str, ...]
    """The view's column list, folded; empty when the SQL has none."""
    tables: Mapping[str, TableName]
    """Name of a table in `tree` -> the table of the catalog."""
    unknown: tuple[str, ...]
    """What the query reads beside them: one phrase each, sorted."""


def reader(names: Names, identity: Identity) -> Reader:
    """How the SQL of this database is to be read."""
    dialect = dialect_of(identity.engine)
    strategy = Dialect.get_or_raise(dialect).normalization_strategy
    # Of an engine without a dialect nothing is known, so its names are matched leniently.
    any_case = not dialect or strategy in _CASE_INSENSITIVE
    return Reader(names, identity, dialect, any_case or dialect in _ANY_CASE_COLUMNS, any_case, strategy)


def read_view(sql: str, view: TableName, reader: Reader) -> ViewQuery | None:
    """Parse a view's SQL and find its tables; null when it is not understood or too long."""
    if len(sql) > _MAX_LENGTH:
        return None
    with deep_recursion():
        tree = parse(sql, reader.dialect)
        query = tree.expression if isinstance(tree, exp.Create) else tree
        if not isinstance(query, exp.Query) or _climb(query) > _MAX_CLIMB:
            return None
        columns = _column_list(tree, reader) if isinstance(tree, exp.Create) else ()
        try:
            return _prepare(query, columns, view, reader)
        except ODD_SQL:
            return None


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let sqlglot walk deeply nested SQL. Python 3.11 and later do not spend the C stack on it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _MAX_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _climb(query: exp.Query) -> int:
    total = 0
    todo: list[tuple[exp.Expr, int]] = [(query, 1)]
    while todo:
        node, depth = todo.pop()
        total += depth if isinstance(node, exp.Column) else 0
        todo += [(child, depth + 1) for child in node.iter_expressions()]
    return total


def _prepare(query: exp.Query, columns: tuple[str, ...], view: TableName, reader: Reader) -> ViewQuery:
    _normalize(query, reader)
    tree = qualify_tables(query, dialect=reader.dialect or None)
    tables: dict[str, TableName] = {}
    numbers: dict[TableName, str] = {}
    unknown: set[str] = set()
    scopes = traverse_scope(tree)
    references = [source for scope in scopes for source in scope.sources.values() if isinstance(source, exp.Table)]
    for source in {id(source): source for source in references}.values():
        found = _resolve(source, view, reader)
        if isinstance(found, TableName):
            # Two schemas may have tables of the same name; no name of the query starts with NUL.
            number = numbers.setdefault(found, f"\0{len(numbers)}")
            tables[number] = found
            source.set("this", exp.to_identifier(number, quoted=True))
            source.set("db", None)
            source.set("catalog", None)
        elif found is not None:
            unknown.add(found)
    laterals = [scope.expression.this for scope in scopes if isinstance(scope.expression, exp.Lateral)]
    unknown.update(f"reads the table function {function_name(call)}" for call in laterals if not is_generator(call))
    return ViewQuery(tree, columns, tables, tuple(sorted(unknown)))


def _normalize(query: exp.Query, reader: Reader) -> None:
    """Fold every identifier the way the engine does, so that equal names are equal texts."""
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier):
            table.meta[_REFERENCE] = Reference(
                reader.stored(table.args.get("catalog")),
                reader.stored(table.args.get("db")),
                reader.stored(table.this) or "",
                ".".join(part.name for part in table.parts),
            )
    if reader.dialect == "tsql":
        _read_xml_methods(query)
    for identifier in query.find_all(exp.Identifier):
        identifier.set("this", reader.fold(identifier))
        identifier.set("quoted", True)
    if reader.dialect in _IMPLICIT_RECURSION:
        _mark_recursion(query)


def _read_xml_methods(query: exp.Query) -> None:
    """Tell sqlglot that the `a.b` of `a.b.value('...')` is a column; it sees only a chain of names."""
    for call in list(query.find_all(exp.Dot)):
        method = call.expression
        if isinstance(method, exp.Anonymous) and method.name.lower() in _XML_METHODS:
            chain = list(call.this.flatten()) if isinstance(call.this, exp.Dot) else [call.this]
            names = [part for part in chain if isinstance(part, exp.Identifier)]
            if len(names) == len(chain):
                named = dict(zip(("this", "table", "db", "catalog"), reversed(names), strict=False))
                call.set("this", exp.Column(**named))


def _mark_recursion(query: exp.Query) -> None:
    """Say RECURSIVE where the dialect leaves it out."""
    for with_ in query.find_all(exp.With):
        for cte in with_.expressions:
            names = (table.name for table in cte.this.find_all(exp.Table) if not table.db)
            if isinstance(cte.this, exp.SetOperation) and cte.alias in names:
                with_.set("recursive", True)


def _resolve(source: exp.Table, view: TableName, reader: Reader) -> TableName | str | None:
    """The table or view that a reference means, a phrase when it is unknown, null for the view itself."""
    reference: Reference | None = source.meta.get(_REFERENCE)
    if reference is None:
        return None if is_generator(source.this) else f"reads the table function {function_name(source.this)}"
    own = (reader.identity.catalog or reader.identity.database or "").casefold()
    default = _DEFAULT_SCHEMAS.get(reader.dialect, view.schema)
    schemas = [reference.schema] if reference.schema else [view.schema, default]
    found = None
    if reference.catalog is None or reference.catalog.casefold() == own:
        look_up = reader.names.any_case if reader.any_case_tables else reader.names.exact
        found = next((name for name in (look_up(schema, reference.table) for schema in schemas) if name), None)
    if found is None:
        return f"reads {reference.written}, which is not in the catalog"
    return found if found != view else None


def is_generator(call: exp.Expr) -> bool:
    """Whether a call in FROM makes its rows of its arguments alone."""
    if isinstance(call, exp.Dot):
        return not isinstance(call.this, exp.Identifier)  # a method of a value, such as XML's `nodes`
    known = isinstance(call, _GENERATORS) or function_name(call).lower() in _GENERATOR_NAMES
    return known or not isinstance(call, exp.Func)


def function_name(call: exp.Expr) -> str:
    """Name of a called function, without its arguments."""
    call = call.expression if isinstance(call, exp.Dot) else call
    return call.name if isinstance(call, exp.Anonymous) else call.key.upper()


def _column_list(create: exp.Create, reader: Reader) -> tuple[str, ...]:
    target = create.this
    listed = target.expressions if isinstance(target, exp.Schema) else ()
    names = [column.this if isinstance(column, exp.ColumnDef) else column for column in listed]
    return tuple(reader.fold(name) for name in names if isinstance(name, exp.Identifier))
