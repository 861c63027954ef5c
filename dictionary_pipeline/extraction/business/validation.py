"""Which records of the model are believed; everything else is counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from dictionary_pipeline.config.graph_settings import GraphSettings
from dictionary_pipeline.enrichment.model.answers import prose_fault
from dictionary_pipeline.enrichment.model.texts import Guard, clean
from dictionary_pipeline.extraction.business.asking import MAX_DESCRIPTION
from dictionary_pipeline.extraction.business.hostile import is_hostile
from dictionary_pipeline.extraction.business.names import MAX_NAME, is_grounded, shown_name
from dictionary_pipeline.extraction.business.objects import Objects
from dictionary_pipeline.extraction.business.records import Found, FoundEntity, FoundRelationship
from dictionary_pipeline.extraction.business.units import TextUnit
from dictionary_pipeline.extraction.model import BUSINESS_EDGE_TYPES, EDGE_TYPES
from dictionary_pipeline.jsontext import leaves

RELATED, RECORDED = "RELATED_TO", "IS_RECORDED_IN"
_BETWEEN_BUSINESS = ("PART_OF", "LOCATED_IN", "PRECEDES")
_MOST = 2 * MAX_DESCRIPTION
"""Characters from which a description is refused; between this and what is asked for, it is cut."""

FindEntity = Callable[[str], str | None]
"""Title of the business entity of a name."""


class Mention(NamedTuple):
    """A business entity in one text."""

    unit: str
    name: str
    type: str
    description: str


class Statement(NamedTuple):
    """A relationship in one text, its ends by title."""

    unit: str
    source: str
    target: str
    type: str
    description: str
    weight: float


class _End(NamedTuple):
    """One end of a relationship."""

    title: str
    is_object: bool
    """A table, view or column rather than a business entity."""


class Judge:
    """Decides about records of the units of one database."""

    def __init__(self, units: Iterable[TextUnit], objects: Objects, settings: GraphSettings, guard: Guard) -> None:
        self._units = {unit.key: unit for unit in units}
        self._objects, self._settings, self._guard = objects, settings, guard
        self.rejected: Counter[str] = Counter()
        """Reason -> how many records."""

    def mentions(self, found: Mapping[str, Found]) -> list[Mention]:
        """Entities that are believed, in the order of the units' keys."""
        accepted: list[Mention] = []
        for key in sorted(found):
            self.rejected.update(found[key].malformed)
            for entity in found[key].entities:
                result = self._mention(self._units[key], entity)
                if isinstance(result, Mention):
                    accepted.append(result)
                else:
                    self.rejected[result] += 1
        return list(dict.fromkeys(accepted))

    def statements(self, found: Mapping[str, Found], entity: FindEntity) -> list[Statement]:
        """Relationships that are believed, in the order of the units' keys.

        Args:
            entity: Finds the entities that were believed.
        """
        accepted: list[Statement] = []
        for key in sorted(found):
            for relationship in found[key].relationships:
                result = self._statement(self._units[key], relationship, entity)
                if isinstance(result, Statement):
                    accepted.append(result)
                else:
                    self.rejected[result] += 1
        return list(dict.fromkeys(accepted))

    def _mention(self, unit: TextUnit, entity: FoundEntity) -> Mention | str:
        name, kind = shown_name(entity.name), entity.type.strip().upper().replace(" ", "_")
        if kind.startswith("SQL"):
            return "the type belongs to the catalog"
        if kind not in self._settings.entity_types:
            return "the type of the entity is not listed"
        if not name or len(name) > MAX_NAME:
            return "the name is missing or too long"
        if self._objects.is_object(name):
            return "a database object is no business entity"
        fault = self._fault(name, MAX_NAME, unit)
        if fault:
            return f"the name: {fault}"
        if not is_grounded(name, unit.words):
            return "the name does not stand in the text"
        description = clean(entity.description, _MOST + 1)
        fault = self._fault(description, _MOST, unit)
        if fault:
            return f"the description: {fault}"
        return Mention(unit.key, name, kind, clean(description, MAX_DESCRIPTION))

    def _statement(self, unit: TextUnit, told: FoundRelationship, entity: FindEntity) -> Statement | str:
        kind = told.type.strip().upper().replace(" ", "_")
        if kind in EDGE_TYPES:
            return "the type of the relationship belongs to the catalog"
        kind = kind if kind in BUSINESS_EDGE_TYPES else RELATED
        source, target = (self._end(unit, end, entity) for end in (told.source, told.target))
        if source is None or target is None:
            return "an end is neither an entity nor a database object"
        if source.is_object and target.is_object:
            return "both ends are database objects"
        if source == target:
            return "the relationship leads from an entity to itself"
        description = clean(told.description, _MOST + 1)
        fault = self._fault(description, _MOST, unit)
        if fault:
            return f"the description: {fault}"
        if source.is_object:
            # A database object records; it does not manage, supply or use anything.
            source, target, kind = target, source, kind if kind == RECORDED else RELATED
        elif kind in (_BETWEEN_BUSINESS if target.is_object else (RECORDED,)):
            kind = RELATED
        return Statement(unit.key, source.title, target.title, kind, clean(description, MAX_DESCRIPTION), told.weight)

    def _end(self, unit: TextUnit, name: str, entity: FindEntity) -> _End | None:
        """What a name means: an object by its full name, an entity, or the unit's own table or column by its last."""
        title = self._objects.title(name)
        if title is not None:
            return _End(title, True)
        business = entity(shown_name(name))
        if business is not None:
            return _End(business, False)
        if unit.table is None:
            return None
        own = str(unit.content["name"])
        is_table = name.casefold() == unit.table[1].casefold()
        title = self._objects.title(own if is_table else f"{own}.{name}")
        return None if title is None else _End(title, True)

    def _fault(self, text: str, limit: int, unit: TextUnit) -> str | None:
        """What is wrong with a text of the model, in words without the text."""

        def known() -> str:
            return "\n".join(leaves(dict(unit.content))).casefold()

        return "holds records or instructions" if is_hostile(text) else prose_fault(text, limit, known, self._guard)
