"""Which columns the values of a query's output columns come from.

Value lineage: the columns in an output's expression, through common table expressions, derived tables,
set operations and scalar subqueries, down to the tables that the query reads directly. Columns that only
choose or group rows (WHERE, JOIN, EXISTS, GROUP BY) are no sources. What is not certain is unresolved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.scope import Scope, traverse_scope, walk_in_scope
from sqlglot.schema import MappingSchema

from dictionary_pipeline.relationships.lineage_sql import ODD_SQL, deep_recursion, is_generator

_MAX_EXPANDED = 25_000
"""Columns that the `*` of one query may expand to, about two seconds; a clock would not always say the same."""

_UNKNOWN = exp.DataType.build("unknown")

SourceColumn = tuple[str, str]
"""Name of a table in the query, folded column."""

_Source = exp.Table | exp.Pivot | Scope | None


class Output(NamedTuple):
    """An output column of a query."""

    name: str | None
    """Folded; null when the SQL gives none, `*` for a star over something unknown."""
    sources: frozenset[SourceColumn]
    is_plain: bool
    """The value of exactly one column, unchanged all the way."""
    is_resolved: bool


@dataclass
class _Step:
    """Where an output of a scope takes its values from, one step down."""

    inner: list[tuple[Scope, int]] = field(default_factory=list)
    """Outputs of other scopes."""
    leaves: set[SourceColumn] = field(default_factory=set)
    is_plain: bool = False
    """The value of one column, unchanged by this step."""
    is_resolved: bool = True


def output_columns(tree: exp.Query, tables: Mapping[str, Sequence[str]], dialect: str) -> list[Output] | None:
    """Lineage of a query's output columns, in order; null when the query is not understood.

    Args:
        tree: A query whose tables have aliases and whose identifiers are folded; it is changed.
        tables: Name of a table in `tree` -> its folded columns; others are unknown.
        dialect: sqlglot's name of the SQL dialect.
    """
    read = sum(len(tables.get(table.name, ())) for table in tree.find_all(exp.Table))
    if read * sum(1 for _ in tree.find_all(exp.Star)) > _MAX_EXPANDED:
        return None
    schema = MappingSchema(
        {table: dict.fromkeys(columns, _UNKNOWN) for table, columns in tables.items()},
        dialect=dialect or None,
        normalize=False,
    )
    with deep_recursion():
        try:
            qualified = qualify_columns(tree, schema, allow_partial_qualification=True, dialect=dialect or None)
            scopes = traverse_scope(qualified)
            return _Tracer(tables, scopes).outputs() if scopes else None
        except ODD_SQL:
            return None


class _Tracer:
    """Follows outputs from scope to scope."""

    def __init__(self, tables: Mapping[str, Sequence[str]], scopes: Sequence[Scope]) -> None:
        self._tables = tables
        self._scopes = scopes
        self._known = {id(scope) for scope in scopes}
        # Within a recursive expression sqlglot shows its first part only, as a scope of its own.
        self._recursive = {
            id(scope.expression.this.unnest()): scope
            for scope in scopes
            if scope.is_cte and isinstance(scope.expression, exp.SetOperation)
        }
        self._names: dict[int, list[str]] = {}
        self._steps: dict[tuple[int, int], _Step] = {}

    def outputs(self) -> list[Output]:
        """Outputs of the whole query."""
        root = self._scopes[-1]
        return [self._output(root, index, name) for index, name in enumerate(self._names_of(root))]

    def _output(self, root: Scope, index: int, name: str) -> Output:
        leaves: set[SourceColumn] = set()
        is_resolved = True
        seen = {(id(root), index)}
        todo = [(root, index)]
        while todo:
            step = self._step(*todo.pop())
            leaves |= step.leaves
            is_resolved &= step.is_resolved
            for scope, position in step.inner:
                if (id(scope), position) not in seen:
                    seen.add((id(scope), position))
                    todo.append((scope, position))
        given = None if not name or name == f"_col_{index}" else name
        return Output(given, frozenset(leaves), self._is_plain(root, index), is_resolved)

    def _is_plain(self, scope: Scope, index: int) -> bool:
        step = self._step(scope, index)
        while step.is_plain and step.inner:
            step = self._step(*step.inner[0])
        return step.is_plain

    def _names_of(self, scope: Scope) -> list[str]:
        """Names of a scope's outputs in order."""
        names = self._names.get(id(scope))
        if names is None:
            names = self._names[id(scope)] = self._read_names(scope)
        return names

    def _read_names(self, scope: Scope) -> list[str]:
        query = scope.expression
        if isinstance(query, exp.Select):
            return [output.alias_or_name for output in query.expressions]
        if isinstance(query, exp.SetOperation):
            left, right = (self._names_of(part) for part in scope.set_operation_scopes)
            return list(dict.fromkeys([*left, *right])) if query.args.get("by_name") else left
        inner = self._wrapped(scope)
        return self._names_of(inner) if inner else []

    def _wrapped(self, scope: Scope) -> Scope | None:
        """The query inside a scope that only wraps it."""
        inside = [*scope.subquery_scopes, *scope.table_scopes]
        return inside[0] if isinstance(scope.expression, exp.Subquery) and len(inside) == 1 else None

    def _step(self, scope: Scope, index: int) -> _Step:
        step = self._steps.get((id(scope), index))
        if step is None:
            step = self._steps[id(scope), index] = self._read_step(scope, index)
        return step

    def _read_step(self, scope: Scope, index: int) -> _Step:
        query, step = scope.expression, _Step()
        if isinstance(query, exp.Select):
            output = query.expressions[index]
            while isinstance(output, exp.Alias | exp.Paren):
                output = output.this
            if output.is_star:
                step.is_resolved = False
            elif isinstance(output, exp.Column):
                step.is_plain = self._column(scope, output, step)
            else:
                self._expression(scope, output, step)
        elif isinstance(query, exp.SetOperation):
            self._set_operation(scope, index, step)
        elif inner := self._wrapped(scope):
            step.inner, step.is_plain = [(inner, index)], True
        else:
            step.is_resolved = False
        return step

    def _set_operation(self, scope: Scope, index: int, step: _Step) -> None:
        # The right side of EXCEPT only takes rows away.
        parts = scope.set_operation_scopes[: 1 if isinstance(scope.expression, exp.Except) else None]
        names = [self._names_of(part) for part in parts]
        if scope.expression.args.get("by_name"):
            name = self._names_of(scope)[index]
            step.inner = [(part, own.index(name)) for part, own in zip(parts, names, strict=True) if name in own]
        elif all(index < len(own) for own in names):
            step.inner = [(part, index) for part in parts]
        # What a `*` stands for moves the positions after it.
        step.is_resolved = bool(step.inner) and not any("*" in own for own in names)

    def _expression(self, scope: Scope, expression: exp.Expr, step: _Step) -> None:
        """Add what an expression of a scope takes its value from."""
        for node in walk_in_scope(expression, prune=lambda node: isinstance(node, exp.Exists) or _is_field(node)):
            if isinstance(node, exp.Column):
                self._column(scope, node, step)
            elif _is_field(node):
                self._of_source(*self._source(scope, node.this.unnest().name), node.name, step)
            elif isinstance(node, exp.TableColumn):
                self._row(scope, node, step)
            elif isinstance(node, exp.UNWRAPPED_QUERIES):
                self._subquery(scope, node, step)
            elif isinstance(node, exp.Window) and node.alias:
                for window in scope.expression.args.get("windows") or ():
                    if window.name == node.alias:
                        self._expression(scope, window, step)

    def _subquery(self, scope: Scope, query: exp.Expr, step: _Step) -> None:
        if isinstance(query.parent, exp.Exists):
            return
        found = next((inner for inner in scope.subquery_scopes if inner.expression is query), None)
        if found is None:
            step.is_resolved = False
        else:
            step.inner += [(found, index) for index in range(len(self._names_of(found)))]

    def _column(self, scope: Scope, column: exp.Column, step: _Step) -> bool:
        """Add what a column means; true when it is another column, unchanged."""
        if isinstance(column.this, exp.Star):
            step.is_resolved &= isinstance(column.parent, exp.Count)
            return False
        owner, source = self._source(scope, column.table or column.name)
        # Without a table it may be a table function's only column, which goes by the function's alias.
        if not column.table and not _is_function(source):
            step.is_resolved = False
            return False
        if isinstance(source, exp.Pivot):
            return self._pivoted(owner, source, column.name, step)
        return self._of_source(owner, source, column.name, step)

    def _row(self, scope: Scope, row: exp.TableColumn, step: _Step) -> None:
        """Add every column of the row that an alias stands for."""
        owner, source = self._source(scope, row.name)
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            columns: Sequence[str] = self._tables.get(source.name, ())
        else:
            columns = self._names_of(source) if isinstance(source, Scope) else ()
        step.is_resolved &= bool(columns)
        for column in columns:
            self._of_source(owner, source, column, step)

    def _source(self, scope: Scope, name: str) -> tuple[Scope, _Source]:
        """What an alias means in a scope or, for a correlated one, in a scope around it; and in which."""
        around: Scope | None = scope
        while around is not None:
            pivots = [pivot for pivot in around.pivots if name == (pivot.alias or _alias_of(pivot.parent))]
            if pivots:
                return around, pivots[0]
            if name in around.selected_sources:
                return around, around.selected_sources[name][1]
            if around.is_udtf and name in around.sources:
                return around, around.sources[name]
            around = around.parent
        return scope, None

    def _of_source(self, scope: Scope, source: _Source, column: str, step: _Step) -> bool:
        if isinstance(source, Scope):
            return self._inner(source, column, step)
        if not isinstance(source, exp.Table):
            step.is_resolved = False
            return False
        if not isinstance(source.this, exp.Identifier):
            return self._generated(scope, source.this, step)
        columns = self._tables.get(source.name, ())
        name = dict(zip(_alias_columns(source), columns, strict=False)).get(column, column)
        if name in columns:
            step.leaves.add((source.name, name))
        else:
            step.is_resolved = False
        return name in columns

    def _generated(self, scope: Scope, call: exp.Expr, step: _Step) -> bool:
        """Columns of a table function: made of its arguments, if it reads nothing else."""
        if is_generator(call):
            self._expression(scope, call, step)
        else:
            step.is_resolved = False
        return False

    def _inner(self, scope: Scope, column: str, step: _Step) -> bool:
        """A column of a query or table function in FROM."""
        if id(scope) not in self._known:
            scope = self._recursive.get(id(scope.expression), scope)
        source = scope.expression
        names = _alias_columns(source)
        if isinstance(source, exp.Lateral):
            lateral = [inner for inner in scope.sources.values() if isinstance(inner, Scope) and inner.parent is scope]
            if not lateral:
                return self._generated(scope, source.this, step)
            scope, source = lateral[0], lateral[0].expression
        if isinstance(source, exp.Values):
            return self._values(scope, source, names.index(column) if column in names else None, step)
        if isinstance(source, exp.UDTF):
            return self._generated(scope, source if isinstance(source, exp.Unnest) else source.this, step)
        found = names if column in names else self._names_of(scope)
        if column in found:
            step.inner.append((scope, found.index(column)))
        else:
            step.is_resolved = False
        return column in found

    def _values(self, scope: Scope, values: exp.Values, index: int | None, step: _Step) -> bool:
        for row in values.expressions:
            cells = row.expressions if isinstance(row, exp.Tuple) else [row]
            if index is not None and index < len(cells):
                self._expression(scope, cells[index], step)
            else:
                step.is_resolved = False
        return False

    def _pivoted(self, scope: Scope, pivot: exp.Pivot, column: str, step: _Step) -> bool:
        """A column of PIVOT or UNPIVOT: an aggregate, the values of several columns, a label, or passed through."""
        made = [name.name for name in (pivot.expressions if pivot.unpivot else pivot.args.get("columns") or ())]
        labels = [item.this.name for item in pivot.fields] if pivot.unpivot else []
        _, source = scope.selected_sources.get(_alias_of(pivot.parent), (None, None))
        if len(scope.pivots) != 1 or (pivot.unpivot and len(made) != 1):
            step.is_resolved = False
        elif column in made and pivot.unpivot:
            for value in (value for item in pivot.fields for value in item.expressions):
                self._expression(scope, value, step)
        elif column in made:
            self._expression(scope, pivot.expressions[made.index(column) % len(pivot.expressions)], step)
        elif column not in labels:
            return self._of_source(scope, source, column, step)
        return False


def _alias_of(source: exp.Expr | None) -> str:
    return source.alias_or_name if source is not None else ""


def _is_function(source: _Source) -> bool:
    if isinstance(source, Scope):
        return source.is_udtf
    return isinstance(source, exp.Table) and not isinstance(source.this, exp.Identifier)


def _is_field(node: exp.Expr) -> bool:
    """Whether this is `(alias).column`."""
    row = node.this.unnest() if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier) else None
    return isinstance(row, exp.TableColumn)


def _alias_columns(source: exp.Expr) -> list[str]:
    alias = source.args.get("alias")
    return [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
