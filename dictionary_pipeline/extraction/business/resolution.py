"""Entity resolution: which names of business entities mean the same thing, and what it is then called.

Only names that occur are compared, and only with each other: case, plural, legal forms of companies,
and the aliases that people gave. Whatever order the texts come in, the result is the same.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dictionary_pipeline.extraction.business.names import name_key, title_of
from dictionary_pipeline.extraction.business.validation import Mention

_NAME = re.compile(r"[\w&'’\- ]+")
_MAX_WORDS = 4
_NO_COMPANIES = frozenset(("PERSON", "GEO", "FACILITY", "PROCESS", "PRODUCT", "EVENT", "METRIC"))
"""Types of which no two names are one for a legal form: a hotel spa is no hotel, and insurance no insurance company."""


class Resolved(NamedTuple):
    """One business entity."""

    title: str
    name: str
    """As most texts write it, or as people want it."""
    type: str
    mentions: tuple[Mention, ...]
    """Sorted."""


class Conflict(NamedTuple):
    """An entity to which texts give several types."""

    title: str
    chosen: str
    types: str
    """Every type with the number of texts that give it."""


class Resolution(NamedTuple):
    """All business entities by title, and how names lead to them."""

    entities: tuple[Resolved, ...]
    conflicts: tuple[Conflict, ...]
    by_key: Mapping[str, str]
    """Key of a name -> title."""

    def title(self, name: str) -> str | None:
        """Title of the entity of a name, or null."""
        return self.by_key.get(name_key(name, with_form=True)) or self.by_key.get(name_key(name)) if name else None


def resolve(mentions: Iterable[Mention], aliases: Mapping[str, Sequence[str]], types: Sequence[str]) -> Resolution:
    """Group mentions that mean the same entity.

    Args:
        aliases: Name -> other names of the same entity.
        types: All types; of two that as many texts give, the first counts.
    """
    preferred = {name_key(other): name for name, others in sorted(aliases.items()) for other in (*others, name)}
    mentions = list(mentions)
    apart = _told_apart_by_form(mentions) - preferred.keys()

    def key_of(name: str) -> str:
        return name_key(name, with_form=name_key(name) in apart)

    groups: dict[str, list[Mention]] = defaultdict(list)
    for mention in mentions:
        groups[_followed(key_of(mention.name), preferred)].append(mention)
    entities, conflicts = [], []
    by_key: dict[str, str] = {}
    for key, group in groups.items():
        name = preferred.get(key) or _most_common(group)
        kinds = Counter({kind: len({m.unit for m in group if m.type == kind}) for kind in {m.type for m in group}})
        chosen = min(kinds, key=lambda kind: (-kinds[kind], types.index(kind)))
        title = title_of(name)
        entities.append(Resolved(title, name, chosen, tuple(sorted(set(group)))))
        by_key |= dict.fromkeys((key, *(key_of(mention.name) for mention in group)), title)
        if len(kinds) > 1:
            listed = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
            conflicts.append(Conflict(title, chosen, listed))
    return Resolution(tuple(sorted(entities)), tuple(sorted(conflicts)), by_key)


def _told_apart_by_form(mentions: Iterable[Mention]) -> set[str]:
    """Keys of names that mean one thing with a legal form behind them and another without, as their types show."""
    plain, formed = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for mention in mentions:
        key = name_key(mention.name)
        (plain if name_key(mention.name, with_form=True) == key else formed)[key].add(mention.type)
    return {key for key, types in formed.items() if key in plain and not (types & plain[key]) - _NO_COMPANIES}


def glossary_aliases(glossary: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Terms of a glossary that stand for a name, such as `SKU: stock keeping unit`; explanations are none."""
    found: dict[str, list[str]] = defaultdict(list)
    for term, meaning in sorted(glossary.items()):
        if _NAME.fullmatch(meaning.strip()) and len(meaning.split()) <= _MAX_WORDS:
            found[meaning.strip()].append(term)
    return {name: tuple(terms) for name, terms in found.items()}


def _followed(key: str, preferred: Mapping[str, str]) -> str:
    """The key at the end of a chain of aliases; a chain only leads to names that come later, so it ends."""
    while key in preferred and name_key(preferred[key]) != key:
        key = name_key(preferred[key])
    return key


def _most_common(group: Sequence[Mention]) -> str:
    """The spelling of most texts; of equals the shortest, then the first by alphabet."""
    counts = Counter(name for name, _ in {(mention.name, mention.unit) for mention in group})
    return min(counts, key=lambda name: (-counts[name], len(name), name))
