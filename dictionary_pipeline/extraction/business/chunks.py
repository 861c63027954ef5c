"""Cutting documents into chunks at headings, and putting short texts together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

MAX_TEXT = 4_000
"""Characters of a text unit, about a thousand tokens."""
_ENOUGH = 1_000
"""Characters from which a heading begins a new chunk."""
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.+?)[ \t#]*$")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n+")
_SLUG = re.compile(r"[^\w]+")
_MAX_SLUG = 40
_MAX_HEADING = 500
"""Characters of a line that are looked at: the time that a heading takes grows with the square of its length."""
_START = "start"

Chunk = tuple[str, str]
"""Place within the document, and text."""


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
        heading = _HEADING.match(paragraph[:_MAX_HEADING].split("\n", 1)[0])
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


def packed(parts: Sequence[str], separator: str) -> Iterator[str]:
    """Parts joined in order, each text at most `MAX_TEXT` long unless a single part is longer."""
    taken: list[str] = []
    size = 0
    for part in parts:
        if taken and size + len(part) + len(separator) > MAX_TEXT:
            yield separator.join(taken)
            taken, size = [], 0
        taken.append(part)
        size += len(part) + len(separator)
    if taken:
        yield separator.join(taken)
