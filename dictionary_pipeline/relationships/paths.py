"""The join graph: how each table reaches the others, as strings that a model can read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import PathLimits

_NEAREST_HOPS = 6
"""How far an aborted search still looks (contract 3.1)."""
_VIEWS = ("view", "materialized_view")


class _Node(NamedTuple):
    """A table of the graph; nodes sort by FQN."""

    fqn: str
    database: str
    schema: str
    table: str


class _Graph(NamedTuple):
    """An undirected graph over nodes numbered in FQN order."""

    nodes: Sequence[_Node]
    neighbours: Sequence[Sequence[int]]
    """Sorted, parallel edges once, without the node itself."""
    refers_to_itself: frozenset[int]


def join_graph(catalog: Catalog, relationships: pl.DataFrame, limits: PathLimits) -> pl.DataFrame:
    """CompleteEntityRelationshipsGraph of every table (contract 3.1): strings `A -> B -> C` of FQNs.

    The graph is undirected and made of the accepted relationships. Objects outside the selection
    that a key points to are nodes, because their FQN is known; a path may end at or pass through
    one. A self reference comes first and is not counted. Then come all maximal simple paths in
    depth-first order, or, if there are too many, a shortest path to each of the nearest tables.

    Args:
        catalog: Which tables and views get a row.
        relationships: `frames.RELATIONSHIPS`.
        limits: The search is given up when it would emit one path more than `max_paths`, make a
            path of more than `max_hops` hops, or visit one node more than `max_visited`.

    Returns:
        `frames.JOIN_GRAPH` in the order of the catalog's tables; views have no paths.
    """
    graph = _graph(catalog.identity, relationships)
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    rows: list[tuple[str, str, list[str], bool]] = []
    for schema, table, kind in catalog.tables.select("schema", "table", "kind").iter_rows():
        start = numbers.get(_Node(catalog.identity.fqn(schema, table), "", schema, table))
        if start is None or kind in _VIEWS:
            rows.append((schema, table, [], False))
            continue
        found = maximal_paths(graph.neighbours, start, limits)
        paths = nearest_paths(graph.neighbours, start, limits) if found is None else found
        own = [[start, start]] if start in graph.refers_to_itself else []
        texts = [" -> ".join(graph.nodes[number].fqn for number in path) for path in [*own, *paths]]
        rows.append((schema, table, texts, found is None))
    return frames.from_rows(rows, frames.JOIN_GRAPH)


def stub_fqn(identity: Identity, database: str | None, schema: str, table: str) -> str:
    """FQN of the object that a key points to, which may be in another database of the server."""
    if database is None:
        return identity.fqn(schema, table)
    part = "catalog" if identity.catalog is not None else "database"
    return replace(identity, **{part: database}).fqn(schema, table)


def maximal_paths(neighbours: Sequence[Sequence[int]], start: int, limits: PathLimits) -> list[list[int]] | None:
    """All maximal simple paths from a node in depth-first order, or null when a limit is hit.

    A path is maximal when its end has no neighbour outside the path; its prefixes are not listed.

    Args:
        neighbours: Node -> its neighbours in the order of the search, without itself.
        start: The first node of every path.
        limits: See `join_graph`.
    """
    found: list[list[int]] = []
    path = [start]
    on_path = {start}
    untried = [iter(neighbours[start])]
    extended = [False]
    visited = 1
    while path:
        step = next((node for node in untried[-1] if node not in on_path), None)
        if step is None:
            if not extended[-1] and len(path) > 1:
                if len(found) == limits.max_paths:
                    return None
                found.append(path.copy())
            on_path.remove(path.pop())
            untried.pop()
            extended.pop()
            continue
        if len(path) > limits.max_hops or visited == limits.max_visited:
            return None
        visited += 1
        extended[-1] = True
        path.append(step)
        on_path.add(step)
        untried.append(iter(neighbours[step]))
        extended.append(False)
    return found


def nearest_paths(neighbours: Sequence[Sequence[int]], start: int, limits: PathLimits) -> list[list[int]]:
    """One shortest path to each of the nearest nodes, ordered by hops, then by node.

    Nodes are numbered in FQN order and neighbours are sorted, so a level met breadth-first stands in
    the order of the paths' FQN sequences, and the first path to reach a node is the smallest one.

    Args:
        neighbours: Node -> its neighbours in ascending order, without itself.
        start: The first node of every path.
        limits: `max_paths` nodes at most, no further than six hops or `max_hops`.
    """
    came_from = {start: start}
    level = [start]
    nearest: list[int] = []
    for _ in range(min(_NEAREST_HOPS, limits.max_hops)):
        reached: list[int] = []
        for node in level:
            for step in neighbours[node]:
                if step not in came_from:
                    came_from[step] = node
                    reached.append(step)
        nearest += sorted(reached)
        level = reached
        if not level or len(nearest) >= limits.max_paths:
            break
    return [list(_path_to(node, start, came_from))[::-1] for node in nearest[: limits.max_paths]]


def _path_to(node: int, start: int, came_from: dict[int, int]) -> Iterator[int]:
    while node != start:
        yield node
        node = came_from[node]
    yield start


def _graph(identity: Identity, relationships: pl.DataFrame) -> _Graph:
    ends = relationships.filter(pl.col("accepted")).select(
        "from_schema", "from_table", "to_database", "to_schema", "to_table"
    )
    edges: set[tuple[_Node, _Node]] = set()
    for from_schema, from_table, to_database, to_schema, to_table in ends.iter_rows():
        child = _Node(identity.fqn(from_schema, from_table), "", from_schema, from_table)
        parent_fqn = stub_fqn(identity, to_database, to_schema, to_table)
        edges.add((child, _Node(parent_fqn, to_database or "", to_schema, to_table)))
    nodes = sorted({node for edge in edges for node in edge})
    numbers = {node: number for number, node in enumerate(nodes)}
    linked: dict[int, set[int]] = defaultdict(set)
    for child, parent in edges:
        linked[numbers[child]].add(numbers[parent])
        linked[numbers[parent]].add(numbers[child])
    return _Graph(
        nodes,
        [sorted(linked[number] - {number}) for number in range(len(nodes))],
        frozenset(number for number in range(len(nodes)) if number in linked[number]),
    )
