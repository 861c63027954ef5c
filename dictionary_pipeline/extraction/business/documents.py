"""Documents of the project folder: found by globs, read within bounds, cut into chunks at headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dictionary_pipeline.config.graph_documents import matching_documents
from dictionary_pipeline.config.graph_settings import MAX_DOCUMENT_BYTES, MAX_DOCUMENTS, GraphSettings
from dictionary_pipeline.extraction.business.units import MAX_TEXT, packed
from dictionary_pipeline.problems import Problem

_ENOUGH = 1_000
"""Characters from which a heading begins a new chunk."""
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.+?)[ \t#]*$")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n+")
_SLUG = re.compile(r"[^\w]+")
_MAX_SLUG = 40
_START = "start"

Chunk = tuple[str, str]
"""Place within the document, and text."""


class Documents(NamedTuple):
    """What the globs of a database found."""

    chunks: tuple[tuple[str, tuple[Chunk, ...]], ...] = ()
    """Path relative to the project folder, and the chunks of that document, by path."""
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
    chunks = []
    for name in sorted(paths)[:MAX_DOCUMENTS]:
        text, fault = _text(root, paths[name])
        if fault:
            problems.append(Problem(name, stage, None, f"the document {fault}", _HINT))
        else:
            chunks.append((name, tuple(cut(text))))
    if len(paths) > MAX_DOCUMENTS:
        what = f"{len(paths) - MAX_DOCUMENTS} documents beyond the first {MAX_DOCUMENTS} were not read"
        problems.append(Problem("documents", stage, None, what, "Narrow 'documents:' of 'graph:'."))
    return Documents(tuple(chunks), tuple(problems), tuple(unmatched))


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


def cut(text: str) -> Iterator[Chunk]:
    """Cut a document into chunks of at most `MAX_TEXT` characters, each beginning at a heading where it can.

    A place is named after the chunk's heading, so that a change moves the names of few other chunks.
    """
    taken: set[str] = set()
    for heading, paragraphs in _sections(text):
        for part in packed([piece for paragraph in paragraphs for piece in _pieces(paragraph)], "\n\n"):
            place, number = heading, 1
            while place in taken:
                number += 1
                place = f"{heading}-{number}"
            taken.add(place)
            yield place, part


def _sections(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Paragraphs under one heading, or under several while they are short."""
    name, paragraphs, size = _START, list[str](), 0
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    for paragraph in filter(None, (part.strip("\n") for part in _PARAGRAPHS.split(normal))):
        heading = _HEADING.match(paragraph.split("\n", 1)[0])
        if heading and (size >= _ENOUGH or not paragraphs):
            if paragraphs:
                yield name, paragraphs
            name, paragraphs, size = _slug(heading["text"]), [], 0
        paragraphs.append(paragraph)
        size += len(paragraph)
    if paragraphs:
        yield name, paragraphs


def _slug(heading: str) -> str:
    return _SLUG.sub("-", heading.casefold()).strip("-")[:_MAX_SLUG] or _START


def _pieces(paragraph: str) -> Iterator[str]:
    """A paragraph, cut at white space where it is longer than a chunk."""
    rest = paragraph.strip()
    while len(rest) > MAX_TEXT:
        at = max(rest.rfind(" ", 0, MAX_TEXT), rest.rfind("\n", 0, MAX_TEXT))
        at = at if at > 0 else MAX_TEXT
        yield rest[:at]
        rest = rest[at:].strip()
    if rest:
        yield rest
