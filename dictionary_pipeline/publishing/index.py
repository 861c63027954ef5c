"""`index.json` beside the databases of a container: which dictionaries there are."""

from __future__ import annotations

import json
from collections.abc import Callable

from dictionary_pipeline import jsontext
from dictionary_pipeline.errors import StoreConflict
from dictionary_pipeline.store import Store, Versioned

INDEX_KEY = "index.json"
_ATTEMPTS = 10


def list_database(root: Store, name: str) -> None:
    """Make sure that the index names a database; nothing is written when it does.

    Called before a database is first published, so that no dictionary is ever missing. Readers must
    bear one whose manifest is not there yet.

    Args:
        root: What the databases share.
        name: The database, which is also its folder.

    Raises:
        StoreError: the store cannot be used, or others keep changing the index.
    """
    _change(root, lambda names: names | {name})


def unlist_database(root: Store, name: str) -> None:
    """Make sure that the index does not name a database; nothing is written when it does not, or there is none.

    Raises:
        StoreError: the store cannot be used, or others keep changing the index.
    """
    _change(root, lambda names: names - {name})


def _change(root: Store, change: Callable[[set[str]], set[str]]) -> None:
    for _ in range(_ATTEMPTS):
        current = root.read_versioned(INDEX_KEY)
        names = _names(current)
        wanted = change(names)
        if wanted == names:
            return
        listed = [{"name": item, "manifest": f"{item}/manifest.json"} for item in sorted(wanted)]
        try:
            root.swap(INDEX_KEY, jsontext.pretty({"databases": listed}).encode(), current.etag if current else None)
            return
        except StoreConflict:
            continue
    raise StoreConflict("others keep changing the index", where=f"{root.location}/{INDEX_KEY}", fix="Run again.")


def _names(current: Versioned | None) -> set[str]:
    """Listed names; none of an index that is broken, which is written anew."""
    try:
        return {str(item["name"]) for item in json.loads(current.data if current else b"{}").get("databases", [])}
    except (ValueError, KeyError, TypeError, AttributeError):
        return set()
