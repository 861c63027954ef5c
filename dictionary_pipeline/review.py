"""Texts that no person has approved yet, in the order in which looking at them pays most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import polars as pl

from dictionary_pipeline import handover
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge
from dictionary_pipeline.drift.reading import published_entries
from dictionary_pipeline.drift.record import Entry
from dictionary_pipeline.enrichment import human_text
from dictionary_pipeline.enrichment.approved import stale_approvals, structure_hashes
from dictionary_pipeline.enrichment.human_text import Approved, ObjectName
from dictionary_pipeline.enrichment.rejected import is_rejected, rejected_texts, text_hash
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.handover import DEFINITIONS, RELATIONS, SAMPLES, SNAPSHOT
from dictionary_pipeline.human_yaml import HumanEdit
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.state import StageState, load_stage
from dictionary_pipeline.store import Store
from dictionary_pipeline.writing import MODEL_STATE

Kind = Literal["entity_name", "definition", "column"]
_CONFIDENCE = {"low": 0, "medium": 1, None: 2, "high": 3}
"""What is looked at first; derived texts have no confidence of their own."""
_KINDS = {"definition": 0, "entity_name": 1, "column": 2}
_MOST_VALUES = 12
_MOST_CHANGES = 5


@dataclass(frozen=True)
class Draft:
    """A published text that no person has written or approved, or whose object changed since it was approved."""

    schema: str
    table: str
    column: str | None
    kind: Kind
    text: str
    origin: Literal["model", "derived"]
    confidence: str | None
    """high, medium or low, as the model says; null for derived texts."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What is known about the object, for people."""
    structure: str | None = None
    """Hash of the object's structure, noted down with an approval."""
    stale: bool = False
    """It was approved for another structure."""

    @property
    def name(self) -> str:
        """The object, for people."""
        return ".".join(part for part in (self.schema, self.table, self.column) if part is not None)

    @property
    def hash(self) -> str:
        """What a rejection is kept under: of the text, so that another text is proposed again."""
        return text_hash(self.text)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        names = ("schema", "table", "column", "kind", "text", "origin", "confidence", "hash", "stale")
        return {**{name: getattr(self, name) for name in names}, "facts": dict(self.facts)}

    def accepted(self, text: str | None = None) -> HumanEdit:
        """The edit that makes it a person's word.

        Args:
            text: What the person wrote instead; then it is not marked as approved.
        """
        edit = HumanEdit(self.schema, self.table, self.column)
        if text is None:
            edit = replace(edit, approved_from=self.origin, approved_for=self.structure)
            if self.stale:  # the text is there already
                return edit
        said = self.text if text is None else text
        return replace(edit, entity_name=said) if self.kind == "entity_name" else replace(edit, description=said)

    def rejected(self) -> HumanEdit:
        """The edit that keeps it from being proposed, or published, again."""
        edit = HumanEdit(self.schema, self.table, self.column, rejected=(self.hash,))
        if not self.stale:
            return edit
        return replace(edit, withdrawn="entity_name" if self.kind == "entity_name" else "description")


@dataclass(frozen=True)
class LastRun:
    """What the last run of a database left."""

    catalog: Catalog
    graph: RelationshipGraph
    definitions: StageState
    profiles: pl.DataFrame
    store: Store
    """The database's; only read."""


def last_run(store: Store, name: str) -> LastRun:
    """Read what the last run left.

    Raises:
        ConfigurationError: there was none.
        StoreError: the store cannot be read.
    """
    states = [load_stage(store, stage) for stage in (SNAPSHOT, RELATIONS, DEFINITIONS, SAMPLES)]
    found = [state for state in states if state is not None]
    if len(found) < len(states):
        raise ConfigurationError(
            f"there is no finished run of {name} yet", where=store.location, fix=f"Run `data_dictionary run {name}`."
        )
    snapshot, relations, definitions, samples = found
    return LastRun(
        handover.catalog_from(snapshot),
        handover.relations_from(relations),
        definitions,
        handover.samples_from(samples).profiles,
        store,
    )


def list_drafts(run: LastRun, human: HumanKnowledge) -> list[Draft]:
    """Texts to review: approved ones of objects that changed, then the model's where one wrote, else derived ones.

    Most referred-to tables come first; within a table what the model is least sure of.

    Args:
        human: As the configuration says now, which may be more than the last run knew.

    Raises:
        StoreError: the published drift log cannot be read.
    """
    spoken, rejected = _spoken(run.catalog, human), rejected_texts(human)
    facts = _Facts(run)
    found = [
        draft
        for draft in _drafts(run, facts)
        if (draft.kind == "entity_name", (draft.schema, draft.table, draft.column)) not in spoken
        and not is_rejected(rejected, draft.schema, draft.table, draft.column, draft.text)
    ]
    ordinals = {(s, t, c): at for at, (s, t, c) in enumerate(run.catalog.columns.select(_COLUMN).iter_rows())}

    def order(draft: Draft) -> tuple[Any, ...]:
        importance = facts.degree[(draft.schema, draft.table)]
        at = ordinals.get((draft.schema, draft.table, draft.column or ""), -1)
        place = (-importance, draft.schema, draft.table)
        return not draft.stale, *place, _CONFIDENCE[draft.confidence], _KINDS[draft.kind], at

    structures = structure_hashes(run.catalog)
    drafts = [*_stale_drafts(run, human, facts), *found]
    named = [(draft, (draft.schema, draft.table, draft.column)) for draft in drafts]
    # A run that died behind its first stage left texts of objects that are gone.
    noted = [replace(draft, structure=structures[name]) for draft, name in named if name in structures]
    return sorted(noted, key=order)


def _stale_drafts(run: LastRun, human: HumanKnowledge, facts: _Facts) -> Iterator[Draft]:
    stale = stale_approvals(run.catalog, human)
    changes = _recorded_changes(published_entries(run.store), stale) if stale else {}
    for item in stale:
        about = facts.table(item.schema, item.table)
        if item.column is not None:
            about = facts.column(item.schema, item.table, item.column)
        why = {"last_changes": "; ".join(changes[item.object]) or "none in the drift log"}
        kind: Kind = "column" if item.column else "definition" if item.definition else "entity_name"
        if kind == "definition" and item.entity_name:
            why["entity_name"] = item.entity_name
        text = item.definition or item.entity_name or ""
        origin = cast(Literal["model", "derived"], item.origin)
        yield Draft(item.schema, item.table, item.column, kind, text, origin, None, {**why, **about}, stale=True)


def _recorded_changes(log: Sequence[Entry], stale: Sequence[Approved]) -> dict[ObjectName, list[str]]:
    """The newest changes of each object in the drift log, in words."""
    found: dict[ObjectName, list[str]] = {item.object: [] for item in stale}
    for entry in reversed(log):
        for place in ((entry.schema, entry.table, None), (entry.schema, entry.table, entry.column)):
            if place in found and len(found[place]) < _MOST_CHANGES:
                found[place].append(_change(entry))
    return found


def _change(entry: Entry) -> str:
    values = f" ({entry.before or 'nothing'} -> {entry.after or 'nothing'})" if entry.before or entry.after else ""
    about = entry.column or entry.name
    return f"{entry.detected_at[:10]} {entry.kind}{f' {about}' if about else ''}{values}"


_TABLE = ["schema", "table"]
_COLUMN = [*_TABLE, "column"]


def _drafts(run: LastRun, facts: _Facts) -> Iterator[Draft]:
    texts = run.definitions.frames.get(MODEL_STATE)
    rows = [] if texts is None else texts.filter(pl.col("text").is_not_null()).rows()
    confidence = {(kind, schema, table, column): sure for schema, table, column, kind, _, sure in rows}
    origins: tuple[Literal["model", "derived"], ...] = ("model",) if rows else ("derived",)
    definitions = handover.definitions_from(run.definitions)
    for schema, table, name, name_origin, text, origin in definitions.tables.iter_rows():
        about = facts.table(schema, table)
        # A derived name is the table's own, split into words: nothing to judge.
        for kind, said, source in (("entity_name", name, name_origin), ("definition", text, origin)):
            if source in origins and said and (kind == "definition" or source == "model"):
                sure = confidence.get((kind, schema, table, None))
                yield Draft(schema, table, None, kind, said, source, sure, about)  # type: ignore[arg-type]
    for schema, table, column, text, origin in definitions.columns.iter_rows():
        if origin in origins and text:
            sure = confidence.get(("column", schema, table, column))
            yield Draft(schema, table, column, "column", text, origin, sure, facts.column(schema, table, column))


def _spoken(catalog: Catalog, human: HumanKnowledge) -> set[tuple[bool, ObjectName]]:
    """What people have words for: whether it is the entity name, and the object."""
    people = human_text.match(catalog, human)
    tables = people.tables.select(_TABLE).iter_rows()
    named = people.entity_names.select(_TABLE).iter_rows()
    columns = people.columns.select(_COLUMN).iter_rows()
    in_dbt: list[ObjectName] = [(table.schema, table.table, None) for table in human.tables if table.is_in_dbt]
    in_dbt += [(t.schema, t.table, column.name) for t in human.tables for column in t.columns if column.is_in_dbt]
    return {
        *((False, name) for name in in_dbt),
        *((False, (schema, table, None)) for schema, table in tables),
        *((True, (schema, table, None)) for schema, table in named),
        *((False, (schema, table, column)) for schema, table, column in columns),
    }


class _Facts:
    """What a person needs in order to judge a text."""

    def __init__(self, run: LastRun) -> None:
        links = run.graph.relationships.filter("accepted").select(
            "from_schema", "from_table", "from_columns", "to_schema", "to_table", "to_columns"
        )
        self.degree: Counter[tuple[str, str]] = Counter()
        self._references: dict[tuple[str, str], list[str]] = {}
        self._of_column: dict[tuple[str, str, str], str] = {}
        for schema, table, columns, to_schema, to_table, to_columns in links.iter_rows():
            self.degree[(schema, table)] += 1
            self.degree[(to_schema, to_table)] += 1
            target = f"{to_schema}.{to_table}({', '.join(to_columns or ())})"
            self._references.setdefault((schema, table), []).append(f"{', '.join(columns)} -> {target}")
            for column in columns:
                self._of_column[(schema, table, column)] = target
        self._roles = {(s, t): role for s, t, role in run.graph.roles.select(*_TABLE, "role").iter_rows()}
        self._keys = {
            (s, t): columns
            for s, t, kind, columns in run.graph.keys.select(*_TABLE, "kind", "columns").iter_rows()
            if kind == "primary"
        }
        self._types = {
            tuple(row[:3]): row[3:] for row in run.catalog.columns.select(*_COLUMN, "data_type", "is_nullable").rows()
        }
        # Only what is published as well: withheld columns have neither samples nor values.
        shown = run.profiles.filter(status="ok").select(*_COLUMN, "samples", "allowed_values").rows()
        self._values = {(s, t, c): (samples, allowed) for s, t, c, samples, allowed in shown}

    def table(self, schema: str, table: str) -> dict[str, str]:
        place = (schema, table)
        return _said(
            role=self._roles.get(place),
            key=", ".join(self._keys.get(place, ())),
            references="; ".join(self._references.get(place, ())),
            relationships=str(self.degree[place]),
        )

    def column(self, schema: str, table: str, column: str) -> dict[str, str]:
        name = (schema, table, column)
        data_type, nullable = self._types.get(name, (None, None))
        samples, allowed = self._values.get(name, (None, None))
        return _said(
            type=f"{data_type}{' not null' if nullable is False else ''}" if data_type else None,
            key="primary" if column in self._keys.get((schema, table), ()) else None,
            refers_to=self._of_column.get(name),
            values=_listed(allowed),
            samples=_listed(samples) if not allowed else None,
        )


def _listed(values: Iterable[str] | None) -> str:
    return ", ".join(list(values or ())[:_MOST_VALUES])


def _said(**facts: str | None) -> dict[str, str]:
    return {name: text for name, text in facts.items() if text}
