"""Documents of the indexes, made from the published files.

What is withheld cannot be in them: it is not in the bundle. A document's key begins with the name of its
database, so that databases whose tables have the same names can share an index.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.publishing import schema_store, value_store
from dictionary_pipeline.publishing.reading import PublishedBundle
from dictionary_pipeline.publishing.search.indexes import OWNER, OWNER_KEY

_ENGINE_FIELDS = ("Database", "Warehouse", "Catalog")
_RELATIONSHIP = ("ForeignEntity", "ForeignSchema", "ForeignWarehouse", "ForeignCatalog", "ForeignDatabase")
_MOST_OBJECTS = 3_000
"""Elements of all complex collections of a document: a limit of the service."""
_KEY_HEX = 32


class Document(NamedTuple):
    """One document, without what changes although nothing changed: its date and its vector."""

    key: str
    hash: str
    """Equal hashes: equal documents."""
    body: dict[str, Any]
    about: str
    """The table or column, for messages: a value is never shown."""

    @property
    def definition(self) -> str | None:
        """The text that a vector stands for."""
        return self.body.get("Definition")


def is_entity_file(path: str) -> bool:
    """Whether a file of a bundle holds entries."""
    return path.startswith(f"{schema_store.FOLDER}/")


def is_value_file(path: str) -> bool:
    """Whether a file of a bundle holds values of a column."""
    return path.startswith(f"{value_store.FOLDER}/")


def documents_of(bundle: PublishedBundle, path: str) -> Iterator[Document]:
    """Documents of one file, in its order."""
    database, content = bundle.manifest.database, bundle.read(path)
    if is_value_file(path):
        for line in content.decode().split("\n")[:-1]:  # `splitlines` also splits at signs within values
            yield value_document(json.loads(line), database)
        return
    found = json.loads(content)
    for entry in found if isinstance(found, list) else [found]:
        yield entity_document(entry, database)


def key_range(database: str) -> tuple[str, str]:
    """Keys of a database's documents are at least the first and less than the second.

    No database name holds `=`, so no range holds keys of a database with a longer name; `>` follows it.
    """
    return f"{database}=", f"{database}>"


def entity_document(entry: dict[str, Any], database: str) -> Document:
    """The document of a schema-store entry."""
    room = _MOST_OBJECTS - min(len(entry["Columns"]), _MOST_OBJECTS)
    columns = entry["Columns"][:_MOST_OBJECTS]
    hashed = hashlib.sha256(jsontext.canonical([entry["FQN"]])).hexdigest()[:_KEY_HEX]
    body = {
        "FQN": entry["FQN"],
        "EntityName": entry["EntityName"],
        "Entity": entry["Entity"],
        "Schema": entry["Schema"],
        **{name: entry.get(name) for name in _ENGINE_FIELDS},
        "Definition": entry["Definition"],
        "Columns": [_column(column) for column in columns],
        "ColumnNames": [column["Name"] for column in columns],
        "ColumnDefinitions": [column["Definition"] for column in columns if column["Definition"]],
        "EntityRelationships": list(_relationships(entry["EntityRelationships"], room)),
        "CompleteEntityRelationshipsGraph": entry["CompleteEntityRelationshipsGraph"],
    }
    return _document(database, hashed, body, entry["FQN"])


def value_document(line: dict[str, Any], database: str) -> Document:
    """The document of a line of the column value store."""
    names = ("FQN", "Entity", "Schema", *_ENGINE_FIELDS, "Column", "Value", "Synonyms")
    return _document(database, line["Id"], {name: line.get(name) for name in names}, line["FQN"])


def _document(database: str, name: str, body: dict[str, Any], about: str) -> Document:
    key = f"{key_range(database)[0]}{name}"
    whole = {"Id": key, OWNER: database, OWNER_KEY: key, **body}
    return Document(key, jsontext.digest(whole)[:16], whole, about)


def _column(column: dict[str, Any]) -> dict[str, Any]:
    return {
        "Name": column["Name"],
        "Definition": column["Definition"],
        "DataType": column["DataType"],
        "AllowedValues": _texts(column.get("AllowedValues")),
        "SampleValues": _texts(column["SampleValues"]),
    }


def _texts(values: list[Any] | None) -> list[str]:
    """Values as the index takes them: text, a collection never null, nor anything in it."""
    return [value if isinstance(value, str) else jsontext.compact(value) for value in values or () if value is not None]


def _relationships(items: list[dict[str, Any]], room: int) -> Iterator[dict[str, Any]]:
    """As many relationships as fit into one document."""
    for item in items:
        room -= 1 + len(item["ForeignKeys"])
        if room < 0:
            return
        yield {
            **{name: item.get(name) for name in _RELATIONSHIP},
            "ForeignKeys": item["ForeignKeys"],
            "FQN": item["FQN"],
            "ForeignFQN": item["ForeignFQN"],
            "Origin": item.get("Origin"),
            "Confidence": item.get("Confidence"),
        }
