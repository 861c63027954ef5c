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
        if self._guard.matches(name):
            return "the name holds a value of a withheld column"
        if is_hostile(name) or prose_fault(name, MAX_NAME, lambda: "", self._guard):
            return "the name holds markup, a link or an instruction"
        if not is_grounded(name, unit.words):
            return "the name does not stand in the text"
        description, fault = self._prose(unit, entity.description)
        return f"the description {fault}" if fault else Mention(unit.key, name, kind, description)

    def _statement(self, unit: TextUnit, told: FoundRelationship, entity: FindEntity) -> Statement | str:
        kind = told.type.strip().upper().replace(" ", "_")
        if kind in EDGE_TYPES:
            return "the type of the relationship belongs to the catalog"
        kind = kind if kind in BUSINESS_EDGE_TYPES else RELATED
        ends = [(self._objects.title(end), entity(shown_name(end))) for end in (told.source, told.target)]
        if any(title is None and business is None for title, business in ends):
            return "an end is neither an entity nor a database object"
        (source, source_entity), (target, target_entity) = ends
        if source is not None and target is not None:
            return "both ends are database objects"
        one, other = source or str(source_entity), target or str(target_entity)
        if one == other:
            return "the relationship leads from an entity to itself"
        description, fault = self._prose(unit, told.description)
        if fault:
            return f"the description {fault}"
        if source is not None:
            # A database object records; it does not manage, supply or use anything.
            one, other, kind = other, one, kind if kind == RECORDED else RELATED
        elif target is None and kind == RECORDED:
            kind = RELATED
        return Statement(unit.key, one, other, kind, description, told.weight)

    def _prose(self, unit: TextUnit, text: str) -> tuple[str, str | None]:
        """A cleaned description, and what is wrong with it."""
        plain = clean(text, _MOST + 1)

        def known() -> str:
            return "\n".join(leaves(dict(unit.content))).casefold()

        fault = "holds records of its own" if is_hostile(plain) else prose_fault(plain, _MOST, known, self._guard)
        return clean(plain, MAX_DESCRIPTION), f"is {fault}" if fault and fault.startswith("longer") else fault
