"""Human knowledge from a database file: its dbt `sources:` blocks and `relationships:`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dictionary_pipeline.config import dbt_tests
from dictionary_pipeline.config.dbt_tests import Malformed, Plain, Ref
from dictionary_pipeline.config.environment import render
from dictionary_pipeline.config.faults import did_you_mean, each, raise_all
from dictionary_pipeline.config.meta import column_meta, table_meta
from dictionary_pipeline.config.models import DatabaseFile, DatabaseRelationship
from dictionary_pipeline.config.resolved import HumanColumn, HumanKey, HumanKnowledge, HumanRelationship, HumanTable
from dictionary_pipeline.config.sources import Source, SourceColumn, SourceTable
from dictionary_pipeline.config.yamlfile import Document, Loc, scalar_text
from dictionary_pipeline.errors import ConfigurationError

IsForeign = Callable[[str], bool]
"""Whether a database name is certainly not the database that the file describes."""


@dataclass(frozen=True)
class Told:
    """What a file tells, and what its owner should be told about it."""

    knowledge: HumanKnowledge
    warnings: tuple[str, ...]


def read_knowledge(file: DatabaseFile, document: Document, is_foreign: IsForeign) -> Told:
    """Collect what people wrote into a database file.

    Raises:
        ConfigurationError: contradictions, unknown tables, malformed tests; all of them.
    """
    reader = _Reader(document, is_foreign)
    reader.read(file)
    raise_all(reader.errors)
    knowledge = HumanKnowledge(
        tuple(reader.tables), tuple(reader.keys), tuple(reader.relationships), tuple(reader.rejected)
    )
    return Told(knowledge, tuple(reader.warnings))


@dataclass(frozen=True)
class _Place:
    """A table of a source and where it stands."""

    source: str
    schema: str
    name: str
    """Name of the table in the database."""
    table: SourceTable
    loc: Loc


@dataclass
class _Reader:
    document: Document
    is_foreign: IsForeign
    places: list[_Place] = field(default_factory=list)
    schemas: dict[str, str] = field(default_factory=dict)
    """Source name -> schema."""
    foreign: set[str] = field(default_factory=set)
    """Names of skipped sources."""
    tables: list[HumanTable] = field(default_factory=list)
    keys: list[HumanKey] = field(default_factory=list)
    relationships: list[HumanRelationship] = field(default_factory=list)
    rejected: list[HumanRelationship] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[ConfigurationError] = field(default_factory=list)

    def read(self, file: DatabaseFile) -> None:
        for at, source in enumerate(file.sources):
            self._source(source, ("sources", at))
        self._refuse_repeated("table", [(f"{place.schema}.{place.name}", place.loc) for place in self.places])
        for place in self.places:
            self._table(place)
        self._given(file.relationships, "relationships", self.relationships)
        self._given(file.relationships_rejected, "relationships_rejected", self.rejected)

    def _given(self, items: Sequence[DatabaseRelationship], key: str, found: list[HumanRelationship]) -> None:
        for at, item in enumerate(items):
            loc: Loc = (key, at)
            child = self._resolve(item.from_, (*loc, "from"), None)
            parent = self._resolve(item.to, (*loc, "to"), None)
            if child and parent:
                origin = self.document.where(loc)
                found.append(HumanRelationship(*child, item.columns, *parent, item.to_columns, origin))

    def _source(self, source: Source, loc: Loc) -> None:
        try:
            database = self._rendered(source.database, (*loc, "database"))
            schema = self._rendered(source.schema_, (*loc, "schema")) or source.name
            names = [
                self._rendered(table.identifier, (*loc, "tables", at, "identifier")) or table.name
                for at, table in enumerate(source.tables)
            ]
        except ConfigurationError as error:
            self.errors += each(error)
            return
        if database is not None and self.is_foreign(database):
            self.foreign.add(source.name)
            place = self.document.where((*loc, "database"))
            self.warnings.append(f"{place}: the source {source.name!r} is of another database, {database!r}; skipped.")
            return
        self.schemas[source.name] = schema
        for at, (table, name) in enumerate(zip(source.tables, names, strict=True)):
            self.places.append(_Place(source.name, schema, name, table, (*loc, "tables", at)))

    def _rendered(self, text: str | None, loc: Loc) -> str | None:
        return None if text is None else scalar_text(render(text, self.document, loc))

    def _refuse_repeated(self, noun: str, named: list[tuple[str, Loc]]) -> None:
        first: dict[str, Loc] = {}
        for name, loc in named:
            if name in first:
                line = self.document.line(first[name])
                self._fault(loc, f"the {noun} {name!r} is already described in line {line}", "Merge the two.")
            first.setdefault(name, loc)

    def _table(self, place: _Place) -> None:
        table, loc = place.table, place.loc
        self._tests(place, self._each_test(table, loc), None)
        named: list[tuple[str, Loc]] = [(column.name, (*loc, "columns", at)) for at, column in enumerate(table.columns)]
        self._refuse_repeated("column", named)
        columns = tuple(self._column(place, column, at) for column, (_, at) in zip(table.columns, named, strict=True))
        meta = self._attempt((*loc, "meta"), lambda: table_meta(table.meta, self._warn_at((*loc, "meta"))))
        self.tables.append(
            HumanTable(
                schema=place.schema,
                table=place.name,
                description=self._description(table.description, (*loc, "description")),
                entity_name=meta.entity_name if meta else None,
                columns=columns,
                origin=self.document.where(loc),
                rejected=meta.rejected if meta else (),
                approval=meta.approval if meta else None,
                is_in_dbt=_is_doc(table.description),
            )
        )

    def _column(self, place: _Place, column: SourceColumn, loc: Loc) -> HumanColumn:
        tested = self._tests(place, self._each_test(column, loc), column.name)
        meta = self._attempt((*loc, "meta"), lambda: column_meta(column.meta, self._warn_at((*loc, "meta"))))
        stated = meta.allowed_values if meta else None
        return HumanColumn(
            name=column.name,
            description=self._description(column.description, (*loc, "description")),
            allowed_values=tested if stated is None else stated,
            allowed_values_origin="human" if stated is not None else "dbt" if tested is not None else None,
            value_synonyms=meta.value_synonyms if meta else {},
            rejected=meta.rejected if meta else (),
            approval=meta.approval if meta else None,
            is_in_dbt=_is_doc(column.description),
        )

    @staticmethod
    def _each_test(owner: SourceTable | SourceColumn, loc: Loc) -> Iterator[tuple[Any, Loc]]:
        for key in ("data_tests", "tests"):
            for at, raw in enumerate(getattr(owner, key)):
                yield raw, (*loc, key, at)

    def _tests(self, place: _Place, raw_tests: Iterator[tuple[Any, Loc]], column: str | None) -> tuple[Any, ...] | None:
        """Take the facts of a list of tests; the accepted values of `column` are returned."""
        accepted: tuple[Any, ...] | None = None
        for raw, at in raw_tests:
            fact = self._attempt(at, partial(_fact, raw, column))
            if isinstance(fact, dbt_tests.UniqueColumns):
                self.keys.append(HumanKey(place.schema, place.name, fact.columns))
            elif isinstance(fact, dbt_tests.Reference):
                parent = self._resolve(fact.to, at, place)
                if parent:
                    self._relate((place.schema, place.name), (fact.column,), parent, (fact.field,), at)
            elif isinstance(fact, dbt_tests.AcceptedValues):
                if fact.column == column:
                    accepted = fact.values
                else:
                    self._fault(at, f"'accepted_values' is about the column {fact.column!r}", "Move it to that column.")
        return accepted

    def _attempt(self, loc: Loc, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except Malformed as error:
            self._fault(loc, error.what, error.fix)
            return None

    def _resolve(self, text: str, loc: Loc, child: _Place | None) -> tuple[str, str] | None:
        """Schema and table that a reference means; null when it is unknown, which is then reported."""
        target = self._attempt(loc, lambda: dbt_tests.parse_target(text))
        if target is None:
            return None
        if isinstance(target, Plain) and target.schema is not None:
            return target.schema, target.table
        if isinstance(target, dbt_tests.SourceRef):
            return self._source_table(target, loc)
        name = target.name if isinstance(target, Ref) else target.table
        found = sorted({(place.schema, place.name) for place in self.places if name in (place.table.name, place.name)})
        same_schema = [pair for pair in found if child and pair[0] == child.schema]
        if len(found) == 1 or len(same_schema) == 1:
            return (same_schema or found)[0]
        if not found and child:
            return child.schema, name
        what = f"the table {name!r} is in several schemas" if found else f"the schema of the table {name!r} is missing"
        self._fault(loc, what, f"Write schema.{name}.")
        return None

    def _source_table(self, target: dbt_tests.SourceRef, loc: Loc) -> tuple[str, str] | None:
        for place in self.places:
            if (place.source, place.table.name) == target:
                return place.schema, place.name
        if target.source in self.foreign:
            return None
        if target.source in self.schemas:
            # A table that nobody has anything to say about need not be listed to be referred to.
            return self.schemas[target.source], target.table
        fix = did_you_mean(target.source, self.schemas, noun="sources")
        self._fault(loc, f"this file has no source {target.source!r}", fix)
        return None

    def _relate(
        self,
        child: tuple[str, str],
        columns: tuple[str, ...],
        parent: tuple[str, str],
        to_columns: tuple[str, ...],
        loc: Loc,
    ) -> None:
        origin = self.document.where(loc)
        self.relationships.append(HumanRelationship(*child, columns, *parent, to_columns, origin))

    def _description(self, text: str | None, loc: Loc) -> str | None:
        """The text, trimmed. A `doc()` block is only known to dbt, which puts its text into the manifest."""
        stripped = (text or "").strip()
        if _is_doc(stripped):
            place = self.document.where(loc)
            self.warnings.append(f"{place}: a description with {{{{ doc() }}}} is only read through 'dbt_manifest'.")
            return None
        return stripped or None

    def _warn_at(self, loc: Loc) -> Callable[[str, str], None]:
        def warn(key: str, text: str) -> None:
            self.warnings.append(f"{self.document.where((*loc, key))}: {text}")

        return warn

    def _fault(self, loc: Loc, what: str, fix: str) -> None:
        self.errors.append(self.document.error(loc, what, fix))


def _is_doc(description: str | None) -> bool:
    return description is not None and "{{" in description and "doc(" in description


def _fact(raw: Any, column: str | None) -> dbt_tests.Fact | None:
    test = dbt_tests.read_test(raw)
    return dbt_tests.interpret(test, column) if test else None
