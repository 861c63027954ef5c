"""A dbt `manifest.json` (schemas v7 to v12) as a source of human knowledge."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dictionary_pipeline.config import dbt_tests
from dictionary_pipeline.config.dbt_tests import Malformed, Ref, SourceRef
from dictionary_pipeline.config.knowledge import IsForeign, Told
from dictionary_pipeline.config.meta import column_meta, table_meta
from dictionary_pipeline.config.resolved import HumanColumn, HumanKey, HumanKnowledge, HumanRelationship, HumanTable
from dictionary_pipeline.config.yamlfile import Document, Loc

_RELATIONS = ("model", "seed", "snapshot")
_BUILD = "Run 'dbt parse' and point dbt_manifest to the target/manifest.json that it writes."


def read_manifest(path: Path, document: Document, loc: Loc, is_foreign: IsForeign) -> Told:
    """Collect descriptions and tests of a manifest.

    Args:
        path: The manifest.
        document: The database file that names it, for messages.
        loc: Where it names it.
        is_foreign: Tells nodes of other databases, which are left out.

    Raises:
        ConfigurationError: the file is missing, unreadable or no manifest.
    """
    try:
        status = path.stat()
        nodes = _nodes(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        reason = error.strerror or "input/output error"
        raise document.error(loc, f"the manifest {path} cannot be read ({reason})", _BUILD) from None
    except Malformed as error:
        raise document.error(loc, f"{path}: {error.what}", error.fix) from None
    own = [node for node in nodes.relations.values() if node.database is None or not is_foreign(node.database)]
    warnings = []
    if nodes.relations and not own:
        names = ", ".join(sorted({node.database or "" for node in nodes.relations.values()}))
        warnings.append(
            f"{document.where(loc)}: dbt_manifest: skipped, because its tables are of other databases: {names}."
        )
    return Told(_knowledge(nodes, own, path.name), tuple(warnings))


@dataclass(frozen=True)
class _Relation:
    """A model, seed, snapshot or source of a manifest."""

    unique_id: str
    database: str | None
    schema: str
    name: str
    description: str | None
    entity_name: str | None
    columns: tuple[HumanColumn, ...]


@dataclass(frozen=True)
class _Nodes:
    relations: Mapping[str, _Relation]
    """By unique id."""
    facts: tuple[tuple[str, dbt_tests.Fact, str | None], ...]
    """Unique id of the tested relation, what is said, and the unique id that a reference leads to."""


@lru_cache(maxsize=16)
def _nodes(path: Path, _mtime_ns: int, _size: int) -> _Nodes:
    """Cached by path, time and size: manifests are large and sensors come back every few seconds."""
    try:
        content = json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise Malformed(f"line {error.lineno} is not valid JSON", _BUILD) from None
    except (UnicodeDecodeError, RecursionError):
        raise Malformed("the file is not JSON text", _BUILD) from None
    if not isinstance(content, dict) or not all(isinstance(content.get(key), dict) for key in ("nodes", "sources")):
        raise Malformed("the file is JSON but no dbt manifest", _BUILD)
    try:
        return _read_nodes(content["nodes"], content["sources"])
    except (KeyError, TypeError, AttributeError):
        raise Malformed("the file has not the shape of a dbt manifest of schema v7 to v12", _BUILD) from None


def _read_nodes(nodes: Mapping[str, Any], sources: Mapping[str, Any]) -> _Nodes:
    relations = {}
    for unique_id, node in [*nodes.items(), *sources.items()]:
        if _is_relation(node):
            with _about(unique_id):
                relations[unique_id] = _relation(unique_id, node)
    names: dict[Ref | SourceRef, str] = {}
    for unique_id in relations:
        node = sources.get(unique_id) or nodes[unique_id]
        is_source = unique_id in sources
        names[SourceRef(node["source_name"], node["name"]) if is_source else Ref(node["name"])] = unique_id
    facts = []
    for unique_id, node in sorted(nodes.items()):
        test = _test(node)
        if test is None:
            continue
        with _about(unique_id):
            fact = dbt_tests.interpret(test, node.get("column_name"))
        depends_on = [other for other in node.get("depends_on", {}).get("nodes", []) if other in relations]
        child = node.get("attached_node") or _named(test.arguments.get("model"), names)
        if child is None and len(depends_on) == 1:
            child = depends_on[0]
        if child in relations:
            parent = _parent(fact.to, child, depends_on, names) if isinstance(fact, dbt_tests.Reference) else None
            facts.append((child, fact, parent))
    return _Nodes(relations, tuple(facts))


@contextmanager
def _about(unique_id: str) -> Iterator[None]:
    """Name the node in what is said about it."""
    try:
        yield
    except Malformed as error:
        raise Malformed(f"{unique_id}: {error.what}", error.fix) from None


def _is_relation(node: Mapping[str, Any]) -> bool:
    config = node.get("config") or {}
    is_table = node.get("resource_type") in _RELATIONS or "source_name" in node
    return is_table and config.get("enabled") is not False and config.get("materialized") != "ephemeral"


def _relation(unique_id: str, node: Mapping[str, Any]) -> _Relation:
    name = node.get("identifier") or node.get("alias") or node["name"]
    columns = tuple(_column(column) for column in (node.get("columns") or {}).values())
    return _Relation(
        unique_id=unique_id,
        database=node.get("database") or None,
        schema=node["schema"],
        name=name,
        description=(node.get("description") or "").strip() or None,
        entity_name=table_meta(_meta(node), _no_warning).entity_name,
        columns=columns,
    )


def _column(column: Mapping[str, Any]) -> HumanColumn:
    meta = column_meta(_meta(column), _no_warning)
    return HumanColumn(
        name=column["name"],
        description=(column.get("description") or "").strip() or None,
        allowed_values=meta.allowed_values,
        allowed_values_origin=None if meta.allowed_values is None else "human",
        value_synonyms=meta.value_synonyms,
    )


def _meta(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Newer manifests keep `meta` below `config`."""
    return {**(node.get("meta") or {}), **((node.get("config") or {}).get("meta") or {})}


def _no_warning(_key: str, _text: str) -> None:
    """Hints about spelling belong to the dbt project, whose files are not ours to check."""


def _test(node: Mapping[str, Any]) -> dbt_tests.GenericTest | None:
    metadata = node.get("test_metadata")
    if node.get("resource_type") != "test" or not metadata or metadata.get("name") not in dbt_tests.USED:
        return None
    arguments = dbt_tests.flat_arguments(metadata.get("kwargs") or {})
    if not dbt_tests.applies({**arguments, "config": node.get("config") or {}}):
        return None
    return dbt_tests.GenericTest(metadata["name"], arguments)


def _named(expression: Any, names: Mapping[Ref | SourceRef, str]) -> str | None:
    target = dbt_tests.find_calls(expression) if isinstance(expression, str) else None
    return names.get(target) if isinstance(target, Ref | SourceRef) else None


def _parent(to: str, child: str, depends_on: Iterable[str], names: Mapping[Ref | SourceRef, str]) -> str | None:
    """What a `relationships` test leads to; dbt records it by name and among the dependencies."""
    others = [unique_id for unique_id in depends_on if unique_id != child]
    return _named(to, names) or (others[0] if len(others) == 1 else None)


def _knowledge(nodes: _Nodes, own: list[_Relation], label: str) -> HumanKnowledge:
    inside = {relation.unique_id for relation in own}
    accepted: dict[str, dict[str, tuple[Any, ...]]] = defaultdict(dict)
    keys: list[HumanKey] = []
    relationships: list[HumanRelationship] = []
    for child_id, fact, parent_id in nodes.facts:
        if child_id not in inside:
            continue
        child = nodes.relations[child_id]
        if isinstance(fact, dbt_tests.AcceptedValues):
            accepted[child_id][fact.column] = fact.values
        elif isinstance(fact, dbt_tests.UniqueColumns):
            keys.append(HumanKey(child.schema, child.name, fact.columns))
        elif parent_id in inside:
            parent = nodes.relations[parent_id]
            relationships.append(
                HumanRelationship(
                    child.schema, child.name, (fact.column,), parent.schema, parent.name, (fact.field,), label
                )
            )
    tables = tuple(_table(relation, accepted[relation.unique_id], label) for relation in own)
    return HumanKnowledge(tables, tuple(keys), tuple(relationships))


def _table(relation: _Relation, accepted: Mapping[str, tuple[Any, ...]], label: str) -> HumanTable:
    columns = {column.name: column for column in relation.columns}
    for name, values in accepted.items():
        column = columns.get(name, HumanColumn(name))
        if column.allowed_values is None:
            columns[name] = HumanColumn(name, column.description, values, "dbt", column.value_synonyms)
    return HumanTable(
        relation.schema, relation.name, relation.description, relation.entity_name, tuple(columns.values()), label
    )
