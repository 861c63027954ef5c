"""Builds bundle inputs by hand, and reads back what was staged or published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import (
    ConnectionSpec,
    DatabaseConfig,
    HumanColumn,
    HumanKnowledge,
    HumanTable,
    PublishTarget,
    SamplingLimits,
)
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing.bundle import Bundle, BundleInputs
from dictionary_pipeline.publishing.previous import PreviousBundle
from unit.builders import make_catalog


def make_inputs(
    catalog: Catalog,
    *,
    samples: Mapping[str, Sequence[str] | None] | None = None,
    allowed: Mapping[str, Sequence[str]] | None = None,
    values: Mapping[str, Sequence[tuple[str, int]]] | None = None,
    relationships: Sequence[tuple[Any, ...]] | None = None,
    withheld: Sequence[str] = (),
    treated: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
    paths: Mapping[str, Sequence[str]] | None = None,
    definitions: Mapping[str, tuple[str, str]] | None = None,
    graph_files: Mapping[str, pl.DataFrame | str] | None = None,
    problems: Sequence[Problem] = (),
    config: DatabaseConfig | None = None,
    previous: PreviousBundle | None = None,
    sampled_rows: int = 10,
    complete: bool = True,
    distinct: int = 3,
) -> BundleInputs:
    """Build inputs; columns are named `schema.table.column`, tables `schema.table`.

    Without `relationships` (rows of `frames.RELATIONSHIPS`), those of the catalog's foreign keys are
    declared; a parent that is not in the catalog is a stub.
    """
    samples, allowed, definitions = samples or {}, allowed or {}, definitions or {}
    columns = [tuple(row) for row in catalog.columns.select("schema", "table", "column").iter_rows()]
    tables = [tuple(row) for row in catalog.tables.select("schema", "table").iter_rows()]
    profiles = [
        (
            *name,
            "ok",
            sampled_rows,
            0.123,
            distinct,
            samples.get(".".join(name), []),
            allowed.get(".".join(name)),
            "enum" if ".".join(name) in allowed else None,
            complete,
            "a",
            "z",
            5.0,
        )
        for name in columns
    ]
    if relationships is None:
        relationships = [declared(row, tables) for row in catalog.foreign_keys.rows()]
    return BundleInputs(
        catalog=catalog,
        profiles=frames.from_rows(profiles, frames.PROFILES),
        values=frames.from_rows(
            [(*_name(column), value, count) for column, found in (values or {}).items() for value, count in found],
            frames.VALUES,
        ),
        relationships=frames.from_rows(relationships, frames.RELATIONSHIPS),
        keys=catalog.keys,
        lineage=catalog.lineage,
        roles=frames.from_rows(
            [(*name, (roles or {}).get(".".join(name), "dimension"), "told by the test") for name in tables],
            frames.ROLES,
        ),
        join_graph=frames.from_rows(
            [(*name, list((paths or {}).get(".".join(name), [])), False) for name in tables], frames.JOIN_GRAPH
        ),
        table_definitions=frames.from_rows(
            [(*name, None, None, *definitions.get(".".join(name), (None, None))) for name in tables],
            frames.TABLE_DEFINITIONS,
        ),
        column_definitions=frames.from_rows(
            [(*name, *definitions.get(".".join(name), (None, None))) for name in columns], frames.COLUMN_DEFINITIONS
        ),
        sensitivity=frames.from_rows(
            [
                *((*_name(column), "PASSWORD", 1.0, "its name", "deny") for column in withheld),
                *((*_name(column), "PERSON", 0.9, "its values", treat) for column, treat in (treated or {}).items()),
            ],
            frames.SENSITIVITY,
        ),
        graph_files=graph_files or {},
        problems=tuple(problems),
        config=config or make_config(),
        previous=previous,
    )


def declared(key: tuple[Any, ...], tables: Sequence[tuple[str, ...]]) -> tuple[Any, ...]:
    """Row of `frames.RELATIONSHIPS` for a row of `frames.FOREIGN_KEYS`."""
    from_schema, from_table, from_columns, database, to_schema, to_table, to_columns, name = key[:8]
    stub = database is not None or (to_schema, to_table) not in tables
    ends = (from_schema, from_table, from_columns, database, to_schema, to_table, to_columns)
    return (*ends, name, "declared", 1.0, "many_to_one", "constraint", True, stub)


def make_config(
    name: str = "shop",
    *,
    single_file: bool = False,
    synonyms: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
    sampling: SamplingLimits | None = None,
) -> DatabaseConfig:
    human = [
        HumanTable(*_name(column)[:2], columns=(HumanColumn(_name(column)[2], value_synonyms=given),))
        for column, given in (synonyms or {}).items()
    ]
    return DatabaseConfig(
        name,
        ConnectionSpec("postgres"),
        human=HumanKnowledge(tables=tuple(human)),
        sampling=sampling or SamplingLimits(),
        publish=PublishTarget(single_file=single_file),
    )


def shop(**changes: Any) -> BundleInputs:
    """A small shop with a composite key, a self reference, a view, a secret and values."""
    catalog = make_catalog(
        tables={
            "sales.customer": ["id int not null", "name text", "password text", "state text"],
            "sales.order_line": ["tenant int not null", "no int not null", "customer_id int", "parent_no int"],
            "sales.v_customer": ["name text"],
        },
        views={"sales.v_customer": "SELECT name FROM sales.customer"},
        primary_keys={"sales.customer": ["id"], "sales.order_line": ["tenant", "no"]},
        foreign_keys=[
            "sales.order_line(customer_id) -> sales.customer(id)",
            "line_parent: sales.order_line(tenant, parent_no) -> sales.order_line(tenant, no)",
            "sales.order_line(tenant) -> hidden.tenant(id)",
        ],
        comments={"sales.customer.password": "bcrypt, e.g. 'hunter2'"},
        enums={"sales.customer.state": ["new", "gone"]},
    )
    settings: dict[str, Any] = {
        "samples": {
            "sales.customer.id": ["1", "2"],
            "sales.customer.name": ['"Ürsula"', '{"nested": [1, null, 1e400]}'],
            "sales.customer.password": ['"hunter2"'],
            "sales.order_line.parent_no": None,
        },
        "allowed": {"sales.customer.state": ['"new"', '"gone"']},
        "values": {
            "sales.customer.name": [("Bob", 5), ("Ann", 7), ("Ürsula\tB", 2)],
            "sales.customer.password": [("hunter2", 1)],
        },
        "withheld": ["sales.customer.password"],
        "roles": {"sales.order_line": "fact"},
        "paths": {"sales.order_line": ["shop.sales.order_line -> shop.sales.customer"]},
        "definitions": {
            "sales.customer": ("People who buy.", "human"),
            "sales.customer.password": ("bcrypt, e.g. 'hunter2'", "database"),
        },
    }
    return make_inputs(replace(catalog, fingerprint="f1", probe="p1"), **{**settings, **changes})


def staged(bundle: Bundle, path: str) -> bytes:
    """Content of a staged file."""
    return bundle.read(path)


def staged_json(bundle: Bundle, path: str) -> Any:
    return json.loads(staged(bundle, path))


def staged_frame(bundle: Bundle, name: str) -> pl.DataFrame:
    """A staged frame of `catalog/`."""
    return bundle.frame(f"catalog/{name}.parquet")


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    """Content and modification time of every file that readers and indexers see."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.relative_to(root).as_posix().startswith(".")
    }


def _name(text: str) -> tuple[str, ...]:
    return tuple(text.split(".", 2))
