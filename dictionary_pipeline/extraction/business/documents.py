"""Documents of the project folder: found by globs, read within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from dictionary_pipeline.config.graph_documents import matching_documents
from dictionary_pipeline.config.graph_settings import MAX_DOCUMENT_BYTES, MAX_DOCUMENTS, GraphSettings
from dictionary_pipeline.problems import Problem


class Documents(NamedTuple):
    """What the globs of a database found."""

    texts: tuple[tuple[str, str], ...] = ()
    """Path relative to the project folder, and text, by path."""
    problems: tuple[Problem, ...] = ()
    unmatched: tuple[str, ...] = ()
    """Globs that fit no document."""


def read_documents(settings: GraphSettings, stage: str) -> Documents:
    """Read the configured documents; one that cannot be read is a problem, never an absence.

    Args:
        stage: Name of the stage, for problem rows.
    """
    root = settings.folder.resolve()
    paths: dict[str, Path] = {}
    problems: list[Problem] = []
    unmatched = []
    for pattern, found in matching_documents(root, settings.documents).items():
        if not found:
            unmatched.append(pattern)
        paths |= found
    texts = []
    for name in sorted(paths)[:MAX_DOCUMENTS]:
        text, fault = _text(root, paths[name])
        shown = name.encode("utf-8", "replace").decode()
        if shown != name:
            fault = "has a name that is not UTF-8"
        if fault:
            problems.append(Problem(shown, stage, None, f"the document {fault}", _HINT))
        else:
            texts.append((name, text))
    if len(paths) > MAX_DOCUMENTS:
        what = f"{len(paths) - MAX_DOCUMENTS} documents beyond the first {MAX_DOCUMENTS} were not read"
        problems.append(Problem("documents", stage, None, what, "Narrow 'documents:' of 'graph:'."))
    return Documents(tuple(texts), tuple(problems), tuple(unmatched))


_HINT = "Save it as UTF-8 text within the limits of docs/graph.md, or take it out of 'documents:' of 'graph:'."


def _text(root: Path, path: Path) -> tuple[str, str | None]:
    """The text, or what is wrong with the file."""
    try:
        if not path.resolve().is_relative_to(root):
            return "", "lies outside the project folder"
        with path.open("rb") as file:
            data = file.read(MAX_DOCUMENT_BYTES + 1)
        if len(data) > MAX_DOCUMENT_BYTES:
            return "", f"is larger than {MAX_DOCUMENT_BYTES} bytes"
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError:
        return "", "is not UTF-8 text"
    except OSError as error:
        return "", f"cannot be read ({type(error).__name__})"
