"""How to join two tables: the best paths over the accepted relationships, with the columns to join on."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import polars as pl

from dictionary_pipeline.relationships.names import TableName

_TO_ONE = 1.0
"""Cost of a hop that keeps the number of rows: to a parent, or along a one-to-one relationship."""
_TO_MANY = 2.0
"""Cost of a hop that multiplies rows."""
_MANY_TO_MANY = 4.0
_THROUGH_PARENT = 3.0
"""Added when a path goes up to a parent and down again: rows that merely share the parent are paired."""
_INFERRED = 0.5
"""Added for a key that nobody declared; a doubtful one costs up to as much as another hop on top."""
_MAX_STEPS = 100_000
"""Partial paths that one search looks at; only dense graphs have more, and the best ones come first."""

Direction = Literal["to_parent", "to_child"]


class JoinHop(NamedTuple):
    """One join: the rows of `left` and `right` whose columns are equal pair by pair."""

    left: TableName
    left_columns: tuple[str, ...]
    right: TableName
    right_columns: tuple[str, ...]
    direction: Direction
    """Whether `right` is the parent or the child of the relationship."""
    cardinality: str
    """Of the relationship, seen from its child: one_to_one, many_to_one or many_to_many."""
    origin: str
    """declared, dbt or inferred."""
    confidence: float

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The columns to join on, left and right."""
        return tuple(zip(self.left_columns, self.right_columns, strict=True))


class JoinPath(NamedTuple):
    """Joins that lead from one table to another."""

    hops: tuple[JoinHop, ...]
    cost: float
    """The lower, the safer: few hops, declared keys, rows neither multiplied nor paired by chance."""

    @property
    def tables(self) -> tuple[TableName, ...]:
        """All tables on the way, ends included."""
        return (self.hops[0].left, *(hop.right for hop in self.hops))


class _Partial(NamedTuple):
    """The beginning of a path. The least one is tried first: paths are met in order of cost, then of names."""

    bound: float
    """Least cost of a whole path that begins like this."""
    length: int
    names: tuple[tuple[TableName, tuple[str, ...], tuple[str, ...]], ...]
    tables: tuple[TableName, ...]
    cost: float = 0.0
    went_up: bool = False
    """It went to a parent that other rows share."""
    hops: tuple[JoinHop, ...] = ()

    def extended(self, hop: JoinHop, rest: float) -> _Partial:
        """The path one hop further, from where the end costs at least `rest`."""
        is_shared = hop.cardinality != "one_to_one"
        goes_down = is_shared and hop.direction == "to_child"
        cost = self.cost + _cost(hop) + (_THROUGH_PARENT if self.went_up and goes_down else 0.0)
        return _Partial(
            round(cost + rest, 9),
            self.length + 1,
            (*self.names, (hop.right, hop.left_columns, hop.right_columns)),
            (*self.tables, hop.right),
            round(cost, 9),
            (is_shared and hop.direction == "to_parent") or (self.went_up and not goes_down),
            (*self.hops, hop),
        )


class JoinIndex:
    """The relationships of a database, ready for many searches."""

    def __init__(self, relationships: pl.DataFrame) -> None:
        """Take `frames.RELATIONSHIPS`; accepted ones within the database count."""
        self._hops: dict[TableName, list[JoinHop]] = defaultdict(list)
        best: dict[tuple[object, ...], JoinHop] = {}
        for hop in _hops(relationships):
            # The same condition may be declared twice; its surest declaration counts.
            key = (hop.left, hop.right, frozenset(hop.pairs))
            if key not in best or best[key].confidence < hop.confidence:
                best[key] = hop
        for hop in best.values():
            self._hops[hop.left].append(hop)
            if hop.left != hop.right:
                self._hops[hop.right].append(_turned(hop))

    def paths(self, start: TableName, end: TableName, k: int = 1, *, max_hops: int = 10) -> tuple[JoinPath, ...]:
        """The best simple paths from one table to another, cheapest first, ties in the order of names.

        Paths over different keys between the same tables are different paths. From a table to itself lead
        its references to itself. Nothing is found when the tables are not connected.

        Args:
            k: Paths to return at most.
            max_hops: Joins of a path at most.
        """
        if start == end:
            own = [JoinPath((hop,), _cost(hop)) for hop in self._hops.get(start, ()) if hop.right == end]
            return tuple(sorted(own, key=_order)[:k])
        rest = self._cheapest_rest(end)
        found: list[JoinPath] = []
        heap = [_Partial(rest[start], 0, (), (start,))] if start in rest else []
        for _ in range(_MAX_STEPS):
            if not heap or len(found) == k:
                break
            partial = heapq.heappop(heap)
            if partial.tables[-1] == end:
                found.append(JoinPath(partial.hops, partial.cost))
            elif partial.length < max_hops:
                for hop in self._hops[partial.tables[-1]]:
                    if hop.right in rest and hop.right not in partial.tables:
                        heapq.heappush(heap, partial.extended(hop, rest[hop.right]))
        return tuple(found)

    def _cheapest_rest(self, end: TableName) -> Mapping[TableName, float]:
        """Least cost from every connected table to `end`, not counting what depends on the way before."""
        rest = {end: 0.0}
        heap = [(0.0, end)]
        while heap:
            cost, table = heapq.heappop(heap)
            if cost > rest[table]:
                continue
            for hop in self._hops[table]:
                total = cost + _cost(_turned(hop))
                if total < rest.get(hop.right, float("inf")):
                    rest[hop.right] = total
                    heapq.heappush(heap, (total, hop.right))
        return rest


def join_path(
    relationships: pl.DataFrame, start: TableName, end: TableName, k: int = 1, *, max_hops: int = 10
) -> tuple[JoinPath, ...]:
    """The k best paths between two tables; see `JoinIndex.paths`, which serves many searches.

    Args:
        relationships: `frames.RELATIONSHIPS`.
    """
    return JoinIndex(relationships).paths(start, end, k, max_hops=max_hops)


def _hops(relationships: pl.DataFrame) -> Iterator[JoinHop]:
    own = relationships.filter(pl.col("accepted") & pl.col("to_database").is_null())
    ends = ("from_schema", "from_table", "from_columns", "to_schema", "to_table", "to_columns")
    for row in own.select(*ends, "cardinality", "origin", "confidence").iter_rows():
        from_schema, from_table, from_columns, to_schema, to_table, to_columns, cardinality, origin, confidence = row
        if to_columns and len(to_columns) == len(from_columns):
            child, parent = TableName(from_schema, from_table), TableName(to_schema, to_table)
            pairs = tuple(from_columns), parent, tuple(to_columns)
            yield JoinHop(child, *pairs, "to_parent", cardinality or "many_to_one", origin, confidence)


def _turned(hop: JoinHop) -> JoinHop:
    direction: Direction = "to_child" if hop.direction == "to_parent" else "to_parent"
    return hop._replace(
        left=hop.right,
        left_columns=hop.right_columns,
        right=hop.left,
        right_columns=hop.left_columns,
        direction=direction,
    )


def _cost(hop: JoinHop) -> float:
    if hop.cardinality == "many_to_many":
        fan_out = _MANY_TO_MANY
    else:
        fan_out = _TO_MANY if hop.direction == "to_child" and hop.cardinality != "one_to_one" else _TO_ONE
    return fan_out + (_INFERRED + (1 - hop.confidence) if hop.origin == "inferred" else 0.0)


def _order(path: JoinPath) -> tuple[float, Sequence[object]]:
    return path.cost, [(hop.right, hop.left_columns, hop.right_columns) for hop in path.hops]
