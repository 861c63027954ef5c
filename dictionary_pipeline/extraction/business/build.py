"""The model's part of the knowledge graph: from what was found in the units to entities and edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.config.graph_settings import GraphSettings
from dictionary_pipeline.enrichment.model.texts import Guard
from dictionary_pipeline.extraction.business.merge import edge_frame, entity_frame
from dictionary_pipeline.extraction.business.names import name_key, shown_name
from dictionary_pipeline.extraction.business.objects import Objects
from dictionary_pipeline.extraction.business.records import Found
from dictionary_pipeline.extraction.business.resolution import Conflict, glossary_aliases, resolve
from dictionary_pipeline.extraction.business.units import TextUnit
from dictionary_pipeline.extraction.business.validation import Judge


@dataclass(frozen=True)
class BusinessGraph:
    """Business entities and their edges."""

    entities: pl.DataFrame
    """`frames.GRAPH_ENTITIES`, by title."""
    edges: pl.DataFrame
    """`frames.GRAPH_EDGES`, in the order of `BUSINESS_EDGE_TYPES`."""
    units: pl.DataFrame
    """`frames.GRAPH_UNITS`: glossary and documents, in order."""
    accepted: int = 0
    """Records that are believed."""
    rejected: tuple[tuple[str, int], ...] = ()
    """Reason and number of records, most first."""
    conflicts: tuple[Conflict, ...] = ()

    @property
    def reject_rate(self) -> float:
        """Share of the records that are not believed; 0 when there is none."""
        refused = sum(count for _, count in self.rejected)
        return refused / (refused + self.accepted) if refused else 0.0


def build_business(
    found: Mapping[str, Found],
    units: Sequence[TextUnit],
    exact: pl.DataFrame,
    settings: GraphSettings,
    guard: Guard,
    prompt_hash: str,
    glossary: Mapping[str, str] | None = None,
) -> BusinessGraph:
    """Check the records of all units, resolve their names and merge them.

    Args:
        found: By the key of the unit.
        exact: `frames.GRAPH_ENTITIES` of the exact part.
        prompt_hash: Of the prompts that the records were asked with.
        glossary: Terms and their meanings; a term that stands for a name is an alias of it.
    """
    objects = Objects(exact)
    judge = Judge(units, objects, settings, guard)
    mentions = judge.mentions(found)
    given = {**glossary_aliases(glossary or {}), **settings.aliases}
    named = {shown_name(name): others for name, others in given.items()}
    aliases = {name: others for name, others in named.items() if name_key(name) and not objects.is_object(name)}
    resolution = resolve(mentions, aliases, settings.entity_types)
    statements = judge.statements(found, resolution.title)
    own = [(unit.key, unit.document, unit.text) for unit in units if unit.table is None]
    return BusinessGraph(
        entities=entity_frame(resolution),
        edges=edge_frame(statements, resolution, objects, f"llm:{prompt_hash}"),
        units=frames.from_rows(own, frames.GRAPH_UNITS),
        accepted=len(mentions) + len(statements),
        rejected=tuple(sorted(judge.rejected.items(), key=lambda item: (-item[1], item[0]))),
        conflicts=resolution.conflicts,
    )
