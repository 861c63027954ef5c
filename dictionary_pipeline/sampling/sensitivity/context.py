"""What the table around a column is about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from dictionary_pipeline.sampling.sensitivity import names, vocabulary

Subject = Literal["person", "organisation", "thing", "infrastructure", "animal", "lookup", "unknown"]

_SUBJECTS: tuple[tuple[Subject, str], ...] = (
    ("lookup", "LOOKUP"),
    ("animal", "ANIMAL"),
    ("person", "PERSON"),
    ("organisation", "ORGANISATION"),
    ("infrastructure", "INFRASTRUCTURE"),
    ("thing", "THING"),
)
_PERSONAL = frozenset(["DATE_OF_BIRTH", "US_SSN", "NATIONAL_ID", "SALARY", "DEMOGRAPHIC"])


@dataclass(frozen=True)
class TableContext:
    """What a table is about, judged by its name and the names of its columns."""

    words: frozenset[str]
    """Of the table's name."""
    around: frozenset[str]
    """Of the table's and all columns' names."""
    subject: Subject
    has_person_columns: bool
    """A first name, birth date, gender or the like stands beside the column."""
    categories: frozenset[str]
    """That the names of the other columns tell."""

    @property
    def is_about_people(self) -> bool:
        """Whether rows are persons, or carry what only persons have."""
        if self.subject == "person":
            return True
        return self.has_person_columns and self.subject not in ("animal", "lookup")

    def speaks_of(self, section: str) -> bool:
        """Whether the table's own name has a word of a section."""
        return not vocabulary.words()[section].isdisjoint(self.words)

    def surrounds(self, section: str) -> bool:
        """Whether the table's name or a column beside has a word of a section."""
        return not vocabulary.words()[section].isdisjoint(self.around)


@lru_cache(maxsize=16_384)
def read_table(table: str, siblings: tuple[str, ...]) -> TableContext:
    """Read a table's name and the names of its columns."""
    words = names.split(table)
    readings = [names.read_name(name) for name in siblings]
    around = frozenset(words).union(*(reading.words for reading in readings))
    told = [signal for reading in readings for signal in reading.signals[:1] if signal.strong]
    person_names = any(signal.category == "PERSON" and "contact" not in signal.phrase for signal in told)
    attributes = any(reading.any_of("PERSON_ATTRIBUTE") for reading in readings)
    has_person_columns = person_names or attributes or any(signal.category in _PERSONAL for signal in told)
    subject = _subject(words)
    if subject in ("thing", "unknown") and not has_person_columns:
        subject = "organisation" if any(reading.any_of("ORGANISATION_ATTRIBUTE") for reading in readings) else subject
    return TableContext(
        words=frozenset(words),
        around=around,
        subject=subject,
        has_person_columns=has_person_columns,
        categories=frozenset(signal.category for signal in told),
    )


def _subject(words: tuple[str, ...]) -> Subject:
    sections = vocabulary.words()
    told = [word for word in words if word not in sections["TABLE_NOISE"]] or list(words)
    if told and told[0] in sections["HARMLESS_LEAD"]:
        return "lookup"
    for word in reversed(told):
        for subject, section in _SUBJECTS:
            if word in sections[section]:
                return subject
    return "unknown"
