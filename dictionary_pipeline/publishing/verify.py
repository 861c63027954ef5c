"""The gate before publishing: a pure check of a built bundle against the contract."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import __version__, jsontext
from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.publishing import schema_store, value_store
from dictionary_pipeline.publishing.bundle import Bundle
from dictionary_pipeline.publishing.catalog_frames import FOLDER, PUBLISHED
from dictionary_pipeline.publishing.gate import ValueSearch
from dictionary_pipeline.publishing.sealed import Name, Sealed
from dictionary_pipeline.publishing.verify_json import Known, check_entry, check_value_lines, parse
from dictionary_pipeline.store import Store

_COLUMN = ["schema", "table", "column"]
_EDGE_FILES = ("graph/edges.parquet", "graph/output/relationships.parquet")
ACCEPTED_KEY = ".state/accepted_bundle"
PRIVACY = "privacy"
"""Name of the check for values that may not be shown."""
_ENTITIES, _IDS = "graph/output/entities.parquet", "graph/ids.parquet"


class Finding(NamedTuple):
    """Something in a bundle that breaks the contract."""

    check: str
    """files, strict_json, structure, relationships, privacy or graph."""
    path: str
    message: str
    fix: str = ""
    """Empty when only a change of the product can help."""


def verify(bundle: Bundle, sealed: Sealed | None = None) -> tuple[Finding, ...]:
    """Check a built bundle; it may be published only when nothing is found.

    Checked: hashes, strict JSON without duplicate keys, structure and key order, one entry per table,
    every relationship endpoint known or outside by declaration, nothing shown of withheld columns, no
    withheld value anywhere, and every graph edge between known entities.

    Args:
        sealed: The values of withheld and masked columns, to be found nowhere.
    """
    findings = list(_check_files(bundle))
    if findings:
        return tuple(findings)  # the other checks read these files
    tables, columns = (bundle.frame(f"{FOLDER}/{name}.parquet") for name in ("tables", "columns"))
    withheld = columns.filter("withheld").select(_COLUMN)
    known = Known(frozenset(tables["fqn"]) | {stub.fqn for stub in bundle.stubs}, frozenset(withheld.iter_rows()))
    search = ValueSearch(bundle, sealed or Sealed(b"", {}))
    findings += _check_json(bundle, tables, known, search)
    findings += _check_relationships(bundle, tables, columns)
    findings += _check_profiles(bundle, withheld)
    findings += _check_graph(bundle)
    findings += [_leak(bundle, path, column) for path, column in search.finish()]
    return tuple(findings)


def was_accepted(store: Store, bundle: Bundle, sealed: Sealed) -> bool:
    """Whether this version of the product found nothing in the same files under the same seal before."""
    return store.read(ACCEPTED_KEY) == _acceptance(bundle, sealed)


def remember_accepted(store: Store, bundle: Bundle, sealed: Sealed) -> None:
    """Keep that nothing was found, so that an unchanged bundle is not searched every night."""
    if not was_accepted(store, bundle, sealed):
        store.write(ACCEPTED_KEY, _acceptance(bundle, sealed))


def _acceptance(bundle: Bundle, sealed: Sealed) -> bytes:
    """Hash of everything that `verify` looks at."""
    columns = [
        (*name, b"".join(sorted(column.values)).hex(), sorted((start.hex(), n) for start, n in column.starts.items()))
        for name, column in sealed.columns.items()
    ]
    looked_at = [
        __version__,
        {path: info.sha256 for path, info in bundle.files.items()},
        sorted(bundle.stubs),
        bundle.facts.problems,
        sealed.key.hex(),
        sorted(columns),
    ]
    return jsontext.digest(looked_at).encode() + b"\n"


def require_verified(findings: Iterable[Finding], database: str) -> None:
    """Refuse a bundle with findings.

    Raises:
        ContractViolation: names the first finding and how many there are.
    """
    found = list(findings)
    if found:
        first = found[0]
        raise ContractViolation(
            f"the bundle breaks the contract in {len(found)} places, first {first.path}: {first.message}",
            where=database,
            fix=f"Nothing was published; {first.fix or 'this is a defect of the product, please report it.'}",
        )


def _leak(bundle: Bundle, path: str, column: Name) -> Finding:
    name = ".".join(column)
    return Finding(
        PRIVACY,
        path,
        f"it shows a value of the withheld column {name}",
        f"take the value out of the text that quotes it, or release the column: `privacy: {{allow: [{name}]}}` in "
        f"dbt_like_configs/databases/{bundle.facts.database}.yml.",
    )


def _check_files(bundle: Bundle) -> Iterator[Finding]:
    for path, info in bundle.files.items():
        content = bundle.content.read(info.sha256)
        if content is None:
            yield Finding("files", path, "the content was not staged")
        elif (hashlib.sha256(content).hexdigest(), len(content)) != info:
            yield Finding("files", path, "the staged content has another hash or size")
    for name, (schema, _) in PUBLISHED.items():
        path = f"{FOLDER}/{name}.parquet"
        if path not in bundle.files:
            yield Finding("files", path, "the catalog frame is missing")
        elif list(pl.read_parquet_schema(io.BytesIO(bundle.read(path)))) != list(schema):
            yield Finding("structure", path, "the frame has other columns than the contract's")


def _check_json(bundle: Bundle, tables: pl.DataFrame, known: Known, search: ValueSearch) -> Iterator[Finding]:
    findings: list[Finding] = []
    described: list[tuple[str, str]] = []
    for path in bundle.files:

        def add(check: str, message: str, path: str = path) -> None:
            findings.append(Finding(check, path, message))

        folder = path.partition("/")[0]
        if folder == value_store.FOLDER:
            data = bundle.read(path)
            check_value_lines(data, known, add)
            search.value_lines(path, data)
        elif path.endswith(".json"):
            content = parse(bundle.read(path), add)
            if folder == schema_store.FOLDER and content is not None:
                entries = content if path == schema_store.SINGLE_FILE and isinstance(content, list) else [content]
                names = [check_entry(entry, known, add) for entry in entries]
                described += [name for name in names if name is not None]
                search.entries(path, entries)
            elif content is not None:
                search.document(path, content)
    yield from findings
    if sorted(described) != sorted(tables.select("schema", "table").iter_rows()):
        yield Finding("structure", schema_store.FOLDER, "there is not exactly one entry for each table and view")


def _check_relationships(bundle: Bundle, tables: pl.DataFrame, columns: pl.DataFrame) -> Iterator[Finding]:
    path = f"{FOLDER}/relationships.parquet"
    relationships = bundle.frame(path)
    described = set(tables.select("schema", "table").iter_rows())
    outside = {(stub.schema, stub.table) for stub in bundle.stubs}
    for end, also in (("from", set()), ("to", outside)):
        names = set(relationships.select(f"{end}_schema", f"{end}_table").iter_rows()) - described - also
        for schema, table in sorted(names):
            yield Finding("relationships", path, f"{schema}.{table} is neither in the bundle nor known outside")
    own = relationships.select(
        pl.col("from_schema").alias("schema"),
        pl.col("from_table").alias("table"),
        pl.col("from_columns").alias("column"),
    ).explode("column")
    for name in sorted(set(own.join(columns, on=_COLUMN, how="anti").iter_rows())):
        yield Finding("relationships", path, f"{'.'.join(map(str, name))} is not a column")


def _check_profiles(bundle: Bundle, withheld: pl.DataFrame) -> Iterator[Finding]:
    path = f"{FOLDER}/value_profiles.parquet"
    shown = (
        bundle.frame(path)
        .join(withheld, on=_COLUMN, how="semi")
        .filter(pl.any_horizontal(pl.col("min", "max", "allowed_values").is_not_null()))
    )
    for name in shown.select(_COLUMN).iter_rows():
        yield Finding(PRIVACY, path, f"values of the withheld column {'.'.join(name)} are shown")


def _check_graph(bundle: Bundle) -> Iterator[Finding]:
    if _ENTITIES not in bundle.files:
        return
    titles = bundle.frame(_ENTITIES)["title"]
    if titles.n_unique() != titles.len():
        yield Finding("graph", _ENTITIES, "a title occurs twice")
    # A graph published with tables only still has columns in edges.parquet; all have an id.
    ids = bundle.frame(_IDS).filter(pl.col("kind") == "entity")["key"] if _IDS in bundle.files else titles
    for path, known in zip(_EDGE_FILES, (pl.concat([titles, ids]), titles), strict=True):
        if path in bundle.files:
            ends = bundle.frame(path).select(pl.concat([pl.col("source"), pl.col("target")]).alias("title")).unique()
            for (title,) in ends.join(known.to_frame("title"), on="title", how="anti").sort("title").iter_rows():
                yield Finding("graph", path, f"an edge names the unknown entity {title}")
