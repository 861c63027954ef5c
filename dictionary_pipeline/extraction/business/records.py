"""What a model says a text holds, before anything of it is believed."""

from __future__ import annotations

from typing import NamedTuple


class FoundEntity(NamedTuple):
    """A business entity as the model wrote it."""

    name: str
    type: str
    description: str


class FoundRelationship(NamedTuple):
    """A relationship as the model wrote it."""

    source: str
    target: str
    type: str
    description: str
    weight: float


class Found(NamedTuple):
    """Records of one text unit, each once."""

    entities: tuple[FoundEntity, ...] = ()
    relationships: tuple[FoundRelationship, ...] = ()
    malformed: tuple[str, ...] = ()
    """Why a record could not be read, one phrase per record; never its text."""

    def __or__(self, other: object) -> Found:
        """What both hold."""
        if not isinstance(other, Found):
            return NotImplemented
        return Found(
            tuple(dict.fromkeys((*self.entities, *other.entities))),
            tuple(dict.fromkeys((*self.relationships, *other.relationships))),
            (*self.malformed, *other.malformed),
        )

    @property
    def is_empty(self) -> bool:
        """Whether not even a malformed record was found."""
        return not (self.entities or self.relationships or self.malformed)
