"""The first stage: read the catalog of a database in one consistent state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog
from dictionary_pipeline.config.resolved import Selection
from dictionary_pipeline.engines.base import Engine, Session
from dictionary_pipeline.errors import ConnectionFailed, DictionaryError, NothingToDescribe
from dictionary_pipeline.introspection.allowed_values import with_allowed_values
from dictionary_pipeline.introspection.fingerprint import with_fingerprints
from dictionary_pipeline.introspection.hidden import hide_columns
from dictionary_pipeline.introspection.selection import STAGE, select, unmatched_patterns
from dictionary_pipeline.problems import Problem, sorted_unique


def take_snapshot(engine: Engine, session: Session, selection: Selection) -> Catalog:
    """Read, select and fingerprint the catalog of a database.

    Returns:
        The selected catalog with allowed values of the free sources, fingerprints, probe and
        problems (unreadable objects, include patterns that match nothing).

    Raises:
        NothingToDescribe: The account sees no table or view, or the selection leaves none.
        DictionaryError: The catalog could not be read at all.
    """
    with session.snapshot():
        # The probe comes first: a change made while an engine without snapshots is being read must move it.
        probe, problems = _probe(engine, session)
        everything = engine.read_catalog(session)
    selected = hide_columns(select(everything, selection), selection.columns)
    if selected.tables.is_empty():
        raise _nothing(engine, everything, selection)
    problems += _unreadable(engine, selected)
    ordered: dict[str, Any] = {
        name: frames.fit(getattr(selected, name), schema, sort_by=by) for name, (schema, by) in FRAME_SCHEMAS.items()
    }
    catalog = replace(selected, **ordered, probe=probe, problems=sorted_unique([*selected.problems, *problems]))
    return with_fingerprints(with_allowed_values(catalog, engine.sqlglot_dialect))


def _probe(engine: Engine, session: Session) -> tuple[str | None, list[Problem]]:
    try:
        return engine.probe(session), []
    except ConnectionFailed:
        raise
    except DictionaryError as error:
        return None, [error.as_problem(engine.identity.fqn() or engine.server, STAGE)]


def _unreadable(engine: Engine, catalog: Catalog) -> list[Problem]:
    """A problem for each object that is seen but not readable, unless the engine named one already."""
    named = {problem.object for problem in catalog.problems}
    unreadable = catalog.tables.filter(~pl.col("readable").fill_null(True)).select("schema", "table")
    return [
        Problem(
            f"{schema}.{table}",
            STAGE,
            None,
            "The account may see this object but not read it; its values are missing",
            f"GRANT SELECT ON {engine.sql_name(schema, table)} to the account that describes the database.",
        )
        for schema, table in unreadable.iter_rows()
        if f"{schema}.{table}" not in named
    ]


def _nothing(engine: Engine, everything: Catalog, selection: Selection) -> NothingToDescribe:
    where = everything.identity.fqn() or engine.server
    count = everything.tables.height
    if count == 0:
        return NothingToDescribe(
            "the database has no table or view the account can see",
            where=where,
            fix="Check that this is the right database and that the account may SELECT in it.",
        )
    names = list(everything.tables.select("schema", "table").iter_rows())
    hints = [f"`{problem.object}` matches nothing. {problem.hint}" for problem in unmatched_patterns(names, selection)]
    return NothingToDescribe(
        f"the selection excludes all {count} tables and views"
        if count > 1
        else "the selection excludes the only table",
        where=where,
        fix=" ".join(["Widen the include or exclude patterns of schemas and entities.", *hints]),
    )
