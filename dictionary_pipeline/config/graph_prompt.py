"""Extraction prompts: texts with a few named places, checked before anything is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping

PLACEHOLDERS = ("entity_types", "relationship_types", "language")
REQUIRED = ("entity_types",)
MAX_LENGTH = 50_000

_OPENED = re.compile(r"\{(\w+)(\})?")
_CLOSED = re.compile(rf"(?<![{{\w])(?:{'|'.join(PLACEHOLDERS)})\}}")


def template_fault(text: str) -> str | None:
    """What is wrong with a prompt, or null.

    Other braces, as in JSON examples, are text: only `{word` counts as a place to fill in.
    """
    found = list(_OPENED.finditer(text))
    for match in found:
        if not match[2]:
            return f"has a placeholder that is never closed: {{{match[1][:40]}"
        if match[1] not in PLACEHOLDERS:
            return f"has the unknown placeholder {{{match[1][:40]}}}; known are {', '.join(PLACEHOLDERS)}"
    half = _CLOSED.search(text)
    if half:
        return f"has a placeholder that is never opened: {half.group()}"
    for name in REQUIRED:
        if all(match[1] != name for match in found):
            return f"lacks the placeholder {{{name}}}"
    return f"is longer than {MAX_LENGTH} characters" if len(text) > MAX_LENGTH else None


def fill_in(template: str, values: Mapping[str, str]) -> str:
    """The prompt with its places filled in, in one pass: braces in a value stay text."""
    return _OPENED.sub(lambda match: values[match[1]], template)
