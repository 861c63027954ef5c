"""What the knowledge graph holds beside the catalog, and in which detail it is published for GraphRAG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Granularity = Literal["table", "column"]
AnswerFormat = Literal["json", "delimited"]

ENTITY_TYPES = (
    "ORGANIZATION",
    "PERSON",
    "GROUP",
    "GEO",
    "FACILITY",
    "PROCESS",
    "PRODUCT",
    "EVENT",
    "METRIC",
    "GENERIC",
)
DOCUMENT_SUFFIXES = (".md", ".markdown", ".txt")
MAX_DOCUMENT_BYTES = 1_000_000
MAX_DOCUMENTS = 500


@dataclass(frozen=True)
class GraphSettings:
    """The knowledge graph of one database as configured."""

    granularity: Granularity = "table"
    """Whether the GraphRAG files hold columns as well."""
    entities: bool = False
    """Whether the language model extracts business entities."""
    entity_types: tuple[str, ...] = ENTITY_TYPES
    """Types that the model may give, the most telling first: it decides when texts disagree."""
    format: AnswerFormat = "json"
    max_gleanings: int = 0
    """How often the model is asked for what it missed in the same texts."""
    language: str | None = None
    """Of the descriptions; null: that of the definitions."""
    max_reject_rate: float = 0.5
    """Share of unusable records from which the check warns."""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name of a business entity -> its other names."""
    documents: tuple[str, ...] = ()
    """Globs within `folder`."""
    documents_mark: str = ""
    """Moves when one of them is saved, so that a look at the configuration notices."""
    folder: Path = Path()
    """The project folder, absolute once it is configured."""
    prompt: str | None = None
    """Text of the user's own extraction prompt."""
