"""What a message says, whatever the channel: plain values, and their text.

Texts come from the drift log and from the product's own errors only; names of a database may hold anything, so
control characters are taken out here and each channel escapes what its format would interpret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from dictionary_pipeline import jsontext

Status = Literal["new", "update", "repeat", "resolved", "digest", "test"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_MAX_TEXT = 400
_CUT = "(cut; see `data_dictionary status` and `data_dictionary drift`)"
_FEWER = (15, 10, 5, 2, 0)
"""Changes of each part to list in a text that is too long with all of them."""
_FIRST_FACTS = 6
"""What all messages say: where, what, why, and what is served."""


def clean(text: str, limit: int = _MAX_TEXT) -> str:
    """A text on one line, without what could steer a reader's screen, and not too long."""
    shown = _CONTROL.sub(" ", text.encode(errors="replace").decode()).strip()
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


class ChangeLine(NamedTuple):
    """One change of the schema, as the drift log tells it."""

    severity: str
    kind: str
    object: str
    before: str
    after: str
    reason: str


class Fact(NamedTuple):
    """One line of a message."""

    label: str
    text: str


@dataclass(frozen=True)
class Part:
    """What there is to know about one item."""

    heading: str
    facts: tuple[Fact, ...] = ()
    changes: tuple[ChangeLine, ...] = ()
    left_out: int = 0
    """Changes that are not listed."""
    command: str = ""
    """Resumes or acknowledges."""
    link: str = ""


@dataclass(frozen=True)
class Message:
    """What one channel is sent."""

    id: str
    """Stable over repeated deliveries of the same message, so that a receiver can drop a second one."""
    thread: str
    """The same for everything that is ever said about one item."""
    event: str
    """drift | failure | recovery | digest | test"""
    status: Status
    severity: str
    """breaking | risky | safe | cosmetic | failed | resolved | test"""
    title: str
    at: str
    """UTC, ISO 8601, seconds."""
    databases: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def subject(self) -> str:
        """The title with what it is about."""
        return clean(f"[{self.severity}] {self.title}", 200)


def text_lines(message: Message) -> Iterator[str]:
    """The body as plain lines; an empty one stands between parts."""
    for number, part in enumerate(message.parts):
        if number:
            yield ""
        if len(message.parts) > 1:
            yield clean(part.heading)
        for change in part.changes:
            yield f"- {change.severity}: {change.kind} {clean(change.object)}"
            if change.before or change.after:
                yield f"  {clean(change.before) or '(nothing)'} -> {clean(change.after) or '(nothing)'}"
            if change.reason:
                yield f"  {clean(change.reason)}"
        if part.left_out:
            yield f"- and {part.left_out} more"
        for fact in part.facts:
            yield f"{fact.label}: {clean(fact.text, 1_000)}"
        if part.command:
            yield f"Command: {clean(part.command, 1_000)}"
        if part.link:
            yield f"Run: {part.link}"


def bounded_text(message: Message, limit: int) -> str:
    """Subject and body; where they exceed a limit in characters, fewer changes and facts are told.

    What to do and the link stay, unless even the rest is too long: then it is cut at a line's end.
    """
    lines = [message.subject, *text_lines(message)]
    for most in _FEWER:
        if _length(lines) <= limit:
            return "\n".join(lines)
        lines = [message.subject, *text_lines(_shortened(message, most)), _CUT]
    while _length(lines) > limit:
        del lines[-2]
    return "\n".join(lines)


def _shortened(message: Message, most: int) -> Message:
    """The message with at most so many changes, and further facts, of each part."""
    parts = (
        replace(
            part,
            facts=part.facts[: _FIRST_FACTS + most],
            changes=part.changes[:most],
            left_out=part.left_out + len(part.changes[most:]),
        )
        for part in message.parts
    )
    return replace(message, parts=tuple(parts))


def _length(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines) - 1


def message_document(message: Message) -> str:
    """The message for machines: JSON, as the generic webhook sends it."""
    return jsontext.compact(
        {
            "id": message.id,
            "thread": message.thread,
            "event": message.event,
            "status": message.status,
            "severity": message.severity,
            "title": clean(message.title),
            "at": message.at,
            "databases": list(message.databases),
            "items": [
                {
                    "heading": clean(part.heading),
                    "facts": {fact.label: clean(fact.text, 1_000) for fact in part.facts},
                    "changes": [
                        {name: clean(text) for name, text in change._asdict().items()} for change in part.changes
                    ],
                    "changes_left_out": part.left_out,
                    "command": clean(part.command, 1_000),
                    "run_url": part.link or None,
                }
                for part in message.parts
            ],
        }
    )
