"""Subject areas: groups of tables that refer to each other more than to the rest."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from dictionary_pipeline.relationships.names import TableName

MAX_TABLES = 25
"""Tables of an area at most: more are not readable at a glance."""

Pair = tuple[TableName, TableName]


def subject_areas(
    tables: Sequence[TableName], links: Iterable[Pair], max_tables: int = MAX_TABLES
) -> list[list[TableName]]:
    """Split related tables into areas of at most `max_tables`, the largest first, tables sorted.

    Areas grow from single tables: the two with the most links between them for the links that they
    have are joined first (the merging rule of Clauset, Newman and Moore's modularity method), so that
    a lookup which everything refers to does not pull everything together. Tables without links are left out.

    Args:
        tables: The tables that may be in an area.
        links: Their relationships; those to other tables do not count.
    """
    known = set(tables)
    between: dict[TableName, Counter[TableName]] = defaultdict(Counter)
    for one, other in links:
        if one != other and one in known and other in known:
            between[one][other] += 1
            between[other][one] += 1
    members = {table: [table] for table in sorted(between)}
    degree = {table: sum(between[table].values()) for table in members}
    heap = [_candidate(one, other, between, degree) for one in members for other in between[one] if one < other]
    heapq.heapify(heap)
    while heap:
        candidate = heapq.heappop(heap)
        _, one, other = candidate
        is_current = one in members and other in members and candidate == _candidate(one, other, between, degree)
        if not is_current or len(members[one]) + len(members[other]) > max_tables:
            continue
        members[one] += members.pop(other)
        degree[one] += degree.pop(other)
        for third, count in between.pop(other).items():
            del between[third][other]
            if third != one:
                between[one][third] += count
                between[third][one] += count
        for third in between[one]:
            heapq.heappush(heap, _candidate(min(one, third), max(one, third), between, degree))
    return sorted((sorted(area) for area in members.values()), key=lambda area: (-len(area), area))


def _candidate(
    one: TableName, other: TableName, between: dict[TableName, Counter[TableName]], degree: dict[TableName, int]
) -> tuple[float, TableName, TableName]:
    """The pair that gains most comes first."""
    return -between[one][other] / (degree[one] * degree[other]), one, other
