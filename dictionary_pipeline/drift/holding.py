"""A held bundle: breaking drift that waits for an acknowledgement while the old dictionary stays published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dictionary_pipeline.drift.reading import manifest_document
from dictionary_pipeline.drift.record import Entry
from dictionary_pipeline.errors import StoreUnusable
from dictionary_pipeline.store import Store


@dataclass(frozen=True)
class Pending:
    """What the manifest's `pending` says: the run that found breaking drift and what it did not publish."""

    since: str
    """First detection: UTC, ISO 8601, seconds."""
    run_id: str
    """The run that held last."""
    schema_fingerprint: str | None
    """Of the schema that is not published."""
    entries: tuple[Entry, ...]
    """Every change that waits, as it will be logged; not all are breaking."""

    def as_json(self) -> dict[str, Any]:
        """As the manifest holds it."""
        return {
            "since": self.since,
            "run_id": self.run_id,
            "schema_fingerprint": self.schema_fingerprint,
            "changes": [asdict(entry) for entry in self.entries],
        }

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Pending:
        """Read what `as_json` wrote.

        Raises:
            KeyError, TypeError: it is something else.
        """
        entries = tuple(Entry(**change) for change in document["changes"])
        return cls(str(document["since"]), str(document["run_id"]), document["schema_fingerprint"], entries)


def pending(store: Store) -> Pending | None:
    """The held bundle of a database, or null when nothing is held.

    Raises:
        StoreError: the manifest cannot be read.
    """
    document = manifest_document(store)
    held = document.get("pending") if document else None
    if held is None:
        return None
    try:
        return Pending.parse(held)
    except (KeyError, TypeError):
        raise StoreUnusable(
            "the mark of a held bundle is damaged",
            where=f"{store.location}/manifest.json",
            fix="Run the database again; the mark is written anew.",
        ) from None
