"""Sets of values that conditions of SQL allow for one column.

The non-null values for which a condition holds form a set that is either listed or "all but"
listed; these sets are closed under AND, OR and NOT. Every atom compares the column with non-null
literals, so for a non-null value it is true or false, never unknown, and the algebra is exact.
Whatever is not surely understood evaluates to null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache, reduce
from typing import NamedTuple

from sqlglot import exp

from dictionary_pipeline.introspection.sql import parse

Key = str | Decimal
"""What makes two literals the same value: the text, or the number however it is written."""

MAX_CHARACTERS = 200
"""Longer texts never enter AllowedValues (contract 3.1), so a list with one would not be complete."""

_TEXT_TYPES = {
    exp.DType.TEXT,
    exp.DType.VARCHAR,
    exp.DType.NVARCHAR,
    exp.DType.CHAR,
    exp.DType.NCHAR,
    exp.DType.BPCHAR,
    exp.DType.NAME,
}
_INTEGER_TYPES = {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128}
_NUMBER_TYPES = _INTEGER_TYPES | {exp.DType.DECIMAL, exp.DType.FLOAT, exp.DType.DOUBLE}
_INTEGER = re.compile(r"-?[0-9]+\Z")
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_PADDED = re.compile(r"(character|char|bpchar|nchar)\s*(\(|\Z)", re.IGNORECASE)


class ColumnType(NamedTuple):
    """What literals are compared with."""

    type_class: str | None
    data_type: str
    has_labels: bool = False
    """It is an enum, so a cast to a user-defined type keeps the text."""
    loose_boolean: bool = False
    """Its booleans are the numbers 0 and 1."""


class ValueSet(NamedTuple):
    """The listed values, or all but the listed ones."""

    members: Mapping[Key, str]
    """Value -> its text."""
    negated: bool = False

    def __invert__(self) -> ValueSet:
        return ValueSet(self.members, not self.negated)

    def __and__(self, other: ValueSet) -> ValueSet:
        if self.negated and other.negated:
            return ValueSet(_merged(self.members, other.members), negated=True)
        if self.negated:
            return other & self
        kept = {key: text for key, text in self.members.items() if (key in other.members) != other.negated}
        if other.negated:
            return ValueSet(kept)
        return ValueSet(_merged(kept, {key: text for key, text in other.members.items() if key in kept}))

    def __or__(self, other: ValueSet) -> ValueSet:
        return ~(~self & ~other)

    def is_same(self, other: ValueSet) -> bool:
        """Whether both hold the same values, however they are written."""
        return self.negated == other.negated and self.members.keys() == other.members.keys()

    def texts(self) -> list[str]:
        """Texts of a listed set: numbers by size, everything else by code point."""
        return [text for _, text in sorted(self.members.items())]


EVERYTHING = ValueSet({}, negated=True)
NOTHING = ValueSet({})


def listed(texts: Sequence[str]) -> ValueSet:
    """The set of the given texts."""
    return ValueSet({text: text for text in texts})


@lru_cache(maxsize=2048)
def conditions(expression: str, dialect: str) -> tuple[tuple[exp.Expr, frozenset[str]], ...]:
    """The conditions that a CHECK expression ANDs, each with the column names it mentions.

    Returns:
        Nothing when the expression is not understood.
    """
    tree = parse(expression, dialect)
    if isinstance(tree, exp.Anonymous) and tree.name.upper() == "CHECK" and len(tree.expressions) == 1:
        tree = tree.expressions[0]
    if tree is None:
        return ()
    return tuple(
        # A qualified name may be a field of a structured column, so it stays a name of its own.
        (part, frozenset(".".join(each.name for each in column.parts) for column in part.find_all(exp.Column)))
        for part in _flat(tree, exp.And)
    )


def evaluate(node: exp.Expr, column: ColumnType) -> ValueSet | None:
    """The non-null values for which a condition on a single column holds, or null.

    Args:
        node: A condition that mentions no other column.
        column: The type of the column it mentions.
    """
    node = node.unnest()
    if isinstance(node, (exp.And, exp.Or)):
        parts = [evaluate(part, column) for part in _flat(node, type(node))]
        sets = [part for part in parts if part is not None]
        if len(sets) < len(parts):
            return None
        return reduce(ValueSet.__and__ if isinstance(node, exp.And) else ValueSet.__or__, sets)
    if isinstance(node, exp.Not):
        inner = evaluate(node.this, column)
        return None if inner is None else ~inner
    if isinstance(node, exp.Is) and _is_column(node.this, column) and isinstance(node.expression, exp.Null):
        return EVERYTHING if node.args.get("negate") else NOTHING
    if isinstance(node, exp.In):
        return _members(node.this, node.expressions, column) if node.expressions else None
    if isinstance(node, (exp.EQ, exp.NEQ)):
        return _comparison(node, column)
    return None


def _flat(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The operands of a chain of ANDs or ORs; a loop, because a chain may have thousands."""
    waiting = [node]
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, kind):
            waiting += [part.args["expression"], part.this]
        else:
            yield part


def _comparison(node: exp.Expr, column: ColumnType) -> ValueSet | None:
    """`column = x`, `column = ANY (array)`, `column <> x` or `column <> ALL (array)`."""
    left, right = node.this, node.expression
    if not _is_column(left, column):
        left, right = right, left
    right = right.unnest()
    if isinstance(node, exp.EQ) and isinstance(right, exp.Any):
        items, casts = _array(right.this)
    elif isinstance(node, exp.NEQ) and isinstance(right, exp.Anonymous) and right.name.upper() == "ALL":
        items, casts = _array(right.expressions[0]) if len(right.expressions) == 1 else (None, [])
    else:
        items, casts = [right], []
    found = None if items is None else _members(left, items, column, casts)
    return ~found if found is not None and isinstance(node, exp.NEQ) else found


def _members(
    side: exp.Expr, items: Sequence[exp.Expr], column: ColumnType, casts: Sequence[exp.DataType] = ()
) -> ValueSet | None:
    """The set of literals that a column is compared with; null when one is not a plain literal."""
    if not _is_column(side, column):
        return None
    members: dict[Key, str] = {}
    for item in items:
        literal = _literal(item, column, casts)
        if literal is None:
            return None
        members = _merged(members, {literal[0]: literal[1]})
    return ValueSet(members)


def _is_column(node: exp.Expr, column: ColumnType) -> bool:
    """Whether a side is the bare column, or it cast to unbounded text, which keeps a text as it is."""
    node = node.unnest()
    while type(node) is exp.Cast:
        unbounded = node.to.this in (exp.DType.TEXT, exp.DType.VARCHAR) and not node.to.expressions
        if column.type_class != "string" or not unbounded:
            return False
        node = node.this.unnest()
    return isinstance(node, exp.Column) and not node.table


def _array(node: exp.Expr) -> tuple[list[exp.Expr] | None, list[exp.DataType]]:
    """Items of an array constructor or of a simple array text, and the types they are cast to."""
    casts: list[exp.DataType] = []
    node = node.unnest()
    while type(node) is exp.Cast:
        if node.to.this != exp.DType.ARRAY or len(node.to.expressions) != 1:
            return None, []
        casts.append(node.to.expressions[0])
        node = node.this.unnest()
    if isinstance(node, exp.Array):
        return list(node.expressions), casts
    if casts and isinstance(node, exp.Literal) and node.is_string:
        return _array_text(node.this), casts
    return None, []


def _array_text(text: str) -> list[exp.Expr] | None:
    """Items of PostgreSQL's array text where no quoting rule applies: `{a,b}`."""
    if not re.fullmatch(r"\{[^{}\"\\\s]+\}", text):
        return None
    items = text[1:-1].split(",")
    if any(not item or item.upper() == "NULL" for item in items):
        return None
    return [exp.Literal.string(item) for item in items]


def _literal(node: exp.Expr, column: ColumnType, casts: Sequence[exp.DataType]) -> tuple[Key, str] | None:
    types = list(casts)
    node = node.unnest()
    while type(node) is exp.Cast:
        types.append(node.to)
        node = node.this.unnest()
    if isinstance(node, exp.Boolean):
        return _truth("true" if node.this else "false") if column.type_class == "boolean" else None
    sign = ""
    if isinstance(node, exp.Neg):
        sign, node = "-", node.this.unnest()
    if isinstance(node, exp.National) and not sign:
        return _text(node.name, column, types)
    if not isinstance(node, exp.Literal) or (sign and node.is_string):
        return None
    text = sign + node.name
    if column.type_class == "string":
        return _text(text, column, types) if node.is_string else None
    if column.type_class in ("integer", "decimal", "float"):
        return _number(text, column, types)
    if column.type_class == "boolean" and column.loose_boolean and not types:
        return {"0": _truth("false"), "1": _truth("true")}.get(text)
    if column.type_class == "date" and node.is_string:
        return _date(text, types)
    return None


def _truth(text: str) -> tuple[Key, str]:
    return text, text


def _text(text: str, column: ColumnType, types: Sequence[exp.DataType]) -> tuple[Key, str] | None:
    # citext also allows every other spelling of the text, so the list would not be complete.
    if "citext" in column.data_type.lower() or len(text) > MAX_CHARACTERS:
        return None
    for to in types:
        if to.this == exp.DType.USERDEFINED and column.has_labels:
            continue
        if to.this not in _TEXT_TYPES or len(text) > _room(to):
            return None
    plain = text.rstrip(" ") if _PADDED.match(column.data_type) else text
    return plain, plain


def _room(to: exp.DataType) -> float:
    """Characters that a cast to a text type leaves: SQL's bare `char` is `char(1)`."""
    if to.expressions:
        length = to.expressions[0].name
        return int(length) if length.isdigit() else 0
    return 1 if to.this in (exp.DType.CHAR, exp.DType.NCHAR) else float("inf")


def _number(text: str, column: ColumnType, types: Sequence[exp.DataType]) -> tuple[Key, str] | None:
    whole = _INTEGER.match(text) is not None
    if not whole and (column.type_class == "integer" or not _NUMBER.match(text)):
        return None
    for to in types:
        rounds = to.expressions or (to.this in _INTEGER_TYPES and not whole)
        if to.this not in _NUMBER_TYPES or rounds:
            return None
    return Decimal(text), str(int(text)) if whole else text


def _date(text: str, types: Sequence[exp.DataType]) -> tuple[Key, str] | None:
    if any(to.this != exp.DType.DATE for to in types) or not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return None
    try:
        return text, date.fromisoformat(text).isoformat()
    except ValueError:
        return None


def _merged(left: Mapping[Key, str], right: Mapping[Key, str]) -> dict[Key, str]:
    """Both, keeping the shortest text of a number that is written in two ways."""
    merged = dict(left)
    for key, text in right.items():
        merged[key] = min(merged.get(key, text), text, key=lambda spelling: (len(spelling), spelling))
    return merged
