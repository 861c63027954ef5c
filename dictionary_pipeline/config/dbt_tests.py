"""What dbt's generic tests say about a database, whether from YAML or from a manifest."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from dictionary_pipeline.config.yamlfile import scalar_text


class AcceptedValues(NamedTuple):
    """The complete list of a column's values."""

    column: str
    values: tuple[Any, ...]


class UniqueColumns(NamedTuple):
    """A unique key."""

    columns: tuple[str, ...]


class Reference(NamedTuple):
    """A column that refers to a column of another table."""

    column: str
    to: str
    """As written: `ref('x')`, `source('x', 'y')` or `schema.table`."""
    field: str


Fact = AcceptedValues | UniqueColumns | Reference


class Ref(NamedTuple):
    """`ref('model')`."""

    name: str


class SourceRef(NamedTuple):
    """`source('source', 'table')`."""

    source: str
    table: str


class Plain(NamedTuple):
    """`schema.table`; the schema is null when only a table is named."""

    schema: str | None
    table: str


Target = Ref | SourceRef | Plain


class Malformed(Exception):
    """A test that cannot be read. Carries what is wrong and the repair; never shown as it is."""

    def __init__(self, what: str, fix: str) -> None:
        self.what = what
        self.fix = fix
        super().__init__(what)


class GenericTest(NamedTuple):
    """One test as written."""

    name: str
    arguments: Mapping[str, Any]


USED = ("accepted_values", "relationships", "unique", "unique_combination_of_columns")
_COMPOSITE = "unique_combination_of_columns"


def read_test(raw: Any) -> GenericTest | None:
    """Read an item of a `data_tests:` list; null for a test that says nothing about the structure.

    Raises:
        Malformed: it is not a test, or one that we use has the wrong shape.
    """
    if isinstance(raw, str):
        return _used(raw, {})
    if not isinstance(raw, dict) or not raw:
        raise Malformed("a test must be a name or 'name: arguments'", "Write e.g. - unique.")
    if "test_name" in raw:
        return _used(str(raw["test_name"]), raw)
    name, arguments = next(iter(raw.items()))
    if len(raw) > 1:
        raise Malformed(f"the arguments of the test {name!r} are not indented", f"Indent the lines below {name}: more.")
    if arguments is not None and not isinstance(arguments, dict):
        raise Malformed(f"the test {name!r} must have 'key: value' lines", "Indent its arguments below it.")
    return _used(name, arguments or {})


def _used(name: str, arguments: Mapping[str, Any]) -> GenericTest | None:
    short = name.rpartition(".")[2]
    return GenericTest(short, flat_arguments(arguments)) if short in USED and applies(arguments) else None


def flat_arguments(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments in one mapping: dbt 1.10 nests them below `arguments:`."""
    nested = arguments.get("arguments")
    return {**arguments, **nested} if isinstance(nested, dict) else arguments


def applies(arguments: Mapping[str, Any]) -> bool:
    """Whether a test covers every row: a `where` proves nothing about the others."""
    config = arguments.get("config")
    settings = {**arguments, **config} if isinstance(config, dict) else arguments
    return settings.get("where") is None and settings.get("enabled") is not False


def interpret(test: GenericTest, column: str | None) -> Fact:
    """What a test says.

    Args:
        test: A test that we use.
        column: The column it stands at; null when it stands at the table.

    Raises:
        Malformed: an argument is missing or has the wrong shape.
    """
    arguments = test.arguments
    if test.name == _COMPOSITE:
        columns = arguments.get("combination_of_columns")
        if not isinstance(columns, list) or not columns:
            raise Malformed(f"the test {test.name!r} needs 'combination_of_columns'", "List the columns of the key.")
        return UniqueColumns(tuple(_unquoted(scalar_text(name)) for name in columns))
    name = arguments.get("column_name", column)
    if name is None:
        raise Malformed(f"the test {test.name!r} stands at the table and names no column", "Move it to its column.")
    name = _unquoted(scalar_text(name))
    if test.name == "unique":
        return UniqueColumns((name,))
    if test.name == "accepted_values":
        return AcceptedValues(name, _values(arguments))
    to, field = arguments.get("to"), arguments.get("field")
    if to is None or field is None:
        missing = "to" if to is None else "field"
        raise Malformed(
            f"the test 'relationships' needs {missing!r}", "Write to: source('source', 'table') and field: column."
        )
    return Reference(name, scalar_text(to), _unquoted(scalar_text(field)))


def _values(arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    values = arguments.get("values")
    if not isinstance(values, list) or not values:
        raise Malformed("the test 'accepted_values' needs 'values'", "List the values: values: ['a', 'b'].")
    plain = json_scalars(values)
    return tuple(_sql_literal(value) for value in plain) if arguments.get("quote") is False else plain


def json_scalars(values: list[Any]) -> tuple[Any, ...]:
    """A list of values as JSON scalars, null left out, repetitions once.

    Raises:
        Malformed: it holds lists, mappings or numbers that JSON cannot write.
    """
    for value in values:
        if isinstance(value, dict | list) or (isinstance(value, float) and not math.isfinite(value)):
            raise Malformed("a value is neither text, number nor true/false", "List single values; quote the others.")
    # Keyed by kind too: 1, 1.0 and true are equal in Python but not the same value.
    return tuple({(type(value), value): value for value in values if value is not None}.values())


def _sql_literal(value: Any) -> Any:
    """With `quote: false` dbt pastes the text into SQL: `'1'` means the number 1."""
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?|true|false", value.strip(), re.IGNORECASE):
        return json.loads(value.strip().lower())
    quoted = re.fullmatch(r"'((?:[^']|'')*)'", value.strip())
    return quoted[1].replace("''", "'") if quoted else value


_ARGUMENT = r"""\s*(?:'([^']*)'|"([^"]*)")\s*"""
_REF = re.compile(rf"ref\({_ARGUMENT}(?:,{_ARGUMENT})?(?:,\s*(?:v|version)\s*=[^)]*)?\)")
_SOURCE = re.compile(rf"source\({_ARGUMENT},{_ARGUMENT}\)")
_NAME = r'("(?:[^"]|"")+"|[^".]+)'


def parse_target(text: str) -> Target:
    """Read what a relationship refers to.

    Raises:
        Malformed: it is none of the known forms.
    """
    inner = re.sub(r"^\{\{-?\s*|\s*-?\}\}$", "", text.strip()).strip()
    if found := _SOURCE.fullmatch(inner):
        return SourceRef(found[1] or found[2] or "", found[3] or found[4] or "")
    if found := _REF.fullmatch(inner):
        # With two arguments the first names the package.
        return Ref(found[3] or found[4] or found[1] or found[2] or "")
    found = re.fullmatch(rf"(?:(?:{_NAME}\.)?{_NAME}\.)?{_NAME}", inner)
    if found and not re.search(r"[(){}]", inner):
        return Plain(_unquoted(found[2]) if found[2] else None, _unquoted(found[3]))
    raise Malformed(f"{text!r} does not name a table", "Write schema.table, source('source', 'table') or ref('model').")


def find_calls(text: str) -> Target | None:
    """The first `ref` or `source` inside a longer expression, as in a manifest's `model` argument."""
    found = _SOURCE.search(text) or _REF.search(text)
    return parse_target(found[0]) if found else None


def _unquoted(name: str) -> str:
    stripped = name.strip()
    if len(stripped) > 2 and stripped[0] == stripped[-1] == '"':
        return stripped[1:-1].replace('""', '"')
    return stripped
