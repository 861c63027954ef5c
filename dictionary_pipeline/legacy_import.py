"""Takes over what people edited in the files of another dictionary: a schema store and a value store.

Read are the JSON shape of the Text2SQL accelerator's data dictionary and this product's own, which
has the same keys: one file per entity, or one file with an array, and `.jsonl` files of values.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dictionary_pipeline import handover
from dictionary_pipeline.config.resolved import HumanColumn, HumanKnowledge, HumanRelationship, HumanTable
from dictionary_pipeline.human_yaml import HumanEdit
from dictionary_pipeline.import_files import Edited, find_files, wrong_file
from dictionary_pipeline.review import LastRun
from dictionary_pipeline.suggestions import did_you_mean

_MOST_SUGGESTIONS = 20
_Column = tuple[str, str, str]
_Link = tuple[str, str, tuple[str, ...], str, str, tuple[str, ...]]


@dataclass
class Imported:
    """What an import found."""

    entries: int = 0
    edits: list[HumanEdit] = field(default_factory=list)
    relationships: list[HumanRelationship] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    """One sentence per thing that finds no object in the database."""
    kept: list[str] = field(default_factory=list)
    """One sentence per thing about which people here already say something else."""
    counts: Counter[str] = field(default_factory=Counter)


def import_dictionary(path: Path, last: LastRun, human: HumanKnowledge) -> Imported:
    """Compare another dictionary with the last run; what differs there was edited.

    Of a kept hand edit, it is known what the file said before: a text that only the last run changed
    is none of its edits, and where the file said people's own words, their edit of them counts.

    Args:
        path: As for `import_files.find_files`.
        human: What people already say; it is never replaced.

    Raises:
        ConfigurationError: there is no such file, or one that is not JSON of that shape.
    """
    importer = _Importer(last, human)
    files = find_files(path, last.store)
    entries = list(files.entries())
    importer.found.entries = len(entries)
    malformed = False
    try:
        for entry in entries:
            importer.entry(entry.content, entry.base)
        importer.synonyms(files.value_lines())
    except (KeyError, TypeError, AttributeError):
        malformed = True
    if malformed:  # raised here, as the cause could quote values
        raise wrong_file(files.label, "an entry has not the shape of a data dictionary's")
    return importer.found


class _Importer:
    def __init__(self, last: LastRun, human: HumanKnowledge) -> None:
        self.found = Imported()
        self._tables = _Names(last.catalog.tables.select("schema", "table").iter_rows())
        columns: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
        for schema, table, column in last.catalog.columns.select("schema", "table", "column").iter_rows():
            columns[(schema, table)].append((column,))
        self._columns = {name: _Names(found) for name, found in columns.items()}
        definitions = handover.definitions_from(last.definitions)
        self._texts: dict[tuple[str, ...], str | None] = {
            **{(s, t): text for s, t, text in definitions.tables.select("schema", "table", "definition").iter_rows()},
            **{
                tuple(row[:3]): row[3]
                for row in definitions.columns.select("schema", "table", "column", "definition").rows()
            },
        }
        self._names = {
            (s, t): name for s, t, name in definitions.tables.select("schema", "table", "entity_name").iter_rows()
        }
        self._allowed = {
            (s, t, c): None if values is None else [json.loads(value) for value in values]
            for s, t, c, values in last.profiles.select("schema", "table", "column", "allowed_values").iter_rows()
        }
        self._keys = {
            (s, t, frozenset(columns)) for s, t, columns in last.graph.keys.select("schema", "table", "columns").rows()
        }
        self._links = _known_links(last, human)
        self._human = {(table.schema.casefold(), table.table.casefold()): table for table in human.tables}

    def entry(self, entry: Mapping[str, Any], base: Mapping[str, Any]) -> None:
        """Take over one table or view.

        Args:
            base: What it said before it was edited, as far as that is known.
        """
        said = f"{entry.get('Schema')}.{entry['Entity']}"
        name = self._tables.find((str(entry.get("Schema")), str(entry["Entity"])))
        if name is None:
            self.found.unmatched.append(f"{said}: {self._tables.hint(said)}")
            return
        schema, table = name
        people = self._human.get((schema.casefold(), table.casefold()), HumanTable(schema, table))
        text = self._news(said, "Definition", entry, base, self._texts.get(name), people.description)
        entity = self._news(said, "EntityName", entry, base, self._names.get(name), people.entity_name)
        if text or entity:
            self.found.edits.append(HumanEdit(schema, table, description=text, entity_name=entity))
        columns_before = {column["Name"]: column for column in base.get("Columns") or ()}
        for column in entry.get("Columns") or ():
            self._column((schema, table), said, column, columns_before.get(column["Name"], {}), people)
        for item in entry.get("EntityRelationships") or ():
            if item not in (base.get("EntityRelationships") or ()):
                self._relationship((schema, table), said, item)

    def _column(
        self, table: tuple[str, str], said: str, column: Mapping[str, Any], base: Mapping[str, Any], people: HumanTable
    ) -> None:
        said = f"{said}.{column['Name']}"
        found = self._columns[table].find((str(column["Name"]),)) if table in self._columns else None
        if found is None:
            self.found.unmatched.append(f"{said}: the table has no such column")
            return
        name = (*table, found[0])
        person = _column_of(people, found[0])
        text = self._news(said, "Definition", column, base, self._texts.get(name), person.description)
        before = base.get("AllowedValues")
        values = self._new_values(said, column.get("AllowedValues"), before, self._allowed.get(name), person)
        if text or values is not None:
            self.found.edits.append(HumanEdit(*name, description=text, allowed_values=values))

    def _news(
        self,
        said: str,
        noun: str,
        entry: Mapping[str, Any],
        base: Mapping[str, Any],
        current: str | None,
        person: str | None,
    ) -> str | None:
        """The text when it was edited, and nobody here has words of their own that the edited file did not show."""
        text, before = entry.get(noun), base.get(noun)
        given = text.strip() if isinstance(text, str) else ""
        if not given or given in ((current or "").strip(), person) or text == before:
            return None
        if person and person != before:
            self.found.kept.append(f"{said}: its {noun}")
            return None
        self.found.counts[noun] += 1
        return given

    def _new_values(
        self, said: str, values: Any, before: Any, current: list[Any] | None, person: HumanColumn
    ) -> tuple[Any, ...] | None:
        if not isinstance(values, list) or not values or values in (before, current):
            return None
        if any(isinstance(value, dict | list) for value in values):
            self.found.unmatched.append(f"{said}: AllowedValues must be plain values")
            return None
        if person.allowed_values is not None and list(person.allowed_values) != before:
            if list(person.allowed_values) != values:
                self.found.kept.append(f"{said}: its AllowedValues")
            return None
        self.found.counts["AllowedValues"] += 1
        return tuple(values)

    def synonyms(self, lines: Iterable[Edited]) -> None:
        """Take over synonyms of values."""
        words: dict[_Column, dict[str, tuple[str, ...]]] = defaultdict(dict)
        for line, base in lines:
            given = tuple(dict.fromkeys(str(word) for word in line.get("Synonyms") or ()))
            if not given or line.get("Value") is None or line.get("Synonyms") == base.get("Synonyms"):
                continue
            said = f"{line.get('Schema')}.{line.get('Entity')}.{line.get('Column')}"
            table = self._tables.find((str(line.get("Schema")), str(line.get("Entity"))))
            column = self._columns[table].find((str(line.get("Column")),)) if table in self._columns else None
            if table is None or column is None:
                self.found.unmatched.append(f"{said}: synonyms of a value of a column that is not there")
                continue
            people = self._human.get((table[0].casefold(), table[1].casefold()), HumanTable(*table))
            value, known = str(line["Value"]), _column_of(people, column[0]).value_synonyms
            if value not in known or list(known[value]) == base.get("Synonyms"):
                words[(*table, column[0])][value] = given
            elif tuple(known[value]) != given:
                self.found.kept.append(f"{said}: synonyms of a value")
        for name, values in words.items():
            self.found.counts["Synonyms"] += len(values)
            self.found.edits.append(HumanEdit(*name, value_synonyms=values))

    def _relationship(self, table: tuple[str, str], said: str, item: Mapping[str, Any]) -> None:
        """Take over a relationship; it is listed on both of its tables, turned round on one."""
        parent_said = f"{item.get('ForeignSchema')}.{item.get('ForeignEntity')}"
        parent = self._tables.find((str(item.get("ForeignSchema")), str(item.get("ForeignEntity"))))
        pairs = [(str(pair["Column"]), str(pair["ForeignColumn"])) for pair in item.get("ForeignKeys") or ()]
        if parent is None or table not in self._columns or parent not in self._columns:
            self.found.unmatched.append(f"{said} -> {parent_said}: {self._tables.hint(parent_said)}")
            return
        own = [self._columns[table].find((pair[0],)) for pair in pairs]
        other = [self._columns[parent].find((pair[1],)) for pair in pairs]
        columns = tuple(found[0] for found in own if found)
        to_columns = tuple(found[0] for found in other if found)
        if not pairs or len(columns) < len(pairs) or len(to_columns) < len(pairs):
            self.found.unmatched.append(f"{said} -> {parent_said}: a column of this relationship is not there")
            return
        for link in self._single_keys((*table, columns, *parent, to_columns)):
            if link in self._links or _turned(link) in self._links:
                continue
            if self._is_key(link[0], link[1], link[2]) and not self._is_key(link[3], link[4], link[5]):
                link = _turned(link)
            self._links.add(link)
            self.found.counts["EntityRelationships"] += 1
            self.found.relationships.append(HumanRelationship(*link))

    def _single_keys(self, link: _Link) -> list[_Link]:
        """The other dictionary lists all keys between two tables as one; each pair that is known is its own."""
        if link in self._links or _turned(link) in self._links or len(link[2]) == 1:
            return [link]
        if self._is_key(link[0], link[1], link[2]) or self._is_key(link[3], link[4], link[5]):
            return [link]
        return [(*link[:2], (a,), *link[3:5], (b,)) for a, b in zip(link[2], link[5], strict=True)]

    def _is_key(self, schema: str, table: str, columns: tuple[str, ...]) -> bool:
        return (schema, table, frozenset(columns)) in self._keys


class _Names:
    """Names by exact spelling, else in another case where only one has it."""

    def __init__(self, names: Iterable[tuple[str, ...]]) -> None:
        self._exact = dict.fromkeys(names)
        self._folded: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
        for name in self._exact:
            self._folded[tuple(part.casefold() for part in name)].append(name)
        self._hints = 0

    def find(self, name: tuple[str, ...]) -> Any:
        if name in self._exact:
            return name
        found = self._folded.get(tuple(part.casefold() for part in name), [])
        return found[0] if len(found) == 1 else None

    def hint(self, said: str) -> str:
        """Looking for similar names compares with every name, so only the first ones are looked up."""
        self._hints += 1
        pool = map(".".join, self._exact) if self._hints <= _MOST_SUGGESTIONS else ()
        return f"the database has no such table. {did_you_mean(said, pool, 'It may have been dropped.')}"


def _turned(link: _Link) -> _Link:
    return (*link[3:], *link[:3])


def _known_links(last: LastRun, human: HumanKnowledge) -> set[_Link]:
    links = last.graph.relationships.filter("accepted")
    names = ("from_schema", "from_table", "from_columns", "to_schema", "to_table", "to_columns")
    known: set[_Link] = {
        (s, t, tuple(columns), to_s, to_t, tuple(to_columns or ()))
        for s, t, columns, to_s, to_t, to_columns in links.select(names).iter_rows()
    }
    for item in (*human.relationships, *human.rejected):
        known.add(
            (item.from_schema, item.from_table, item.from_columns, item.to_schema, item.to_table, item.to_columns)
        )
    return known


def _column_of(table: HumanTable, name: str) -> HumanColumn:
    return next((column for column in table.columns if column.name.casefold() == name.casefold()), HumanColumn(name))
