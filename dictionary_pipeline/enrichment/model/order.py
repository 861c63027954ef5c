"""The order of asking: parents before children, so that a prompt can use what its parents mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dictionary_pipeline.enrichment.facts import TableName
from dictionary_pipeline.enrichment.model.facts import TableFacts


def waves(tables: Sequence[TableFacts]) -> Iterator[frozenset[TableName]]:
    """Groups of tables; all parents that are asked about too stand in an earlier group.

    In a circle the table with the fewest open parents goes first, ties by name.
    """
    names = {facts.name for facts in tables}
    waiting = {
        facts.name: {name for name in (*(p.table for p in facts.parents), *facts.sources) if name in names}
        - {facts.name}
        for facts in tables
    }
    while waiting:
        ready = frozenset(name for name, parents in waiting.items() if not parents)
        if not ready:
            ready = frozenset([min(waiting, key=lambda name: (len(waiting[name]), name))])
        yield ready
        waiting = {name: parents - ready for name, parents in waiting.items() if name not in ready}
