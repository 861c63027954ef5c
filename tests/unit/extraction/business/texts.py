"""Small text units, records and settings for the tests of the business part."""

from __future__ import annotations

from typing import Any

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.config.graph_settings import GraphSettings
from dictionary_pipeline.enrichment.model.texts import NoGuard
from dictionary_pipeline.extraction.business.build import BusinessGraph, build_business
from dictionary_pipeline.extraction.business.records import Found, FoundEntity, FoundRelationship
from dictionary_pipeline.extraction.business.units import TextUnit

EXACT = frames.fit(
    pl.DataFrame(
        {
            "title": ["SHOP.S.ORDERS TABLE", "SHOP.S.OPEN VIEW", "SHOP.S.ORDERS.CUSTOMER_ID COLUMN"],
            "type": ["SQLTABLE", "SQLVIEW", "SQLCOLUMN"],
            "qualified_name": ["shop.s.Orders", "shop.s.open", "shop.s.Orders.customer_id"],
            "is_stub": [False, False, False],
        }
    ),
    frames.GRAPH_ENTITIES,
)


def unit(key: str, text: str, **content: Any) -> TextUnit:
    return TextUnit(key, "document", key.partition("#")[0], {"text": text, **content})


def entity(name: str, kind: str = "ORGANIZATION", text: str = "It is there.") -> FoundEntity:
    return FoundEntity(name, kind, text)


def edge(
    source: str, target: str, kind: str = "RELATED_TO", text: str = "They belong together.", weight: float = 5
) -> FoundRelationship:
    return FoundRelationship(source, target, kind, text, weight)


def found(*records: FoundEntity | FoundRelationship) -> Found:
    return Found(
        tuple(record for record in records if isinstance(record, FoundEntity)),
        tuple(record for record in records if isinstance(record, FoundRelationship)),
    )


def graph(units: list[TextUnit], records: dict[str, Found], **settings: Any) -> BusinessGraph:
    return build_business(records, units, EXACT, GraphSettings(**settings), NoGuard(), "abc")


def of_one(text: str, *records: FoundEntity | FoundRelationship, **settings: Any) -> BusinessGraph:
    """The graph of a single text."""
    return graph([unit("a.md#start", text)], {"a.md#start": found(*records)}, **settings)


def triples(built: BusinessGraph) -> list[tuple[Any, ...]]:
    return built.edges.select("source", "type", "target").rows()
