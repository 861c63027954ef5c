"""One request to the model: the texts it is about, the schema of the answer, and what it may cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.graph_settings import GraphSettings
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.enrichment.model.asking import Message
from dictionary_pipeline.extraction.business.names import MAX_NAME
from dictionary_pipeline.extraction.business.prompts import Prompts
from dictionary_pipeline.extraction.business.units import TextUnit
from dictionary_pipeline.extraction.model import BUSINESS_EDGE_TYPES

MAX_DESCRIPTION = 300
_MAX_UNITS = 10
_MAX_CHARACTERS = 6_000
_MIN_TOKENS = 400
_UNIT_TOKENS = 500
_CHARACTERS_PER_TOKEN = 3
"""An answer about a long text is about a third longer, in tokens, than the text is in words."""
_LOOP_TOKENS = 10


@dataclass(frozen=True)
class Batch:
    """Texts that one request is about; each is called `u1`, `u2`, ... in it."""

    units: tuple[TextUnit, ...]
    settings: GraphSettings

    @property
    def max_tokens(self) -> int:
        """Tokens that an answer may take at most."""
        return _MIN_TOKENS + sum(_UNIT_TOKENS + unit.size // _CHARACTERS_PER_TOKEN for unit in self.units)

    def labels(self) -> dict[str, TextUnit]:
        """The units by their names in the request."""
        return {f"u{number}": unit for number, unit in enumerate(self.units, start=1)}

    def schema(self, *, limits: bool) -> dict[str, Any] | None:
        """The JSON Schema of the answer; null for the delimiter format."""
        if self.settings.format == "delimited":
            return None

        def text(most: int) -> dict[str, Any]:
            return {"type": "string", "maxLength": most} if limits else {"type": "string"}

        unit = {"type": "string", "enum": list(self.labels())}
        entity = {
            "unit": unit,
            "name": text(MAX_NAME),
            "type": {"type": "string", "enum": list(self.settings.entity_types)},
            "description": text(MAX_DESCRIPTION),
        }
        relationship = {
            "unit": unit,
            "source": text(4 * MAX_NAME),
            "target": text(4 * MAX_NAME),
            "type": {"type": "string", "enum": list(BUSINESS_EDGE_TYPES)},
            "description": text(MAX_DESCRIPTION),
            "weight": {"type": "integer"},
        }
        lists = {"entities": entity, "relationships": relationship}
        return _closed({name: {"type": "array", "items": _closed(item)} for name, item in lists.items()})

    def halves(self) -> tuple[Batch, Batch]:
        """Two batches of about the same size."""
        middle = -(-len(self.units) // 2)
        return Batch(self.units[:middle], self.settings), Batch(self.units[middle:], self.settings)


@dataclass(frozen=True)
class LoopQuestion:
    """Whether anything is lacking: Y or N."""

    max_tokens: int = _LOOP_TOKENS

    def schema(self, *, limits: bool) -> None:
        """Any text will do."""


def batches(units: Sequence[TextUnit], settings: GraphSettings) -> Iterator[Batch]:
    """Put units into requests, in order: small ones share one.

    In the delimiter format a record cannot name its unit, so each has a request of its own.
    """
    most = 1 if settings.format == "delimited" else _MAX_UNITS
    taken: list[TextUnit] = []
    size = 0
    for unit in units:
        if taken and (len(taken) == most or size + unit.size > _MAX_CHARACTERS):
            yield Batch(tuple(taken), settings)
            taken, size = [], 0
        taken.append(unit)
        size += unit.size
    if taken:
        yield Batch(tuple(taken), settings)


def messages(batch: Batch, prompts: Prompts) -> list[Message]:
    """The rules, which are the same for all texts of a database, then the texts as data."""
    units = [{"id": label, "kind": unit.kind, **unit.content} for label, unit in batch.labels().items()]
    return [
        {"role": "system", "content": prompts.extract},
        {"role": "user", "content": jsontext.compact({"units": units})},
    ]


def unit_hash(unit: TextUnit, settings: GraphSettings, model: ModelSettings, prompts: Prompts) -> str:
    """Hash of everything that the records of a unit are worth keeping for."""
    parameters = [
        prompts.hash,
        settings.format,
        list(settings.entity_types),
        settings.max_gleanings,
        model.provider,
        model.model,
        model.temperature,
        model.reasoning_effort,
    ]
    return jsontext.digest({"parameters": parameters, "kind": unit.kind, "content": dict(unit.content)})


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
