"""Which documents of the project folder the globs of `graph: documents` mean."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.graph_settings import DOCUMENT_SUFFIXES

_OBJECTS = ".objects"
"""The folder that every published dictionary has."""


def matching_documents(root: Path, patterns: Sequence[str]) -> Mapping[str, Mapping[str, Path]]:
    """Pattern -> path relative to `root` -> file.

    Hidden files and folders such as `.git` never match, nor does what the product published: a dictionary
    is no source of itself.
    """
    bundles: dict[Path, bool] = {}

    def is_published(folder: Path) -> bool:
        if folder == root or root not in folder.parents:
            return False
        if folder not in bundles:
            bundles[folder] = os.access(folder / _OBJECTS, os.F_OK) or is_published(folder.parent)
        return bundles[folder]

    return {
        pattern: {name: path for name, path in _matches(root, pattern) if not is_published(path.parent)}
        for pattern in patterns
    }


def documents_mark(root: Path, patterns: Sequence[str]) -> str:
    """A hash that moves when a document comes, goes or is saved."""
    found = {name: path for files in matching_documents(root, patterns).values() for name, path in files.items()}
    return jsontext.digest([[name, *_saved(path)] for name, path in sorted(found.items())])[:16]


def _matches(root: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    # A "**" at the end means folders to Python 3.11 and 3.12, files too to 3.13, and files to people.
    for path in root.glob(f"{pattern}/*" if pattern.split("/")[-1] == "**" else pattern):
        name = path.relative_to(root)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if path.suffix.lower() in DOCUMENT_SUFFIXES and not is_hidden and _is_document(path):
            yield name.as_posix(), path


def _is_document(path: Path) -> bool:
    """Whether it is a file; one that this account may not even look at is found, and reading it tells why it fails."""
    try:
        return path.is_file()
    except PermissionError:
        return True


def _saved(path: Path) -> tuple[int, int]:
    """Size and time of the last change; nothing for a file that is gone by now or may not be looked at."""
    try:
        stat = path.stat()
    except OSError:
        return 0, 0
    return stat.st_size, stat.st_mtime_ns
