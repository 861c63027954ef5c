"""Business entities and edges as frames of the knowledge graph, the same whatever order texts came in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.extraction.business.objects import Objects
from dictionary_pipeline.extraction.business.resolution import Resolution
from dictionary_pipeline.extraction.business.validation import Statement
from dictionary_pipeline.extraction.model import BUSINESS_EDGE_TYPES

_MAX_TEXT = 1_000
_FIRST, _FURTHER, _MOST = 0.6, 0.1, 0.9
"""Confidence of what one text states, what each further text adds, and where it ends."""
_MAX_WEIGHT = 9.0
"""What a model found weighs less than what the catalog proves."""


def entity_frame(resolution: Resolution) -> pl.DataFrame:
    """`frames.GRAPH_ENTITIES`, by title."""
    rows = [
        {
            "title": entity.title,
            "type": entity.type,
            "qualified_name": entity.name,
            "description": _joined(f"{entity.name} ({entity.type}).", (told.description for told in entity.mentions)),
            "is_stub": False,
            "text_units": sorted({mention.unit for mention in entity.mentions}),
        }
        for entity in resolution.entities
    ]
    return pl.DataFrame(rows, schema=dict(frames.GRAPH_ENTITIES))


def edge_frame(
    statements: Iterable[Statement], resolution: Resolution, objects: Objects, evidence: str
) -> pl.DataFrame:
    """`frames.GRAPH_EDGES`, unique on source, target and type, in the order of `BUSINESS_EDGE_TYPES`.

    Args:
        evidence: Where the edges come from.
    """
    names = {entity.title: entity.name for entity in resolution.entities}
    grouped: dict[tuple[int, str, str], list[Statement]] = defaultdict(list)
    for statement in statements:
        rank = BUSINESS_EDGE_TYPES.index(statement.type)
        grouped[rank, statement.source, statement.target].append(statement)
    rows = []
    for (rank, source, target), group in sorted(grouped.items()):
        kind = BUSINESS_EDGE_TYPES[rank]
        units = sorted({statement.unit for statement in group})
        confidence = round(min(_FIRST + _FURTHER * (len(units) - 1), _MOST), 2)
        weight = max(statement.weight for statement in group)
        head = f"{names[source]} {kind} {names.get(target) or objects.label(target)}:"
        text = _joined(head, (statement.description for statement in group))
        rows.append(
            {
                "source": source,
                "target": target,
                "type": kind,
                "description": text if text != head else f"{head[:-1]}.",
                "weight": min(max(round(weight * confidence, 2), 1.0), _MAX_WEIGHT),
                "evidence": evidence,
                "confidence": confidence,
                "is_inferred": True,
                "text_units": units,
            }
        )
    return pl.DataFrame(rows, schema=dict(frames.GRAPH_EDGES))


def _joined(head: str, descriptions: Iterable[str]) -> str:
    """Distinct descriptions behind a head: those that most texts give first, as many as fit."""
    counts = Counter(_sentence(text) for text in descriptions if text)
    parts, size = [head], len(head)
    for text, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        size += len(text) + 1
        if size > _MAX_TEXT:
            break
        parts.append(text)
    return " ".join(parts)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
