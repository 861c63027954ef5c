"""Which part of a catalog is described: the configured globs applied to the catalog frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import Selection
from dictionary_pipeline.problems import Problem, sorted_unique
from dictionary_pipeline.suggestions import did_you_mean

STAGE = "schema_snapshot"

_OWNER = {
    "tables": ("schema", "table"),
    "columns": ("schema", "table"),
    "keys": ("schema", "table"),
    "indexes": ("schema", "table"),
    "foreign_keys": ("from_schema", "from_table"),
    "checks": ("schema", "table"),
    "lineage": ("view_schema", "view"),
}
"""Frame name -> the columns that say which table or view a row belongs to."""


def select(catalog: Catalog, selection: Selection) -> Catalog:
    """Keep the selected tables and views with all that belongs to them.

    Foreign keys of a kept table and lineage of a kept view stay although their other end may be
    left out. An include pattern that matches nothing becomes a problem.
    """
    names = list(zip(catalog.tables["schema"].to_list(), catalog.tables["table"].to_list(), strict=True))
    kept = [name for name in names if _selected(*name, selection)]
    dropped = sorted(set(names) - set(kept))
    wanted = pl.DataFrame(kept, schema={"_schema": pl.String, "_table": pl.String}, orient="row")
    chosen = {
        name: getattr(catalog, name).join(
            wanted, left_on=owner, right_on=["_schema", "_table"], how="semi", maintain_order="left"
        )
        for name, owner in _OWNER.items()
    }
    problems = [*_problems_of(catalog.problems, kept, dropped), *unmatched_patterns(names, selection)]
    return replace(catalog, **chosen, problems=sorted_unique(problems))


def unmatched_patterns(names: Sequence[tuple[str, str]], selection: Selection) -> list[Problem]:
    """One problem per include pattern that matches no schema or no entity of the catalog.

    Args:
        names: (schema, table) of all tables and views of the catalog.
        selection: The patterns.
    """
    schemas = sorted({schema for schema, _ in names})
    problems = [
        _unmatched(pattern, "schema", did_you_mean(pattern, schemas, _known("schemas", schemas)))
        for pattern in selection.include_schemas
        if not any(_matches(pattern, schema) for schema in schemas)
    ]
    inside = [name for name in names if _schema_selected(name[0], selection)]
    for pattern in selection.include_entities:
        if any(_entity_matches(pattern, *name) for name in inside):
            continue
        if any(_entity_matches(pattern, *name) for name in names):
            hint = "It matches only in schemas that the schema patterns leave out; include such a schema."
        else:
            spellings = [table for _, table in inside] + [f"{schema}.{table}" for schema, table in inside]
            hint = did_you_mean(pattern, spellings, "Patterns are case-sensitive and match `table` or `schema.table`.")
        problems.append(_unmatched(pattern, "entity", hint))
    return problems


def _selected(schema: str, table: str, selection: Selection) -> bool:
    if not _schema_selected(schema, selection):
        return False
    if any(_entity_matches(pattern, schema, table) for pattern in selection.exclude_entities):
        return False
    includes = selection.include_entities
    return not includes or any(_entity_matches(pattern, schema, table) for pattern in includes)


def _schema_selected(schema: str, selection: Selection) -> bool:
    if any(_matches(pattern, schema) for pattern in selection.exclude_schemas):
        return False
    includes = selection.include_schemas
    return not includes or any(_matches(pattern, schema) for pattern in includes)


def _entity_matches(pattern: str, schema: str, table: str) -> bool:
    return _matches(pattern, table) or _matches(pattern, f"{schema}.{table}")


def _matches(pattern: str, name: str) -> bool:
    # A name may itself hold glob characters, so its exact spelling always matches.
    return pattern == name or fnmatchcase(name, pattern)


def _unmatched(pattern: str, noun: str, hint: str) -> Problem:
    return Problem(pattern, STAGE, None, f"The {noun} include pattern `{pattern}` matches nothing", hint)


def _known(noun: str, names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:10]) or "none"
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"The {noun} with tables or views that the account can see: {shown}{more}."


def _problems_of(
    problems: Iterable[Problem], kept: Sequence[tuple[str, str]], dropped: Sequence[tuple[str, str]]
) -> list[Problem]:
    """Problems of the catalog without those of objects that were left out."""
    left_out = {f"{schema}.{table}" for schema, table in dropped} - {f"{schema}.{table}" for schema, table in kept}

    def concerns_left_out(problem: Problem) -> bool:
        parts = problem.object.split(".")
        return any(".".join(parts[:end]) in left_out for end in range(2, len(parts) + 1))

    return [problem for problem in problems if not concerns_left_out(problem)]
