"""The texts that business entities are drawn from, each with a key that its records cite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import polars as pl

from dictionary_pipeline import jsontext
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.enrichment.definitions import Definitions
from dictionary_pipeline.enrichment.facts import TableName
from dictionary_pipeline.enrichment.model.texts import COMMENT_LENGTH, NAME_LENGTH, Guard, clean, without_telling_words
from dictionary_pipeline.extraction.business.chunks import MAX_TEXT, cut, packed
from dictionary_pipeline.extraction.business.hostile import harmless, harmless_lines, is_hostile
from dictionary_pipeline.extraction.business.names import stems_of, word_set
from dictionary_pipeline.extraction.nodes import Nodes

GLOSSARY = "glossary"
_MAX_DEFINITION = 1_000
_MAX_COLUMN = 300
_MAX_TABLES = 20
_TOLD = ("human", "database", "inherited", "model")
"""Sources of definitions that say more than names and keys do."""
_TABLE = ["schema", "table"]

Kind = Literal["table", "view", "glossary", "document"]


@dataclass(frozen=True)
class TextUnit:
    """One text that the model reads."""

    key: str
    """Title of the table or view, else `glossary` or the document's path with a place in it."""
    kind: Kind
    document: str
    content: Mapping[str, Any]
    """What is sent, as JSON."""
    table: TableName | None = None
    """Of a table or view."""

    @property
    def text(self) -> str:
        """What is published of a unit that is neither table nor view."""
        return str(self.content.get("text", ""))

    @property
    def size(self) -> int:
        """Characters that are sent."""
        return len(jsontext.compact(self.content))

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word that is sent: a name made of other words is the model's invention."""
        return word_set(jsontext.leaves(dict(self.content)))


@dataclass(frozen=True)
class Privacy:
    """What may not be sent."""

    guard: Guard
    guarded: frozenset[TableName]
    """Tables with withheld columns: values that are never read cannot be recognised in a text."""

    def safe(self, text: str, table: TableName | None) -> str:
        """The text without what a withheld column may hold.

        Args:
            table: What the text is about; null: anything.
        """
        concerned = bool(self.guarded) if table is None else table in self.guarded
        return self.masked(without_telling_words(text) if concerned else text)

    def masked(self, text: str) -> str:
        """The text without known values; once more where cleaning may have put one together."""
        return self.guard.masked(text, "***")


def privacy_of(sensitivity: pl.DataFrame, guard: Guard) -> Privacy:
    """What `frames.SENSITIVITY` and the guard keep back."""
    hidden = sensitivity.filter(pl.col("treatment") != "allow").select(_TABLE).unique()
    return Privacy(guard, frozenset((schema, table) for schema, table in hidden.iter_rows()))


def table_units(catalog: Catalog, nodes: Nodes, definitions: Definitions, privacy: Privacy) -> Iterator[TextUnit]:
    """A unit for every table and view of which somebody said something, in the order of their titles.

    Definitions that only spell out names and keys are no text: the exact part has these facts.
    """
    told = pl.col("definition_source").is_in(_TOLD) & pl.col("definition").is_not_null()
    texts = {
        (schema, table): text
        for schema, table, text in definitions.tables.filter(told).select(*_TABLE, "definition").iter_rows()
    }
    comments = {
        (schema, table): text
        for schema, table, text in catalog.tables.select(*_TABLE, "comment").drop_nulls("comment").iter_rows()
    }
    columns: dict[TableName, list[tuple[str, str]]] = defaultdict(list)
    ordered = catalog.columns.select(*_TABLE, "column", "ordinal").join(
        definitions.columns.filter(told), on=[*_TABLE, "column"], maintain_order="left"
    )
    for schema, table, column, text in (
        ordered.sort(*_TABLE, "ordinal").select(*_TABLE, "column", "definition").iter_rows()
    ):
        columns[schema, table].append((column, text))
    own = nodes.tables.filter(~pl.col("is_stub")).select(*_TABLE, "title", "qualified", "type")
    for schema, table, title, qualified, kind in own.sort("title").iter_rows():
        name = (schema, table)
        content = _table_content(name, qualified, texts.get(name), comments.get(name), columns[name], privacy)
        if len(content) > 1 and not is_hostile(qualified):
            yield TextUnit(title, "view" if kind == "SQLVIEW" else "table", title, content, name)


def _table_content(
    name: TableName,
    qualified: str,
    definition: str | None,
    comment: str | None,
    columns: Sequence[tuple[str, str]],
    privacy: Privacy,
) -> dict[str, Any]:
    def sent(text: str | None, limit: int) -> str:
        return privacy.masked(harmless(privacy.safe(text, name), limit)) if text else ""

    content: dict[str, Any] = {"name": clean(qualified, 3 * NAME_LENGTH)}
    told = {"definition": sent(definition, _MAX_DEFINITION)}
    if comment != definition:
        told["comment"] = sent(comment, COMMENT_LENGTH)
    content |= {key: text for key, text in told.items() if text}
    described: dict[str, str] = {}
    room = MAX_TEXT
    for column, text in columns:
        shown, short = clean(column, NAME_LENGTH), sent(text, _MAX_COLUMN)
        room -= len(shown) + len(short)
        if room < 0:
            break
        if short and not is_hostile(column):
            described[shown] = short
    return content | ({"columns": described} if described else {})


def glossary_units(glossary: Mapping[str, str], privacy: Privacy) -> Iterator[TextUnit]:
    """Terms and their meanings in alphabetical order, as many as fit into one unit together."""
    lines = []
    for term, meaning in sorted(glossary.items()):
        line = privacy.masked(harmless(privacy.safe(f"{term}: {meaning}", None), MAX_TEXT))
        if line:
            lines.append(line)
    for number, text in enumerate(packed(lines, "\n"), start=1):
        key = GLOSSARY if number == 1 else f"{GLOSSARY} {number}"
        yield TextUnit(key, "glossary", GLOSSARY, {"text": text})


def document_units(documents: Sequence[tuple[str, str]], nodes: Nodes, privacy: Privacy) -> Iterator[TextUnit]:
    """A unit for every chunk of every document, with the names of tables that it may be about.

    Args:
        documents: Path and text.
    """
    own = nodes.tables.filter(~pl.col("is_stub")).sort("title").select("table", "qualified")
    tables = [(stems_of(table), qualified) for table, qualified in own.iter_rows() if not is_hostile(qualified)]
    for path, document in documents:
        for place, chunk in cut(privacy.safe(document, None)):
            text = privacy.masked(harmless_lines(chunk))
            if text:
                content = {"document": clean(path, 200), "text": text}
                listed = _mentioned(word_set([text]), tables)
                yield TextUnit(f"{path}#{place}", "document", path, content | ({"tables": listed} if listed else {}))


def _mentioned(found: frozenset[str], tables: Sequence[tuple[frozenset[str], str]]) -> list[str]:
    """Tables whose name is made of words of a text, plural or not."""
    listed = (clean(name, 3 * NAME_LENGTH) for stems, name in tables if stems and stems <= found)
    return list(islice(listed, _MAX_TABLES))
