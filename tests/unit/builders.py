"""Builds small catalogs by hand, in a notation that reads like a schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.problems import Problem

_FOREIGN_KEY = re.compile(
    r"(?:(?P<name>\w+): )?(?P<child>[^(]+)\((?P<from>[^)]*)\) -> (?P<parent>[^(]+)\((?P<to>[^)]*)\)"
)
_CLASSES = (
    ("boolean", "boolean"),
    ("timestamp", "timestamp"),
    ("date", "date"),
    ("numeric", "decimal"),
    ("decimal", "decimal"),
    ("double", "float"),
    ("real", "float"),
    ("smallint", "integer"),
    ("bigint", "integer"),
    ("int", "integer"),
    ("uuid", "uuid"),
    ("json", "json"),
    ("bytea", "binary"),
)


def make_catalog(
    *,
    tables: Mapping[str, Sequence[str]] | None = None,
    views: Mapping[str, str | None] | None = None,
    primary_keys: Mapping[str, Sequence[str]] | None = None,
    unique: Sequence[tuple[str, Sequence[str]]] = (),
    foreign_keys: Sequence[str] = (),
    indexes: Sequence[tuple[str, str, Sequence[str]]] = (),
    checks: Sequence[tuple[str, str]] = (),
    lineage: Sequence[tuple[str, str]] = (),
    comments: Mapping[str, str] | None = None,
    enums: Mapping[str, Sequence[str]] | None = None,
    domains: Mapping[str, Sequence[str]] | None = None,
    row_estimates: Mapping[str, int] | None = None,
    unreadable: Sequence[str] = (),
    identity: Identity | None = None,
    problems: Sequence[Problem] = (),
) -> Catalog:
    """Build a catalog. Tables are named `schema.table`; columns `schema.table.column`.

    Args:
        tables: Name -> columns, each `name type` with an optional ` not null`; the type class
            follows from the type (`string` unless it is known).
        views: Name -> SQL; their columns may be given in `tables`.
        primary_keys: Table -> columns; the key is called `<table>_pkey`.
        unique: (table, columns); the key is called `<table>_<columns>_key`.
        foreign_keys: `[name: ]schema.child(a, b) -> schema.parent(a, b)`, validated, no action.
        indexes: (table, name, columns), not unique.
        checks: (table, expression), validated.
        lineage: (view, source), both qualified.
        comments: Table or column -> comment.
        enums: Column -> labels.
        domains: Column -> CHECK expressions on VALUE.
    """
    tables, views, comments = tables or {}, views or {}, comments or {}
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in FRAME_SCHEMAS}
    for name in [*tables, *(view for view in views if view not in tables)]:
        kind = "view" if name in views else "table"
        estimate = (row_estimates or {}).get(name)
        readable = name not in unreadable
        rows["tables"].append(
            (*_parts(name), kind, comments.get(name), estimate, None, views.get(name), readable, None)
        )
    for name, columns in tables.items():
        for ordinal, spec in enumerate(columns, start=1):
            rows["columns"].append(_column(name, ordinal, spec, comments, enums or {}, domains or {}))
    for name, key in (primary_keys or {}).items():
        rows["keys"].append((*_parts(name), f"{_parts(name)[1]}_pkey", "primary", list(key), "declared", 1.0))
    for name, key in unique:
        label = f"{_parts(name)[1]}_{'_'.join(key)}_key"
        rows["keys"].append((*_parts(name), label, "unique", list(key), "declared", 1.0))
    rows["foreign_keys"] = [_foreign_key(spec) for spec in foreign_keys]
    rows["indexes"] = [(*_parts(table), name, list(columns), False) for table, name, columns in indexes]
    rows["checks"] = [
        (*_parts(table), f"{_parts(table)[1]}_check{number}", expression, True)
        for number, (table, expression) in enumerate(checks, start=1)
    ]
    rows["lineage"] = [(*_parts(view), None, *_parts(source), None, "catalog") for view, source in lineage]
    built = {
        name: frames.fit(frames.from_rows(rows[name], schema), schema, sort_by=order)
        for name, (schema, order) in FRAME_SCHEMAS.items()
    }
    return Catalog(identity=identity or Identity("postgres", database="shop"), problems=tuple(problems), **built)


def _parts(name: str) -> tuple[str, str]:
    schema, _, table = name.partition(".")
    return schema, table


def _column(
    table: str,
    ordinal: int,
    spec: str,
    comments: Mapping[str, str],
    enums: Mapping[str, Sequence[str]],
    domains: Mapping[str, Sequence[str]],
) -> tuple[object, ...]:
    name, _, rest = spec.partition(" ")
    data_type = rest.removesuffix("not null").strip() or "text"
    full = f"{table}.{name}"
    return (
        *_parts(table),
        name,
        ordinal,
        data_type,
        "array"
        if data_type.endswith("[]")
        else next((c for start, c in _CLASSES if data_type.startswith(start)), "string"),
        not rest.endswith("not null"),
        None,
        False,
        False,
        comments.get(full),
        list(enums[full]) if full in enums else None,
        list(domains[full]) if full in domains else None,
        None,
        None,
    )


def _foreign_key(spec: str) -> tuple[object, ...]:
    match = _FOREIGN_KEY.fullmatch(spec)
    if match is None:
        raise ValueError(f"not `[name: ]schema.child(a) -> schema.parent(b)`: {spec}")
    child, parent = _parts(match["child"]), _parts(match["parent"])
    columns = [part.strip() for part in match["from"].split(",")]
    name = match["name"] or f"{child[1]}_{'_'.join(columns)}_fkey"
    to_columns = [part.strip() for part in match["to"].split(",")]
    return (*child, columns, None, *parent, to_columns, name, True, "NO ACTION", "NO ACTION")
