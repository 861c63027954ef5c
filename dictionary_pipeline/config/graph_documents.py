"""Which documents of the project folder the globs of `graph: documents` mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.graph_settings import DOCUMENT_SUFFIXES


def matching_documents(root: Path, patterns: Sequence[str]) -> Mapping[str, Mapping[str, Path]]:
    """Pattern -> path relative to `root` -> file; hidden files and folders such as `.git` never match."""
    return {pattern: dict(_matches(root, pattern)) for pattern in patterns}


def documents_mark(root: Path, patterns: Sequence[str]) -> str:
    """A hash that moves when a document comes, goes or is saved."""
    found = {name: path for files in matching_documents(root, patterns).values() for name, path in files.items()}
    stats = [(name, path.stat()) for name, path in sorted(found.items()) if path.is_file()]
    return jsontext.digest([[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats])[:16]


def _matches(root: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    for path in root.glob(pattern):
        name = path.relative_to(root)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if path.suffix.lower() in DOCUMENT_SUFFIXES and not is_hidden and path.is_file():
            yield name.as_posix(), path
