"""The manifest: which files make up a bundle, and what to know about them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.drift.holding import Pending
from dictionary_pipeline.drift.reading import require_readable
from dictionary_pipeline.errors import StoreUnusable
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.store import Store

MANIFEST_KEY = "manifest.json"
OBJECTS = ".objects/"
FORMAT_VERSION = "1.0.0"


class FileInfo(NamedTuple):
    """Content of a published file."""

    sha256: str
    bytes: int

    @property
    def object_key(self) -> str:
        """Where the content lies, whatever the file is called."""
        return f"{OBJECTS}{self.sha256[:2]}/{self.sha256}"


class Limit(NamedTuple):
    """Something of the bundle that a limit cut short."""

    object: str
    """`schema.table` or `schema.table.column`."""
    limit: str
    """max_values (the value file holds only the most frequent values), sampled (what is said about
    values comes from a part of the rows) or join_paths (nearest tables instead of all paths)."""
    value: int | None
    """The configured limit."""


@dataclass(frozen=True)
class Manifest:
    """Content of `manifest.json`, fields in published order."""

    database: str
    engine: str
    run_id: str
    published_at: str
    """UTC, ISO 8601, seconds: the only clock reading of a bundle."""
    schema_fingerprint: str | None
    previous_fingerprint: str | None
    """The last published fingerprint that differs from `schema_fingerprint`."""
    probe: str | None
    complete: bool
    problems: tuple[Problem, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    files: Mapping[str, FileInfo] = field(default_factory=dict)
    pending: Pending | None = None
    """Breaking drift that waits for an acknowledgement before a newer bundle is published."""
    retired: str | None = None
    """Since when the database is no longer kept up to date: UTC, ISO 8601, seconds."""
    format_version: str = FORMAT_VERSION

    def to_bytes(self) -> bytes:
        """The published JSON."""
        marks = {"pending": self.pending.as_json() if self.pending else None, "retired": self.retired}
        document = {
            "format_version": self.format_version,
            "database": self.database,
            "engine": self.engine,
            "run_id": self.run_id,
            "published_at": self.published_at,
            "schema_fingerprint": self.schema_fingerprint,
            "previous_fingerprint": self.previous_fingerprint,
            "probe": self.probe,
            "complete": self.complete,
            "problems": [problem._asdict() for problem in self.problems],
            "counts": dict(self.counts),
            "limits": [limit._asdict() for limit in self.limits],
            **{name: mark for name, mark in marks.items() if mark is not None},
            "files": {path: info._asdict() for path, info in sorted(self.files.items())},
        }
        return jsontext.pretty(document).encode()

    def says_the_same_as(self, other: Manifest) -> bool:
        """Whether publishing this one after `other` would tell a reader nothing new."""
        return self == replace(
            other,
            run_id=self.run_id,
            published_at=self.published_at,
            previous_fingerprint=self.previous_fingerprint,
            probe=self.probe,
        )


class StoredManifest(NamedTuple):
    """A manifest as found in a store."""

    manifest: Manifest
    sha256: str
    """Of its bytes."""
    data: bytes
    etag: str


def read_manifest(store: Store, key: str = MANIFEST_KEY) -> StoredManifest | None:
    """Read a manifest, or null when there is none.

    Raises:
        StoreError: it is broken or was written by a newer major version.
    """
    found = store.read_versioned(key)
    if found is None:
        return None
    manifest = parse_manifest(found.data, where=f"{store.location}/{key}")
    return StoredManifest(manifest, hashlib.sha256(found.data).hexdigest(), found.data, found.etag)


def parse_manifest(data: bytes, *, where: str) -> Manifest:
    """Parse manifest JSON.

    Raises:
        StoreError: it is broken or was written by a newer major version.
    """
    try:
        document = jsontext.loads_strict(data)
        require_readable(str(document["format_version"]), where=where)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _broken(where) from None
    try:
        return _from_document(document)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _broken(where) from None


def _from_document(document: dict[str, Any]) -> Manifest:
    files = {path: FileInfo(info["sha256"], info["bytes"]) for path, info in document["files"].items()}
    if any(not isinstance(info.sha256, str) or not isinstance(info.bytes, int) for info in files.values()):
        raise TypeError("files")
    if any(not isinstance(document[name], str) for name in ("database", "engine", "run_id", "published_at")):
        raise TypeError("texts")
    if datetime.fromisoformat(document["published_at"]).tzinfo is None:
        raise ValueError("published_at")
    held = document.get("pending")
    return Manifest(
        database=document["database"],
        engine=document["engine"],
        run_id=document["run_id"],
        published_at=document["published_at"],
        schema_fingerprint=document["schema_fingerprint"],
        previous_fingerprint=document["previous_fingerprint"],
        probe=document["probe"],
        complete=document["complete"],
        problems=tuple(Problem(**problem) for problem in document["problems"]),
        counts=dict(document["counts"]),
        limits=tuple(Limit(**limit) for limit in document["limits"]),
        files=files,
        pending=Pending.parse(held) if held is not None else None,
        retired=document.get("retired"),
        format_version=document["format_version"],
    )


def _broken(where: str) -> StoreUnusable:
    return StoreUnusable(
        "this is not a complete manifest of a published dictionary",
        where=where,
        fix="Put back the newest file of .manifests/ as manifest.json, or choose another folder.",
    )
